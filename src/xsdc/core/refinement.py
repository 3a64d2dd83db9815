"""A better grouping by moving whole groups: split one, merge two others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.balancing import balance
from xsdc.core.judging import Judge, indicators, merit
from xsdc.core.problem import Fractions
from xsdc.core.rounding import spectral_clustering

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SMALLEST_SPLIT = 8  # points of a group that may be split
TRIED = 5  # splits whose merges are all tried
LEAST_GAIN = 0.005
ROUNDS = 20


def split_and_merge(codes: Ints, judge: Judge, A: Tensor, *, rng: np.random.RandomState) -> Ints:
    """Improve a grouping by splitting one group and merging two, as long as its merit grows.

    Spectral clustering tends to end with one group cut in two and two others lumped together; single points cannot find
    the way out of that, groups can. The number of groups stays.

    Parameters
    ----------
    codes : array of int, shape (n,)
        Groups, 0 to k - 1.
    judge : Judge
        Tells the merit of a grouping.
    A : Tensor, shape (n, n)
        Cost of the same points, by which groups are split.
    rng : RandomState
        Of the spectral clustering that splits.
    """
    k = int(codes.max()) + 1
    if k < 3:
        return codes
    best = judge.merit(codes)
    halves: dict[bytes, Ints | None] = {}  # a group that has not changed is split as before
    for _ in range(ROUNDS):
        base = judge.scores(indicators(codes, k))
        splits = []
        for group in range(k):
            members = np.flatnonzero(codes == group)
            key = members.tobytes()
            if key not in halves:
                halves[key] = _split(members, A, rng)
            half = halves[key]
            if half is None:
                continue
            column = judge.scores(np.isin(np.arange(len(codes)), half).astype(np.float64)[:, None])
            scores = np.concatenate([base, column], 1)
            scores[:, group] -= column[:, 0]
            finer = codes.copy()
            finer[half] = k
            splits.append((merit(finer, scores), group, finer, scores))
        splits.sort(key=lambda split: -split[0])
        tried = [_best_merge(finer, scores, group) for _, group, finer, scores in splits[:TRIED]]
        if not tried:
            break
        value, found = max(tried, key=lambda pair: pair[0])
        if value < best + LEAST_GAIN:
            break
        codes, best = found, value
    return codes


def _best_merge(codes: Ints, scores: Floats, halved: int) -> tuple[float, Ints]:
    """Merge the two of k + 1 groups whose merger has the highest merit, other than the two halves."""
    last = scores.shape[1] - 1
    best, found = -np.inf, codes
    for i in range(last + 1):
        for j in range(i + 1, last + 1):
            if (i, j) == (halved, last):
                continue
            merged = np.where(codes == j, i, codes)
            merged = np.where(merged > j, merged - 1, merged)
            joint = np.delete(scores, j, axis=1)
            joint[:, i] += scores[:, j]
            value = merit(merged, joint)
            if value > best:
                best, found = value, merged
    return best, found


def _split(members: Ints, A: Tensor, rng: np.random.RandomState) -> Ints | None:
    """One of two halves of a group, by balancing its own part of the cost."""
    if len(members) < SMALLEST_SPLIT:
        return None
    rows = torch.from_numpy(members)
    M = balance(A[rows][:, rows], size=Fractions(0.1, 0.9)).M
    labels = spectral_clustering(M, 2, random_state=rng).labels.numpy()
    half: Ints = members[labels == 1]
    return half if 0 < len(half) < len(members) else None
