"""The kernels a Nyström layer can approximate, and the paper's heuristic for their bandwidth.

Points and filters are rows: ``X (n, d)``, ``V (m, d)``. The paper writes filters as columns, so its
``k(V^T V)`` is ``kernel(V, V)`` here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from xsdc.errors import InvalidInputError
from xsdc.validation import as_count, as_features, as_positive


@dataclass(frozen=True)
class Linear:
    """The kernel <x, v>: the layer becomes a linear map, orthonormalised by its own filters."""

    name: ClassVar[str] = "linear"
    on_sphere: ClassVar[bool] = False

    def __call__(self, X: Tensor, V: Tensor) -> Tensor:
        """Evaluate the kernel between the rows of X and the rows of V; shape (n, m)."""
        return X @ V.T


@dataclass(frozen=True)
class RBF:
    """The Gaussian kernel exp(-||x - v||² / (2 sigma²)) between points of a vector space.

    Parameters
    ----------
    bandwidth : float
        sigma; `median_bandwidth` gives the paper's choice.
    """

    bandwidth: float
    name: ClassVar[str] = "rbf"
    on_sphere: ClassVar[bool] = False

    def __post_init__(self) -> None:
        as_positive(self.bandwidth, name="bandwidth")

    def __call__(self, X: Tensor, V: Tensor) -> Tensor:
        """Evaluate the kernel between the rows of X and the rows of V; shape (n, m)."""
        # ||x||² + ||v||² - 2<x, v> cancels for a point far from the others, and what rounding leaves is
        # exponentiated: in float64, where an outlier at 10^5 bandwidths still costs no digit that counts.
        dtype = X.dtype
        centre = V.detach().mean(0).double()
        X, V = X.double() - centre, V.double() - centre
        scale = 1 / (2 * self.bandwidth**2)
        squares = X.square().sum(1, keepdim=True) + V.square().sum(1)  # (n, m)
        return torch.addmm(squares, X, V.T, beta=-scale, alpha=2 * scale).clamp(max=0).exp().to(dtype)


@dataclass(frozen=True)
class SphereRBF:
    """The Gaussian kernel on the unit sphere, exp((<x, v> - 1) / sigma²) for x and v of norm one.

    A layer with this kernel scales its input to unit norm and multiplies its output by the norm, so the
    kernel it approximates is ||x|| ||y|| exp((cos(x, y) - 1) / sigma²), and zero for a zero input.

    Parameters
    ----------
    bandwidth : float, default 0.6
        sigma; 0.6 is the paper's choice for convolutional networks.
    """

    bandwidth: float = 0.6
    name: ClassVar[str] = "sphere"
    on_sphere: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_positive(self.bandwidth, name="bandwidth")

    def __call__(self, X: Tensor, V: Tensor) -> Tensor:
        """Evaluate the kernel between unit rows of X and unit rows of V; shape (n, m)."""
        return ((X @ V.T - 1) / self.bandwidth**2).exp()


Kernel = Linear | RBF | SphereRBF


def median_bandwidth(X: object, *, n_points: int = 1000, generator: torch.Generator | None = None) -> float:
    """Choose a bandwidth for the Gaussian kernel: the median distance between pairs of points.

    Parameters
    ----------
    X : array-like (n, d)
        Points.
    n_points : int, default 1000
        How many points take part, where there are more.
    generator : torch.Generator, optional
        Draws them; by default the first ones are taken, as in the paper, which assumes that rows come in no order.

    Returns
    -------
    float
        The median over all pairs of different points. When more than half of the pairs coincide the median
        is zero and no bandwidth; the median over the pairs that differ is returned then.
    """
    points, most = as_features(X, name="X"), as_count(n_points, name="n_points", minimum=2)
    if generator is not None and len(points) > most:
        points = points[torch.randperm(len(points), generator=generator)]
    points = points[:most].double()
    distances = torch.pdist(points)
    median = float(distances.median())
    if median == 0.0:
        apart = distances[distances > 0]
        if len(apart) == 0:
            raise InvalidInputError(
                f"The bandwidth is the median distance between points; the {len(points)} points compared are"
                " all equal. Give a bandwidth, or data that varies."
            )
        median = float(apart.median())
    return median
