from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.problems import gaussian
from xsdc.core.objective import one_hot
from xsdc.core.smoothness import (
    forward_is_smoother_from,
    forward_prediction,
    reverse_prediction,
    smoothness_bounds,
)


def spectral(X: torch.Tensor) -> float:
    return float(torch.linalg.matrix_norm(X, 2))


def in_ball(X: torch.Tensor, B: float) -> torch.Tensor:
    return X * (B / spectral(X))


def test_objectives_equal_their_least_squares_problems():
    Phi, y = gaussian(20, 4), torch.arange(20) % 3
    Y = one_hot(y)
    W = torch.linalg.lstsq(Y, Phi).solution
    torch.testing.assert_close(reverse_prediction(Phi, y)[0], ((Phi - Y @ W) ** 2).sum() / 20)
    Pi = torch.eye(20, dtype=torch.float64) - 1 / 20
    A = 0.1 * Pi @ torch.linalg.inv(Pi @ Phi @ Phi.T @ Pi + 2.0 * torch.eye(20, dtype=torch.float64)) @ Pi
    torch.testing.assert_close(forward_prediction(Phi, y, 0.1)[0], torch.trace(Y @ Y.T @ A))


def test_reverse_gradient_equals_autograd():
    Phi, y = gaussian(12, 3).requires_grad_(), torch.tensor([0, 0, 0, 2, 2, 2, 2, 3, 3, 3, 3, 3])  # no class 1
    Y = one_hot(y)
    P = Y @ torch.linalg.pinv(Y)
    ((Phi - P @ Phi) ** 2).sum().div(12).backward()
    assert Phi.grad is not None
    torch.testing.assert_close(reverse_prediction(Phi.detach(), y)[1], Phi.grad)


@given(st.integers(4, 15), st.integers(1, 5), st.integers(1, 4), st.integers(-8, 2), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_measured_gradients_and_their_changes_stay_within_the_bounds(n, D, k, power, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(k, (n,), generator=g)
    lam, B = 2.0**power, float(torch.rand(1, generator=g)) * 5 + 0.1
    rho = float(torch.bincount(y).max()) / n
    bounds = smoothness_bounds(n=n, lam=lam, B=B, rho_max=rho)
    one = in_ball(gaussian(n, D, seed=seed), B)
    for two in (in_ball(gaussian(n, D, seed=seed + 1), B), one * 0.999):
        step = spectral(one - two)
        f1, f2 = forward_prediction(one, y, lam), forward_prediction(two, y, lam)
        r1, r2 = reverse_prediction(one, y), reverse_prediction(two, y)
        slack = 1 + 1e-9
        assert spectral(f1[1]) <= bounds.L_f * slack
        assert spectral(r1[1]) <= bounds.L_r * slack
        assert spectral(f1[1] - f2[1]) <= bounds.l_f * step * slack
        assert spectral(r1[1] - r2[1]) <= bounds.l_r * step * slack + 1e-15


def test_reverse_bound_is_attained():
    # All points in groups of two with opposite features: (I - P) Phi = Phi.
    Phi, y = torch.tensor([[1.0], [-1.0], [1.0], [-1.0]], dtype=torch.float64), torch.tensor([0, 0, 1, 1])
    bounds = smoothness_bounds(n=4, lam=1.0, B=2.0, rho_max=0.5)
    assert spectral(reverse_prediction(Phi, y)[1]) == pytest.approx(bounds.L_r)


@given(st.floats(0.01, 20), st.floats(0.05, 1), st.integers(1, 1000))
def test_forward_is_smoother_where_the_paper_says(B, rho, n):
    first, second = forward_is_smoother_from(B=B, rho_max=rho)
    at_first = smoothness_bounds(n=n, lam=first, B=B, rho_max=rho)
    at_second = smoothness_bounds(n=n, lam=second, B=B, rho_max=rho)
    assert at_first.L_f == pytest.approx(at_first.L_r)
    assert at_second.l_f <= at_second.l_r * (1 + 1e-9)
    below = smoothness_bounds(n=n, lam=first * 0.99, B=B, rho_max=rho)
    assert below.L_f > below.L_r
