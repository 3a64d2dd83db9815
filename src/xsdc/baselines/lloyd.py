"""k-means whose labeled points keep their classes, in any space that tells the distances of points to groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Space(Protocol):
    """Squared distances of n points; see :class:`xsdc.baselines.euclidean.Euclidean`.

    Attributes
    ----------
    n : int
        Number of points.
    rounding : array, shape (n,)
        Squared distances of each point that are no more than this may be zero.
    """

    n: int
    rounding: Floats

    def to_points(self, points: Ints) -> Floats:
        """Distances to some of the points."""

    def to_groups(self, labels: Ints, k: int) -> Floats:
        """Distances to the means of groups, infinite where empty; points labeled -1 are in none."""

    def inertia(self, labels: Ints, k: int) -> float:
        """Sum of the distances of all points to the means of their own groups."""


@dataclass(frozen=True)
class Run:
    """Where one start of k-means has led.

    Attributes
    ----------
    labels : array of int, shape (n,)
        Group of each point.
    inertia : float
        Sum of squared distances to the means of the groups.
    n_iter : int
        Times that all points were compared with the means.
    converged : bool
        Whether the last time moved no point.
    """

    labels: Ints
    inertia: float
    n_iter: int
    converged: bool


def start_distances(space: Space, seeds: Ints, k: int, rng: np.random.RandomState) -> Floats:
    """Distances of all points to k centres to start from.

    Classes with labeled points start from their mean, the others by k-means++: a free point is chosen with a
    probability in proportion to its squared distance to the centres so far; of several candidates the one that lowers
    the sum of distances most. Where no free point is left away from all centres, classes stay without a start.

    Parameters
    ----------
    space : Space
        Distances of the points.
    seeds : array of int, shape (n,)
        Classes given, -1 where none.
    k : int
        Number of classes.
    rng : RandomState
        Source of randomness.
    """
    D = space.to_groups(seeds, k) if (seeds >= 0).any() else np.full((space.n, k), np.inf)
    free = seeds < 0
    candidates = 2 + int(np.log(k))
    for c in np.setdiff1d(np.arange(k), seeds):
        closest = D.min(1)
        weight = np.where(np.isinf(closest), 1.0, np.where(closest > space.rounding, closest, 0.0)) * free
        if not weight.any():
            break
        tried = rng.choice(space.n, size=candidates if np.isfinite(closest).any() else 1, p=weight / weight.sum())
        to_tried = space.to_points(tried)
        best = np.minimum(closest[:, None], to_tried).sum(0).argmin()
        D[:, c] = to_tried[:, best]
    return D


def run_lloyd(space: Space, start: Floats, seeds: Ints, *, max_iter: int) -> Run:
    """Move points to the nearest centre and centres to the mean of their points, in turn, until nothing moves.

    Parameters
    ----------
    space : Space
        Distances of the points.
    start : array, shape (n, k)
        Distances to the centres to start from.
    seeds : array of int, shape (n,)
        Classes of points that stay where they are, -1 for the others.
    max_iter : int
        Largest number of times that points move.
    """
    k = start.shape[1]
    labels = _nearest(space, start, seeds)
    D = space.to_groups(labels, k)
    spread = _own(D, labels).sum()
    n_iter, converged = 0, False
    while n_iter < max_iter and not converged:
        n_iter += 1
        moved = _nearest(space, D, seeds, labels)
        if np.array_equal(moved, labels):
            converged = True
            break
        D = space.to_groups(moved, k)
        last, spread = spread, _own(D, moved).sum()
        # Each move lowers the sum; one that does not is between equals, and rounding could repeat it for ever.
        converged = bool(spread >= last)
        labels = labels if converged else moved
    return Run(labels, space.inertia(labels, k), n_iter, converged)


def _nearest(space: Space, D: Floats, seeds: Ints, labels: Ints | None = None) -> Ints:
    """Nearest group of each free point, its own among equals; no group is left empty if a point can be spared."""
    nearest: Ints = D.argmin(1)
    if labels is not None:
        nearest = np.where(_own(D, nearest) < _own(D, labels), nearest, labels)
    nearest = np.where(seeds >= 0, seeds, nearest)
    sizes = np.bincount(nearest, minlength=D.shape[1])
    empty = np.flatnonzero(sizes == 0)
    if not len(empty):
        return nearest
    own = _own(D, nearest)
    # The farthest from its centre loses least by founding a group; a point at its centre would only make a double.
    far = np.flatnonzero((seeds < 0) & (own > space.rounding))
    for point in far[np.argsort(-own[far], kind="stable")]:
        if not len(empty):
            break
        if sizes[nearest[point]] > 1:
            sizes[nearest[point]] -= 1
            nearest[point], empty = empty[0], empty[1:]
    return nearest


def _own(D: Floats, labels: Ints) -> Floats:
    own: Floats = D[np.arange(len(D)), labels]
    return own
