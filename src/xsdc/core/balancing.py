r"""Matrix balancing: the most plausible equivalence matrix under bounds, known entries and a cost.

    min_M  <M, A> + nu D_h(M; M0)
    s.t.   M_ij = m_ij where known,  lo_i <= sum_j M_ij <= hi_i,  lo_j <= sum_i M_ij <= hi_j,  (M_ij <= cap)

This is the paper's problem (eq. 5) with its entropy ``h(M) = sum M log M``; as in Algorithm 1, and unlike in
the display, ``A`` is not halved. The solution has the form ``M_ij = min(cap, u_i exp(-A_ij / nu) M0_ij v_j)``
off the known entries; the scalings are kept as logarithms ``f = log u`` and ``g = log v``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from xsdc import validation
from xsdc.core.balanced import Balanced, collect
from xsdc.core.gibbs import DenseGibbs, FactoredGibbs, Gibbs
from xsdc.core.known import Known, both_orders
from xsdc.core.operators import CostFactors
from xsdc.core.problem import Bound, Fractions, Problem, pose
from xsdc.errors import NotConvergedWarning

PAPER_ITERATIONS = 10
MOST_ITERATIONS = 10_000
NEWTON_STEPS = 30  # for one capped half-step; three to five are usual

Step = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
CappedSums = Callable[[Tensor], tuple[Tensor, Tensor]]


def balance(
    A: Tensor | CostFactors,
    *,
    size: tuple[Bound, Bound] | Fractions,
    known: Known | tuple[object, object, object] | None = None,
    nu: float | Literal["median"] = "median",
    initial: float | Tensor | None = None,
    cap: float | None = None,
    max_iter: int | None = None,
    tol: float | None = None,
    symmetric: bool = False,
) -> Balanced:
    r"""Find the equivalence matrix that costs least under bounds on group sizes and known entries.

    Parameters
    ----------
    A : Tensor of shape (n, n), or CostFactors
        Cost. In factors the kernel is applied in row blocks and memory stays O(n · block).
    size : (n_min, n_max) or Fractions
        Bounds on the sums of rows and columns, that is on the size of the group each point is in. A pair
        counts points; ``Fractions`` says shares of n. Each bound is a number, or a vector with one per point.
    known : Known or (rows, cols, values), optional
        Entries fixed exactly to 0 or 1. The diagonal is always 1.
    nu : float or "median"
        Entropic weight; "median" is the paper's median of all \|A_ij\|.
    initial : float or Tensor of shape (n, n), optional
        Positive starting guess ``M0``. By default the middle of the size bounds over n: 1/k for k equal groups.
    cap : float, optional
        Upper bound on the entries; 1 is that of an equivalence matrix. The paper has none.
    max_iter : int, optional
        Iterations. By default 10, the paper's number, or with ``tol`` as many as it takes (at most 10,000).
    tol : float, optional
        Iterate until no log-scaling moves by more than this.
    symmetric : bool
        Return a symmetric M, scaled by the same vector on both sides. A must be symmetric.

    Returns
    -------
    Balanced

    Raises
    ------
    InfeasibleError
        If no matrix meets the bounds, before iterating; its ``rows`` name the points. Where very many known entries
        tell all points apart this may stay open; a result that then misses its bounds comes with a
        `NotConvergedWarning`.

    Notes
    -----
    With ``tol``, ``cap`` and ``symmetric`` at their defaults every step is that of Algorithm 1, which holds the
    multipliers of the known entries back by half a step. Otherwise they, and the cap's, are solved
    for inside each half-step: the same solution in fewer iterations. In both cases the known
    entries of the result are set to their values (line 5 of Algorithm 1 once more, with the last u and v).
    """
    problem = pose(A, known=known, size=size, nu=nu, initial=initial, cap=cap, symmetric=symmetric)
    tol = None if tol is None else validation.as_positive(tol, name="tol")
    if max_iter is None:
        max_iter = PAPER_ITERATIONS if tol is None else MOST_ITERATIONS
    max_iter = validation.as_count(max_iter, name="max_iter")

    gibbs = _kernel(problem)
    paper = tol is None and problem.cap is None and not symmetric
    step = _paper_step(problem, gibbs) if paper else _joint_step(problem, gibbs, symmetric=symmetric)
    f = g = torch.zeros_like(problem.lo)
    n_iter, moved = 0, torch.inf
    while n_iter < max_iter and (tol is None or moved > tol):
        f_old, g_old = f, g
        f, g = step(f, g)
        n_iter += 1
        if tol is not None or n_iter == max_iter:
            moved = max(_distance(f, f_old), _distance(g, g_old))
    result = collect(problem, gibbs, f, g, n_iter=n_iter, converged=moved <= (1e-6 if tol is None else tol))
    _warn(problem, result, moved=moved, tol=tol)
    return result


def _warn(problem: Problem, result: Balanced, *, moved: float, tol: float | None) -> None:
    missed = max(result.row_residual, result.column_residual)
    if not problem.surely_feasible and missed > 0.01:
        message = (
            f"Sums are off by {missed:.1e} of their bounds after {result.n_iter} iterations, and it could not be ruled"
            " out beforehand that no matrix meets them. Loosen the bounds or drop some constraints."
        )
    elif tol is not None and not result.converged:
        message = (
            f"Balancing stopped after {result.n_iter} iterations with scalings still moving by {moved:.1e}"
            f" (tol={tol:.1e}); rows are off by {result.row_residual:.1e} of their bounds. Raise max_iter, tol or nu."
        )
    else:
        return
    warnings.warn(message, NotConvergedWarning, stacklevel=3)


def _kernel(problem: Problem) -> Gibbs:
    if isinstance(problem.A, CostFactors):
        return FactoredGibbs(problem.A, nu=problem.nu, log_initial=problem.log_initial, known=problem.known)
    return DenseGibbs(problem.A, nu=problem.nu, log_initial=problem.log_initial, known=problem.known)


def _paper_step(problem: Problem, gibbs: Gibbs) -> Step:
    """Algorithm 1, lines 5 to 10, in logarithms and without a dense N.

    Line 5 sets N_ij = m_ij / (u_i v_j) at the old scalings. In a row sum that gives m_ij / u_i, because v has not
    moved; in a column sum m_ij (u_i new / u_i old) / v_j.
    """
    known = problem.known
    i, j = both_orders(known.ones)
    every = torch.arange(known.n, device=i.device)
    i, j = torch.cat([i, every]), torch.cat([j, every])
    log_lo, log_hi = problem.lo.log(), problem.hi.log()
    log_ones = known.ones_per_row().to(log_lo).log()

    def step(f: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
        row = torch.logaddexp(gibbs.log_row_sums(f, g), log_ones - f)  # log(N v)
        f_new = _nearest_to_zero(log_lo - row, log_hi - row)
        change = f_new - f
        top = torch.full_like(f, -torch.inf).scatter_reduce_(0, j, change[i], "amax")
        lifted = torch.zeros_like(f).index_add_(0, j, (change[i] - top[j]).exp()).log() + top
        column = torch.logaddexp(gibbs.log_column_sums(f_new, g), lifted - g)  # log(N^T u)
        return f_new, _nearest_to_zero(log_lo - column, log_hi - column)

    return step


def _joint_step(problem: Problem, gibbs: Gibbs, *, symmetric: bool) -> Step:
    """Exact half-steps of the dual, the multipliers of known entries and of the cap eliminated.

    What known ones leave of the bounds is met by the unknown entries alone. The symmetric step goes halfway
    (in logarithms), which converges where the full step would oscillate.
    """
    ones = problem.known.ones_per_row().to(problem.lo)
    least, most = (problem.lo - ones).clamp(min=0), (problem.hi - ones).clamp(min=0)
    cap = problem.cap

    def solve(x: Tensor, log_sums: Tensor, capped_sums: CappedSums) -> Tensor:
        if cap is None:
            return _nearest_to_zero(least.log() - log_sums, most.log() - log_sums)
        precision = 32 * torch.finfo(gibbs.dtype).eps  # of a sum of many entries
        return _capped_scaling(x, log_sums, capped_sums, least=least, most=most, cap=cap, precision=precision)

    def step(f: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
        limit = torch.inf if cap is None else cap
        f_new = solve(f, gibbs.log_row_sums(f, g), lambda x: gibbs.capped_row_sums(x, g, limit))
        if symmetric:
            f_new = torch.where(f_new.isfinite() & f.isfinite(), (f + f_new) / 2, f_new)
            return f_new, f_new
        g_new = solve(g, gibbs.log_column_sums(f_new, g), lambda x: gibbs.capped_column_sums(f_new, x, limit))
        return f_new, g_new

    return step


def _capped_scaling(
    x: Tensor, log_sums: Tensor, capped_sums: CappedSums, *, least: Tensor, most: Tensor, cap: float, precision: float
) -> Tensor:
    """Scaling nearest to one for which ``sum_j min(cap, u_i E_ij)`` is within bounds, row by row.

    The sum is concave and piecewise linear in u, so Newton's method arrives after finitely many steps: from
    any start the first step lands at or below the root, the next ones climb to it.
    """
    target, settled = least, log_sums == -torch.inf
    if not torch.equal(least, most):
        log_free, full = capped_sums(torch.zeros_like(x))
        at_one = log_free.exp() + cap * full
        target = torch.minimum(torch.maximum(at_one, least), most)
        settled |= target == at_one
    below = target.log() - log_sums  # the root without a cap lies below the root with it
    x = torch.where(settled, torch.zeros_like(x), torch.where(x.isfinite(), torch.maximum(x, below), below))
    for _ in range(NEWTON_STEPS):
        log_free, full = capped_sums(x)
        left = target - cap * full
        done = settled | (target == 0) | ((left - log_free.exp()).abs() <= precision * target)
        if bool(done.all()):
            break
        newton = torch.where((left > 0) & log_free.isfinite(), x + left.log() - log_free, below)
        x = torch.where(done, x, torch.maximum(newton, below))
    return torch.where(target == 0, torch.full_like(x, -torch.inf), x)


def _nearest_to_zero(lower: Tensor, upper: Tensor) -> Tensor:
    """Multiplier of an interval constraint: zero where the interval holds it, else the nearer end.

    A row without unknown entries has infinite ends; its scaling means nothing and stays at zero.
    """
    x = torch.minimum(lower.clamp(min=0), upper)
    return torch.where((x == torch.inf) | x.isnan(), torch.zeros_like(x), x)


def _distance(x: Tensor, old: Tensor) -> float:
    """Largest move of a log-scaling; a row that was emptied for good does not move."""
    return float(torch.where(x == old, torch.zeros_like(x), (x - old).abs()).max())
