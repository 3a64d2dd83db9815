"""Features at the scale the paper works at, for use after training; all of them, or each when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.networks import Network, normalize_features
from xsdc.networks.rows import Rows

HELD = 1 << 25  # numbers up to which the features of all points are kept in memory
BLOCK = 4096
SCALED_BY = 20_000  # points that set the scale, where they are not


def normalised(Phi: Tensor) -> tuple[Tensor, float]:
    """Features at the scale of the paper; features that are all alike stay as they are."""
    norm = float(torch.linalg.vector_norm(Phi - Phi.mean(1, keepdim=True), dim=1).mean())
    norm = norm if norm > 0 else 1.0
    return normalize_features(Phi, norm=norm)[0], norm


def scaled_features(network: Network, data: Tensor | Rows, norm: float) -> Tensor:
    """Features of prepared data at the scale of the fit."""
    return normalize_features(network.features(data), norm=norm)[0]


@dataclass(frozen=True)
class FeatureRows:
    """Features of points, computed when they are asked for.

    Attributes
    ----------
    network : Network
        As it is then, not as it was.
    data : Tensor or Rows
        Prepared data.
    norm : float
        Scale of the fit.
    """

    network: Network
    data: Tensor | Rows
    norm: float

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: Tensor | slice) -> Tensor:
        return scaled_features(self.network, self.data[index], self.norm)


def read_features(Phi: Tensor | Rows, points: npt.NDArray[np.int64]) -> Tensor:
    """Features of some points, read a block at a time."""
    parts = [Phi[torch.from_numpy(points[i : i + BLOCK])].detach().cpu() for i in range(0, len(points), BLOCK)]
    return torch.cat(parts)


def features_of_all(network: Network, data: Tensor | Rows) -> tuple[Tensor | Rows, float]:
    """Normalised features of all points, in memory where they are few enough; and their scale."""
    n = len(data)
    if n * network.n_features <= HELD:
        return normalised(network.features(data))
    spread = torch.linspace(0, n - 1, SCALED_BY, dtype=torch.float64).round().to(torch.int64)
    _, norm = normalised(network.features(data[spread]))
    return FeatureRows(network, data, norm), norm
