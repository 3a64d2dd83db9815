"""Can any matrix meet the bounds and the known entries? Asked before iterating, answered with names of rows.

Two kinds of answers. Row by row: a row's known ones may exceed its maximum, or the places that are left to it
(and what the other points can still take) may fall short of its minimum. These are checked always. Jointly: rows
that are fine one by one may compete for the same few places. By Hoffman's circulation theorem that needs many known
entries; only when a count cannot rule it out is a small linear programme solved, over classes of
interchangeable points instead of points.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import torch
from scipy.optimize import linprog
from scipy.sparse import coo_matrix, hstack, identity, vstack
from torch import Tensor

from xsdc.core.known import Known, both_orders
from xsdc.errors import InfeasibleError
from xsdc.validation import named

MAX_CLASSES = 200  # of interchangeable points: 20,000 variables, solved in well under a second
SLACK = 1e-9  # relative; what rounding may leave of an exactly tight bound


def check_feasible(known: Known, lo: Tensor, hi: Tensor, *, cap: float | None) -> bool:
    """Raise if no ``M >= 0`` has the known entries, row and column sums in [lo, hi] and entries up to the cap.

    Parameters
    ----------
    known : Known
        Fixed entries.
    lo, hi : Tensor of float64, shape (n,)
        Bounds on the sums of row and column i: the size of the group that point i is in.
    cap : float or None
        Largest entry. Without one, an entry still stands for "same group", so that a row's known zeros
        are held against ``lo`` as if the cap were 1.

    Returns
    -------
    bool
        True where some M is sure to exist; False where it stays open, because the known entries tell more classes
        of points apart than the joint check takes on.

    Raises
    ------
    InfeasibleError
        With the offending rows in the message and in its ``rows``.
    """
    ones = known.ones_per_row().to(lo)
    unknown = known.n - ones - known.zeros_per_row()
    slack = SLACK * hi

    over = _where(ones > hi + slack)
    if over:
        i = over[0]
        raise InfeasibleError(
            f"Point {i} is known to be in a group of {ones[i]:g}, above its maximum size of {hi[i]:g}"
            f" (points {named(over)}). Raise the maximum or drop some must-links.",
            rows=over,
        )
    capacity = ones + (1.0 if cap is None else cap) * unknown
    short = _where(capacity < lo - slack)
    if short:
        i = short[0]
        different = int(known.zeros_per_row()[i])
        why = f"{different} points are known to be in other groups" if different else f"entries are at most {cap:g}"
        raise InfeasibleError(
            f"Point {i} can reach a group of at most {capacity[i]:g}, below its minimum size of {lo[i]:g}: {why}"
            f" (points {named(short)}). Lower the minimum"
            + (" or drop some cannot-links." if different else " or raise the cap."),
            rows=short,
        )
    demand, room = (lo - ones).clamp(min=0), (hi - ones).clamp(min=0)
    rows, cols = both_orders(torch.cat([known.ones, known.zeros]))
    partners = room.sum() - room - torch.zeros_like(room).index_add_(0, rows, room[cols])
    starved = _where(demand > partners * (1 + SLACK) + slack)
    if starved:
        _raise_competing(starved, lo)
    return _surely_feasible(demand, room, known.n - unknown, cap=cap) or _check_jointly(
        known, demand, room, lo, hi, cap=cap
    )


def _surely_feasible(demand: Tensor, room: Tensor, n_known: Tensor, *, cap: float | None) -> bool:
    """Rule out competition for places by counting.

    A set S of rows can only be starved if it is known against all columns outside its places N(S); then
    both |S| and n - |N(S)| are at most the largest number of known entries in a row.
    """
    n, most = len(demand), int(n_known.max())
    if cap is None:
        return bool(most * demand.max() <= (n - most) * room.min())
    # One value for all unknown entries, if there is one that suits every row.
    places = (n - n_known).clamp(min=1)
    return bool((demand / places).max() <= torch.clamp((room / places).min(), max=cap))


def _check_jointly(known: Known, demand: Tensor, room: Tensor, lo: Tensor, hi: Tensor, *, cap: float | None) -> bool:
    """Solve for one entry value per pair of classes of interchangeable points; averaging shows that is enough."""
    group, sizes = _interchangeable(known, lo, hi)
    G = len(sizes)
    if G > MAX_CLASSES:
        return False  # left to the iteration, whose residuals tell
    first = np.full(G, known.n)
    np.minimum.at(first, group, np.arange(known.n))
    rows, cols = (x.cpu().numpy() for x in both_orders(torch.cat([known.ones, known.zeros])))
    count = np.tile(sizes, (G, 1)).astype(float)  # places in class b that a point of class a has left
    count[np.arange(G), np.arange(G)] -= 1  # the diagonal
    mine = np.isin(rows, first)
    np.subtract.at(count, (group[rows[mine]], group[cols[mine]]), 1)

    a, b = np.nonzero(np.triu(count > 0))
    pair = np.arange(len(a))
    off = a != b
    sums = coo_matrix(
        (np.r_[count[a, b], count[b, a][off]], (np.r_[a, b[off]], np.r_[pair, pair[off]])), shape=(G, len(a))
    )
    d, r = demand.cpu().numpy()[first], room.cpu().numpy()[first]
    none = coo_matrix((G, G))
    answer = linprog(
        np.r_[np.zeros(len(a)), sizes],  # points whose demand is left open
        A_ub=vstack([hstack([-sums, -identity(G)]), hstack([sums, none])]),
        b_ub=np.r_[-d, r],
        bounds=[(0, cap)] * len(a) + [(0, None)] * G,
        method="highs",
    )
    if answer.status != 0:
        return False
    missing = answer.x[len(a) :] > 1e-7 * np.maximum(lo.cpu().numpy()[first], 1)
    if missing.any():
        _raise_competing(np.flatnonzero(missing[group]).tolist(), lo)
    return True


def _interchangeable(known: Known, lo: Tensor, hi: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Group points that the known entries and bounds do not tell apart.

    Each row gets the sum of random numbers drawn for its known entries. Twins agree in it either as it is
    or after each counts itself as equal (known to be together) or as different (known to be apart).
    """
    rng = np.random.default_rng(0)
    same, different = rng.integers(1, 2**62, size=(2, known.n))
    signature = np.zeros(known.n, dtype=np.int64)
    for pairs, number in ((known.ones, same), (known.zeros, different)):
        rows, cols = (x.cpu().numpy() for x in both_orders(pairs))
        np.add.at(signature, rows, number[cols])
    bounds = np.stack([lo.cpu().numpy(), hi.cpu().numpy()], 1)
    _, bound_class = np.unique(bounds, axis=0, return_inverse=True)
    signature = signature + rng.integers(1, 2**62, size=known.n)[bound_class.ravel()]
    key = signature.copy()
    for own in (same, different):
        candidate = signature + own
        _, inverse, counts = np.unique(candidate, return_inverse=True, return_counts=True)
        twins = counts[inverse] > 1
        key[twins] = candidate[twins]
    _, group, sizes = np.unique(key, return_inverse=True, return_counts=True)
    return group, sizes


def _where(mask: Tensor) -> list[int]:
    found: list[int] = mask.nonzero().flatten().tolist()
    return found


def _raise_competing(rows: list[int], lo: Tensor) -> NoReturn:
    raise InfeasibleError(
        f"No matrix meets the bounds: the points that {named(rows)} may still be grouped with cannot take all of"
        f" them up to their minimum size ({lo[rows[0]]:g} for point {rows[0]}). Lower the minimum, raise the maximum"
        " or drop some constraints.",
        rows=rows,
    )
