"""Classes for points where labels do not name all of them: groups found by a graph and a ridge regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from torch import Tensor

from xsdc.core.assignment import assign
from xsdc.core.constraints import Constraints
from xsdc.core.graph import Metric, NeighborIndex
from xsdc.core.grouping import GraphSmoother, Grouping, Mean, RidgeSmoother, Sizes, find_groups, solve, with_links
from xsdc.core.propagation import Propagation

Ints = npt.NDArray[np.int64]
LEAK = 0.1  # of the graphs' smoothers, settled on the suite; 0.3 gives much the same
MOST_STARTED = 5000  # points by which the best of several starts is found; the others follow from there


def group_points(
    inputs: Tensor,
    Phi: Tensor,
    constraints: Constraints,
    k: int,
    *,
    sizes: Sequence[Sizes],
    ridge: float | Literal["auto"],
    rng: np.random.RandomState,
) -> Grouping:
    """Group points under what is known of them.

    Parameters
    ----------
    inputs : Tensor, shape (n, d)
        Representation of their inputs, whose neighbours graphs join.
    Phi : Tensor, shape (n, D)
        Learned features, from which the ridge regression tells the groups.
    constraints : Constraints
        What is known of them.
    k : int
        Number of groups.
    sizes : sequence of pairs of arrays, each of shape (k,)
        Least and largest number of points of each, in one or several ways, as for `find_groups`.
    ridge : float or "auto"
        lambda of the regression.
    rng : RandomState
        Source of randomness.
    """
    n = len(inputs)
    few = np.arange(n)
    if n > MOST_STARTED:
        few = np.sort(rng.permutation(n)[:MOST_STARTED])
    some, share = torch.from_numpy(few), len(few) / n
    known = constraints.restricted(few)
    S, unlinked = _smoothers(inputs[some], Phi[some], known, k, ridge)
    here = [(np.floor(lo * share), np.ceil(hi * share)) for lo, hi in sizes]
    found, taken = find_groups(S, known, k, sizes=here, also_from=unlinked, rng=rng)
    bounds = next(each for each, some in zip(sizes, here, strict=True) if some is taken)
    if len(few) == n:
        return found
    near = NeighborIndex.of(inputs[some]).weights(inputs)
    start = assign(near @ np.eye(k)[found.codes], constraints, sizes=bounds)
    S, _ = _smoothers(inputs, Phi, constraints, k, ridge)
    return replace(solve(S, start, constraints, k, sizes=bounds), eigenvalues=found.eigenvalues)


def named_like(codes: Ints, before: Ints, first: int, k: int) -> Ints:
    """Give groups from the first that no label names the numbers under which most of their points went before.

    Parameters
    ----------
    codes, before : array of int, shape (n,)
        Groups now and before, -1 where a point had none.
    first : int
        Groups below it keep their numbers.
    k : int
        Number of groups.
    """
    free = np.arange(first, k)
    table = np.array([[((codes == c) & (before == d)).sum() for d in free] for c in free])
    place = np.arange(k)
    if table.size:
        place[free] = free[linear_sum_assignment(table, maximize=True)[1]]
    return np.asarray(place[codes])


def _smoothers(
    inputs: Tensor, Phi: Tensor, constraints: Constraints, k: int, ridge: float | Literal["auto"]
) -> tuple[Mean, list[Mean]]:
    """Return the mean of the smoothers; and, where links are known, that of the same without them."""
    metrics: tuple[Metric, ...] = ("euclidean", "cosine")
    graphs = [NeighborIndex.of(inputs, metric=metric).graph() for metric in metrics]
    linked = [with_links(W, constraints) for W in graphs]
    regression = RidgeSmoother(Phi, k, lam=ridge)

    def mean(graphs: list[csr_matrix]) -> Mean:
        return Mean([*(GraphSmoother(Propagation(W, leak=LEAK)) for W in graphs), regression])

    same = all(W is V for W, V in zip(graphs, linked, strict=True))
    return mean(linked), [] if same else [mean(graphs)]
