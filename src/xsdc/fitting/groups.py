"""Classes by the solver over all points: groups, where labels do not name all classes, and what follows from labels.

The solver finds classes that two neighbour graphs and ridge regressions explain (`xsdc.core.grouping`). Where labels
name every class, its solution is one more opinion for `xsdc.fitting.ensemble`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from torch import Tensor

from xsdc.core.assignment import assign, outside_sizes
from xsdc.core.constraints import Constraints, close
from xsdc.core.grouping import (
    GraphSmoother,
    Grouping,
    Mean,
    RidgeSmoother,
    Sizes,
    find_groups,
    match_classes,
    solve,
    with_links,
)
from xsdc.defaults import DEFAULTS
from xsdc.fitting.points import in_turn
from xsdc.fitting.views import View

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MOST_STARTED = 3000  # points by which the best of several starts is found; the others follow from there


class Inputs:
    """What the solver looks at: representations whose neighbours graphs join, and features for regressions.

    Parameters
    ----------
    inputs : View
        Representation of the n inputs, for graphs and a ridge regression.
    learned : Tensor, shape (n, D), or None
        Learned features, for another regression; none where nothing was learned.
    ridge : float or "auto"
        lambda of the regressions.
    """

    def __init__(self, inputs: View, learned: Tensor | None, *, ridge: float | Literal["auto"]) -> None:
        self.inputs, self.learned, self.ridge = inputs, learned, ridge

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, points: Ints) -> Inputs:
        learned = None if self.learned is None else self.learned[torch.from_numpy(points)]
        return Inputs(self.inputs[points], learned, ridge=self.ridge)

    def smoothers(self, constraints: Constraints, k: int, *, leak: float) -> tuple[Mean, list[Mean]]:
        """Return the mean of the smoothers; and, where links are known, that of the same without them."""
        graphs = [self.inputs.graph(metric) for metric in self.inputs.metrics]
        linked = [with_links(W, constraints) for W in graphs]
        features = (self.inputs.Z, *([] if self.learned is None else [self.learned]))
        regressions = [RidgeSmoother(Phi, k, lam=self.ridge) for Phi in features]

        def mean(graphs: list[csr_matrix]) -> Mean:
            return Mean([*(GraphSmoother(W, leak=leak) for W in graphs), *regressions])

        same = all(W is V for W, V in zip(graphs, linked, strict=True))
        return mean(linked), [] if same else [mean(graphs)]


def group_points(
    inputs: Inputs,
    constraints: Constraints,
    k: int,
    *,
    sizes: Sequence[Sequence[Sizes]],
    start: Ints | None = None,
    rng: np.random.RandomState,
) -> Grouping:
    """Group points under what is known of them.

    Parameters
    ----------
    inputs : Inputs
        Of n points.
    constraints : Constraints
        What is known of them.
    k : int
        Number of groups.
    sizes : sequence of sequences of pairs of arrays, each of shape (k,)
        Least and largest number of points of each, as for `find_groups`.
    start : array of int, shape (n,), optional
        Groups found before, to be improved; by default the best of several starts is.
    rng : RandomState
        Source of randomness.
    """
    n = len(inputs)
    if start is not None:
        return _improved(inputs, start, constraints, k, sizes=sizes)
    few = np.arange(n)
    if n > MOST_STARTED:
        few = np.sort(rng.permutation(n)[:MOST_STARTED])
    known = constraints.restricted(few)
    some = inputs if len(few) == n else inputs[few]
    S, unlinked = some.smoothers(known, k, leak=walk_leak(len(few), k))
    here = [sizes_among(way, len(few) / n) for way in sizes]
    found, taken = find_groups(S, known, k, sizes=here, also_from=unlinked, rng=rng)
    if len(few) == n:
        return found
    bounds = next(way[-1] for way, some in zip(sizes, here, strict=True) if some[-1] is taken)
    near = some.inputs.index().weights(inputs.inputs.Z)
    start = assign(near @ np.eye(k)[found.codes], constraints, sizes=bounds)
    S, _ = inputs.smoothers(constraints, k, leak=_leak_of_all(n, k))
    (solved,) = solve(S, [start], constraints, k, sizes=bounds)
    return replace(solved, eigenvalues=found.eigenvalues)


def _improved(
    inputs: Inputs, start: Ints, constraints: Constraints, k: int, *, sizes: Sequence[Sequence[Sizes]]
) -> Grouping:
    """Improve groups within the first bounds that they meet."""
    bounds = next((way[-1] for way in sizes if outside_sizes(start, way[-1]) == 0), sizes[-1][-1])
    S, _ = inputs.smoothers(constraints, k, leak=_leak_of_all(len(inputs), k))
    return solve(S, [start], constraints, k, sizes=bounds)[0]


def beyond_chance(inputs: Inputs, groupings: Sequence[Ints], k: int) -> list[float]:
    """Share that the same graphs and regressions explain of several groupings, beyond chance; without links."""
    n = len(inputs)
    S, _ = inputs.smoothers(close(n, n_classes=k), k, leak=_leak_of_all(n, k))
    found = []
    for codes in groupings:
        Y = np.eye(k)[codes]
        found.append(Grouping(codes, float((Y * S(Y)).sum()) / n, 0, True).beyond_chance)
    return found


def _leak_of_all(n: int, k: int) -> float:
    """How soon walks end where all points are solved for, at the pace of a few thousand where there are more."""
    return walk_leak(n, k) if n <= MOST_STARTED else DEFAULTS.longest_leak


class LabelSolver:
    """Classes that follow from labels, by the solver.

    Parameters
    ----------
    inputs : Inputs
        Of all n points.
    classes : array of int, shape (n,)
        Their classes, -1 where unknown; they only decide which points are solved for, where there are too many.
    k : int
        Number of classes.
    sizes : sequence of pairs of arrays, each of shape (k,)
        Least and largest number of points of each group, from narrow to wide, where groups are found without labels.
    wide : pair of arrays, each of shape (k,)
        Least and largest number of points of each class, where labels are known.
    allowed : mapping from position to classes, optional
        Of points that may only be of some classes.
    rng : RandomState
        Source of randomness.
    """

    WAYS = ("solution from labels", "solution from groups")

    def __init__(
        self,
        inputs: Inputs,
        classes: Ints,
        k: int,
        *,
        sizes: Sequence[Sizes],
        wide: Sizes,
        allowed: Mapping[int, Sequence[int]] | None = None,
        rng: np.random.RandomState,
    ) -> None:
        n = len(inputs)
        self._points, self._near, some = choose_solved(classes, rng), None, inputs
        if n > len(self._points):
            some = inputs[self._points]
            self._near = some.inputs.index().weights(inputs.inputs.Z)
        m = len(self._points)
        self._k = k
        (self._wide,) = sizes_among([wide], m / n)
        place = dict(zip(self._points.tolist(), range(m), strict=True))
        self._allowed = {place[point]: some for point, some in (allowed or {}).items() if point in place}
        nothing = close(m, n_classes=k)
        self._S, _ = some.smoothers(nothing, k, leak=walk_leak(m, k))
        self._groups = find_groups(self._S, nothing, k, sizes=[sizes_among(sizes, m / n)], rng=rng)[0].codes

    def scores(self, labeled: Ints, codes: Ints) -> Floats:
        """Solve from labels, and from groups found without them, shape (2, n, k).

        Of each point the scores are how much of each class is around it in the solution, by the smoother; of points
        that are not solved for, the mean of their neighbors.
        """
        m, k = len(self._points), self._k
        place = np.searchsorted(self._points, labeled).clip(max=m - 1)
        here = self._points[place] == labeled
        classes = np.full(m, -1)
        classes[place[here]] = codes[here]
        constraints = close(m, labels=classes, allowed=self._allowed, n_classes=k)
        labels = np.eye(k)[classes] * (classes >= 0)[:, None]
        named = labels.any(axis=0).all()
        sizes = self._wide if named else None  # a class without labels may be anywhere
        spread = self._S(labels / np.maximum(labels.sum(axis=0), 1))
        starts = (
            assign(spread, constraints, sizes=sizes),
            match_classes(self._groups, constraints, k, sizes=sizes),
        )
        solutions = [found.codes for found in solve(self._S, starts, constraints, k, sizes=sizes)]
        scores = self._S(np.concatenate([np.eye(k)[codes] for codes in solutions], axis=1))
        scores = scores if self._near is None else self._near @ scores
        return np.stack(np.split(scores, len(solutions), axis=1))


def choose_solved(classes: Ints, rng: np.random.RandomState) -> Ints:
    """Choose points that are solved for: all, or as many as are allowed, up to half of them labeled ones."""
    n = len(classes)
    if n <= MOST_STARTED:
        return np.arange(n)
    known = in_turn(rng.permutation(np.flatnonzero(classes >= 0)), classes)[: MOST_STARTED // 2]
    others = np.setdiff1d(np.arange(n), known)
    return np.sort(np.r_[known, rng.permutation(others)[: MOST_STARTED - len(known)]])


def walk_leak(n: int, k: int) -> float:
    """How soon walks end on a graph of n points in k classes."""
    return min(DEFAULTS.longest_leak, k / (DEFAULTS.walk * n))


def sizes_among(sizes: Sequence[Sizes], share: float) -> list[Sizes]:
    """Bounds on sizes among a share of the points."""
    return [(np.floor(lo * share), np.ceil(hi * share)) for lo, hi in sizes]


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
