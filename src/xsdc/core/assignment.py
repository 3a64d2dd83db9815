"""From scores to one class per point, honouring what is known: labels, "same", "one of these", "different", sizes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix, identity, kron

from xsdc.core.constraints import Constraints

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SWEEPS = 20
PRICE_SWEEPS, FEW_SWEEPS = 200, 5  # over the prices of classes, from the beginning and from prices that are near
MOST_PRICED = 5000  # groups by which prices are first found
MOST_WHOLE, MOST_NODES = 500, 1000  # integer groups of branch and bound, and its nodes


def assign(
    scores: Floats,
    constraints: Constraints,
    *,
    sizes: tuple[Floats, Floats] | None = None,
    prices: Floats | None = None,
) -> Ints:
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
    prices : array, shape (k,), optional
        Where the search for prices of the classes starts, for scores like those of an earlier call. It is then short,
        and what it finds is left in this array.

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
        choice = _within_sizes(total, weight, *sizes, prices=prices)
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


def _within_sizes(total: Floats, weight: Ints, lo: Floats, hi: Floats, *, prices: Floats | None) -> Ints:
    """Choose the classes of highest total score whose sizes are within bounds: a transport problem.

    Its dual has a price for each class, per point, and every group takes the class with the best score after the price.
    Groups of several points may leave a bound unmet; then those that lose least are moved, and where that does not do
    either, whole groups are assigned by branch and bound.
    """
    first = prices is None
    sweeps = PRICE_SWEEPS if first else FEW_SWEEPS
    prices = np.zeros(total.shape[1]) if prices is None else prices
    step = len(total) // MOST_PRICED
    if first and step > 1:  # prices of a sample are near those of all
        share = weight[::step].sum() / weight.sum()
        _ascend(total[::step], weight[::step], lo * share, hi * share, prices=prices, sweeps=sweeps)
        sweeps = FEW_SWEEPS
    _ascend(total, weight, lo, hi, prices=prices, sweeps=sweeps)
    choice = _repaired(total, (total - weight[:, None] * prices).argmax(1), weight, lo, hi)
    unmet = outside_sizes(np.repeat(choice, weight), (lo, hi))
    if unmet and first and len(total) <= MOST_PRICED and weight.max() > 1:
        choice = _branch_and_bound(total, choice, weight, lo, hi)
    return choice


def _branch_and_bound(total: Floats, choice: Ints, weight: Ints, lo: Floats, hi: Floats) -> Ints:
    """Meet sizes exactly with groups of several points, a knapsack problem; return ``choice`` where no way is found.

    Only the largest groups are integer variables; single points are moved afterwards. The search is limited by nodes
    and not by seconds, so that its result does not depend on the load of the machine.
    """
    n_groups, k = total.shape
    possible = np.isfinite(total)
    whole = np.argsort(-weight, kind="stable")[:MOST_WHOLE]
    result = milp(
        -np.where(possible, total, 0.0).ravel(),
        integrality=np.repeat(np.isin(np.arange(n_groups), whole[weight[whole] > 1]), k).astype(np.int64),
        bounds=Bounds(0, possible.ravel().astype(np.float64)),
        constraints=[
            LinearConstraint(kron(weight[None, :].astype(np.float64), identity(k), format="csr"), lo, hi),
            LinearConstraint(kron(identity(n_groups), np.ones((1, k)), format="csr"), 1, 1),
        ],
        options={"node_limit": MOST_NODES, "mip_rel_gap": 0.01},
    )
    if result.x is None:
        return choice
    return _repaired(total, result.x.reshape(n_groups, k).argmax(1), weight, lo, hi)


def _ascend(total: Floats, weight: Ints, lo: Floats, hi: Floats, *, prices: Floats, sweeps: int) -> None:
    """Ascend the dual, one price after the other, in place.

    A price is zero where the class then is within its bounds, otherwise the one nearest to zero that brings it there.
    """
    for _ in range(sweeps):
        before = prices.copy()
        counts = np.bincount((total - weight[:, None] * prices).argmax(1), weight, minlength=len(prices))
        for c in np.flatnonzero((counts < lo) | (counts > hi) | (prices != 0)):
            prices[c] = _price(total, weight, prices, int(c), (lo[c], hi[c]))
        if (prices == before).all():
            break


def _price(total: Floats, weight: Ints, prices: Floats, c: int, bounds: tuple[float, float]) -> float:
    """Price of a class nearest to zero at which its size is within bounds, the other prices being as they are."""
    lo, hi = bounds
    rest = total - weight[:, None] * prices
    rest[:, c] = -np.inf
    with np.errstate(invalid="ignore"):
        margin = (total[:, c] - rest.max(1)) / weight  # the price at which a group leaves the class
    margin = np.where(np.isnan(margin), -np.inf, margin)
    size = weight[margin > 0].sum()
    if lo <= size <= hi:
        return 0.0
    order = np.argsort(-margin, kind="stable")
    taken = np.cumsum(weight[order])
    # The class takes the groups before this place: as many as fit, or as few as suffice.
    place = int(np.searchsorted(taken, hi, side="right") if size > hi else np.searchsorted(taken, lo) + 1)
    ends = np.concatenate([[np.inf], margin[order], [-np.inf]])
    inside, outside = ends[min(place, len(weight))], ends[min(place, len(weight)) + 1]
    if np.isfinite(inside) and np.isfinite(outside):
        return float((inside + outside) / 2)
    if np.isfinite(inside):
        return float(inside - 1)
    return float(outside + 1) if np.isfinite(outside) else 0.0


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
