"""How many wrong labels are found, and how many right ones are called wrong. Writes a table of docs/estimator.md.

python -m benchmarks.label_errors [--seeds 2] [--docs PATH]

Points of each data set are drawn, all of them are labeled, and a share of the labels is replaced by those of other
classes.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np

from benchmarks.measure import markdown_table, write_between_markers
from benchmarks.suite.sets import BY_NAME, MissingDataError, load, prepare
from xsdc import XSDC

DOCS = Path(__file__).parents[1] / "docs" / "estimator.md"
SETS = ("wine", "digits", "penbased", "spambase", "phoneme", "waveform", "usps", "cells_worm")
N = 600
SHARES = (0.0, 0.02, 0.1)


def measure(name: str, share: float, seed: int) -> tuple[int, int, int]:
    """Wrong labels, those of them that are listed, and right ones that are listed."""
    X, y = load(name)
    rng = np.random.default_rng(seed)
    kept = rng.permutation(len(y))[:N]
    X, truth = prepare(X[kept], X[kept], BY_NAME[name].kind)[0], np.unique(y[kept], return_inverse=True)[1]
    given, k = truth.copy(), int(truth.max()) + 1
    wrong = rng.permutation(len(truth))[: round(share * len(truth))]
    given[wrong] = (truth[wrong] + rng.integers(1, k, size=len(wrong))) % k
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = XSDC(effort="fast", random_state=seed, progress=False).fit(X, given)
    listed = np.empty(0, dtype=int) if model.suspicious_labels_ is None else model.suspicious_labels_.points
    found = np.isin(listed, wrong)
    return len(wrong), int(found.sum()), int((~found).sum())


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2, help="draws of points and of wrong labels")
    parser.add_argument("--docs", type=Path, default=DOCS, help="page whose table is written")
    options = parser.parse_args()
    rows = []
    for name in SETS:
        row = [name]
        for share in SHARES:
            try:
                total = np.sum([measure(name, share, seed) for seed in range(options.seeds)], axis=0)
            except MissingDataError as error:
                parser.error(str(error))
            row += [f"{total[1]} of {total[0]}"] if share else []
            row.append(str(total[2]))
        rows.append(row)
        print(*row, sep="\t", flush=True)
    head = ["data", "none wrong: listed"]
    head += [f"{100 * share:.0f} % wrong: {what}" for share in SHARES[1:] for what in ("found", "right ones listed")]
    table = markdown_table(head, rows)
    print(table)
    write_between_markers(options.docs, table, name="label-errors")


if __name__ == "__main__":
    main()
