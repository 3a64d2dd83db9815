"""All labelers and all methods on fixed features, side by side on scikit-learn's digits.

python -m benchmarks.relatives [--seeds 5] [--labels 0 10 50 200] [--only METHOD ...] [--json PATH] [--docs PATH]

Splits, labels and counting are those of `benchmarks.digits`. Labelers differ in how M is filled in while the network is
trained; everything else, the labels at the end among it, is the same.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Literal, get_args

from benchmarks.digits import DOCS, Array, Ints, K, Method, Results, measure
from benchmarks.measure import markdown_table, write_between_markers, write_json
from xsdc import XSDC
from xsdc.baselines import DIFFRAC, SeededKMeans
from xsdc.labelers import LABELERS

LABELS = ("0", "10", "50", "200")
Similarity = Literal["linear", "inverse-correlation", "rbf"]


def by_labeler(name: str) -> Method:
    """Train with a labeler."""

    def fit(X: Array, y: Ints, X_test: Array, seed: int) -> tuple[Ints, Ints]:
        model = XSDC(K, labeler=name, random_state=seed).fit(X, y)
        return model.labels_, model.predict(X_test)

    return fit


def by_seeded_kmeans(similarity: Similarity) -> Method:
    """k-means with fixed labels under a similarity of the paper."""

    def fit(X: Array, y: Ints, X_test: Array, seed: int) -> tuple[Ints, Ints]:
        model = SeededKMeans(K, similarity=similarity, random_state=seed).fit(X, y)
        return model.labels_, model.predict(X_test)

    return fit


def by_diffrac(X: Array, y: Ints, X_test: Array, seed: int) -> tuple[Ints, Ints]:
    """Discriminative clustering of the pixels themselves."""
    model = DIFFRAC(K, random_state=seed).fit(X, y)
    return model.labels_, model.predict(X_test)


def without_training(X: Array, y: Ints, X_test: Array, seed: int) -> tuple[Ints, Ints]:
    """The same network as it starts."""
    model = XSDC(K, max_iter=0, random_state=seed).fit(X, y)
    return model.labels_, model.predict(X_test)


METHODS: dict[str, Method] = {
    **{f"xsdc, {name}": by_labeler(name) for name in LABELERS},
    "xsdc, untrained": without_training,
    **{f"seeded k-means, {name}": by_seeded_kmeans(name) for name in get_args(Similarity)},
    "DIFFRAC": by_diffrac,
}


def as_table(results: Results) -> str:
    """One row per method; accuracy and seconds for each number of labels."""
    rows = []
    for name in METHODS:
        cells = [column[name] for column in results.values()]
        rows.append([name, *(f"{c['mean']:.3f} ± {c['deviation']:.3f} ({c['seconds']:.1f} s)" for c in cells)])
    return markdown_table(["method", *(f"{labels} labels" for labels in results)], rows)


def main() -> None:
    """Measure, print and write down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--labels", nargs="+", choices=LABELS, default=list(LABELS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--docs", type=Path, help=f"file with markers to write the table into, as {DOCS.name}")
    parser.add_argument("--only", nargs="+", choices=list(METHODS), help="measure these; --json has the others")
    options = parser.parse_args()
    if options.only and not options.json:
        parser.error("--only needs --json, a file with the others.")
    methods = {name: METHODS[name] for name in options.only or METHODS}
    results = measure(dict.fromkeys(options.labels, methods), options.seeds)
    if options.only:
        before = json.loads(options.json.read_text())
        if before["seeds"] != options.seeds or list(before["results"]) != options.labels:
            parser.error(f"{options.json} has other seeds or numbers of labels.")
        results = {labels: before["results"][labels] | column for labels, column in results.items()}
    table = as_table(results)
    print(table)
    if options.json:
        write_json(options.json, {"seeds": options.seeds, "results": results})
    if options.docs:
        write_between_markers(options.docs, table, name="relatives")


if __name__ == "__main__":
    main()
