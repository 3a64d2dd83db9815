"""Where points stand on the map: two t-SNE pictures that can be laid over each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import orthogonal_procrustes
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

Floats = npt.NDArray[np.floating[Any]]

FEWEST = 10  # points; below, neighbourhoods say nothing and a projection is drawn
DIMENSIONS = 30  # t-SNE starts from the first principal components, as its authors advise
PERPLEXITY = 30.0
ITERATIONS = 400  # of which 250 are exaggerated; clusters have settled by then


def draw_maps(before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Lay out the same points twice, so that what moved between the pictures moved because of training.

    The second layout starts from the first and is turned to match it.

    Parameters
    ----------
    before, after : array, shape (m, D)
        Features of the same points; D may differ.

    Returns
    -------
    before, after : array, shape (m, 2)
        Places in the unit square.
    """
    if not len(after):
        return np.zeros((0, 2)), np.zeros((0, 2))
    first = _layout(before, start=None)
    second = _layout(after, start=first)
    turn, _ = orthogonal_procrustes(second, first)
    return _into_square(first), _into_square(second @ turn)


def draw_map(features: Floats) -> Floats:
    """Lay out points, shape (m, D), once: places in the unit square, shape (m, 2)."""
    return _into_square(_layout(features, start=None)) if len(features) else np.zeros((0, 2))


def _layout(features: Floats, *, start: Floats | None) -> Floats:
    """Places of points around the origin: t-SNE, or a projection where they are few."""
    reduced = _principal(np.asarray(features, dtype=np.float64).reshape(len(features), -1))
    n = len(reduced)
    if not reduced.any():
        return _spiral(n)
    if n < FEWEST:
        return reduced[:, :2]
    start = reduced[:, :2] if start is None else start
    start = start / start.std(axis=0).max() * 1e-4  # the spread that t-SNE is meant to begin with
    tsne = TSNE(
        perplexity=min(PERPLEXITY, (n - 1) / 3),
        init=start.astype(np.float32),
        max_iter=ITERATIONS,
        random_state=0,
    )
    with threadpool_limits(limits=1):  # many threads on this little work are slower where others share the cores
        places: Floats = tsne.fit_transform(reduced.astype(np.float32)).astype(np.float64)
    centered: Floats = places - places.mean(axis=0)
    return centered


def _principal(X: Floats) -> Floats:
    """First principal components at unit scale, at least two; zero where all points are alike."""
    centered = X - X.mean(axis=0)
    size = np.abs(centered).max(initial=0.0)
    if size <= 1e-9 * np.abs(X).max(initial=0.0):
        return np.zeros((len(X), 2))
    U, s, _ = np.linalg.svd(centered / size, full_matrices=False)
    reduced = U[:, :DIMENSIONS] * s[:DIMENSIONS]
    return np.pad(reduced, ((0, 0), (0, max(0, 2 - reduced.shape[1]))))


def _spiral(n: int) -> Floats:
    """Points that are all alike, side by side as seeds of a sunflower."""
    place = np.arange(n)
    radius, angle = np.sqrt(place), place * np.pi * (3 - np.sqrt(5))
    spiral: Floats = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    spiral -= spiral.mean(axis=0)
    return spiral


def _into_square(places: Floats) -> Floats:
    """Shift and scale into the unit square, proportions kept."""
    low, high = places.min(axis=0), places.max(axis=0)
    side = max(float((high - low).max()), 1e-12)
    squared: Floats = (places - (low + high) / 2) / side + 0.5
    return squared
