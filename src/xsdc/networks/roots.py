"""The inverse square root of a Gram matrix, differentiable, by eigendecomposition or by Newton's iteration."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from xsdc.errors import InvalidInputError, NotConvergedWarning
from xsdc.validation import as_count, as_positive

ROOT_METHODS = ("eigh", "newton")


def inverse_sqrt(G: Tensor, *, eps: float = 1e-3, method: str = "eigh", n_iter: int = 20) -> Tensor:
    """Compute (G + eps I)^{-1/2} of a symmetric positive semi-definite matrix, with its gradient.

    Parameters
    ----------
    G : Tensor (m, m)
        Gram matrix. Use float64: eigenvalues of size ``eps`` stand beside ones of size m.
    eps : float, default 0.001
        Added to the diagonal.
    method : {"eigh", "newton"}, default "eigh"
        An eigendecomposition, or the coupled Newton iteration of the paper. Both are differentiable and safe
        where eigenvalues coincide; they agree to rounding.
    n_iter : int, default 20
        Newton iterations; the paper's number.

    Returns
    -------
    Tensor (m, m)
        Symmetric.
    """
    if G.ndim != 2 or G.shape[0] != G.shape[1]:
        raise InvalidInputError(f"G must be square (m, m); it has shape {tuple(G.shape)}.")
    as_positive(eps, name="eps", allow_zero=True)
    A = G + eps * torch.eye(len(G), dtype=G.dtype, device=G.device)
    if method == "eigh":
        root: Tensor = _EighInverseSqrt.apply(A)  # type: ignore[no-untyped-call]
        return root
    if method == "newton":
        return _coupled_newton(A, n_iter=as_count(n_iter, name="n_iter"))
    raise InvalidInputError(f"method must be one of {', '.join(ROOT_METHODS)}; it is {method!r}.")


class _EighInverseSqrt(torch.autograd.Function):
    """B = A^{-1/2} through A = Q diag(l) Q^T.

    Differentiating B A B = I gives a Lyapunov equation for dB. In the eigenbasis its solution is
    dB_ij = -dA_ij / (s_i s_j (s_i + s_j)) with s = sqrt(l): sums of square roots stand below, never the
    differences of eigenvalues that make the derivative of the eigenvectors blow up where they coincide.
    """

    @staticmethod
    def forward(ctx: Any, A: Tensor) -> Tensor:
        eigenvalues, Q = torch.linalg.eigh(A)
        floor = torch.finfo(A.dtype).eps * eigenvalues[-1].clamp_min(torch.finfo(A.dtype).tiny)
        s = eigenvalues.clamp_min(floor).sqrt()  # (m,)
        ctx.save_for_backward(Q, s)
        root: Tensor = (Q / s) @ Q.T
        return root

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        Q, s = ctx.saved_tensors
        inner = Q.T @ grad @ Q
        inner = (inner + inner.T) / 2
        dA: Tensor = -Q @ (inner / (s[:, None] * s * (s[:, None] + s))) @ Q.T
        return dA


def _coupled_newton(A: Tensor, *, n_iter: int) -> Tensor:
    """Iterate X <- X T, M <- T M T with T = (3I - M)/2: M tends to I and X to A^{-1/2}.

    It converges where the eigenvalues of M_0 = A/c lie in (0, 3). With c half of an upper bound on the
    largest eigenvalue they lie in (0, 2], and a small one grows by 9/4 each time: 20 iterations reach
    rounding error for a condition number of some 10^5. The result does not depend on c, so neither does
    the gradient, and c is taken as a constant.
    """
    identity = torch.eye(len(A), dtype=A.dtype, device=A.device)
    with torch.no_grad():
        c = torch.minimum(A.norm(), A.abs().sum(1).max()) / 2
    M = A / c
    X = identity / c.sqrt()
    for _ in range(n_iter):
        T = (3 * identity - M) / 2
        X = X @ T
        M = T @ M @ T
    residual = float((M.detach() - identity).abs().max())
    if not residual < 1e-6:
        warnings.warn(
            f"The Newton iteration for the inverse square root stopped after {n_iter} iterations with residual"
            f" {residual:.1e}. Raise the number of iterations or eps, or use method='eigh'.",
            NotConvergedWarning,
            stacklevel=3,
        )
    return (X + X.T) / 2
