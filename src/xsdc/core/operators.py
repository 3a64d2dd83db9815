"""Matrices held by what makes them: the equivalence of labels, the cost of features, and products with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from xsdc import validation


class Operator(Protocol):
    """An n×n matrix known by its products; a dense tensor is one too."""

    @property
    def T(self) -> Operator | Tensor:
        """The transpose; an operator that returns itself declares that it is symmetric."""

    def __matmul__(self, X: Tensor, /) -> Tensor: ...

    def trace(self) -> Tensor | float:
        """Sum of the diagonal."""


@dataclass(frozen=True)
class LabelEquivalence:
    """The equivalence matrix ``M = Y Y^T`` of known labels, without forming it.

    Parameters
    ----------
    y : Tensor of int, shape (n,)
        Class of each point, 0, 1, ...
    """

    y: Tensor

    def __post_init__(self) -> None:
        validation.as_codes(self.y, n=len(self.y))

    @property
    def T(self) -> LabelEquivalence:
        """The matrix is symmetric."""
        return self

    def __matmul__(self, X: Tensor, /) -> Tensor:
        sums = X.new_zeros(int(self.y.max()) + 1, X.shape[1]).index_add_(0, self.y, X)  # (k, m)
        return sums[self.y]

    def trace(self) -> float:
        """Every point is in its own group."""
        return float(len(self.y))


@dataclass(frozen=True)
class CostFactors:
    """The matrix ``A = alpha (I - 1 1^T / n) + B diag(w) B^T`` held by its factors.

    Attributes
    ----------
    alpha : float
        Weight of the centering matrix; zero where ``B`` spans every centred direction.
    B : Tensor, shape (n, r)
        Centred columns.
    w : Tensor, shape (r,)
        Their weights.
    """

    alpha: float
    B: Tensor
    w: Tensor

    @property
    def n(self) -> int:
        """Number of points."""
        return self.B.shape[0]

    def __matmul__(self, X: Tensor, /) -> Tensor:
        low_rank = self.B @ (self.w[:, None] * (self.B.T @ X))
        return low_rank + self.alpha * center(X) if self.alpha else low_rank

    def rows(self, start: int, stop: int) -> Tensor:
        """Rows ``start:stop`` of A as a dense block."""
        block = (self.B[start:stop] * self.w) @ self.B.T  # (stop - start, n)
        if self.alpha:
            block -= self.alpha / self.n
            block.diagonal(start).add_(self.alpha)
        return block

    def dense(self) -> Tensor:
        """The whole matrix, exactly symmetric."""
        A = self.rows(0, self.n)
        return (A + A.T) / 2


def center(Phi: Tensor) -> Tensor:
    """Subtract the mean of each column: ``Pi Phi``."""
    return Phi - Phi.mean(0)


def symmetric_product(M: Operator | Tensor, X: Tensor) -> Tensor:
    """Multiply by the symmetric part, ``(M + M^T) X / 2``, in the precision of M; returned in that of X."""
    Z = X.to(M.dtype) if isinstance(M, Tensor) else X
    MT = M.T
    if MT is M:
        return (M @ Z).to(X.dtype)
    return ((M @ Z).to(X.dtype) + (MT @ Z).to(X.dtype)) / 2
