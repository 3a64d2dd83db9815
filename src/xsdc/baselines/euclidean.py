"""k-means' view of points in a vector space, and the change of coordinates that removes their correlations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_matrix

from xsdc.core.objective import decompose

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
PRECISION = 1e-14  # what squared distances from norms and products lose, as a share of the norms


@dataclass(frozen=True)
class Coordinates:
    """Where a vector x lies for k-means: ``(x - mean) @ weights``, or ``x - mean`` without weights.

    Attributes
    ----------
    mean : array, shape (d,)
        Distances from norms and products lose digits to what the points have in common; it is taken off.
    weights : array of shape (d, r), or None
        Linear map.
    """

    mean: Floats
    weights: Floats | None = None

    def __call__(self, X: Floats) -> Floats:
        """Place points, shape (n, d) or (n, r)."""
        Z: Floats = X - self.mean
        return Z if self.weights is None else Z @ self.weights


def as_they_are(X: Floats) -> Coordinates:
    """Coordinates of the linear similarity ``x^T y``."""
    return Coordinates(X.mean(0))


def decorrelated(X: Floats) -> Coordinates:
    """Coordinates of the similarity ``x^T (C + lam I)^{-1} y`` between standardised points.

    C is the correlation matrix and ``lam = lambda_max(C) / tr(C)``. With ``C = V diag(e) V^T`` the coordinates
    ``(e + lam)^{-1/2} V^T x`` have that similarity as their product. Directions in which the data does not vary are
    left out: a new point is equally far from all centres along them.
    """
    mean, spread = X.mean(0), X.std(0, ddof=1)
    spread[np.ptp(X, axis=0) == 0] = 1.0
    spectrum = decompose(torch.from_numpy((X - mean) / spread))
    eigenvalues = spectrum.s.numpy() ** 2 / (len(X) - 1)
    lam = eigenvalues.max() / eigenvalues.sum() if len(eigenvalues) else 1.0
    return Coordinates(mean, spectrum.V.numpy() / spread[:, None] / np.sqrt(eigenvalues + lam))


@dataclass(frozen=True)
class Centres:
    """Centres of clusters, to which new points are compared.

    Attributes
    ----------
    coordinates : Coordinates
        Where points lie.
    places : array, shape (k, r)
        Centres; NaN for a cluster without points.
    """

    coordinates: Coordinates
    places: Floats

    def distances(self, X: Floats) -> Floats:
        """Squared distances of points to centres, shape (m, k)."""
        Z = self.coordinates(X)
        return squared_distances(Z, (Z**2).sum(1), self.places)


class Euclidean:
    """Squared distances of n points to places, points and centres of groups.

    Parameters
    ----------
    X : array, shape (n, d)
        Points.
    coordinates : Coordinates
        Where they lie.
    """

    def __init__(self, X: Floats, coordinates: Coordinates) -> None:
        self.coordinates = coordinates
        self.Z = coordinates(X)
        self.n = len(X)
        self._squares = (self.Z**2).sum(1)
        self.rounding: Floats = PRECISION * (self._squares + self._squares.mean())

    def to_points(self, points: Ints) -> Floats:
        """Distances to some of the points."""
        return squared_distances(self.Z, self._squares, self.Z[points])

    def to_places(self, places: Floats) -> Floats:
        """Distances to vectors (m, d)."""
        return squared_distances(self.Z, self._squares, self.coordinates(places))

    def to_groups(self, labels: Ints, k: int) -> Floats:
        """Distances to the centres of groups 0 to k - 1, infinite where empty; points labeled -1 are in none."""
        return squared_distances(self.Z, self._squares, group_means(self.Z, labels, k))

    def inertia(self, labels: Ints, k: int) -> float:
        """Sum of the distances of all points to the centres of their own groups."""
        # From differences: where groups are tight, norms and products would lose the digits that count.
        return float(((self.Z - group_means(self.Z, labels, k)[labels]) ** 2).sum())

    def centres(self, labels: Ints, k: int) -> Centres:
        """Keep what new points need."""
        return Centres(self.coordinates, group_means(self.Z, labels, k))


def group_means(Z: Floats, labels: Ints, k: int) -> Floats:
    """Mean of each group, shape (k, d); NaN for a group without points. Points labeled -1 are in none."""
    rows = np.flatnonzero(labels >= 0)
    members = csr_matrix((np.ones(len(rows)), (labels[rows], rows)), shape=(k, len(Z)))
    sizes = np.bincount(labels[rows], minlength=k).astype(np.float64)
    sizes[sizes == 0] = np.nan
    means: Floats = (members @ Z) / sizes[:, None]
    return means


def squared_distances(Z: Floats, squares: Floats, places: Floats) -> Floats:
    """Squared distances of points to places, shape (n, m); infinite where a place is NaN."""
    D: Floats = squares[:, None] - 2 * (Z @ places.T) + (places**2).sum(1)
    D[:, np.isnan(places).any(1)] = np.inf
    np.maximum(D, 0, out=D)
    return D
