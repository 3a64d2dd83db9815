"""Representations of all points, with the neighbor graphs that are made of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from xsdc.core.graph import Metric, NeighborIndex

Ints = npt.NDArray[np.int64]


class View:
    """A representation of points. Its graphs are computed when they are first asked for, and once.

    Parameters
    ----------
    Z : Tensor, shape (n, d)
        Coordinates.
    metrics : tuple of str
        Distances by which its neighbor graphs are made.
    """

    def __init__(self, Z: Tensor, *, metrics: tuple[Metric, ...] = ("euclidean",)) -> None:
        self.Z, self.metrics = Z, metrics
        self._indices: dict[Metric, NeighborIndex] = {}
        self._graphs: dict[Metric, csr_matrix] = {}

    def __len__(self) -> int:
        return len(self.Z)

    def __getitem__(self, points: Ints) -> View:
        return View(self.Z[torch.from_numpy(points)], metrics=self.metrics)

    def index(self, metric: Metric = "euclidean") -> NeighborIndex:
        """Points among which neighbors are looked for."""
        if metric not in self._indices:
            self._indices[metric] = NeighborIndex.of(self.Z, metric=metric)
        return self._indices[metric]

    def graph(self, metric: Metric = "euclidean") -> csr_matrix:
        """Weights of the graph of nearest neighbors, shape (n, n)."""
        if metric not in self._graphs:
            self._graphs[metric] = self.index(metric).graph()
        return self._graphs[metric]
