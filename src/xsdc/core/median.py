"""The exact median of the absolute entries of a large matrix, without sorting or copying it.

A sample brackets the median; one pass counts what lies below the bracket and collects the few percent inside
it; the rest is a selection among those. Where the sample misled, the bracket is widened and
the pass repeated, so the answer never depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.operators import CostFactors
from xsdc.errors import InvalidInputError

LEAST_SAMPLE, MOST_SAMPLE = 1 << 13, 1 << 20
BLOCK_ENTRIES = 1 << 18  # in the cache, NumPy compares and selects three times as fast as torch
FACTORED_BLOCK_ENTRIES = 1 << 22  # fewer rows at a time would make a poor matrix product

Array = npt.NDArray[np.floating[Any]]


def median_abs(A: Tensor | CostFactors) -> float:
    """Median of ``|A_ij|`` over all n² entries, the lower one of the middle two.

    Where at least half of the entries are zero, the mean is returned instead (1 for an all-zero matrix), because
    the median serves as a unit of cost here and must be above zero.
    """
    n = A.n if isinstance(A, CostFactors) else len(A)
    median = _select(A, n, rank=(n * n - 1) // 2)
    if median > 0:
        return median
    mean = sum(float(block.sum(dtype=np.float64)) for block in _blocks(A, n)) / n**2
    return mean if mean > 0 else 1.0


def _select(A: Tensor | CostFactors, n: int, *, rank: int) -> float:
    size = min(max(n * n >> 8, LEAST_SAMPLE), MOST_SAMPLE)
    sample = np.sort(_sample(A, n, size))
    margin = 2 * int(size**0.5)
    while True:
        first, last = size // 2 - margin, size // 2 + margin
        low = sample[first] if first >= 0 else -np.inf
        high = sample[last] if last < size else np.inf
        below, inside = 0, []
        for block in _blocks(A, n):
            at_least = block >= low
            below += block.size - int(np.count_nonzero(at_least))
            at_least &= block <= high
            inside.append(block[at_least])
        candidates = np.concatenate(inside)
        if below <= rank < below + len(candidates):
            return float(np.partition(candidates, rank - below)[rank - below])
        if margin > size:
            raise InvalidInputError("A must be finite; it holds NaN.")
        margin *= 8


def _sample(A: Tensor | CostFactors, n: int, size: int) -> Array:
    rng = np.random.default_rng(0)
    i, j = torch.from_numpy(rng.integers(n, size=(2, size)))
    if isinstance(A, Tensor):
        values = A[i.to(A.device), j.to(A.device)]
    else:
        i, j = i.to(A.B.device), j.to(A.B.device)
        values = (A.B[i] * A.w * A.B[j]).sum(1) + A.alpha * ((i == j).to(A.B) - 1 / n)
    magnitudes: Array = values.abs().cpu().numpy()
    return magnitudes


def _blocks(A: Tensor | CostFactors, n: int) -> Iterator[Array]:
    dense = isinstance(A, Tensor)
    step = max(1, (BLOCK_ENTRIES if dense else FACTORED_BLOCK_ENTRIES) // n)
    for start in range(0, n, step):
        stop = min(start + step, n)
        rows = (A[start:stop] if isinstance(A, Tensor) else A.rows(start, stop)).cpu().numpy()
        flat = rows.reshape(-1)
        for first in range(0, len(flat), BLOCK_ENTRIES):
            yield np.abs(flat[first : first + BLOCK_ENTRIES])
