"""The balancing problem as it is posed: cost, bounds, known entries, entropy. Checked once, here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from xsdc import validation
from xsdc.core.feasibility import check_feasible
from xsdc.core.known import Known
from xsdc.core.median import median_abs
from xsdc.core.operators import CostFactors
from xsdc.errors import InfeasibleError, InvalidInputError

Bound = float | Tensor
SMALLEST_COST = 1e-18  # beyond it, and beyond its inverse, A is divided by its largest entry


@dataclass(frozen=True)
class Fractions:
    """Bounds on group sizes said as shares of the points: ``Fractions(0.05, 0.2)``.

    Attributes
    ----------
    minimum, maximum : float or Tensor of shape (n,)
        One bound for all points, or one per point for the group it is in.
    """

    minimum: Bound
    maximum: Bound


@dataclass(frozen=True)
class Problem:
    """``min <M, A> + nu D_h(M; M0)`` with fixed entries, bounded row and column sums and perhaps a cap.

    Attributes
    ----------
    A : Tensor of shape (n, n), or CostFactors
        Cost.
    known : Known
        Fixed entries.
    lo, hi : Tensor of float64, shape (n,)
        Bounds on the sums of row and column i.
    nu : float
        Weight of the entropy.
    log_initial : Tensor, scalar or (n, n)
        Logarithm of ``M0``.
    cap : float or None
        Largest entry.
    unit : float
        What A and nu were divided by, so that neither leaves the range of its type.
    surely_feasible : bool
        Whether it was found out that some M meets the bounds; otherwise it is open.
    """

    A: Tensor | CostFactors
    known: Known
    lo: Tensor
    hi: Tensor
    nu: float
    log_initial: Tensor
    cap: float | None
    unit: float
    surely_feasible: bool

    @property
    def n(self) -> int:
        """Number of points."""
        return self.known.n


def pose(
    A: Tensor | CostFactors,
    *,
    known: Known | tuple[object, object, object] | None,
    size: tuple[Bound, Bound] | Fractions,
    nu: float | Literal["median"],
    initial: float | Tensor | None,
    cap: float | None,
    symmetric: bool,
) -> Problem:
    """Check the parts of a balancing problem, see :func:`xsdc.core.balancing.balance`, and put them together."""
    A, unit = _in_units(_checked_cost(A, symmetric=symmetric))
    n, device = (A.n, A.B.device) if isinstance(A, CostFactors) else (len(A), A.device)
    known = _checked_known(known, n=n).to(device)
    lo, hi = _bounds(size, n=n, device=device)
    cap = None if cap is None else validation.as_positive(cap, name="cap")
    surely_feasible = check_feasible(known, lo, hi, cap=cap)
    if isinstance(nu, str) and nu != "median":
        raise InvalidInputError(f'nu must be a number above zero or "median"; it is {nu!r}.')
    return Problem(
        A=A,
        known=known,
        lo=lo,
        hi=hi,
        nu=median_abs(A) if isinstance(nu, str) else validation.as_positive(nu, name="nu") / unit,
        log_initial=_log_initial(initial, A, middle=float((lo + hi).mean()) / (2 * n), symmetric=symmetric),
        cap=cap,
        unit=unit,
        surely_feasible=surely_feasible,
    )


def _checked_cost(A: Tensor | CostFactors, *, symmetric: bool) -> Tensor | CostFactors:
    if isinstance(A, CostFactors):
        for part in (A.B, A.w, torch.as_tensor(A.alpha)):
            validation.require_finite(part.reshape(-1, 1), name="A")
        return A
    A = validation.as_square(A).detach()
    return _symmetrised(A, name="A") if symmetric else A


def _in_units(A: Tensor | CostFactors) -> tuple[Tensor | CostFactors, float]:
    """Bring a cost of extreme size near one; A and nu matter only in proportion."""
    if isinstance(A, CostFactors):
        return A, 1.0
    low, high = torch.aminmax(A)
    largest = max(abs(float(low)), abs(float(high)))
    if largest == 0 or SMALLEST_COST < largest < 1 / SMALLEST_COST:
        return A, 1.0
    return (A.to(torch.float64) / largest).to(A.dtype), largest


def _checked_known(known: Known | tuple[object, object, object] | None, *, n: int) -> Known:
    if known is None:
        return Known.nothing(n)
    if not isinstance(known, Known):
        if not isinstance(known, tuple | list) or len(known) != 3:
            raise InvalidInputError(
                "known must be three lists (rows, columns, values) or what `Constraints.entries()` returns; it is"
                f" {type(known).__name__}."
            )
        known = Known.from_entries(n, *known)
    if known.n != n:
        raise InvalidInputError(f"known is about {known.n} points; A has {n}.")
    return known


def _bounds(size: tuple[Bound, Bound] | Fractions, *, n: int, device: torch.device) -> tuple[Tensor, Tensor]:
    if isinstance(size, Fractions):
        given, unit, what = (size.minimum, size.maximum), float(n), "fractions"
    else:
        if not isinstance(size, tuple | list) or len(size) != 2:
            raise InvalidInputError(f"size must be a pair (n_min, n_max) or Fractions(min, max); it is {size!r}.")
        given, unit, what = (size[0], size[1]), 1.0, "counts"
    lo, hi = (_bound(x, n=n, device=device) * unit for x in given)
    wrong = ~((lo >= 0) & (hi >= lo) & hi.isfinite())
    if bool(wrong.any()):
        i = int(wrong.nonzero()[0])
        raise InfeasibleError(
            f"size must hold bounds with 0 <= minimum <= maximum; for point {i} it says {lo[i] / unit:g} and"
            f" {hi[i] / unit:g} ({what}).",
            rows=wrong.nonzero().flatten().tolist(),
        )
    tight = hi < 1 - 1e-9
    if bool(tight.any()):
        rows = tight.nonzero().flatten().tolist()
        hint = (
            f" A pair counts points; to say shares, write Fractions({float(lo[rows[0]]):g}, {float(hi[rows[0]]):g})."
            if what == "counts"
            else f" Raise the maximum to at least 1/{n}."
        )
        raise InfeasibleError(
            f"size must allow groups of one point; its maximum is {float(hi[rows[0]]):g} points"
            f" (points {validation.named(rows)}).{hint}",
            rows=rows,
        )
    high = lo > n * (1 + 1e-9)
    if bool(high.any()):
        rows = high.nonzero().flatten().tolist()
        raise InfeasibleError(
            f"size asks for groups of at least {float(lo[rows[0]]):g} points, but there are only {n}"
            f" (points {validation.named(rows)}).",
            rows=rows,
        )
    return lo, hi


def _bound(value: Bound, *, n: int, device: torch.device) -> Tensor:
    bound = _numbers(value, name="size").to(device)
    if bound.ndim == 0:
        return bound.expand(n).clone()
    if bound.shape != (n,):
        raise InvalidInputError(f"size must hold numbers or vectors of length {n}; one has shape {tuple(bound.shape)}.")
    return bound


def _numbers(value: object, *, name: str) -> Tensor:
    try:
        return torch.as_tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInputError(f"{name} must hold numbers; {value!r} came.") from error


def _symmetrised(A: Tensor, *, name: str) -> Tensor:
    if torch.equal(A, A.T):
        return A
    gap, largest = float((A - A.T).abs().max()), float(A.abs().max())
    if gap > 1e-4 * largest:
        raise InvalidInputError(
            f"{name} must be symmetric for symmetric=True; it differs from its transpose by {gap:.2g}, its largest"
            f" entry is {largest:.2g}."
        )
    return (A + A.T) / 2


def _log_initial(initial: float | Tensor | None, A: Tensor | CostFactors, *, middle: float, symmetric: bool) -> Tensor:
    device = A.B.device if isinstance(A, CostFactors) else A.device
    M0 = _numbers(middle if initial is None else initial, name="initial").to(device)
    if not bool(((M0 > 0) & M0.isfinite()).all()):
        raise InvalidInputError("initial must be positive and finite: an entry of zero could never leave it.")
    if M0.ndim == 0:
        return M0.log()
    if isinstance(A, CostFactors):
        raise InvalidInputError("initial must be one number where A is given in factors; an n×n matrix came.")
    if M0.shape != A.shape:
        raise InvalidInputError(
            f"initial must be a number or have the shape of A, {tuple(A.shape)}; it is {tuple(M0.shape)}."
        )
    return (_symmetrised(M0, name="initial") if symmetric else M0).log()
