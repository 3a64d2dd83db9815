"""Better and better clusters by moving one item, or swapping two, as long as that helps.

Items are points or whole groups known to be together. What is known counts before the objective: a step that mends a
size or a cannot-link is always taken, one that breaks any never.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
STEPS_PER_ITEM = 50
SHORTLIST = 40  # items of each cluster that are tried for a swap with each other cluster
TOLERANCE = 1e-12
FORBIDDEN = np.iinfo(np.int64).max // 4


@dataclass(frozen=True, eq=False)
class Items:
    """What is to be clustered: ``min sum_j s_j w_j^p`` over the items in cluster j.

    Attributes
    ----------
    Q : array, shape (m, m)
        Symmetric; ``s_j`` is the sum of its entries among the items of cluster j.
    weight : array, shape (m,)
        ``w_j`` is the sum over the items of cluster j.
    power : int
        The exponent p.
    count : array of int, shape (m,)
        Points of each item.
    allowed : array of bool, shape (m, k)
        Clusters that each item may be in.
    apart : array of int64 of shape (m, m), or None
        One where two items must not share a cluster.
    lo, hi : array of int, shape (k,)
        Least and largest number of points of each cluster.
    """

    Q: Floats
    weight: Floats
    power: int
    count: Ints
    allowed: Bools
    apart: Ints | None
    lo: Ints
    hi: Ints

    @cached_property
    def constrained(self) -> bool:
        """Whether a size or a cannot-link can be broken at all."""
        return self.apart is not None or bool((self.lo > 0).any() or (self.hi < self.count.sum()).any())

    @cached_property
    def tolerance(self) -> float:
        """Change of the objective that may be rounding: far below the most that one item can bring about."""
        return float(TOLERANCE * np.abs(self.Q).sum(1).max() * self.weight.min() ** self.power)


@dataclass(frozen=True, eq=False)
class Descent:
    """Where a search ended.

    Attributes
    ----------
    labels : array of int, shape (m,)
        Cluster of each item.
    value : float
        ``sum_j s_j w_j^p``.
    violations : int
        Points too few or too many, and cannot-linked pairs of items that share a cluster.
    n_iter : int
        Moves and swaps made.
    converged : bool
        Whether no move or swap that was tried helps any more.
    """

    labels: Ints
    value: float
    violations: int
    n_iter: int
    converged: bool


def descend(items: Items, start: Ints, *, max_steps: int | None = None) -> Descent:
    """Go downhill from given clusters: the best move first; where none helps, the best swap.

    Parameters
    ----------
    items : Items
        What is to be clustered.
    start : array of int, shape (m,)
        Clusters to begin with, among those allowed.
    max_steps : int, optional
        Most moves and swaps; 50 per item by default.
    """
    state = _State(items, start)
    limit = STEPS_PER_ITEM * len(start) if max_steps is None else max_steps
    steps, converged = 0, False
    while steps < limit:
        step = state.best_move() or state.best_swap()
        if step is None:
            converged = True
            break
        for item, cluster in step:
            state.move(item, cluster)
        steps += 1
    return Descent(state.z, state.value(), state.violations(), steps, converged)


class _State:
    """Clusters of the items, and the sums from which every change of the objective follows."""

    def __init__(self, items: Items, start: Ints) -> None:
        self.items = items
        self.z = start.copy()
        self.all = np.arange(len(start))
        Y = np.eye(len(items.lo))[start]
        self.links = items.Q @ Y  # (m, k): of each item to each cluster
        self.s = (self.links * Y).sum(0)
        self.w = items.weight @ Y
        self.c: Ints = items.count @ Y.astype(np.int64)
        self.clashes = None if items.apart is None else items.apart @ Y.astype(np.int64)
        self.own = items.Q.diagonal()
        self.tolerance = items.tolerance

    def value(self) -> float:
        Y = np.eye(len(self.s))[self.z]  # anew, without the rounding that the updates have added up
        return float(self.cost(((self.items.Q @ Y) * Y).sum(0), self.items.weight @ Y, self.c).sum())

    def violations(self) -> int:
        clashing = 0 if self.clashes is None else int(self.clashes[self.all, self.z].sum()) // 2
        return int(self.amiss(self.c).sum()) + clashing

    def move(self, i: int, b: int) -> None:
        items, a = self.items, self.z[i]
        self.s[a] += self.own[i] - 2 * self.links[i, a]
        self.s[b] += self.own[i] + 2 * self.links[i, b]
        self.w[a] -= items.weight[i]
        self.w[b] += items.weight[i]
        self.c[a] -= items.count[i]
        self.c[b] += items.count[i]
        self.links[:, a] -= items.Q[i]
        self.links[:, b] += items.Q[i]
        if self.clashes is not None and items.apart is not None:
            self.clashes[:, a] -= items.apart[i]
            self.clashes[:, b] += items.apart[i]
        self.z[i] = b

    def best_move(self) -> list[tuple[int, int]] | None:
        change = self.move_changes()
        mended = self.move_mended() if self.items.constrained else np.zeros(change.shape, dtype=np.int64)
        mended[~self.items.allowed] = FORBIDDEN
        mended[self.all, self.z] = FORBIDDEN
        found = _best(change, mended, self.tolerance)
        return None if found is None else [(found[1], found[2])]

    def best_swap(self) -> list[tuple[int, int]] | None:
        """Best exchange of two items of different clusters; those that would lose least by moving are tried."""
        change = np.where(self.items.allowed, self.move_changes(), np.inf)
        best = None
        for a in range(len(self.c)):
            for b in range(a + 1, len(self.c)):
                out, back = self.shortlist(change, a, b), self.shortlist(change, b, a)
                if not (len(out) and len(back)):
                    continue
                found = _best(*self.swap_changes(out, back, a, b), self.tolerance)
                if found is not None and (best is None or found[0] < best[0]):
                    best = (found[0], [(int(out[found[1]]), b), (int(back[found[2]]), a)])
        return None if best is None else best[1]

    def move_changes(self) -> Floats:
        """Change of the objective by moving each item to each cluster, shape (m, k)."""
        items, a = self.items, self.z
        own, weight, count = self.own[:, None], items.weight[:, None], items.count[:, None]
        before = self.cost(self.s, self.w, self.c)
        left = self.s[a] - 2 * self.links[self.all, a] + self.own
        leave = self.cost(left, self.w[a] - items.weight, self.c[a] - items.count) - before[a]
        join = self.cost(self.s + 2 * self.links + own, self.w + weight, self.c + count) - before
        return leave[:, None] + join

    def move_mended(self) -> Ints:
        """Change of the violations by moving each item to each cluster, shape (m, k)."""
        count, amiss = self.items.count[:, None], self.amiss(self.c)
        leave = self.amiss(self.c - count) - amiss
        change = leave[self.all, self.z][:, None] + self.amiss(self.c + count) - amiss
        if self.clashes is not None:
            change += self.clashes - self.clashes[self.all, self.z][:, None]
        return change

    def shortlist(self, change: Floats, a: int, b: int) -> Ints:
        """Items of cluster a that may go to b, those that would cost least."""
        there = np.flatnonzero((self.z == a) & np.isfinite(change[:, b]))
        if len(there) <= SHORTLIST:
            return there
        return there[np.argpartition(change[there, b], SHORTLIST)[:SHORTLIST]]

    def swap_changes(self, out: Ints, back: Ints, a: int, b: int) -> tuple[Floats, Ints]:
        """Changes of objective and violations by exchanging items of a and b, each of shape (len(out), len(back))."""
        items = self.items
        both = self.own[out][:, None] + self.own[back]
        between = 2 * items.Q[np.ix_(out, back)]
        # Cluster a loses the row's item and gains the column's, whose link to a still counts the one that left.
        s_a = self.s[a] + both + 2 * (self.links[back, a] - self.links[out, a][:, None]) - between
        s_b = self.s[b] + both + 2 * (self.links[out, b][:, None] - self.links[back, b]) - between
        weight = items.weight[back] - items.weight[out][:, None]
        count = items.count[back] - items.count[out][:, None]
        before = self.cost(self.s, self.w, self.c)
        after = self.cost(s_a, self.w[a] + weight, self.c[a] + count)
        after = after + self.cost(s_b, self.w[b] - weight, self.c[b] - count)
        lo, hi = items.lo, items.hi
        mended = _outside(self.c[a] + count, lo[a], hi[a]) + _outside(self.c[b] - count, lo[b], hi[b])
        mended = mended - self.amiss(self.c)[[a, b]].sum()
        if self.clashes is not None and items.apart is not None:
            leaving = (self.clashes[out, b] - self.clashes[out, a])[:, None]
            coming = self.clashes[back, a] - self.clashes[back, b]
            mended = mended + leaving + coming - 2 * items.apart[np.ix_(out, back)]
        return after - before[a] - before[b], mended

    def cost(self, s: Floats, w: Floats, c: Ints) -> Floats:
        """What a cluster adds to the objective; nothing where it holds no point, whatever rounding has left of w."""
        if self.items.power == 0:
            return s
        return np.where(c > 0, s * np.where(c > 0, w, 1.0) ** float(self.items.power), 0.0)

    def amiss(self, c: Ints) -> Ints:
        """Points too few or too many."""
        return _outside(c, self.items.lo, self.items.hi)


def _outside(c: Ints, lo: Ints, hi: Ints) -> Ints:
    wrong: Ints = np.maximum(lo - c, 0) + np.maximum(c - hi, 0)
    return wrong


def _best(change: Floats, mended: Ints, tolerance: float) -> tuple[tuple[int, float], int, int] | None:
    """Find the step that mends most, or, where none mends, lowers the objective most without harm."""
    least = min(int(mended.min()), 0)
    considered = np.where(mended == least, change, np.inf)
    row, column = divmod(int(considered.argmin()), change.shape[1])
    lowest = float(considered[row, column])
    if least == 0 and not lowest < -tolerance:
        return None
    return (least, lowest), row, column
