"""From scores to one class per point, honouring what is known: labels, "same", "one of these", "different", sizes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, identity, kron, vstack

from xsdc.core.constraints import Constraints

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SWEEPS = 20
MOST_GROUPS = 5000  # whose classes are found by one linear programme; it takes seconds
MOST_SECONDS = 2.0  # for solutions that split no group


def assign(scores: Floats, constraints: Constraints, *, sizes: tuple[Floats, Floats] | None = None) -> Ints:
    """Give each point the class it scores highest in, among those that what is known allows.

    Points known to be together share their scores. Labels, must-links and allowed classes are always met, then
    cannot-links, one after the other, which may fail where the classes hardly suffice: such a pair then shares a class
    (see :func:`violated_links`). Sizes are met as far as these let them (see :func:`outside_sizes`).

    Parameters
    ----------
    scores : array, shape (n, k)
        The higher, the more a point belongs to a class; minus infinity where it cannot.
    constraints : Constraints
        What is known of the n points.
    sizes : pair of arrays, each of shape (k,), optional
        Least and largest number of points of each class.

    Returns
    -------
    array of int64, shape (n,)
    """
    group = constraints.group
    weight = np.bincount(group)
    k = scores.shape[1]
    allowed = constraints.allowed[constraints.group_set][:, :k]  # (groups, k)
    total: Floats = np.zeros((len(weight), k))
    np.add.at(total, group, scores)
    total[~allowed] = -np.inf
    # What is known comes before scores: where they leave a group no class, any that is allowed will do.
    total = np.where(np.isfinite(total).any(1, keepdims=True) | ~allowed, total, 0.0)
    choice: Ints = total.argmax(1)
    if sizes is not None:
        choice = _within_sizes(total, choice, weight, *sizes)
    if constraints.apart.nnz:
        choice = _separated(total, choice, weight, constraints.apart)
        if sizes is not None:
            choice = _repaired(total, choice, weight, *sizes, apart=constraints.apart)
    return choice[group]


def outside_sizes(codes: Ints, sizes: tuple[Floats, Floats]) -> int:
    """Count the points by which classes are too small or too large; a point that should change class counts once."""
    counts = np.bincount(codes, minlength=len(sizes[0]))
    lo, hi = sizes
    return int(max(np.maximum(lo - counts, 0).sum(), np.maximum(counts - hi, 0).sum()))


def violated_links(codes: Ints, constraints: Constraints) -> int:
    """Count the cannot-linked pairs of groups that share a class."""
    of_group = np.empty(constraints.apart.shape[0], dtype=np.int64)
    of_group[constraints.group] = codes
    pairs = constraints.apart.tocoo()
    return int((of_group[pairs.row] == of_group[pairs.col]).sum() // 2)


def _within_sizes(total: Floats, choice: Ints, weight: Ints, lo: Floats, hi: Floats) -> Ints:
    """Choose the classes of highest total score whose sizes are within bounds: a transport problem.

    Its linear programme has a whole solution where all groups are single points. Where it splits a larger one, whole
    solutions are searched for a while; if none is found, a group goes to the class with its larger part.
    """
    k = total.shape[1]
    counts = np.bincount(choice, weight, minlength=k)
    if (counts >= lo).all() and (counts <= hi).all():
        return choice
    if len(total) > MOST_GROUPS:
        return _repaired(total, _priced(total, weight, lo, hi), weight, lo, hi)
    solution = _transport(total, weight, lo, hi)
    if solution is None:
        return choice
    counts = np.bincount(solution[0], weight, minlength=k)
    if (counts >= lo).all() and (counts <= hi).all():
        return solution[0]
    whole = _transport(total, weight, lo, hi, whole=True)
    return _repaired(total, solution[0], weight, lo, hi) if whole is None else whole[0]


def _transport(
    total: Floats, weight: Ints, lo: Floats, hi: Floats, *, whole: bool = False
) -> tuple[Ints, Floats] | None:
    """Solve the linear programme: classes, and what each class costs at its bounds; None where nothing meets them.

    With ``whole`` no group is split, and what is found in a limited time is taken, within a hundredth of the best.
    """
    groups, k = total.shape
    possible = np.isfinite(total)
    sums = kron(weight[None, :].astype(np.float64), identity(k))
    result = linprog(
        -np.where(possible, total, 0.0).ravel(),
        A_ub=vstack([sums, -sums], format="csr"),
        b_ub=np.concatenate([hi, -lo]),
        A_eq=kron(identity(groups), np.ones((1, k)), format="csr"),
        b_eq=np.ones(groups),
        bounds=np.stack([np.zeros(groups * k), possible.ravel().astype(np.float64)], 1),
        method="highs",
        integrality=1 if whole else 0,
        options={"time_limit": MOST_SECONDS, "mip_rel_gap": 0.01} if whole else {},
    )
    if result.x is None:  # nothing that was found meets the bounds
        return None
    best: Ints = result.x.reshape(groups, k).argmax(1)
    if whole:
        return best, np.zeros(k)
    marginals = result.ineqlin.marginals  # zero or less: what the best total would gain by a wider bound
    return best, marginals[k:] - marginals[:k]


def _priced(total: Floats, weight: Ints, lo: Floats, hi: Floats) -> Ints:
    """Nearly meet sizes for many groups: prices of the classes are found by some of them, and all choose by those."""
    some = np.linspace(0, len(total) - 1, MOST_GROUPS).round().astype(np.int64)
    share = weight[some].sum() / weight.sum()
    solution = _transport(total[some], weight[some], np.floor(lo * share), np.ceil(hi * share))
    prices = np.zeros(total.shape[1]) if solution is None else solution[1]
    choice: Ints = (total - weight[:, None] * prices).argmax(1)
    return choice


def _repaired(
    total: Floats, choice: Ints, weight: Ints, lo: Floats, hi: Floats, *, apart: csr_matrix | None = None
) -> Ints:
    """Move groups out of classes that are too large, then into those too small, those that lose least first.

    None moves to where one is that it must be apart from.
    """
    choice, k = choice.copy(), total.shape[1]

    def clashes(g: int, c: int) -> bool:
        return apart is not None and bool((choice[apart.indices[apart.indptr[g] : apart.indptr[g + 1]]] == c).any())

    for _ in range(2 * k):
        counts = np.bincount(choice, weight, minlength=k)
        over, under = counts - hi, lo - counts
        if over.max() <= 0 and under.max() <= 0:
            break
        growing = over.max() <= 0
        c = int(under.argmax() if growing else over.argmax())
        own = np.take_along_axis(total, choice[:, None], 1)[:, 0]
        if growing:  # from classes that can spare them
            movers, into = np.flatnonzero((choice != c) & (counts[choice] > lo[choice])), np.full(len(total), c)
        else:
            room = np.where(counts < hi, total, -np.inf)
            room[:, c] = -np.inf
            movers, into = np.flatnonzero(choice == c), room.argmax(1)
        loss = own[movers] - total[movers, into[movers]]
        if growing:
            loss = np.where(np.isfinite(loss), loss, np.inf)
        left = {d: counts[d] - lo[d] if growing else hi[d] - counts[d] for d in range(k)}
        need = under[c] if growing else over[c]
        for g in movers[np.argsort(loss, kind="stable")]:
            side = int(choice[g] if growing else into[g])
            if need <= 0 or not np.isfinite(total[g, into[g]]):
                break
            if weight[g] <= left[side] and not clashes(g, into[g]):
                choice[g], need = into[g], need - weight[g]
                left[side] -= weight[g]
    return choice


def _separated(total: Floats, choice: Ints, weight: Ints, apart: csr_matrix) -> Ints:
    """Move groups out of the class of those they cannot be with.

    The surest ones stay; each that follows and clashes takes its best class that none of them holds. Where there is
    none, groups move to where they clash least, those that lose least first.
    """
    choice = choice.copy()
    neighbours = {g: apart.indices[apart.indptr[g] : apart.indptr[g + 1]] for g in np.unique(apart.nonzero()[0])}
    ranked = np.sort(np.maximum(total, np.nanmin(total[np.isfinite(total)]) - 1), axis=1)
    margin = ranked[:, -1] - ranked[:, -2] if total.shape[1] > 1 else weight.astype(np.float64)
    order = sorted(neighbours, key=lambda g: -margin[g])
    placed: set[int] = set()
    for g in order:  # like colouring a graph
        taken = {int(choice[h]) for h in neighbours[g] if h in placed}
        scores = total[g].copy()
        scores[list(taken)] = -np.inf
        if int(choice[g]) in taken and np.isfinite(scores).any():
            choice[g] = scores.argmax()
        placed.add(g)
    # Then repair. A clash counts as much as the other side would lose by moving, so that it is passed on to whoever
    # loses least, until someone can step aside.
    weights = margin + 0.1 * margin[order].mean() + np.finfo(np.float64).tiny
    for _ in range(SWEEPS):
        moved = False
        for g in reversed(order):
            others = neighbours[g]
            clashes = np.bincount(choice[others], weights[others], minlength=total.shape[1])
            if not clashes[choice[g]]:
                continue
            clashes[~np.isfinite(total[g])] = np.inf
            best = np.lexsort((-total[g], clashes))[0]
            if clashes[best] < clashes[choice[g]]:
                choice[g], moved = best, True
        if not moved:
            break
    return choice
