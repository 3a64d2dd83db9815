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

from xsdc.core.objective import CostFactors

SAMPLE = 1 << 13
BLOCK_ENTRIES = 1 << 18  # NumPy's comparisons and selections on a block this size are three times torch's in speed

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
    sample = np.sort(_sample(A, n))
    margin = 2 * int(SAMPLE**0.5)
    while True:
        first, last = SAMPLE // 2 - margin, SAMPLE // 2 + margin
        low = sample[first] if first >= 0 else -np.inf
        high = sample[last] if last < SAMPLE else np.inf
        below, inside = 0, []
        for block in _blocks(A, n):
            at_least = block >= low
            below += block.size - int(np.count_nonzero(at_least))
            at_least &= block <= high
            inside.append(block[at_least])
        candidates = np.concatenate(inside)
        if below <= rank < below + len(candidates):
            return float(np.partition(candidates, rank - below)[rank - below])
        margin *= 8


def _sample(A: Tensor | CostFactors, n: int) -> Array:
    rng = np.random.default_rng(0)
    i, j = torch.from_numpy(rng.integers(n, size=(2, SAMPLE)))
    if isinstance(A, Tensor):
        values = A[i.to(A.device), j.to(A.device)]
    else:
        i, j = i.to(A.B.device), j.to(A.B.device)
        values = (A.B[i] * A.w * A.B[j]).sum(1) + A.alpha * ((i == j).to(A.B) - 1 / n)
    magnitudes: Array = values.abs().cpu().numpy()
    return magnitudes


def _blocks(A: Tensor | CostFactors, n: int) -> Iterator[Array]:
    step = max(1, BLOCK_ENTRIES // n)
    for start in range(0, n, step):
        stop = min(start + step, n)
        block = A[start:stop] if isinstance(A, Tensor) else A.rows(start, stop)
        yield np.abs(block.cpu().numpy())
