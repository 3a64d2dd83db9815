"""Exact nearest neighbors by blocked products beside libraries of approximate ones. Writes a table of docs/scaling.md.

python -m benchmarks.neighbors [--sizes 20000 60000] [--columns 50] [--docs PATH]

Libraries that are not installed are left out: ``pip install faiss-cpu pynndescent usearch``. Each has its usual
options, and is timed with its index built, in a process that has used it before. Recall is the share of the ten nearest
that are found.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.measure import markdown_table, write_between_markers
from xsdc.core.graph import nearest

DOCS = Path(__file__).parents[1] / "docs" / "scaling.md"
K = 10
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Find = Callable[[Floats], Ints]


def by_products(X: Floats) -> Ints:
    """Ours."""
    return nearest(torch.from_numpy(X), None, K)[1]


def by_faiss(kind: str) -> Find:
    """Make an index of faiss by its name."""

    def find(X: Floats) -> Ints:
        import faiss  # noqa: PLC0415

        index = faiss.index_factory(X.shape[1], kind)
        index.train(X)
        index.add(X)
        return without_itself(index.search(X, K + 1)[1])

    return find


def by_pynndescent(X: Floats) -> Ints:
    """Nearest neighbor descent."""
    from pynndescent import NNDescent  # noqa: PLC0415

    return without_itself(NNDescent(X, n_neighbors=K + 1, random_state=0).neighbor_graph[0])


def by_usearch(X: Floats) -> Ints:
    """A navigable graph."""
    from usearch.index import Index  # noqa: PLC0415

    index = Index(ndim=X.shape[1], metric="l2sq", dtype="f32")
    index.add(np.arange(len(X)), X)
    return without_itself(index.search(X, K + 1).keys.astype(np.int64))


METHODS: tuple[tuple[str, str | None, Find], ...] = (
    ("blocked products, exact (xsdc)", None, by_products),
    ("faiss, flat, exact", "faiss", by_faiss("Flat")),
    ("faiss, IVF", "faiss", by_faiss("IVF256,Flat")),
    ("faiss, HNSW", "faiss", by_faiss("HNSW32")),
    ("pynndescent", "pynndescent", by_pynndescent),
    ("usearch", "usearch", by_usearch),
)


def without_itself(found: npt.NDArray[np.integer]) -> Ints:
    """Leave out the point itself, or the farthest where it is not among its neighbors."""
    own = found == np.arange(len(found))[:, None]
    own[~own.any(axis=1), -1] = True
    return np.asarray(found[~own].reshape(len(found), -1), dtype=np.int64)


def points(n: int, columns: int) -> Floats:
    """Points of ten groups in a space of ten dimensions, with noise in all columns."""
    rng = np.random.default_rng(0)
    groups = 3 * rng.normal(size=(10, 10))[rng.integers(10, size=n)] + rng.normal(size=(n, 10))
    return (groups @ rng.normal(size=(10, columns)) / 3 + rng.normal(size=(n, columns))).astype(np.float32)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 60_000], help="numbers of points")
    parser.add_argument("--columns", type=int, default=50, help="numbers of a point")
    parser.add_argument("--docs", type=Path, default=DOCS, help="page whose table is written")
    options = parser.parse_args()
    rows = []
    data = [points(n, options.columns) for n in options.sizes]
    exact = [by_products(X) for X in data]
    for name, package, find in METHODS:
        if package is not None and importlib.util.find_spec(package) is None:
            print(f"{name} is not installed")
            continue
        find(data[0][:2000])
        row = [name]
        for X, right in zip(data, exact, strict=True):
            start = time.perf_counter()
            found = find(X)
            seconds = time.perf_counter() - start
            recall = np.mean([len(np.intersect1d(a, b)) / K for a, b in zip(found[::50], right[::50], strict=True)])
            row.append(f"{seconds:.1f} s, {recall:.3f}")
        rows.append(row)
        print(*row, sep="\t", flush=True)
    table = markdown_table(["ten nearest neighbors of all", *(f"{n:,} points" for n in options.sizes)], rows)
    print(table)
    write_between_markers(options.docs, table, name="neighbors")


if __name__ == "__main__":
    main()
