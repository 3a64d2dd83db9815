"""Matrices held by what makes them: the equivalence of labels, the cost of features, and products with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from xsdc import validation

TILE = 512  # rows and columns of a part of a matrix that stays in the cache


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

    def to(self, dtype: torch.dtype) -> CostFactors:
        """Round the factors."""
        return CostFactors(self.alpha, self.B.to(dtype), self.w.to(dtype))

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

    def dense(self, dtype: torch.dtype | None = None) -> Tensor:
        """The whole matrix, exactly symmetric, rounded to ``dtype`` at the end.

        In tiles, each written with its mirror image: half of the products, and no transposition that leaves the
        cache. The sum with a transpose took half of a training step with 4,096 points; this takes a sixth of that.
        """
        A = torch.empty(self.n, self.n, dtype=dtype or self.B.dtype, device=self.B.device)
        left = self.B * self.w
        for start in range(0, self.n, TILE):
            rows = slice(start, start + TILE)
            for first in range(start, self.n, TILE):
                columns = slice(first, first + TILE)
                tile = left[rows] @ self.B[columns].T
                if self.alpha:
                    tile -= self.alpha / self.n
                if first == start:
                    tile = (tile + tile.T) / 2
                    tile.diagonal().add_(self.alpha)
                A[rows, columns] = tile
                A[columns, rows] = tile.T
        return A


def center(Phi: Tensor) -> Tensor:
    """Subtract the mean of each column: ``Pi Phi``."""
    return Phi - Phi.mean(0)


def symmetric_part(M: Tensor) -> Tensor:
    """Make ``(M + M^T) / 2``, in tiles, which are faster than one sum where a row is longer than the cache."""
    out = torch.empty_like(M)
    for start in range(0, len(M), TILE):
        rows = slice(start, start + TILE)
        for first in range(start, len(M), TILE):
            columns = slice(first, first + TILE)
            tile = (M[rows, columns] + M[columns, rows].T) / 2
            out[rows, columns] = tile
            out[columns, rows] = tile.T
    return out


def symmetric_product(M: Operator | Tensor, X: Tensor) -> Tensor:
    """Multiply by the symmetric part, ``(M + M^T) X / 2``, in the precision of M; returned in that of X."""
    Z = X.to(M.dtype) if isinstance(M, Tensor) else X
    MT = M.T
    if MT is M:
        return (M @ Z).to(X.dtype)
    return ((M @ Z).to(X.dtype) + (MT @ Z).to(X.dtype)) / 2
