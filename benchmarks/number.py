"""How many clusters `XSDC` suggests, on data whose number of groups is known. Writes docs/results.md's table.

python -m benchmarks.number [--seeds 3] [--docs PATH]

Each row is fitted as it comes, ``XSDC().fit(X)``. Groups drawn at random may overlap. The rule was settled
on seeds 0 to 2; the table is of the seeds from `FIRST_SEED` on.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs, make_moons
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import markdown_table, write_between_markers
from xsdc import XSDC

DOCS = Path(__file__).parents[1] / "docs" / "results.md"
BLOBS = ((60, 3, 0.5), (150, 3, 0.5), (300, 4, 0.5), (150, 5, 0.5), (500, 6, 0.7), (300, 8, 0.4))
REAL = (("iris", load_iris), ("wine", load_wine), ("breast cancer", load_breast_cancer), ("digits", load_digits))
FIRST_SEED = 10
Floats = npt.NDArray[np.float64]


def problems(seed: int) -> Iterator[tuple[str, int, Floats]]:
    """Name, number of groups and data of each problem."""
    for n, k, deviation in BLOBS:
        X, _ = make_blobs(n, centers=k, cluster_std=deviation, random_state=seed)
        yield f"{n} points, {k} blobs of deviation {deviation} in the plane", k, X
    rng = np.random.default_rng(seed)
    middles = 5 * rng.normal(size=(10, 20))
    yield "300 points, 10 blobs in 20 dimensions", 10, middles[np.arange(300) % 10] + rng.normal(size=(300, 20))
    yield "two moons, 300 points", 2, make_moons(300, noise=0.05, random_state=seed)[0]
    yield "200 points of a single normal distribution", 1, rng.normal(size=(200, 5))
    for name, load in REAL:
        X, y = load(return_X_y=True)
        yield name, len(np.unique(y)), StandardScaler().fit_transform(X)


def main() -> None:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="seeds of data and fits")
    parser.add_argument("--docs", type=Path, default=DOCS, help="page whose table is written")
    options = parser.parse_args()
    found: dict[tuple[str, int], list[str]] = {}
    for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
        for name, k, X in problems(seed):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = XSDC(random_state=seed, progress=False).fit(X)
            probability = model.n_clusters_ranking_[0][1]
            found.setdefault((name, k), []).append(f"{model.n_clusters_} ({100 * probability:.0f} %)")
            print(name, k, found[name, k][-1], flush=True)
    table = markdown_table(
        ["data", "groups", "suggested (probability), by seed"],
        [[name, str(k), ", ".join(row)] for (name, k), row in found.items()],
    )
    print(table)
    write_between_markers(options.docs, table, name="number")


if __name__ == "__main__":
    main()
