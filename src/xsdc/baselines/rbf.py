"""Kernel k-means' view of points: the space of the Gaussian kernel, by sums over tiles of the kernel matrix.

The squared distance of point i to the mean of a group c in that space is

    1 - 2 G_ic / n_c + sum_{j in c} G_jc / n_c²,   G_ic = sum_{j in c} k(x_i, x_j).

The n×n matrix of the kernel is never in memory: G (n, k) is summed up over tiles of it, which are
computed, used and forgotten. When few points change group, only their columns are computed again. Both are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.networks.kernels import RBF, median_bandwidth
from xsdc.validation import as_features

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
PRECISION = 1e-13  # of sums of many kernel values, over their number
MOST_PAIRED = 3000


def choose_bandwidth(X: Floats, rng: np.random.RandomState, *, most: int = MOST_PAIRED) -> float:
    """Choose sigma by the paper's median heuristic, ``sqrt(2 d)`` with d the median squared distance between points.

    Parameters
    ----------
    X : array, shape (n, d)
        Points.
    rng : RandomState
        Where there are more than ``most`` points, draws those whose pairs are compared.
    most : int
        How many points are compared.
    """
    rows = np.arange(len(X)) if len(X) <= most else rng.permutation(len(X))[:most]
    return float(np.sqrt(2) * median_bandwidth(X[rows], n_points=most))


@dataclass(frozen=True)
class KernelMeans:
    """Means of groups in the kernel's space, to which new points are compared.

    Attributes
    ----------
    kernel : RBF
        The kernel.
    points : Tensor, shape (n, d)
        Points that the means are made of.
    weights : Tensor, shape (n, k)
        One over the size of its group for each point in its group's column, zero elsewhere.
    squares : array, shape (k,)
        Squared norms of the means; infinite for a group without points.
    block : int
        Side of a tile.
    """

    kernel: RBF
    points: Tensor
    weights: Tensor
    squares: Floats
    block: int

    def distances(self, X: Floats) -> Floats:
        """Squared distances of points to the means, shape (m, k)."""
        points = as_features(X, name="X", min_rows=1)
        sums = kernel_sums(self.kernel, points, self.points, self.weights, block=self.block)
        return np.maximum(1 - 2 * sums.numpy() + self.squares, 0)


class KernelSpace:
    """Squared distances of n points to places, points and means of groups, in the space of a Gaussian kernel.

    Parameters
    ----------
    X : array, shape (n, d)
        Points.
    bandwidth : float
        sigma.
    block : int
        Side of a tile: at most ``block²`` values of the kernel are in memory at a time.
    """

    def __init__(self, X: Floats, *, bandwidth: float, block: int) -> None:
        self.kernel = RBF(bandwidth)
        self.points = torch.tensor(X)  # a copy: new points are compared with these, whatever becomes of X
        self.n, self.block = len(X), block
        self.rounding: Floats = np.full(self.n, PRECISION)
        self._dense = self.kernel(self.points, self.points) if self.n <= block else None  # a single tile is kept
        self._labels: Ints = np.full(self.n, -1)
        self._sums = torch.zeros(self.n, 0, dtype=torch.float64)

    def to_points(self, points: Ints) -> Floats:
        """Distances to some of the points."""
        return self._to_single(self.points[torch.from_numpy(points)])

    def to_places(self, places: Floats) -> Floats:
        """Distances to vectors (m, d)."""
        return self._to_single(as_features(places, name="places", min_rows=1))

    def to_groups(self, labels: Ints, k: int) -> Floats:
        """Distances to the means of groups 0 to k - 1, infinite where empty; points labeled -1 are in none."""
        sums = self._group_sums(labels, k).numpy()
        sizes, squares = self._sizes_and_squares(labels, k)
        with np.errstate(invalid="ignore"):  # zero over nothing, for an empty group
            D = 1 - 2 * sums / sizes + squares
        D[:, ~np.isfinite(squares)] = np.inf
        return np.maximum(D, 0)

    def inertia(self, labels: Ints, k: int) -> float:
        """Sum of the distances of all points to the means of their own groups."""
        return float(self.to_groups(labels, k)[np.arange(self.n), labels].sum())

    def centres(self, labels: Ints, k: int) -> KernelMeans:
        """Keep what new points need."""
        self._group_sums(labels, k)
        sizes, squares = self._sizes_and_squares(labels, k)
        weights = indicator_tensor(labels, k) / torch.from_numpy(np.maximum(sizes, 1.0))
        return KernelMeans(self.kernel, self.points, weights, squares, self.block)

    def _to_single(self, places: Tensor) -> Floats:
        one = torch.eye(len(places), dtype=torch.float64)
        K = kernel_sums(self.kernel, self.points, places, one, block=self.block)
        D: Floats = np.maximum(2 - 2 * K.numpy(), 0)
        return D

    def _sizes_and_squares(self, labels: Ints, k: int) -> tuple[Floats, Floats]:
        """Sizes of groups and squared norms of their means, from the sums at hand."""
        members = np.flatnonzero(labels >= 0)
        of_members = labels[members]
        sizes = np.bincount(of_members, minlength=k).astype(np.float64)
        total = np.bincount(of_members, self._sums.numpy()[members, of_members], minlength=k)
        return sizes, np.where(sizes > 0, total / np.maximum(sizes, 1.0) ** 2, np.inf)

    def _group_sums(self, labels: Ints, k: int) -> Tensor:
        """Sum of the kernel between each point and each group, shape (n, k)."""
        if self._sums.shape[1] != k:
            self._labels = np.full(self.n, -1)
            self._sums = torch.zeros(self.n, k, dtype=torch.float64)
        changed = np.flatnonzero(labels != self._labels)
        H = indicator_tensor(labels, k)
        if self._dense is not None:
            self._sums = self._dense @ H
        elif 2 * len(changed) < self.n:  # symmetry makes all columns as dear as half of them
            rows = torch.from_numpy(changed)
            change = H[rows] - indicator_tensor(self._labels[changed], k)
            self._sums += kernel_sums(self.kernel, self.points, self.points[rows], change, block=self.block)
        else:
            self._sums = symmetric_kernel_sums(self.kernel, self.points, H, block=self.block)
        self._labels = labels.copy()
        return self._sums


def indicator_tensor(labels: Ints, k: int) -> Tensor:
    """Rows of zeros with a one in the column of each point's group; all zeros for -1."""
    return torch.from_numpy((labels[:, None] == np.arange(k)).astype(np.float64))


def kernel_sums(kernel: RBF, X: Tensor, V: Tensor, H: Tensor, *, block: int) -> Tensor:
    """Compute ``kernel(X, V) @ H`` in tiles, shape (n, k)."""
    out = torch.zeros(len(X), H.shape[1], dtype=torch.float64)
    for rows in _blocks(len(X), block):
        for columns in _blocks(len(V), block):
            out[rows] += kernel(X[rows], V[columns]) @ H[columns]
    return out


def symmetric_kernel_sums(kernel: RBF, X: Tensor, H: Tensor, *, block: int) -> Tensor:
    """Compute ``kernel(X, X) @ H`` in tiles, each of which serves on both sides of the diagonal."""
    out = torch.zeros(len(X), H.shape[1], dtype=torch.float64)
    for rows in _blocks(len(X), block):
        for columns in _blocks(len(X), block):
            if columns.start < rows.start:
                continue
            tile = kernel(X[rows], X[columns])
            out[rows] += tile @ H[columns]
            if columns.start > rows.start:
                out[columns] += tile.T @ H[rows]
    return out


def _blocks(n: int, block: int) -> Iterator[slice]:
    for start in range(0, n, block):
        yield slice(start, min(start + block, n))
