"""The result of balancing: the matrix, or an operator for it, with the account of how it was reached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from xsdc.core.gibbs import DenseGibbs, Gibbs
from xsdc.core.known import Known, both_orders
from xsdc.core.problem import Problem


@dataclass(frozen=True)
class BalancedOperator:
    """A balanced M too large to hold: products and rows are computed in row blocks.

    The kernel under it is symmetric; M is where its two scalings are the same.
    """

    gibbs: Gibbs
    log_u: Tensor
    log_v: Tensor
    known: Known
    cap: float | None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.gibbs.n, self.gibbs.n

    @property
    def T(self) -> BalancedOperator:
        """The transpose; the operator itself where it is symmetric."""
        if self.log_u is self.log_v:
            return self
        return BalancedOperator(self.gibbs, self.log_v, self.log_u, self.known, self.cap)

    def trace(self) -> float:
        """Every point is in its own group."""
        return float(self.gibbs.n)

    def __matmul__(self, X: Tensor, /) -> Tensor:
        out = torch.empty(self.gibbs.n, *X.shape[1:], dtype=X.dtype, device=X.device)
        Z = X.to(self.gibbs.dtype)
        for rows, E in self.unknown_blocks():
            out[rows] = (E @ Z).to(X.dtype)
        i, j = both_orders(self.known.ones)
        return out.add_(X).index_add_(0, i, X[j])

    def symmetric_product(self, X: Tensor) -> Tensor:
        """``(M + M^T) X / 2``; without a cap in one pass over half of the kernel."""
        if self.cap is not None:
            return (self @ X + self.T @ X) / 2
        out = self.gibbs.symmetric_product(self.log_u, self.log_v, X)
        if not bool(out.isfinite().all()):  # the two scalings lie too far apart to be parted
            return (self @ X + self.T @ X) / 2
        i, j = both_orders(self.known.ones)
        return out.add_(X).index_add_(0, i, X[j])

    def dense(self) -> Tensor:
        """The whole matrix."""
        M = torch.empty(self.shape, dtype=self.gibbs.dtype, device=self.log_u.device)
        for rows, E in self.unknown_blocks():
            M[rows] = E
        return _with_ones(M, self.known)

    def unknown_blocks(self) -> Iterator[tuple[slice, Tensor]]:
        """Row blocks with the known entries left out (zero); a block is overwritten by the next."""
        for rows, E in self.gibbs.blocks(self.log_u, self.log_v):
            yield rows, E if self.cap is None else E.clamp_(max=self.cap)

    def sums(self) -> tuple[Tensor, Tensor, float]:
        """Row sums, column sums and the largest unknown entry, in one pass."""
        ones = self.known.ones_per_row().to(self.log_u)
        row_sums, column_sums, largest = ones.clone(), ones.clone(), 0.0
        for rows, E in self.unknown_blocks():
            row_sums[rows] += E.sum(1)
            column_sums += E.sum(0)
            largest = max(largest, float(E.max()))
        return row_sums, column_sums, largest


@dataclass(frozen=True)
class Balanced:
    """Result of :func:`xsdc.core.balancing.balance`.

    Attributes
    ----------
    M : Tensor of shape (n, n), or BalancedOperator
        The balanced matrix: dense for a dense A, an operator for an A in factors. Known entries are exact.
    log_u, log_v : Tensor of float64, shape (n,)
        Logarithms of the scalings of rows and columns; minus infinity where known ones fill a row.
    nu : float
        Entropic weight used.
    converged : bool
        Whether no log-scaling moved by more than ``tol`` (1e-6 where none was given) in the last iteration.
    n_iter : int
        Iterations made.
    row_residual, column_residual : float
        Largest violation of a bound by a row or column sum, as a share of the upper bound.
    cap_residual : float
        How far the largest entry that was not known exceeds the cap, or 1 where no cap was set.
    """

    M: Tensor | BalancedOperator
    log_u: Tensor
    log_v: Tensor
    nu: float
    converged: bool
    n_iter: int
    row_residual: float
    column_residual: float
    cap_residual: float


def _with_ones(M: Tensor, known: Known) -> Tensor:
    """Write the known ones into a matrix whose known entries are zero."""
    i, j = both_orders(known.ones)
    M[i, j] = 1.0
    return M.fill_diagonal_(1.0)


def collect(problem: Problem, gibbs: Gibbs, f: Tensor, g: Tensor, *, n_iter: int, converged: bool) -> Balanced:
    """Form the result at the log-scalings ``f`` and ``g``."""
    M: Tensor | BalancedOperator
    if isinstance(gibbs, DenseGibbs):
        M = gibbs.into_matrix(f, g)
        M = M if problem.cap is None else M.clamp_(max=problem.cap)
        largest = float(M.max())
        M = _with_ones(M, problem.known)
        rows, columns = M.sum(1).to(f), M.sum(0).to(f)
        M = M.to(problem.A.dtype) if isinstance(problem.A, Tensor) else M
    else:
        M = BalancedOperator(gibbs, f, g, problem.known, problem.cap)
        rows, columns, largest = M.sums()

    def violation(sums: Tensor) -> float:
        outside = torch.maximum(problem.lo - sums, sums - problem.hi).clamp(min=0)
        return float((outside / problem.hi).max())

    return Balanced(
        M=M,
        log_u=f,
        log_v=g,
        nu=problem.nu * problem.unit,
        converged=converged,
        n_iter=n_iter,
        row_residual=violation(rows),
        column_residual=violation(columns),
        cap_residual=max(0.0, largest - (1.0 if problem.cap is None else problem.cap)),
    )
