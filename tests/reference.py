"""Slow, dense and obvious versions of what the package computes, for the tests to agree with."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor


def exact_cost_matrix(Phi: Tensor, lam: float, *, digits: int = 60) -> Tensor:
    """The paper's n×n formula for A in arithmetic of 60 digits, rounded to float64 at the end."""
    with mpmath.workdps(digits):
        n = len(Phi)
        X = mpmath.matrix(Phi.to(torch.float64).tolist())
        Pi = mpmath.eye(n) - mpmath.ones(n, n) / n
        G = mpmath.inverse(Pi * X * X.T * Pi + n * mpmath.mpf(lam) * mpmath.eye(n))
        A = mpmath.mpf(lam) * Pi * G * Pi
        return torch.tensor([[float(A[i, j]) for j in range(n)] for i in range(n)], dtype=torch.float64)


def exact_trace_gradient(Phi: Tensor, M: Tensor, lam: float, *, digits: int = 60) -> Tensor:
    """Gradient of tr(M A) from the proof of Proposition 4.1, with the symmetric part of M, in 60 digits."""
    with mpmath.workdps(digits):
        n, D = Phi.shape
        X = mpmath.matrix(Phi.to(torch.float64).tolist())
        Ms = mpmath.matrix(((M + M.T) / 2).to(torch.float64).tolist())
        Pi = mpmath.eye(n) - mpmath.ones(n, n) / n
        G = mpmath.inverse(Pi * X * X.T * Pi + n * mpmath.mpf(lam) * mpmath.eye(n))
        grad = -2 * mpmath.mpf(lam) * Pi * G * Pi * Ms * Pi * G * Pi * X
        return torch.tensor([[float(grad[i, j]) for j in range(D)] for i in range(n)], dtype=torch.float64)


def ridge_by_stacking(Phi: Tensor, Y: Tensor, lam: float) -> tuple[Tensor, Tensor]:
    """Ridge with a free intercept as one least-squares problem with penalty rows."""
    n, D = Phi.shape
    design = torch.cat(
        [
            torch.cat([Phi, torch.ones(n, 1, dtype=Phi.dtype)], 1) / n**0.5,
            torch.cat([lam**0.5 * torch.eye(D, dtype=Phi.dtype), torch.zeros(D, 1, dtype=Phi.dtype)], 1),
        ]
    )
    target = torch.cat([Y / n**0.5, torch.zeros(D, Y.shape[1], dtype=Phi.dtype)])
    solution = torch.linalg.lstsq(design, target, driver="gelsd").solution
    return solution[:-1], solution[-1]


def balance_by_convex_solver(
    A: Tensor, *, mask: Tensor, values: Tensor, lo: Tensor, hi: Tensor, nu: float, M0: float, cap: float | None
) -> Tensor:
    """The balancing problem handed to a general-purpose solver (SLSQP), for a handful of points."""
    n = len(A)
    a, known, fixed = A.numpy(), mask.numpy(), values.numpy()
    low, high = lo.numpy(), hi.numpy()
    free = np.argwhere(~known)

    def full(x: np.ndarray) -> np.ndarray:
        M = np.where(known, fixed, 0.0).astype(float)
        M[free[:, 0], free[:, 1]] = x
        return M

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        cost = a[free[:, 0], free[:, 1]] / nu
        value = float((cost * x).sum() + (x * np.log(x / M0) - x).sum())
        return value, cost + np.log(x / M0)

    def slack(x: np.ndarray) -> np.ndarray:
        M = full(x)
        return np.concatenate([M.sum(1) - low, high - M.sum(1), M.sum(0) - low, high - M.sum(0)])

    rows = np.zeros((n, len(free)))
    rows[free[:, 0], np.arange(len(free))] = 1
    columns = np.zeros((n, len(free)))
    columns[free[:, 1], np.arange(len(free))] = 1
    jacobian = np.concatenate([rows, -rows, columns, -columns])
    result = minimize(
        objective,
        np.full(len(free), float(np.mean(low + high)) / 2 / n),
        jac=True,
        bounds=[(1e-12, cap)] * len(free),
        constraints=[{"type": "ineq", "fun": slack, "jac": lambda _: jacobian}],
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-15},
    )
    return torch.from_numpy(full(result.x))


def known_entries_by_enumeration(
    n: int,
    n_classes: int,
    *,
    labels: list[int],
    must_link: list[tuple[int, int]],
    cannot_link: list[tuple[int, int]],
    allowed: dict[int, list[int]],
) -> tuple[bool, Tensor, Tensor]:
    """Try every assignment of classes: is there one, and which entries of M are the same in all of them?"""
    together, apart, found = torch.ones(n, n, dtype=torch.bool), torch.ones(n, n, dtype=torch.bool), False
    for y in itertools.product(range(n_classes), repeat=n):
        if any(label >= 0 and y[i] != label for i, label in enumerate(labels)):
            continue
        if any(y[i] != y[j] for i, j in must_link) or any(y[i] == y[j] for i, j in cannot_link):
            continue
        if any(y[i] not in some for i, some in allowed.items()):
            continue
        found = True
        code = torch.tensor(y)
        same = code[:, None] == code[None, :]
        together &= same
        apart &= ~same
    return found, together, apart
