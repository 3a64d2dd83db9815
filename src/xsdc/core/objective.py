r"""The objective: how badly a ridge regression on the features explains a grouping.

For features ``Phi (n, D)`` and an equivalence matrix ``M = Y Y^T (n, n)`` the paper minimises

    tr(M A),   A = lam Pi (Pi Phi Phi^T Pi + n lam I)^{-1} Pi,   Pi = I - 1 1^T / n,

which is the least-squares error of predicting ``Y`` from ``Phi`` once the classifier ``(W, b)`` is solved
for (Section 4.1, eq. 4). Nothing here ever inverts an n×n matrix. With the thin decomposition
``Pi Phi = U diag(s) V^T``,

    A = (Pi - U diag(s^2 / (s^2 + n lam)) U^T) / n,

and all quantities, for one ``lam`` or a whole path of them, follow from ``s``, ``V`` and ``P = U diag(s) = Pi Phi V``.

The decomposition comes from a QR of the centred features rather than from ``Phi^T Phi``: squaring would cost
half of the digits, and at lam = 2^-40 those are the digits that count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from xsdc import validation
from xsdc.core.operators import CostFactors, LabelEquivalence, Operator, center, symmetric_product
from xsdc.defaults import DEFAULTS
from xsdc.errors import InvalidInputError

Form = Literal["auto", "dxd", "nxn"]
LARGEST_FEATURE = 1e100


@dataclass(frozen=True)
class Spectrum:
    """Thin singular value decomposition of the centred features, ``Pi Phi = U diag(s) V^T``.

    Attributes
    ----------
    mean : Tensor, shape (D,)
        Mean of the features.
    Pc : Tensor, shape (n, D)
        Centred features.
    s : Tensor, shape (r,)
        Singular values, largest first, those that are only rounding left out.
    V : Tensor, shape (D, r)
        Right singular vectors.
    U : Tensor of shape (n, r), or None
        Left singular vectors, where the points' side was factorised.
    """

    mean: Tensor
    Pc: Tensor
    s: Tensor
    V: Tensor
    U: Tensor | None

    @property
    def n(self) -> int:
        """Number of points."""
        return self.Pc.shape[0]

    @cached_property
    def P(self) -> Tensor:
        """Principal components ``U diag(s) = Pi Phi V``, shape (n, r)."""
        return self.Pc @ self.V if self.U is None else self.U * self.s

    def cost(self, lam: float) -> CostFactors:
        """Return ``A`` for one value of ``lam``, in factors."""
        lam = validation.as_positive(lam, name="lam")
        d = self.s**2 + self.n * lam
        if len(self.s) == self.n - 1:
            # U spans all of Pi: A = U diag(lam / d) U^T, written so that small entries are not
            # what is left over from subtracting two matrices of size one.
            return CostFactors(0.0, self.P / self.s, lam / d)
        return CostFactors(1 / self.n, self.P / d.sqrt(), torch.full_like(d, -1 / self.n))

    def ridge(self, Y: Tensor, lams: Sequence[float] | Tensor) -> tuple[Tensor, Tensor]:
        """Ridge classifiers for a whole path of ``lam`` from this one decomposition.

        Each minimises ``||Y - Phi W - 1 b^T||^2 / n + lam ||W||^2``.

        Parameters
        ----------
        Y : Tensor, shape (n, k)
            Targets, usually one-hot labels.
        lams : sequence of float, length L
            Penalties, each above zero.

        Returns
        -------
        W : Tensor, shape (L, D, k)
        b : Tensor, shape (L, k)
        """
        Y = _targets(Y, n=self.n)
        shrink = 1 / self._denominators(lams)  # (L, r)
        W = self.V @ (shrink[:, :, None] * (self.V.T @ (self.Pc.T @ Y)))
        return W, Y.mean(0) - self.mean @ W

    def residuals(self, Y: Tensor, lams: Sequence[float] | Tensor) -> Tensor:
        """Values ``tr(Y Y^T A)`` of the objective along a path of ``lam``, shape (L,)."""
        Y = _targets(Y, n=self.n)
        explained = ((self.V.T @ (self.Pc.T @ Y)) ** 2).sum(1)  # (r,)
        total = (center(Y) ** 2).sum()
        return (total - (explained / self._denominators(lams)).sum(1)) / self.n

    def effective_dimension(self, lam: float) -> float:
        """Number of directions that the ridge lets through, ``sum s² / (s² + n lam)``, from 0 to r."""
        return float((self.s**2 / (self.s**2 + self.n * lam)).sum())

    def eigengap(self, lam: float, k: int) -> float:
        """Gap between the k-th and the next smallest eigenvalue of A; the first is that of the constant vector."""
        if k >= self.n:
            return 0.0
        below, above = (self._eigenvalue(lam, place) for place in (k - 1, k))
        return above - below

    def _eigenvalue(self, lam: float, place: int) -> float:
        """One of the eigenvalues of A in ascending order: 0, one for each singular value, then 1/n."""
        if place == 0:
            return 0.0
        s = float(self.s[place - 1]) if place <= len(self.s) else 0.0
        return lam / (s**2 + self.n * lam)

    def ridge_for_dimension(self, dimension: float) -> float:
        """Find the ``lam`` within [2^-40, 1] whose effective dimension comes nearest to the given one."""
        low, high = -40.0, 0.0
        for _ in range(40):  # the dimension falls as lam grows
            middle = (low + high) / 2
            low, high = (middle, high) if self.effective_dimension(2.0**middle) > dimension else (low, middle)
        return float(2.0 ** ((low + high) / 2))

    def ridge_for_classes(self, k: int, *, per_class: float = DEFAULTS.dimensions_per_class) -> float:
        """Ridge of an effective dimension of so many for each class, or of as many as points and features bear."""
        most = 0.9 * min(self.n / 4, max(len(self.s), 1))
        return self.ridge_for_dimension(min(per_class * k, most))

    def leave_one_out(self, Y: Tensor, lam: float) -> Tensor:
        """Score each point by the ridge classifier fitted to all the others, shape (n, k), without refitting."""
        Y = _targets(Y, n=self.n)
        d = self.s**2 + self.n * lam
        leverage = 1 / self.n + (self.P**2 / d).sum(1, keepdim=True)
        fitted = Y.mean(0) + self.P @ ((self.P.T @ Y) / d[:, None])
        return (fitted - leverage * Y) / (1 - leverage).clamp(min=1e-12)

    def _denominators(self, lams: Sequence[float] | Tensor) -> Tensor:
        path = torch.as_tensor(lams, dtype=self.s.dtype, device=self.s.device)
        if path.ndim != 1 or not bool((path > 0).all() & path.isfinite().all()):
            raise InvalidInputError("lams must be a sequence of finite numbers above zero.")
        return self.s**2 + self.n * path[:, None]


def one_hot(y: Tensor, *, n_classes: int | None = None) -> Tensor:
    """Turn integer labels into the assignment matrix ``Y (n, k)`` in float64."""
    codes = validation.as_codes(y, n=len(y))
    if not len(codes):
        raise InvalidInputError("y must hold at least one label; it is empty.")
    k = int(codes.max()) + 1 if n_classes is None else n_classes
    if int(codes.max()) >= k:
        raise InvalidInputError(f"y holds class {int(codes.max())}, but only {k} classes (0 to {k - 1}) were named.")
    return torch.nn.functional.one_hot(codes, k).to(torch.float64)


def decompose(Phi: Tensor, *, form: Form = "auto") -> Spectrum:
    """Decompose centred features once, in float64, for everything this module computes.

    Parameters
    ----------
    Phi : Tensor, shape (n, D)
        Features; float32 is fine, rank deficiency too (D > n, duplicate or constant columns).
    form : {"auto", "dxd", "nxn"}
        Which side is factorised: a D×D triangle, O(n D^2), or the points' side, which keeps ``U``
        orthonormal to the last digit and is cheaper when D >= n. "auto" takes the smaller one.
    """
    if form not in ("auto", "dxd", "nxn"):
        raise InvalidInputError(f'form must be "auto", "dxd" or "nxn"; it is {form!r}.')
    X = validation.as_features(Phi).detach()
    n, D = X.shape
    low, high = torch.aminmax(X)
    if max(abs(float(low)), abs(float(high))) > LARGEST_FEATURE:
        raise InvalidInputError(f"Phi must stay below {LARGEST_FEATURE:g}, or its squares overflow. Rescale it.")
    mean = X.mean(0, dtype=torch.float64)
    # Fresh memory costs as much as the arithmetic on it: centre in the float64 copy where one is made.
    Pc = X - mean if X.dtype == torch.float64 else X.to(torch.float64).sub_(mean)
    U: Tensor | None = None
    if form == "nxn" or (form == "auto" and n - 1 <= D):
        U, s, Vh = torch.linalg.svd(Pc, full_matrices=False)
    else:
        _, s, Vh = torch.linalg.svd(torch.linalg.qr(Pc, mode="r").R, full_matrices=False)
    # What centering leaves of a constant column is rounding of the uncentred numbers.
    rounding = torch.finfo(s.dtype).eps * (n * D) ** 0.5 * max(abs(float(low)), abs(float(high)))
    r = min(int((s > rounding).sum()), n - 1)
    return Spectrum(mean=mean, Pc=Pc, s=s[:r], V=Vh[:r].T, U=None if U is None else U[:, :r])


def cost_matrix(Phi: Tensor, lam: float, *, form: Form = "auto") -> Tensor:
    """Compute the dense matrix ``A (n, n)`` of eq. 4 in float64.

    Large problems want ``decompose(Phi).cost(lam)``, the same matrix in factors.
    """
    return decompose(Phi, form=form).cost(lam).dense()


def ridge_classifier(Phi: Tensor, Y: Tensor, lam: float) -> tuple[Tensor, Tensor]:
    """Solve ``min ||Y - Phi W - 1 b^T||^2 / n + lam ||W||^2`` for ``W (D, k)`` and ``b (k,)``."""
    W, b = decompose(Phi).ridge(Y, [lam])
    return W[0], b[0]


def trace_and_gradient(
    Phi: Tensor, M: Operator | Tensor, lam: float, *, spectrum: Spectrum | None = None
) -> tuple[Tensor, Tensor]:
    """Compute ``tr(M A(Phi))`` and its gradient in ``Phi`` in closed form.

    The gradient is ``-2 A Ms Pc (Pc^T Pc + n lam I)^{-1}`` with ``Ms`` the symmetric part of ``M`` and
    ``Pc = Pi Phi`` (the proof of Proposition 4.1, pushed through to the D×D side). ``M`` enters by one product
    with r + 1 columns.

    Parameters
    ----------
    Phi : Tensor, shape (n, D)
        Features.
    M : Tensor, shape (n, n), or Operator
        Equivalence matrix, held fixed; it need not be symmetric.
    lam : float
        Ridge penalty, above zero.
    spectrum : Spectrum, optional
        ``decompose(Phi)``, where it is at hand.

    Returns
    -------
    value : Tensor, scalar, float64
    gradient : Tensor, shape (n, D), float64
    """
    spectrum = decompose(Phi) if spectrum is None else spectrum
    n = spectrum.n
    if isinstance(M, Tensor | np.ndarray | list):
        M = validation.as_square(M, name="M").detach()
    if isinstance(M, Tensor | LabelEquivalence):
        shape = tuple(M.shape) if isinstance(M, Tensor) else (len(M.y),) * 2
        if shape != (n, n):
            raise InvalidInputError(f"M must have shape ({n}, {n}) to match Phi; it has shape {shape}.")
    A = spectrum.cost(lam)
    ones = A.B.new_ones(n, 1)
    MB = symmetric_product(M, torch.cat([A.B, ones], dim=1))  # (n, r + 1): Ms B and Ms 1
    MB, M1 = MB[:, :-1], MB[:, -1]
    value = A.alpha * (float(M.trace()) - M1.mean()) + (A.w * A.B * MB).sum()

    d = spectrum.s**2 + n * lam
    to_PcK = d.rsqrt() if A.alpha else spectrum.s / d  # Pc (Pc^T Pc + n lam I)^{-1} = B diag(.) V^T
    gradient = -2 * (A @ (MB * to_PcK)) @ spectrum.V.T
    return value, gradient


def trace_objective(Phi: Tensor, M: Operator | Tensor, lam: float, *, spectrum: Spectrum | None = None) -> Tensor:
    """Compute ``tr(M A(Phi))`` as a scalar that backpropagates into ``Phi`` by the closed form.

    ``M`` and ``lam`` are held fixed; see :func:`trace_and_gradient`.
    """
    if not isinstance(Phi, Tensor) or not Phi.is_floating_point():
        raise InvalidInputError("Phi must be a tensor of floating-point numbers: it is what the gradient is taken of.")
    value: Tensor = _TraceObjective.apply(Phi, M, lam, spectrum)  # type: ignore[no-untyped-call]
    return value


class _TraceObjective(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, Phi: Tensor, M: Operator | Tensor, lam: float, spectrum: Spectrum | None) -> Tensor:
        value, gradient = trace_and_gradient(Phi, M, lam, spectrum=spectrum)
        ctx.save_for_backward(gradient.to(Phi.dtype))
        return value.to(Phi.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return upstream * gradient, None, None, None


def _targets(Y: Tensor, *, n: int) -> Tensor:
    Y = validation.as_features(Y, name="Y").detach().to(torch.float64)
    if Y.shape[0] != n:
        raise InvalidInputError(f"Y must have one row per point, {n}; it has {Y.shape[0]}.")
    return Y
