"""A plain transcription of the paper's formulas in float64: what the fast paths are measured against.

Nothing clever and nothing slow on purpose: n×n matrices, their inverse, autograd, dense masks.
"""

from __future__ import annotations

import torch
from torch import Tensor


def cost_matrix(Phi: Tensor, lam: float) -> Tensor:
    """``A = lam Pi (Pi Phi Phi^T Pi + n lam I)^{-1} Pi`` (eq. 4)."""
    n = len(Phi)
    eye = torch.eye(n, dtype=Phi.dtype)
    Pi = eye - torch.ones(n, n, dtype=Phi.dtype) / n
    G: Tensor = torch.linalg.inv(Pi @ Phi @ Phi.T @ Pi + n * lam * eye)
    return lam * Pi @ G @ Pi


def trace_objective(Phi: Tensor, M: Tensor, lam: float) -> Tensor:
    """``tr(M A)``, differentiated by autograd."""
    return torch.trace(M @ cost_matrix(Phi, lam))


def median_abs(A: Tensor) -> float:
    """The paper's entropic weight: the median absolute entry of A."""
    return float(A.abs().flatten().median())


def balance(
    A: Tensor,
    *,
    known: Tensor,
    values: Tensor,
    n_min: float,
    n_max: float,
    k: float,
    nu: float | None = None,
    n_iter: int = 10,
    exponentials_once: bool = False,
) -> Tensor:
    """Algorithm 1 line by line, with dense masks of the known entries.

    The algorithm writes exp(-Q) in every iteration; ``exponentials_once`` keeps it, as a careful reader would.
    """
    n = len(A)
    weight = median_abs(A) if nu is None else nu
    Q = A / weight - torch.log(torch.ones(n, n, dtype=A.dtype) / k)
    u = torch.ones(n, dtype=A.dtype)
    v = torch.ones(n, dtype=A.dtype)
    N = E = torch.exp(-Q)
    for _ in range(n_iter):
        N = torch.where(known, values / torch.outer(u, v), E if exponentials_once else torch.exp(-Q))
        Nv = N @ v
        u = Nv.clamp(n_min, n_max) / Nv
        Nu = N.T @ u
        v = Nu.clamp(n_min, n_max) / Nu
    return u[:, None] * N * v


def ridge(Phi: Tensor, Y: Tensor, lam: float) -> tuple[Tensor, Tensor]:
    """``W, b`` of ``min ||Y - Phi W - 1 b^T||^2 / n + lam ||W||^2`` from the normal equations."""
    n, D = Phi.shape
    Pc = Phi - Phi.mean(0)
    W = torch.linalg.solve(Pc.T @ Pc + n * lam * torch.eye(D, dtype=Phi.dtype), Pc.T @ Y)
    return W, Y.mean(0) - Phi.mean(0) @ W
