"""Features at the scale the paper works at, for use after training."""

from __future__ import annotations

import torch
from torch import Tensor

from xsdc.networks import Network, normalize_features


def normalised(Phi: Tensor) -> tuple[Tensor, float]:
    """Features at the scale of the paper; features that are all alike stay as they are."""
    norm = float(torch.linalg.vector_norm(Phi - Phi.mean(1, keepdim=True), dim=1).mean())
    norm = norm if norm > 0 else 1.0
    return normalize_features(Phi, norm=norm)[0], norm


def scaled_features(network: Network, data: Tensor, norm: float) -> Tensor:
    """Features of prepared data at the scale of the fit."""
    return normalize_features(network.features(data), norm=norm)[0]
