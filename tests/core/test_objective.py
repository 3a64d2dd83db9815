from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import plain
from tests.problems import features_with_spectrum, gaussian
from tests.reference import exact_cost_matrix, exact_trace_gradient, ridge_by_stacking
from xsdc.core.objective import cost_matrix, decompose, one_hot, ridge_classifier, trace_and_gradient, trace_objective
from xsdc.core.operators import CostFactors, LabelEquivalence, center, symmetric_product
from xsdc.errors import InvalidInputError

LAMBDAS = [1.0, 2.0**-10, 2.0**-25, 2.0**-40]


def rank_deficient(kind: str) -> torch.Tensor:
    X = gaussian(9, 4)
    return {
        "more features than points": gaussian(7, 12),
        "as many as points less one": gaussian(7, 6),
        "duplicate columns": torch.cat([X, X, X[:, :1]], 1),
        "constant features": torch.cat([X, torch.full((9, 2), 0.1, dtype=torch.float64)], 1),
        "all constant": torch.full((6, 3), 0.1, dtype=torch.float64),
        "duplicate points": X[[0, 0, 1, 1, 2, 2, 3]],
        "few points": gaussian(2, 3),
    }[kind]


KINDS = [
    "more features than points",
    "as many as points less one",
    "duplicate columns",
    "constant features",
    "all constant",
    "duplicate points",
    "few points",
]


def relative(found: torch.Tensor, true: torch.Tensor) -> float:
    return float((found - true).norm() / true.norm().clamp(min=1e-300))


def test_cost_matrix_of_two_points_by_hand():
    # Two points at 0 and 2: Pi Phi = (-1, 1)^T, Phi Phi^T has the eigenvalue 2 along (1, -1)/sqrt 2, so
    # A = lam / (2 + 2 lam) [[1, -1], [-1, 1]] / 2 with n = 2.
    A = cost_matrix(torch.tensor([[0.0], [2.0]]), 0.5)
    expected = 0.5 / 3.0 / 2 * torch.tensor([[1.0, -1.0], [-1.0, 1.0]], dtype=torch.float64)
    torch.testing.assert_close(A, expected)


@pytest.mark.parametrize("lam", LAMBDAS)
@pytest.mark.parametrize("form", ["dxd", "nxn"])
@pytest.mark.parametrize(("n", "D"), [(12, 3), (8, 7), (6, 10)])
def test_cost_matrix_equals_exact_arithmetic(lam, form, n, D):
    Phi = gaussian(n, D)
    assert relative(cost_matrix(Phi, lam, form=form), exact_cost_matrix(Phi, lam)) < 1e-9


@pytest.mark.parametrize("lam", LAMBDAS)
@pytest.mark.parametrize("kind", KINDS)
def test_cost_matrix_of_rank_deficient_features(kind, lam):
    Phi = rank_deficient(kind)
    A = cost_matrix(Phi, lam)
    assert relative(A, exact_cost_matrix(Phi, lam)) < 1e-9
    assert torch.equal(A, A.T)


@pytest.mark.parametrize("lam", LAMBDAS)
def test_cost_matrix_of_features_with_known_spectrum(lam):
    n, s = 40, torch.logspace(1, -7, 9, dtype=torch.float64)  # directions on both sides of sqrt(n lam)
    Phi, U, _ = features_with_spectrum(n, 12, s)
    Pi = torch.eye(n, dtype=torch.float64) - 1 / n
    expected = (Pi - U * (s**2 / (s**2 + n * lam)) @ U.T) / n
    assert relative(cost_matrix(Phi, lam), expected) < 1e-6  # Phi itself is rounded: 1e-16 against sqrt(n lam)


def test_factors_agree_with_the_dense_matrix():
    A = decompose(gaussian(15, 4)).cost(0.01)
    dense, X = A.dense(), gaussian(15, 3, seed=5)
    torch.testing.assert_close(A @ X, dense @ X)
    torch.testing.assert_close(A.rows(3, 9), dense[3:9])
    assert float((A @ torch.ones(15, 1, dtype=torch.float64)).abs().max()) < 1e-15  # A is centred


@given(st.integers(3, 12), st.integers(1, 6), st.integers(-30, 0), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_cost_matrix_moves_with_the_points_and_ignores_shifts_and_rotations(n, D, power, seed):
    Phi, lam = gaussian(n, D, seed=seed), 2.0**power
    A = cost_matrix(Phi, lam)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    Q = torch.linalg.qr(gaussian(D, D, seed=seed + 1)).Q
    assert relative(cost_matrix(Phi[order], lam), A[order][:, order]) < 1e-6
    assert relative(cost_matrix(Phi @ Q + 3.0, lam), A) < 1e-6
    eigenvalues = torch.linalg.eigvalsh(A)
    assert eigenvalues.min() > -1e-12
    assert eigenvalues.max() < 1 / n + 1e-12


@pytest.mark.parametrize("lam", LAMBDAS)
@pytest.mark.parametrize("shape", [(10, 3), (8, 7), (6, 11)])
def test_trace_and_gradient_equal_exact_arithmetic_for_an_asymmetric_M(lam, shape):
    Phi, M = gaussian(*shape), gaussian(shape[0], shape[0], seed=7).abs()
    value, gradient = trace_and_gradient(Phi, M, lam)
    assert abs(float(value - (M * exact_cost_matrix(Phi, lam)).sum())) <= 1e-9 * abs(float(value))
    assert relative(gradient, exact_trace_gradient(Phi, M, lam)) < 1e-8


@pytest.mark.parametrize("lam", LAMBDAS)
@pytest.mark.parametrize("kind", KINDS)
def test_gradient_of_rank_deficient_features(kind, lam):
    Phi = rank_deficient(kind)
    M = gaussian(len(Phi), len(Phi), seed=3).abs()
    _, gradient = trace_and_gradient(Phi, M, lam)
    exact = exact_trace_gradient(Phi, M, lam)
    assert float((gradient - exact).norm()) <= 1e-7 * float(exact.norm()) + 1e-50  # zero, to sixty digits


@pytest.mark.parametrize("lam", [1.0, 2.0**-10, 2.0**-20])
def test_gradient_three_ways(lam):
    Phi, M = gaussian(11, 4).requires_grad_(), gaussian(11, 11, seed=2).abs()
    trace_objective(Phi, M, lam).backward()
    assert Phi.grad is not None

    plain = Phi.detach().clone().requires_grad_()
    Pi = torch.eye(11, dtype=torch.float64) - 1 / 11
    inverse = torch.linalg.inv(Pi @ plain @ plain.T @ Pi + 11 * lam * torch.eye(11, dtype=torch.float64))
    torch.trace(M @ (lam * Pi @ inverse @ Pi)).backward()
    assert plain.grad is not None
    assert relative(Phi.grad, plain.grad) < 1e-6

    assert torch.autograd.gradcheck(lambda X: trace_objective(X, M, lam), (Phi.detach().clone().requires_grad_(),))


def test_gradient_is_the_same_for_labels_dense_and_operator():
    class Wrapped:
        def __init__(self, M):
            self.M = M

        @property
        def T(self):
            return Wrapped(self.M.T)

        def __matmul__(self, X):
            return self.M @ X

        def trace(self):
            return self.M.trace()

    Phi, y = gaussian(30, 6), torch.arange(30) % 4
    Y = one_hot(y)
    dense = trace_and_gradient(Phi, Y @ Y.T, 0.01)
    for other in (LabelEquivalence(y), Wrapped(Y @ Y.T), (Y @ Y.T).to(torch.float32)):
        value, gradient = trace_and_gradient(Phi, other, 0.01)
        torch.testing.assert_close(value, dense[0], rtol=1e-5, atol=0)
        torch.testing.assert_close(gradient, dense[1], rtol=1e-4, atol=1e-7)


def test_symmetric_product_of_an_asymmetric_matrix():
    M, X = gaussian(5, 5), gaussian(5, 2, seed=1)
    torch.testing.assert_close(symmetric_product(M, X), (M + M.T) / 2 @ X)


def test_float32_features_are_factorised_in_float64():
    Phi = gaussian(60, 8).to(torch.float32)
    value, gradient = trace_and_gradient(Phi, torch.eye(60), 2.0**-40)
    assert value.dtype == gradient.dtype == torch.float64
    torch.testing.assert_close(value, trace_and_gradient(Phi.double(), torch.eye(60), 2.0**-40)[0])
    leaf = Phi.clone().requires_grad_()
    loss = trace_objective(leaf, torch.eye(60), 0.1)
    loss.backward()
    assert loss.dtype == torch.float32
    assert leaf.grad is not None
    assert leaf.grad.dtype == torch.float32


@pytest.mark.parametrize("lam", LAMBDAS)
@pytest.mark.parametrize("D", [3, 40])
def test_ridge_equals_stacked_least_squares(lam, D):
    Phi, Y = gaussian(20, D) + 1, gaussian(20, 3, seed=1)
    W, b = ridge_classifier(Phi, Y, lam)
    W0, b0 = ridge_by_stacking(Phi, Y, lam)
    torch.testing.assert_close(Phi @ W + b, Phi @ W0 + b0, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(W, W0, rtol=1e-5, atol=1e-7)


def test_ridge_of_one_feature_by_hand():
    # Phi = (-1, 1), Y = (0, 1): W = sum phi y / (2 + 2 lam) = 1/3 at lam = 1/2, b = 1/2.
    W, b = ridge_classifier(torch.tensor([[-1.0], [1.0]]), torch.tensor([[0.0], [1.0]]), 0.5)
    torch.testing.assert_close(W, torch.tensor([[1 / 3]], dtype=torch.float64))
    torch.testing.assert_close(b, torch.tensor([0.5], dtype=torch.float64))


def test_lambda_path_equals_single_solves_and_the_objective():
    Phi, Y = gaussian(50, 7), one_hot(torch.arange(50) % 3)
    lams = [2.0**i for i in range(-40, 1)]
    spectrum = decompose(Phi)
    W, b = spectrum.ridge(Y, lams)
    residuals = spectrum.residuals(Y, lams)
    assert W.shape == (41, 7, 3)
    assert b.shape == (41, 3)
    for i, lam in enumerate(lams):
        single = ridge_classifier(Phi, Y, lam)
        torch.testing.assert_close(W[i], single[0])
        torch.testing.assert_close(b[i], single[1])
        fit = ((Y - Phi @ W[i] - b[i]) ** 2).sum() / 50 + lam * (W[i] ** 2).sum()
        torch.testing.assert_close(residuals[i], fit)
        torch.testing.assert_close(residuals[i], trace_and_gradient(Phi, Y @ Y.T, lam)[0])


def test_inputs_are_not_modified():
    Phi, M = gaussian(10, 3), gaussian(10, 10, seed=1)
    kept = Phi.clone(), M.clone()
    trace_and_gradient(Phi, M, 0.1)
    ridge_classifier(Phi, M[:, :2], 0.1)
    center(Phi)
    assert torch.equal(Phi, kept[0])
    assert torch.equal(M, kept[1])


def test_one_hot_names_a_class_outside():
    with pytest.raises(InvalidInputError, match="class 3, but only 2"):
        one_hot(torch.tensor([0, 3]), n_classes=2)


@pytest.mark.parametrize(
    ("Phi", "message"),
    [
        (torch.tensor([[1.0], [float("nan")]]), r"finite.*row\(s\): 1"),
        (torch.tensor([[1.0], [float("inf")]]), "finite"),
        (torch.zeros(1, 3), "at least 2 rows"),
        (torch.zeros(3), r"matrix \(n, D\)"),
        (torch.zeros(3, 0), "at least one column"),
        (torch.zeros(3, 2, dtype=torch.complex64), "real numbers"),
        ([["a"], ["b"]], "hold numbers"),
    ],
)
def test_bad_features_are_named(Phi, message):
    with pytest.raises(InvalidInputError, match=message):
        decompose(Phi)


def test_other_bad_input_is_named():
    Phi = gaussian(4, 2)
    with pytest.raises(InvalidInputError, match="lam must be a finite number above zero"):
        cost_matrix(Phi, 0.0)
    with pytest.raises(InvalidInputError, match=r"M must have shape \(4, 4\)"):
        trace_objective(Phi, torch.eye(5), 0.1)
    with pytest.raises(InvalidInputError, match="one row per point, 4; it has 3"):
        ridge_classifier(Phi, gaussian(3, 2), 0.1)
    with pytest.raises(InvalidInputError, match="lams must be"):
        decompose(Phi).ridge(gaussian(4, 2), [0.1, -1.0])
    with pytest.raises(InvalidInputError, match="form must be"):
        decompose(Phi, form="fast")  # type: ignore[arg-type]


def test_numbers_that_overflow_in_a_sum_are_still_finite():
    assert decompose(torch.tensor([[3e38], [3e38], [-3e38]], dtype=torch.float32)).s.isfinite().all()


def test_cost_factors_without_centering_weight():
    A = CostFactors(0.0, gaussian(4, 2), torch.tensor([1.0, 2.0], dtype=torch.float64))
    torch.testing.assert_close(A.dense(), A.B * A.w @ A.B.T)


@pytest.mark.parametrize("D", [3, 30])
def test_leave_one_out_equals_refitting_without_the_point(D):
    Phi, Y = gaussian(15, D), one_hot(torch.arange(15) % 3)
    # Leaving a point out of n keeps the penalty n lam of the sum: the refit on n - 1 points has n lam / (n - 1).
    found = decompose(Phi).leave_one_out(Y, 0.1)
    for i in range(15):
        rest = torch.arange(15) != i
        W, b = ridge_classifier(Phi[rest], Y[rest], 0.1 * 15 / 14)
        torch.testing.assert_close(found[i], Phi[i] @ W + b)


def test_effective_dimension_by_hand_and_back():
    spectrum = decompose(features_with_spectrum(10, 4, torch.tensor([2.0, 1.0], dtype=torch.float64))[0])
    assert spectrum.effective_dimension(0.1) == pytest.approx(4 / 5 + 1 / 2)
    assert spectrum.ridge_for_dimension(4 / 5 + 1 / 2) == pytest.approx(0.1)
    assert spectrum.ridge_for_dimension(50.0) == pytest.approx(2.0**-40)
    assert spectrum.ridge_for_dimension(0.0) == pytest.approx(1.0)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool])
def test_whole_numbers_in_M_count_as_numbers(dtype):
    Phi, y = gaussian(12, 3), torch.arange(12) % 3
    M = (y[:, None] == y[None, :]).to(dtype)
    value, gradient = trace_and_gradient(Phi, M, 0.1)
    expected = trace_and_gradient(Phi, LabelEquivalence(y), 0.1)
    torch.testing.assert_close(value, expected[0])
    torch.testing.assert_close(gradient, expected[1])
    torch.testing.assert_close(trace_and_gradient(Phi, M.numpy(), 0.1)[0], expected[0])


def test_what_cannot_be_differentiated_or_multiplied_is_refused():
    Phi = gaussian(4, 2)
    with pytest.raises(InvalidInputError, match="floating-point"):
        trace_objective(torch.ones(4, 2, dtype=torch.int64), torch.eye(4), 0.1)
    with pytest.raises(InvalidInputError, match="floating-point"):
        trace_objective(Phi.numpy(), torch.eye(4), 0.1)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="M must be finite"):
        trace_objective(Phi, torch.full((4, 4), float("nan")), 0.1)
    with pytest.raises(InvalidInputError, match="M must have shape"):
        trace_objective(Phi, LabelEquivalence(torch.arange(3)), 0.1)
    with pytest.raises(InvalidInputError, match="at least 0"):
        LabelEquivalence(torch.tensor([0, -1]))
    with pytest.raises(InvalidInputError, match="empty"):
        one_hot(torch.empty(0, dtype=torch.int64))
    with pytest.raises(InvalidInputError, match="squares overflow"):
        decompose(Phi * 1e160)
    for lam in (float("nan"), -1.0, 0.0, "x"):
        with pytest.raises(InvalidInputError, match="lam must be"):
            decompose(Phi).cost(lam)  # type: ignore[arg-type]


def test_arrays_in_any_layout_are_read():
    X = gaussian(8, 3).numpy()
    expected = decompose(X).s
    for same in (X[::-1][::-1], X.astype(">f8"), X.tolist(), torch.from_numpy(X).T.contiguous().T):
        torch.testing.assert_close(decompose(same).s, expected)
    torch.testing.assert_close(decompose(X[::-1]).s, expected)


def test_the_papers_formula_loses_digits_where_the_decomposition_keeps_them():
    Phi, lam = gaussian(20, 5), 2.0**-40
    exact = exact_cost_matrix(Phi, lam)
    assert relative(plain.cost_matrix(Phi, lam), exact) > 1e-6
    assert relative(cost_matrix(Phi, lam), exact) < 1e-9
