"""An order of the rows that depends on their values alone.

A fit draws points by chance, and sums over them. It does so in this order, so that the same rows give the same model in
whatever order they come: sorted by class, for example, or shuffled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from xsdc.fitting.sources import Source, read_blocks

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
MOST_ORDERED = 1 << 26  # numbers; of larger data the rows stay in their order, in which they are read fastest


class Reordered(Source):
    """The rows of another source in another order."""

    def __init__(self, source: Source, order: Ints) -> None:
        self.source, self.order, self.shape = source, order, source.shape

    def _read(self, rows: Ints) -> Array:
        return self.source.take(self.order[rows])


def in_content_order(X: Any) -> tuple[Any, Ints]:
    """Bring rows into the order of their values, unless there are very many; also return their positions before.

    Parameters
    ----------
    X : array-like, Tensor or Source, shape (n, ...)
        Rows of numbers.
    """
    if isinstance(X, Source):
        if np.prod(X.shape, dtype=np.float64) > MOST_ORDERED:
            return X, np.arange(len(X))
        order = content_order(X)
        return Reordered(X, order), order
    X = X.detach() if isinstance(X, Tensor) else np.asarray(X)
    if np.prod(X.shape, dtype=np.float64) > MOST_ORDERED:
        return X, np.arange(len(X))
    order = content_order(X)
    return X[order], order


def content_order(X: Array | Tensor | Source) -> Ints:
    """Sort rows by a hash of their values; equal rows stay in the order in which they come.

    Parameters
    ----------
    X : array, Tensor or Source, shape (n, ...)
        Rows of numbers.

    Returns
    -------
    array of int, shape (n,)
        Positions of the rows. The order looks like one by chance.
    """
    per_row = int(np.prod(X.shape[1:], dtype=np.int64))
    # Odd factors drawn once: each number of a row counts differently, and sums of products mod 2⁶⁴ hardly ever agree.
    factors = np.random.default_rng(0).integers(1 << 63, size=per_row, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    hashes = []
    for block in read_blocks(X):
        numbers = (block.detach().cpu().numpy() if isinstance(block, Tensor) else np.asarray(block)).astype(np.float64)
        bits = (numbers.reshape(len(numbers), -1) + 0.0).view(np.uint64)  # no negative zero
        hashes.append(_mixed(_mixed(bits) * factors).sum(axis=1, dtype=np.uint64))
    return np.argsort(np.concatenate(hashes), kind="stable")


def _mixed(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Let all digits depend on all (the last step of Steele's splitmix)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
