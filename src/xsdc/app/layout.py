"""Where points stand on the map: two principal components at once, then neighbors side by side."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from xsdc.core.graph import NeighborIndex
from xsdc.report.embedding import draw_map

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.float32]
MOST_PLACED = 2500  # points that are laid out; the others stand among their neighbors of these
JITTER = 0.004  # by which points that follow the same neighbors are kept apart


def first_places(Z: Floats) -> Places:
    """Principal components in the square from -1 to 1, shape (n, 2)."""
    centered = Z - Z.mean(axis=0)
    if Z.shape[1] < 2:
        centered = np.pad(centered, ((0, 0), (0, 2 - Z.shape[1])))
    _, vectors = np.linalg.eigh(centered.T @ centered)
    return _squared(centered @ vectors[:, -2:][:, ::-1])


def neighbor_places(Z: Floats) -> Places:
    """t-SNE of some points, the others in the middle of their neighbors, shape (n, 2)."""
    n = len(Z)
    rng = np.random.RandomState(0)
    some = np.arange(n) if n <= MOST_PLACED else np.sort(rng.permutation(n)[:MOST_PLACED])
    places = draw_map(Z[some])
    if len(some) < n:
        near = NeighborIndex.of(torch.from_numpy(Z[some]), n_neighbors=3).weights(torch.from_numpy(Z))
        followed = near @ places + JITTER * rng.standard_normal((n, 2))
        followed[some] = places
        places = followed
    return _squared(places)


def _squared(places: npt.NDArray[np.floating]) -> Places:
    low, high = np.quantile(places, [0.001, 0.999], axis=0)
    side = max(float((high - low).max()), 1e-12)
    squared: Places = np.clip(2 * (places - (low + high) / 2) / side, -1.2, 1.2).astype(np.float32)
    return squared
