"""The matrix ``exp(-A / nu) M0`` that balancing scales: its sums in the log domain, dense or in row blocks.

Both classes answer the same questions about ``E_ij = exp(-A_ij / nu + log M0_ij + f_i + g_j)``, whose known
entries are left out, for any finite ``f`` and ``g`` (minus infinity marks an emptied row). Sums never
overflow or vanish: where the fast product does, the row is summed again with its maximum taken out.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor

from xsdc.core.known import Known, both_orders
from xsdc.core.operators import CostFactors

BLOCK_ENTRIES = 1 << 20  # of a block of rows: small enough for the cache, large enough for two cores
FLOAT32_EXPONENT = 256.0  # beyond it float32 leaves less than four digits of exp(x)


class Gibbs(Protocol):
    """What the solver needs to know of the matrix E."""

    n: int
    dtype: torch.dtype

    def log_row_sums(self, f: Tensor, g: Tensor) -> Tensor:
        """``log sum_j exp(-Q_ij + g_j)``, near the scalings ``f``."""

    def log_column_sums(self, f: Tensor, g: Tensor) -> Tensor:
        """``log sum_i exp(-Q_ij + f_i)``, near the scalings ``g``."""

    def capped_row_sums(self, f: Tensor, g: Tensor, cap: float) -> tuple[Tensor, Tensor]:
        """Logarithm of the sum of the entries below the cap, and number of those at or above it, by row."""

    def capped_column_sums(self, f: Tensor, g: Tensor, cap: float) -> tuple[Tensor, Tensor]:
        """The same by column."""

    def blocks(self, f: Tensor, g: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Row blocks of E, known entries zero; a block is overwritten by the next."""

    def symmetric_product(self, f: Tensor, g: Tensor, X: Tensor) -> Tensor:
        """``(E + E^T) X / 2``, known entries zero."""


class _Blocked(ABC):
    """Sums over row blocks; ``_fill`` writes the exponents of one block."""

    n: int
    dtype: torch.dtype
    device: torch.device
    _known: tuple[Tensor, Tensor, Tensor]
    _known_per_row: Tensor

    def _set_known(self, known: Known) -> None:
        rows, cols = both_orders(torch.cat([known.ones, known.zeros]).to(self.device))
        every = torch.arange(self.n, device=self.device)
        rows, cols = torch.cat([rows, every]), torch.cat([cols, every])
        order = rows.argsort()
        # Sorted by row, so that a block of rows finds its known entries in one slice.
        starts = torch.searchsorted(rows[order], torch.arange(self.n + 1, device=self.device))
        self._known = rows[order], cols[order], starts
        self._known_per_row = starts.diff()

    @abstractmethod
    def _fill(self, rows: slice, f: Tensor, g: Tensor, out: Tensor) -> None:
        """Write the exponents of some rows."""

    def _exponents(self, f: Tensor, g: Tensor) -> Iterator[tuple[slice, Tensor]]:
        step = max(1, min(self.n, BLOCK_ENTRIES // self.n))
        buffer = torch.empty(step, self.n, dtype=self.dtype, device=self.device)
        known_rows, known_cols, starts = self._known
        for start in range(0, self.n, step):
            rows = slice(start, min(start + step, self.n))
            out = buffer[: rows.stop - start]
            self._fill(rows, f, g, out)
            mine = slice(int(starts[rows.start]), int(starts[rows.stop]))
            out[known_rows[mine] - start, known_cols[mine]] = -torch.inf
            yield rows, out

    def blocks(self, f: Tensor, g: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Row blocks of E, known entries zero; a block is overwritten by the next."""
        for rows, out in self._exponents(f, g):
            yield rows, out.exp_()

    def symmetric_product(self, f: Tensor, g: Tensor, X: Tensor) -> Tensor:
        """``(E + E^T) X / 2``, known entries zero."""
        Z, out = X.to(self.dtype), torch.zeros(self.n, X.shape[1], dtype=self.dtype, device=self.device)
        for rows, E in self.blocks(f, g):
            out[rows] += E @ Z
            out += E.T @ Z[rows]
        return (out / 2).to(X.dtype)

    def capped_row_sums(self, f: Tensor, g: Tensor, cap: float) -> tuple[Tensor, Tensor]:
        """Logarithm of the sum of the entries below the cap, and number of those at or above it, by row."""
        free, full = torch.empty_like(f), torch.empty_like(f)
        for rows, E in self.blocks(f, g):
            over = E.ge(cap)
            full[rows] = torch.count_nonzero(over, dim=1).to(f)
            free[rows] = E.masked_fill_(over, 0).sum(1).to(f)
        if self._in_range(free, complete=full + self._known_per_row == self.n):
            return free.log(), full
        for rows, out in self._exponents(f, g):  # some sums vanished: again, with the maximum taken out
            free[rows] = torch.logsumexp(out.masked_fill_(out >= math.log(cap), -torch.inf), 1).to(f)
        return free, full

    def capped_column_sums(self, f: Tensor, g: Tensor, cap: float) -> tuple[Tensor, Tensor]:
        """The same by column."""
        free, full = torch.zeros_like(g), torch.zeros_like(g)
        for _, E in self.blocks(f, g):
            over = E.ge(cap)
            full += torch.count_nonzero(over, dim=0)
            free += E.masked_fill_(over, 0).sum(0)
        if self._in_range(free, complete=full + self._known_per_row == self.n):
            return free.log(), full
        log_free = torch.full_like(g, -torch.inf)
        for _, out in self._exponents(f, g):
            block = torch.logsumexp(out.masked_fill_(out >= math.log(cap), -torch.inf), 0).to(g)
            log_free = torch.logaddexp(log_free, block)
        return log_free, full

    def _in_range(self, sums: Tensor, *, complete: Tensor | None = None) -> bool:
        """Whether no sum overflowed or came so near the smallest number that it lost digits or terms.

        Complete rows, which have no entry left to sum, are left aside.
        """
        info = torch.finfo(self.dtype)
        empty = self._known_per_row == self.n if complete is None else complete
        low, high = torch.aminmax(sums.masked_fill(empty, 1.0))
        return float(low) > info.tiny / info.eps and float(high) < info.max

    def _stable_row_sums(self, g: Tensor) -> Tensor:
        """Log-sum-exp with every row's maximum taken out: slower, for any range of exponents."""
        sums = torch.empty_like(g)
        for rows, out in self._exponents(torch.zeros_like(g), g):
            sums[rows] = torch.logsumexp(out, 1).to(g)
        return sums

    def _stable_column_sums(self, f: Tensor) -> Tensor:
        sums = torch.full_like(f, -torch.inf)
        for _, out in self._exponents(f, torch.zeros_like(f)):
            sums = torch.logaddexp(sums, torch.logsumexp(out, 0).to(f))
        return sums


class DenseGibbs(_Blocked):
    """E for a dense A. The kernel is kept with the scalings absorbed into it; sums are products with it."""

    def __init__(self, A: Tensor, *, nu: float, log_initial: Tensor, known: Known) -> None:
        self.n, self.device = len(A), A.device
        self.dtype = A.dtype if 1 / nu < torch.finfo(A.dtype).max else torch.float64
        self._A, self._nu, self._log_initial = A, nu, log_initial
        self._set_known(known)
        self._K = torch.empty(self.n, self.n, dtype=self.dtype, device=self.device)
        zero = torch.zeros(self.n, dtype=torch.float64, device=self.device)
        self._absorb(zero, zero)

    def _fill(self, rows: slice, f: Tensor, g: Tensor, out: Tensor) -> None:
        # Scalings are added to each other first: E is then symmetric to the last bit where A is and f = g.
        half = self._log_initial / 2 if self._log_initial.ndim == 0 else 0.0
        torch.add((f[rows, None] + half).to(self.dtype), (g + half).to(self.dtype), out=out)
        out.add_(self._A[rows].to(self.dtype), alpha=-1 / self._nu)
        if self._log_initial.ndim:
            out.add_(self._log_initial[rows].to(self.dtype))

    def _absorb(self, f: Tensor, g: Tensor) -> None:
        """Hold K = exp(-Q + f + g), so that products with it stay in range while scalings move on."""
        self._f0, self._g0 = finite(f), finite(g)
        # An entry that matters has an exponent that the scalings cancel: large scalings, digits lost.
        if max(float(self._f0.abs().max()), float(self._g0.abs().max())) > FLOAT32_EXPONENT:
            self.dtype = torch.float64
            self._K = self._K.to(self.dtype)
        for rows, out in self._exponents(self._f0, self._g0):
            torch.exp(out, out=self._K[rows])

    def log_row_sums(self, f: Tensor, g: Tensor) -> Tensor:
        """``log sum_j exp(-Q_ij + g_j)``, near the scalings ``f``."""
        for _ in range(2):
            sums = self._product(self._K, g - self._g0)
            if sums is not None:
                return sums - self._f0
            self._absorb(f, g)
        return self._stable_row_sums(g)

    def log_column_sums(self, f: Tensor, g: Tensor) -> Tensor:
        """``log sum_i exp(-Q_ij + f_i)``, near the scalings ``g``."""
        for _ in range(2):
            sums = self._product(self._K.T, f - self._f0)
            if sums is not None:
                return sums - self._g0
            self._absorb(f, g)
        return self._stable_column_sums(f)

    def into_matrix(self, f: Tensor, g: Tensor) -> Tensor:
        """E itself, known entries zero, in the memory of the kernel: the last thing to ask for."""
        if max(float((f - self._f0).max()), float((g - self._g0).max())) > self._reach():
            self._absorb(f, g)
        u, v = ((x - x0).exp().to(self.dtype) for x, x0 in ((f, self._f0), (g, self._g0)))
        step = max(1, BLOCK_ENTRIES // self.n)
        for start in range(0, self.n, step):
            self._K[start : start + step] *= u[start : start + step, None] * v  # symmetric where u = v
        return self._K

    def _reach(self) -> float:
        """How far a log-scaling may move from the absorbed one before products leave the range of the type."""
        return -0.4 * math.log(torch.finfo(self.dtype).tiny)

    def _product(self, K: Tensor, log_x: Tensor) -> Tensor | None:
        """``log(K exp(log_x))``, or nothing where the numbers would leave the range of the type."""
        if float(log_x.max()) > self._reach():
            return None
        sums = (K @ log_x.exp().to(self.dtype)).to(log_x)
        return sums.log() if self._in_range(sums) else None


class FactoredGibbs(_Blocked):
    """E for an A in factors, recomputed in row blocks for every sum: memory O(n · block)."""

    def __init__(self, A: CostFactors, *, nu: float, log_initial: Tensor, known: Known) -> None:
        self.n, self.device, self.dtype = A.n, A.B.device, A.B.dtype
        reach = float((A.B**2 * A.w.abs()).sum(1).max()) / nu  # bounds |B w B^T| by Cauchy-Schwarz
        constant = A.alpha / (A.n * nu) + float(log_initial)  # off the diagonal, what centering leaves
        if max(reach, abs(constant)) > FLOAT32_EXPONENT:
            self.dtype = torch.float64
        self._left = (A.B.to(torch.float64) * (-A.w / nu)).to(self.dtype)
        self._right = A.B.to(self.dtype)
        self._constant = constant
        self._set_known(known)

    def _fill(self, rows: slice, f: Tensor, g: Tensor, out: Tensor) -> None:
        shift = (g + self._constant).to(self.dtype)
        torch.addmm(shift, self._left[rows], self._right.T, out=out)
        out += f[rows, None].to(self.dtype)

    def log_row_sums(self, f: Tensor, g: Tensor) -> Tensor:
        """``log sum_j exp(-Q_ij + g_j)``, near the scalings ``f``."""
        half = (finite(f) + finite(g)) / 2
        weights = (g - half).exp().to(self.dtype)
        sums = torch.zeros_like(f)
        for rows, E in self._upper_blocks(half):
            inner = rows.stop - rows.start
            sums[rows] += E @ weights[rows.start :]
            sums[rows.stop :] += E[:, inner:].T @ weights[rows]
        if bool(weights.isfinite().all()) and self._in_range(sums):
            return sums.log() - half
        return self._stable_row_sums(g)

    def symmetric_product(self, f: Tensor, g: Tensor, X: Tensor) -> Tensor:
        """``(E + E^T) X / 2`` in one pass over half of the kernel.

        With ``h = (f + g) / 2`` and ``a = (f - g) / 2``, ``E_ij = exp(a_i) exp(-Q_ij + h_i + h_j) exp(-a_j)``, and the
        matrix in the middle is symmetric.
        """
        full = f.isfinite() & g.isfinite()  # an emptied row has no entry left
        a = finite(f - g) / 2
        left, right = (torch.where(full, x.exp(), 0.0).to(self.dtype)[:, None] for x in (a, -a))
        m = X.shape[1]
        Z = torch.cat([right * X.to(self.dtype), left * X.to(self.dtype)], 1)
        out = torch.zeros_like(Z)
        for rows, E in self._upper_blocks((finite(f) + finite(g)) / 2):
            inner = rows.stop - rows.start
            out[rows] += E @ Z[rows.start :]
            out[rows.stop :] += E[:, inner:].T @ Z[rows]
        return ((left * out[:, :m] + right * out[:, m:]) / 2).to(X.dtype)

    def _upper_blocks(self, h: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Rows of ``exp(-Q_ij + h_i + h_j)`` from the diagonal on: symmetric, so half of it says all.

        Most of the time goes into the product and the exponential, and both are halved.
        """
        known_rows, known_cols, starts = self._known
        shift = (h + self._constant / 2).to(self.dtype)
        buffer = torch.empty(max(BLOCK_ENTRIES, self.n), dtype=self.dtype, device=self.device)
        start = 0
        while start < self.n:
            width = self.n - start
            stop = min(self.n, start + max(1, BLOCK_ENTRIES // width))
            out = buffer[: (stop - start) * width].view(stop - start, width)
            torch.addmm(shift[start:], self._left[start:stop], self._right[start:].T, out=out)
            out += shift[start:stop, None]
            mine = slice(int(starts[start]), int(starts[stop]))
            i, j = known_rows[mine], known_cols[mine]
            upper = j >= start
            out[i[upper] - start, j[upper] - start] = -torch.inf
            yield slice(start, stop), out.exp_()
            start = stop

    def log_column_sums(self, f: Tensor, g: Tensor) -> Tensor:
        """``log sum_i exp(-Q_ij + f_i)``: A is symmetric, so rows and columns change places."""
        return self.log_row_sums(g, f)

    def capped_column_sums(self, f: Tensor, g: Tensor, cap: float) -> tuple[Tensor, Tensor]:
        """By symmetry, the row sums with the scalings exchanged."""
        return self.capped_row_sums(g, f, cap)


def finite(x: Tensor) -> Tensor:
    """Replace infinite log-scalings by zero, where they only serve as a reference point."""
    return torch.where(x.isfinite(), x, torch.zeros_like(x))
