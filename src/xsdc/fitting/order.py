"""An order of the rows that depends on their values alone.

A fit draws points by chance, and sums over them. It does so in this order, so that the same rows give the same model in
whatever order they come: sorted by class, for example, or shuffled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
BLOCK = 1 << 22  # numbers that are read at a time


def content_order(X: Array | Tensor) -> Ints:
    """Sort rows by a hash of their values; equal rows stay in the order in which they come.

    Parameters
    ----------
    X : array or Tensor, shape (n, ...)
        Rows of numbers.

    Returns
    -------
    array of int, shape (n,)
        Positions of the rows. The order looks like one by chance.
    """
    n = len(X)
    per_row = int(np.prod(X.shape[1:], dtype=np.int64))
    # Odd factors drawn once: each number of a row counts differently, and sums of products mod 2⁶⁴ hardly ever agree.
    factors = np.random.default_rng(0).integers(1 << 63, size=per_row, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    hashes = np.empty(n, dtype=np.uint64)
    step = max(1, BLOCK // max(per_row, 1))
    for start in range(0, n, step):
        block = X[start : start + step]
        block = block.detach().cpu().numpy() if isinstance(block, Tensor) else np.asarray(block)
        numbers = block.reshape(len(block), -1).astype(np.float64) + 0.0  # no negative zero
        hashes[start : start + step] = _mixed(_mixed(numbers.view(np.uint64)) * factors).sum(axis=1, dtype=np.uint64)
    return np.argsort(hashes, kind="stable")


def _mixed(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Let all digits depend on all (the last step of Steele's splitmix)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
