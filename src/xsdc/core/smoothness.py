"""Forward against reverse prediction, and how smooth each is in the features (Section 4.1).

Forward prediction explains labels by features and is the paper's objective; reverse prediction explains
features by labels, as k-means does. Propositions 4.1 and 4.2 bound the Lipschitz constants of both and of
their gradients in the spectral norm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from xsdc import validation
from xsdc.core.objective import trace_and_gradient
from xsdc.core.operators import LabelEquivalence


@dataclass(frozen=True)
class SmoothnessBounds:
    """Upper bounds on Lipschitz constants over all ``Phi`` with spectral norm at most ``B``.

    Attributes
    ----------
    L_f, L_r : float
        Of the forward and the reverse objective (Proposition 4.1).
    l_f, l_r : float
        Of their gradients (Proposition 4.2).
    """

    L_f: float
    L_r: float
    l_f: float
    l_r: float


def forward_prediction(Phi: Tensor, y: Tensor, lam: float) -> tuple[Tensor, Tensor]:
    """Value and gradient of ``F_f = min_W,b ||Y - Phi W - 1 b^T||^2 / n + lam ||W||^2 = tr(Y Y^T A)``."""
    codes = validation.as_codes(y, n=len(Phi))
    return trace_and_gradient(Phi, LabelEquivalence(codes), lam)


def reverse_prediction(Phi: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Value and gradient of ``F_r = min_W ||Phi - Y W||^2 / n``, the scatter around the groups' means."""
    X = validation.as_features(Phi).detach().to(torch.float64)
    n = X.shape[0]
    codes = validation.as_codes(y, n=n)
    sizes = torch.bincount(codes).clamp(min=1)  # a class without points has no mean to miss
    means = (LabelEquivalence(codes) @ X) / sizes[codes, None]  # P_Y Phi
    residual = X - means
    return (residual**2).sum() / n, 2 / n * residual


def smoothness_bounds(*, n: int, lam: float, B: float, rho_max: float) -> SmoothnessBounds:
    """Evaluate the bounds of Propositions 4.1 and 4.2.

    Parameters
    ----------
    n : int
        Number of points.
    lam : float
        Ridge penalty.
    B : float
        Bound on the spectral norm of ``Phi``.
    rho_max : float
        Largest share of the points in one group.
    """
    n_lam = n * validation.as_positive(lam, name="lam")
    return SmoothnessBounds(
        L_f=2 * B * rho_max / n_lam,
        L_r=2 * B / n,
        l_f=2 * rho_max / n_lam + 8 * B**2 * rho_max / n_lam**2,
        l_r=2 / n,
    )


def forward_is_smoother_from(*, B: float, rho_max: float) -> tuple[float, float]:
    """Smallest ``lam`` from which the paper guarantees ``L_f <= L_r`` and ``l_f <= l_r``.

    Setting the bounds equal gives ``16 B^2 rho_max / n`` under the root of the second; the paper states
    the stronger condition without the ``n``, which is the one returned.
    """
    return rho_max, (rho_max + math.sqrt(rho_max**2 + 16 * B**2 * rho_max)) / 2
