"""How near points are to classes of which some points are labeled, or none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans, kmeans_plusplus

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
BLOCK_ENTRIES = 1 << 22


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
