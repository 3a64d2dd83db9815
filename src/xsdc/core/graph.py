"""Nearest neighbours among features, and the graph that joins them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from xsdc.defaults import DEFAULTS
from xsdc.errors import InvalidInputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Metric = Literal["euclidean", "cosine"]
METRICS = ("euclidean", "cosine")
SPARE = 4  # neighbours found beyond those asked for, among which exact distances decide
BLOCK_NUMBERS = 1 << 22  # distances held at a time
SLICES = 32  # of the columns, in which the smallest entries of a row are looked for


@dataclass(frozen=True)
class NeighborIndex:
    """Points among which neighbours are looked for.

    Attributes
    ----------
    points : Tensor of float32, shape (n, D)
        Centered, so that single precision suffices, or of length one for cosines.
    center : Tensor of float64, shape (D,)
        What was subtracted.
    metric : {"euclidean", "cosine"}
        How distances are measured. By cosine a point at the origin is equally far from all others.
    n_neighbors : int
        How many neighbours are found.
    """

    points: Tensor
    center: Tensor
    metric: Metric
    n_neighbors: int

    @classmethod
    def of(cls, Phi: Tensor, *, metric: Metric = "euclidean", n_neighbors: int = DEFAULTS.neighbors) -> NeighborIndex:
        """Index features (n, D); the number of neighbours is at most n - 1."""
        if metric not in METRICS:
            raise InvalidInputError(f'metric must be "euclidean" or "cosine"; it is {metric!r}.')
        center = Phi.new_zeros(Phi.shape[1], dtype=torch.float64)
        if metric == "euclidean":
            center = Phi.to(torch.float64).mean(0)
        return cls(_placed(Phi, center, metric), center, metric, max(1, min(n_neighbors, len(Phi) - 1)))

    def weights(self, Phi: Tensor) -> csr_matrix:
        """Weights of new points (m, D) on their nearest neighbours, shape (m, n); rows sum to one."""
        distances, neighbors = nearest(self.points, _placed(Phi, self.center, self.metric), self.n_neighbors)
        weights = _weights(distances)
        return _rows(weights / weights.sum(axis=1, keepdims=True), neighbors, len(self.points))

    def graph(self) -> csr_matrix:
        """Join each point with its nearest neighbours, weighted by how near they are for this neighbourhood.

        The weight of a neighbour at distance d is ``exp(-4 d² / r²)``, where r is the distance of the farthest of the
        neighbours: dense and sparse regions count alike. A pair has the larger of its two weights. Points that
        coincide with all their neighbours weigh one.

        Returns
        -------
        sparse matrix, shape (n, n)
            Symmetric, with an empty diagonal.
        """
        n = len(self.points)
        if n < 2:
            return csr_matrix((n, n))
        distances, neighbors = nearest(self.points, None, self.n_neighbors)
        directed = _rows(_weights(distances), neighbors, n)
        return directed.maximum(directed.T).tocsr()


def nearest(points: Tensor, queries: Tensor | None, n_neighbors: int) -> tuple[Floats, Ints]:
    """Find the nearest points of each query by products of blocks, exactly.

    Blocks are compared in float32; a few more neighbours than asked for are kept, and their distances computed anew in
    float64 decide, so that the result does not depend on how the products were summed.

    Parameters
    ----------
    points : Tensor of float32, shape (n, D)
        Where to look.
    queries : Tensor of float32, shape (m, D), or None
        What to look for; None for the points themselves, each without itself.
    n_neighbors : int
        How many, at most n, or n - 1 of the points themselves.

    Returns
    -------
    distances : array, shape (m, n_neighbors)
        In increasing order.
    neighbors : array of int, shape (m, n_neighbors)
        Positions of points.
    """
    looked_for = points if queries is None else queries
    n, m = len(points), len(looked_for)
    kept = min(n_neighbors + SPARE, n - (queries is None))
    squares = points.square().sum(1)
    rows = max(1, BLOCK_NUMBERS // max(n, 16 * kept * points.shape[1]))
    distances: Floats = np.empty((m, n_neighbors))
    neighbors: Ints = np.empty((m, n_neighbors), dtype=np.int64)
    for start in range(0, m, rows):
        block = looked_for[start : start + rows]
        part = slice(start, start + len(block))
        near = torch.addmm(squares, block, points.T, alpha=-2)  # squared distances but for |query|²
        if queries is None:
            near[torch.arange(len(block)), torch.arange(part.start, part.stop)] = torch.inf
        found = _smallest(near, kept).sort(dim=1).values
        exact = (points[found].double() - block[:, None, :].double()).square().sum(2).sqrt()
        exact, order = exact.sort(dim=1, stable=True)
        distances[part] = exact[:, :n_neighbors].cpu().numpy()
        neighbors[part] = found.gather(1, order)[:, :n_neighbors].cpu().numpy()
    return distances, neighbors


def _smallest(values: Tensor, count: int) -> Tensor:
    """Positions of the smallest entries of each row (m, n), shape (m, count), in any order.

    Column j stands with ``j + n // SLICES``, ``j + 2 (n // SLICES)`` ... Only those whose smallest entry is among the
    ``count`` smallest of these can hold what is looked for: one pass over the matrix, and a search in a part of it.
    """
    m, n = values.shape
    width = n // SLICES
    if width < 2 * count:
        return values.topk(count, dim=1, largest=False, sorted=False).indices
    whole = SLICES * width
    least = values[:, :whole].reshape(m, SLICES, width).amin(1)
    first = least.topk(count, dim=1, largest=False, sorted=False).indices
    columns = (first[:, None, :] + width * torch.arange(SLICES)[:, None]).reshape(m, -1)
    columns = torch.cat([columns, torch.arange(whole, n).expand(m, -1)], dim=1)
    place = values.gather(1, columns).topk(count, dim=1, largest=False, sorted=False).indices
    return columns.gather(1, place)


def _placed(Phi: Tensor, center: Tensor, metric: Metric) -> Tensor:
    """Features as they are compared."""
    Phi = Phi.to(torch.float64) - center
    return (Phi if metric == "euclidean" else torch.nn.functional.normalize(Phi, dim=1)).to(torch.float32)


def _weights(distances: Floats) -> Floats:
    farthest = distances[:, -1:]
    share = np.divide(distances, farthest, out=np.zeros_like(distances), where=farthest > 0)
    return np.asarray(np.exp(-DEFAULTS.decay * share**2))


def _rows(weights: Floats, neighbors: Ints, n: int) -> csr_matrix:
    m, width = weights.shape
    matrix = csr_matrix((weights.ravel(), neighbors.ravel(), np.arange(0, m * width + 1, width)), shape=(m, n))
    matrix.sort_indices()
    return matrix
