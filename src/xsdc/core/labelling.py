"""A class for every point, from features and what is known.

The cost of the features is balanced under what is known, the leading eigenvectors of M place the points, and there the
labels reach out to those nearest; where no label speaks, k-means finds the classes. The merit of the grouping tells how
good the ridge and the bounds on sizes were.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from sklearn.cluster import KMeans, kmeans_plusplus
from torch import Tensor

from xsdc.core.assignment import assign
from xsdc.core.balancing import balance
from xsdc.core.constraints import Constraints
from xsdc.core.judging import Judge, clarity
from xsdc.core.objective import Spectrum
from xsdc.core.rounding import spectral_embedding
from xsdc.core.sizes import ClassSizes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True)
class Candidate:
    """A way to label.

    Attributes
    ----------
    lam : float
        Ridge of the cost.
    sizes : ClassSizes
        Bounds under which it is balanced.
    """

    lam: float
    sizes: ClassSizes


@dataclass(frozen=True)
class Labelling:
    """Classes of all points.

    Attributes
    ----------
    codes : array of int64, shape (n,)
        Class of each point.
    candidate : Candidate
        How they were found.
    merit : float
        How well they hold up when points are left out; see :mod:`xsdc.core.judging`.
    clarity : float
        The same as a share of what is possible.
    eigenvalues : Tensor
        Leading eigenvalues of the normalised M, in descending order.
    """

    codes: Ints
    candidate: Candidate
    merit: float
    clarity: float
    eigenvalues: Tensor

    @classmethod
    def judged(cls, codes: Ints, candidate: Candidate, eigenvalues: Tensor, *, judge: Judge) -> Labelling:
        """Judge classes."""
        merit = judge.merit(codes)
        return cls(codes, candidate, merit, clarity(merit, codes), eigenvalues)


def label_points(
    spectrum: Spectrum,
    constraints: Constraints,
    *,
    n_clusters: int,
    candidate: Candidate,
    judge: Judge,
    nu: float | Literal["median"] = "median",
    sizes: tuple[Floats, Floats] | None = None,
    rng: np.random.RandomState,
) -> Labelling:
    """Label all points in one way.

    Parameters
    ----------
    spectrum : Spectrum
        Decomposed features of n points; an n×n matrix is formed.
    constraints : Constraints
        What is known of them.
    n_clusters : int
        Number of classes.
    candidate : Candidate
        The way.
    judge : Judge
        Tells how good it was.
    nu : float or "median"
        Entropic weight.
    sizes : pair of arrays, each of shape (n_clusters,), optional
        Least and largest number of points of each class, kept exactly where it can be done.
    rng : RandomState
        Of k-means and the Lanczos iteration.

    Returns
    -------
    Labelling
    """
    known = constraints.entries()
    A = spectrum.cost(candidate.lam).dense(torch.float32)
    M = balance(A, size=candidate.sizes.among(constraints, known), known=known, nu=nu).M
    eigenvalues, Z = spectral_embedding(M, n_clusters, random_state=rng)
    scores = seeded_scores(Z.cpu().numpy(), constraints.classes, n_clusters, rng=rng)
    codes = assign(scores, constraints, sizes=sizes)
    return Labelling.judged(codes, candidate, eigenvalues, judge=judge)


def seeded_scores(Z: Floats, classes: Ints, n_clusters: int, *, rng: np.random.RandomState) -> Floats:
    """How near each point is to each class: minus a distance, shape (n, n_clusters).

    Where every class has labeled points, the distance is to the nearest of them; otherwise to the centre of
    the class, found by k-means that starts from the labeled points and leaves them where they are.

    Parameters
    ----------
    Z : array, shape (n, d)
        Points, scaled so that distances matter alike everywhere.
    classes : array of int, shape (n,)
        Known classes, -1 where unknown.
    n_clusters : int
        Number of classes.
    rng : RandomState
        Where no point is labeled, of k-means; else of the choice of further centres.
    """
    seen = np.unique(classes[classes >= 0])
    if len(seen) == n_clusters:
        return nearness(Z, [Z[classes == c] for c in range(n_clusters)])
    if not len(seen):
        distances: Floats = KMeans(n_clusters, n_init=10, random_state=rng).fit_transform(Z)
        return -distances
    centres = _seeded_centres(Z, classes, n_clusters, rng=rng)
    return -np.stack([np.linalg.norm(Z - centre, axis=1) for centre in centres], 1)


def nearness(Z: Floats, references: Sequence[Floats]) -> Floats:
    """Minus the distance of each point to the nearest of each set of others, shape (n, number of sets)."""
    return -np.stack([_nearest(Z, reference) for reference in references], 1)


def suggest_number(eigenvalues: Tensor, sizes: ClassSizes) -> int:
    """Suggest a number of groups within the bounds on their sizes: where the eigenvalues of M fall most.

    Parameters
    ----------
    eigenvalues : Tensor, shape (m,)
        Leading eigenvalues of the normalised M, in descending order.
    sizes : ClassSizes
        One bound for all groups.
    """
    values = eigenvalues.cpu().numpy()
    fewest = max(1, math.ceil(1 / float(sizes.maximum.max()) - 1e-9))
    most = min(len(values) - 1, largest_number(sizes, len(values)))
    if most <= fewest:
        return min(fewest, len(values))
    gaps = values[fewest - 1 : most] - values[fewest : most + 1]
    return fewest + int(gaps.argmax())


def largest_number(sizes: ClassSizes, limit: int) -> int:
    """Return the largest number of groups that a bound on their sizes allows, up to a limit."""
    smallest = float(sizes.minimum.min())
    return min(limit, math.floor(1 / smallest + 1e-9)) if smallest > 0 else limit


def _nearest(Z: Floats, reference: Floats) -> Floats:
    """Distance of each point to the nearest of some others."""
    out = np.empty(len(Z))
    middle = reference.mean(0)  # distances from norms and products lose digits to what the points have in common
    Z, reference = Z - middle, reference - middle
    squares = (reference**2).sum(1)
    step = max(1, BLOCK_ENTRIES // len(reference))
    for start in range(0, len(Z), step):
        block = Z[start : start + step]
        out[start : start + step] = ((block**2).sum(1)[:, None] - 2 * block @ reference.T + squares).min(1)
    return np.sqrt(np.maximum(out, 0))


def settled_scores(Z: Floats, codes: Ints, n_clusters: int) -> Floats:
    """Minus the distance of each point to each centre, where k-means ends that starts from a grouping.

    Parameters
    ----------
    Z : array, shape (n, d)
        Points.
    codes : array of int, shape (n,)
        Where to start.
    n_clusters : int
        Number of groups; one that ``codes`` leaves empty starts at a point far from the others.
    """
    centres = np.empty((n_clusters, Z.shape[1]))
    present = np.unique(codes)
    for c in present:
        centres[c] = Z[codes == c].mean(0)
    for c in np.setdiff1d(np.arange(n_clusters), present):
        far = nearness(Z, [centres[present]])[:, 0].argmin()
        centres[c], present = Z[far], np.append(present, c)
    distances: Floats = KMeans(n_clusters, init=centres, n_init=1).fit_transform(Z)
    return -distances


def _seeded_centres(Z: Floats, classes: Ints, k: int, *, rng: np.random.RandomState) -> Floats:
    """Centres by k-means whose labeled points stay in their classes; the best of ten starts."""
    seen = np.unique(classes[classes >= 0])
    unseen = np.setdiff1d(np.arange(k), seen)
    free = classes < 0
    best, best_inertia = np.empty((0, Z.shape[1])), np.inf
    for _ in range(10):
        centres = np.zeros((k, Z.shape[1]))
        for c in seen:
            centres[c] = Z[classes == c].mean(0)
        # Points far from all labeled classes are where further classes may be.
        far = np.min([((Z - centres[c]) ** 2).sum(1) for c in seen], axis=0) * free
        weight = far if np.count_nonzero(far) >= len(unseen) else np.ones(len(Z))
        centres[unseen] = kmeans_plusplus(Z, len(unseen), sample_weight=weight, random_state=rng)[0]
        labels, inertia = classes, np.inf
        for _ in range(100):
            squares = ((Z[:, None] - centres) ** 2).sum(2)
            moved = np.where(free, squares.argmin(1), classes)
            inertia = float(np.take_along_axis(squares, moved[:, None], 1).sum())
            if np.array_equal(moved, labels):
                break
            labels = moved
            for c in np.unique(labels):
                centres[c] = Z[labels == c].mean(0)
        if inertia < best_inertia:
            best, best_inertia = centres.copy(), inertia
    return best
