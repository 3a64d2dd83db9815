from __future__ import annotations

import warnings

import ot
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import plain
from tests.problems import blobs, dense_known, gaussian, generator, label_entries, random_cost
from tests.reference import balance_by_convex_solver
from xsdc.core.balancing import balance
from xsdc.core.known import Known
from xsdc.core.objective import cost_matrix, decompose
from xsdc.core.operators import CostFactors
from xsdc.core.problem import Fractions
from xsdc.errors import InfeasibleError, InvalidInputError, NotConvergedWarning


def some_labels(n: int, k: int, m: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return label_entries(torch.arange(n) % k, torch.arange(m))


@pytest.mark.parametrize("m", [0, 1, 9, 30])
@pytest.mark.parametrize("size", [(10.0, 10.0), (4.0, 25.0)])
def test_ten_iterations_are_algorithm_1(m, size):
    n, k = 60, 6
    A, entries = random_cost(n), some_labels(n, k, m)
    mask, values = dense_known(n, entries)
    k_of_M0 = 2 * n / (size[0] + size[1])
    expected = plain.balance(A, known=mask, values=values, n_min=size[0], n_max=size[1], k=k_of_M0)
    result = balance(A, size=size, known=entries, max_iter=10)
    torch.testing.assert_close(result.M[~mask], expected[~mask], rtol=1e-10, atol=0)
    assert torch.equal(result.M[mask], values[mask])
    assert result.n_iter == 10
    assert result.nu == plain.median_abs(A)


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_sinkhorn_of_pot(seed):
    # The diagonal is known: POT gets a cost there that empties it, and what it leaves of the sizes.
    n, p, nu = 40, 8.0, 0.3
    A = random_cost(n, seed=seed) * n
    cost = A.clone().fill_diagonal_(1e6)
    marginal = torch.full((n,), p - 1, dtype=torch.float64)
    expected = ot.sinkhorn(marginal, marginal, cost, nu, stopThr=1e-13, numItermax=100_000)
    result = balance(A, size=(p, p), nu=nu, tol=1e-12)
    off = ~torch.eye(n, dtype=torch.bool)
    assert result.converged
    torch.testing.assert_close(result.M[off], expected[off], rtol=1e-8, atol=1e-8)


def test_agrees_with_sinkhorn_of_pot_for_an_asymmetric_cost_and_vectors():
    n, nu = 25, 0.5
    A = gaussian(n, n, seed=3)
    p = torch.linspace(2, 6, n, dtype=torch.float64)
    expected = ot.sinkhorn(p - 1, p - 1, A.clone().fill_diagonal_(1e6), nu, stopThr=1e-13, numItermax=100_000)
    result = balance(A, size=(p, p), nu=nu, tol=1e-12)
    off = ~torch.eye(n, dtype=torch.bool)
    torch.testing.assert_close(result.M[off], expected[off], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("cap", [None, 1.0])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("size", [(2.5, 2.5), (2.0, 4.0), (1.0, 1.5)])
@pytest.mark.parametrize("m", [0, 3])
def test_solves_the_convex_problem(cap, symmetric, size, m):
    n, nu = 6, 0.5
    A, entries = random_cost(n, seed=m) * n, some_labels(n, 2, m)
    mask, values = dense_known(n, entries)
    lo, hi = (torch.full((n,), b, dtype=torch.float64) for b in size)
    if m:  # two labeled points are together already
        hi = hi.clamp(min=2.5)
    expected = balance_by_convex_solver(A, mask=mask, values=values, lo=lo, hi=hi, nu=nu, M0=0.4, cap=cap)
    result = balance(A, size=(lo, hi), known=entries, nu=nu, initial=0.4, cap=cap, tol=1e-10, symmetric=symmetric)
    torch.testing.assert_close(result.M, expected, rtol=0, atol=2e-5)
    assert result.row_residual < 1e-6
    assert result.column_residual < 1e-6


def test_two_points_by_hand():
    # The diagonal is 1 and the sums are 2: the two other entries are 1 whatever they cost.
    result = balance(torch.tensor([[0.0, 5.0], [3.0, 0.0]]), size=(2, 2), tol=1e-6, nu=1.0)
    torch.testing.assert_close(result.M, torch.ones(2, 2))


def test_slack_bounds_by_hand():
    # Nothing binds: M = M0 exp(-A / nu) off the diagonal.
    A = random_cost(5)
    result = balance(A, size=(0, 100), nu=0.5, initial=0.3, tol=1e-9)
    expected = (0.3 * torch.exp(-A / 0.5)).fill_diagonal_(1)
    torch.testing.assert_close(result.M, expected)
    assert result.converged


@given(
    st.integers(4, 25),
    st.integers(0, 8),
    st.floats(-3, 2),
    st.booleans(),
    st.sampled_from([None, 1.0, 2.0]),
    st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None)
def test_properties_of_the_solution(n, m, log_nu, symmetric, cap, seed):
    g = generator(seed)
    A = random_cost(n, seed=seed)
    y = torch.randint(3, (n,), generator=g)
    points = torch.randperm(n, generator=g)[: min(m, n)]
    entries = label_entries(y, points)
    known = Known.from_entries(n, *entries)
    mask, values = dense_known(n, entries)
    lo = torch.full((n,), 1.0, dtype=torch.float64)
    hi = known.ones_per_row().to(torch.float64) + 1.5
    kept = A.clone()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        result = balance(
            A, size=(lo, hi), known=known, nu=10.0**log_nu, cap=cap, symmetric=symmetric, tol=1e-8, max_iter=150
        )
    M = result.M
    assert torch.equal(A, kept)
    assert M.isfinite().all()
    assert (M >= 0).all()
    assert torch.equal(M[mask], values[mask])
    if cap is not None:
        assert M.max() <= max(cap, 1.0)
    if symmetric:
        assert torch.equal(M, M.T)
    if result.converged:
        for sums in (M.sum(0), M.sum(1)):
            assert (sums <= hi * (1 + 1e-6)).all()
            assert (sums >= lo * (1 - 1e-6)).all()


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=15, deadline=None)
def test_moves_with_the_points(seed, paper):
    n = 20
    A, entries = random_cost(n, seed=seed), some_labels(n, 3, 6)
    order = torch.randperm(n, generator=generator(seed))
    place = order.argsort()
    moved = (place[entries[0]], place[entries[1]], entries[2])
    options = {} if paper else {"tol": 1e-10, "cap": 1.0, "symmetric": True}
    one = balance(A, size=(5, 7), known=entries, **options).M
    two = balance(A[order][:, order], size=(5, 7), known=moved, **options).M
    torch.testing.assert_close(two, one[order][:, order], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("share", [1e-2, 1e-5, 1e-12])
@pytest.mark.parametrize("options", [{}, {"symmetric": True}, {"cap": 1.0}, {"tol": 1e-3, "max_iter": 20}])
def test_never_nan_however_small_the_entropy(dtype, share, options):
    n = 50
    for scale in (1.0, 1e-12, 1e12):
        A = (random_cost(n, seed=1) * scale).to(dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            result = balance(A, size=(5, 5), known=some_labels(n, 10, 10), nu=share * float(A.abs().max()), **options)
        assert result.M.isfinite().all()
        assert result.log_u.isfinite().all()
        # The last half-step fixes columns, exactly where the known entries are not held back.
        if "tol" in options or "cap" in options:
            assert result.column_residual < 1e-3


def test_absorbed_scalings_equal_the_log_domain():
    # Costs that differ by thousands of nu between rows: products with a fixed kernel would vanish.
    n = 30
    A = random_cost(n) + 40 * torch.arange(n, dtype=torch.float64)[:, None] + 25 * torch.arange(n)
    shifted = balance(A, size=(6, 6), nu=0.05, tol=1e-10)
    plain_cost = balance(random_cost(n), size=(6, 6), nu=0.05, tol=1e-10)
    torch.testing.assert_close(shifted.M, plain_cost.M, rtol=1e-6, atol=1e-9)


def test_float32_agrees_with_float64():
    A = cost_matrix(blobs(300, 5)[0], 0.01)
    one, two = balance(A, size=(60, 60)), balance(A.to(torch.float32), size=(60, 60))
    assert two.M.dtype == torch.float32
    torch.testing.assert_close(two.M.double(), one.M, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"tol": 1e-9}, {"cap": 1.0, "symmetric": True}, {"cap": 1.0}])
@pytest.mark.parametrize("D", [4, 60])
def test_factors_give_what_the_dense_matrix_gives(options, D, monkeypatch):
    monkeypatch.setattr("xsdc.core.gibbs.BLOCK_ENTRIES", 300)  # several blocks, the last one shorter
    n = 50
    factors = decompose(gaussian(n, D)).cost(0.05)
    entries = some_labels(n, 5, 12)
    dense = balance(factors.dense(), size=(8, 12), known=entries, **options)
    lazy = balance(factors, size=(8, 12), known=entries, **options)
    torch.testing.assert_close(lazy.M.dense(), dense.M, rtol=1e-8, atol=1e-12)
    X = gaussian(n, 3, seed=4)
    torch.testing.assert_close(lazy.M @ X, dense.M @ X)
    torch.testing.assert_close(lazy.M.T @ X, dense.M.T @ X)
    assert lazy.M.trace() == dense.M.trace()
    assert lazy.row_residual == pytest.approx(dense.row_residual, rel=1e-4, abs=1e-12)
    assert lazy.cap_residual == pytest.approx(dense.cap_residual, rel=1e-6, abs=1e-12)


def test_factors_hold_for_small_entropy():
    factors = decompose(gaussian(30, 4)).cost(0.05)
    low = CostFactors(factors.alpha, factors.B.float(), factors.w.float())
    for A in (factors, low):
        assert balance(A, size=(5, 5), nu=1e-9).M.dense().isfinite().all()


def test_full_rows_take_nothing_more():
    # Points 0, 1, 2 fill their group of three: the entries that are left to them are zero.
    entries = (torch.tensor([0, 0, 1]), torch.tensor([1, 2, 2]), torch.ones(3, dtype=torch.int64))
    for options in ({"tol": 1e-9}, {"cap": 1.0, "tol": 1e-9}, {"symmetric": True, "tol": 1e-9}):
        result = balance(random_cost(9), size=(3, 3), known=entries, **options)
        assert result.converged
        assert (result.M[:3, 3:] == 0).all()
        torch.testing.assert_close(result.M.sum(1), torch.full((9,), 3.0, dtype=torch.float64))


def test_everything_known_is_returned_as_it_is():
    n, y = 12, torch.arange(12) % 3
    result = balance(random_cost(n), size=(4, 4), known=label_entries(y, torch.arange(n)), tol=1e-9)
    assert torch.equal(result.M, (y[:, None] == y[None, :]).to(torch.float64))
    assert result.converged
    assert result.row_residual == 0


def test_blobs_are_found():
    X, y = blobs(120, 4)
    A = cost_matrix(X, 1.0)  # above the variance within groups, below that between them
    result = balance(A, size=Fractions(0.25, 0.25), nu=plain.median_abs(A) / 10, cap=1.0, tol=1e-8, symmetric=True)
    assert torch.equal(result.M > 0.5, y[:, None] == y[None, :])


def test_fractions_and_counts_are_the_same_said_differently():
    A = random_cost(20)
    one, two = balance(A, size=(4, 5)), balance(A, size=Fractions(0.2, 0.25))
    torch.testing.assert_close(one.M, two.M)


def test_initial_guess_is_followed():
    A, M0 = random_cost(10), torch.rand(10, 10, generator=generator()) + 0.1
    result = balance(A, size=(0, 50), initial=M0, nu=1e9, tol=1e-9)  # entropy alone: M = M0
    off = ~torch.eye(10, dtype=torch.bool)
    torch.testing.assert_close(result.M[off], M0.double()[off], rtol=1e-6, atol=0)


def test_not_converging_warns_and_shows():
    with pytest.warns(NotConvergedWarning, match="stopped after 2 iterations"):
        result = balance(random_cost(30), size=(3, 3), nu=1e-4, tol=1e-12, max_iter=2)
    assert not result.converged
    assert result.row_residual > 1e-3


@pytest.mark.parametrize(
    ("options", "message", "rows"),
    [
        ({"size": (7, 8), "known": ([0, 0, 0], [1, 2, 3], [0, 0, 0])}, "Point 0 can reach a group of at most 5", (0,)),
        ({"size": (1, 2), "known": ([0, 1], [1, 2], [1, 1])}, "Point 1 is known to be in a group of 3", (1,)),
        ({"size": (9, 9)}, "at least 9 points, but there are only 8", tuple(range(8))),
        ({"size": (5, 4)}, "minimum <= maximum; for point 0 it says 5 and 4", tuple(range(8))),
        ({"size": (0.1, 0.2)}, r"write Fractions\(0.1, 0.2\)", tuple(range(8))),
        ({"size": Fractions(0.05, 0.1)}, "at least 1/8", tuple(range(8))),
        ({"size": (float("nan"), 3)}, "minimum <= maximum", tuple(range(8))),
    ],
)
def test_infeasible_bounds_name_the_rows(options, message, rows):
    with pytest.raises(InfeasibleError, match=message) as error:
        balance(random_cost(8), **options)
    assert error.value.rows == rows


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"A": torch.zeros(3, 4)}, r"square \(n, n\); it has shape \(3, 4\)"),
        ({"A": torch.zeros(1, 1)}, "at least 2 points"),
        ({"A": torch.tensor([[0.0, float("nan")], [0.0, 0.0]])}, "finite.*: 0"),
        ({"known": ([0, 1], [1, 0], [1, 0])}, r"symmetric: entry \(0, 1\) is said to be both 0 and 1"),
        ({"known": ([0, 0], [1, 1], [1, 0])}, "both 0 and 1"),
        ({"known": ([0], [0], [0])}, "point 0 is not in its own group"),
        ({"known": ([0], [9], [1])}, r"indices from 0 to 5; pair \(0, 9\)"),
        ({"known": ([0], [1], [2])}, "0 or 1; 2 came"),
        ({"known": ([0.5], [1], [1])}, "whole numbers"),
        ({"known": ([0, 1], [1], [1])}, "one length; it holds 2, 1, 1"),
        ({"known": ([[0]], [[1]], [[1]])}, "three flat lists"),
        ({"known": Known.nothing(5)}, "about 5 points; A has 6"),
        ({"size": 3}, "pair"),
        ({"size": (torch.ones(5), 3)}, "vectors of length 6"),
        ({"nu": 0.0}, "nu must be"),
        ({"nu": "mean"}, 'or "median"'),
        ({"cap": -1.0}, "cap must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"initial": 0.0}, "initial must be positive"),
        ({"initial": torch.ones(2, 2)}, "shape of A"),
        ({"A": decompose(gaussian(6, 2)).cost(0.1), "initial": torch.ones(6, 6)}, "one number"),
        ({"A": gaussian(6, 6), "symmetric": True}, "must be symmetric"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"A": random_cost(6), "size": (3, 3), **change}
    with pytest.raises(InvalidInputError, match=message):
        balance(arguments.pop("A"), **arguments)


def test_extreme_units_do_not_matter():
    A = random_cost(20)
    expected = balance(A, size=(5, 5), nu=0.01).M
    for scale in (1e-300, 1e-28, 1e28, 1e300):
        found = balance(A * scale, size=(5, 5), nu=0.01 * scale)
        torch.testing.assert_close(found.M, expected, rtol=1e-6, atol=1e-9)
        assert found.nu == pytest.approx(0.01 * scale)
    tiny = (A * 1e-28).to(torch.float32)
    assert balance(tiny, size=(5, 5), nu=1e-12 * float(tiny.abs().max())).M.isfinite().all()


def test_factors_in_float32_change_to_float64_where_exponents_are_large():
    factors = decompose(gaussian(40, 4)).cost(1e-3)
    low = CostFactors(factors.alpha, factors.B.float(), factors.w.float())
    for nu in (1e-6, 1e-9):  # exponents of thousands: in float32 they would lose all digits of M
        exact, found = (balance(A, size=(5, 5), nu=nu) for A in (factors, low))
        close_enough = (found.log_u - exact.log_u).abs().max() < 1e-3 * exact.log_u.abs().max()
        assert close_enough
        assert found.M.dense().dtype == torch.float64
    small = decompose(gaussian(30, 4) * 1e-8).cost(1.0)
    low = CostFactors(small.alpha, small.B.float(), small.w.float())
    torch.testing.assert_close(
        balance(low, size=(5, 5), nu=1e-10).M.dense(),
        balance(small, size=(5, 5), nu=1e-10).M.dense(),
        rtol=1e-3,
        atol=1e-4,
    )


def test_residuals_and_convergence_are_what_the_matrix_shows():
    A = random_cost(40) * 40
    result = balance(A, size=(4, 4), nu=0.1)
    M = result.M
    assert not result.converged
    assert result.row_residual == pytest.approx(float((M.sum(1) - 4).abs().max() / 4))
    assert result.column_residual == pytest.approx(float((M.sum(0) - 4).abs().max() / 4))
    off = M[~torch.eye(40, dtype=torch.bool)]
    assert result.cap_residual == pytest.approx(float(off.max()) - 1)
    assert result.cap_residual > 0.1
    assert balance(A, size=(4, 4), nu=100.0, max_iter=50).converged
    assert balance(A, size=(4, 4), nu=0.1, cap=0.5).cap_residual == 0  # the diagonal, known, is no excess


def test_nearly_symmetric_costs_are_made_symmetric():
    A, M0 = random_cost(12), torch.full((12, 12), 0.3, dtype=torch.float64)
    noise = 1e-9 * gaussian(12, 12, seed=9)
    result = balance(A + noise, size=(4, 4), symmetric=True, initial=M0 + noise.abs())
    assert torch.equal(result.M, result.M.T)
    with pytest.raises(InvalidInputError, match="initial must be symmetric"):
        balance(A, size=(4, 4), symmetric=True, initial=M0 + gaussian(12, 12).abs())


def test_bounds_that_stay_open_warn_when_missed():
    # 300 points pairwise different and cut off from all but 30 hubs, each in its own way: no two are alike, so the
    # joint check does not take it on, and the hubs cannot serve them all.
    n, g = 600, generator(0)
    i, j = torch.triu_indices(300, 300, 1)
    k, m = torch.meshgrid(torch.arange(300), torch.arange(330, n), indexing="ij")
    extra = torch.rand(300, 30, generator=g) < 0.3
    p, q = extra.nonzero().T
    rows, cols = torch.cat([i, k.flatten(), p]), torch.cat([j, m.flatten(), q + 300])
    known = Known.from_entries(n, rows, cols, torch.zeros_like(rows))
    with pytest.warns(NotConvergedWarning, match="could not be ruled out"):
        balance(random_cost(n), size=(5, 20), known=known)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"A": decompose(gaussian(6, 2)).cost(0.1).__class__(float("nan"), gaussian(6, 2), torch.ones(2))},
            "A must be finite",
        ),
        ({"A": CostFactors(0.1, gaussian(6, 2), torch.tensor([1.0, float("nan")]))}, "A must be finite"),
        ({"known": "all"}, "three lists"),
        ({"known": ([0], [1])}, "three lists"),
        ({"known": (["a"], ["b"], ["c"])}, "three flat lists"),
        ({"size": ("a", 5)}, "size must hold numbers"),
        ({"initial": "x"}, "initial must hold numbers"),
        ({"nu": None}, "nu must be"),
        ({"max_iter": "many"}, "max_iter must be"),
        ({"size": (3, 3), "cap": 1e-3}, "entries are at most 0.001.*raise the cap"),
    ],
)
def test_more_bad_input_is_named(change, message):
    arguments = {"A": random_cost(6), "size": (3, 3), **change}
    with pytest.raises(InvalidInputError, match=message):
        balance(arguments.pop("A"), **arguments)


@pytest.mark.parametrize("options", [{}, {"cap": 1.0}, {"symmetric": True}])
@pytest.mark.parametrize("n", [60, 1500])  # one block of rows, and several
def test_symmetric_product_of_an_operator(n, options):
    factors = decompose(gaussian(n, 4)).cost(0.1)
    M = balance(factors, size=(n // 10, n // 2), known=some_labels(n, 3, 9), **options).M
    X = gaussian(n, 3, seed=2)
    dense = M.dense()
    torch.testing.assert_close(M.symmetric_product(X), (dense + dense.T) @ X / 2, rtol=1e-9, atol=1e-9)


def test_symmetric_product_where_scalings_lie_far_apart():
    A = decompose(blobs(80, 3, spread=1.0)[0]).cost(0.01).to(torch.float32)
    M = balance(A, size=(20, 34), nu=0.002 * float(A.dense().abs().median())).M
    X = gaussian(80, 2)
    assert not bool(M.gibbs.symmetric_product(M.log_u, M.log_v, X).isfinite().all())
    dense = M.dense().double()
    torch.testing.assert_close(M.symmetric_product(X), (dense + dense.T) @ X / 2, rtol=1e-3, atol=1e-3)


def test_symmetric_product_leaves_out_rows_that_known_ones_fill():
    labels = torch.arange(40) % 4
    labels[labels > 0] = 1  # a class of ten, all of whose members are known, and one of thirty
    known = label_entries(labels, torch.arange(40))
    M = balance(decompose(gaussian(40, 3)).cost(0.1), size=(10, 30), known=known).M
    X = gaussian(40, 2, seed=1)
    dense = M.dense()
    torch.testing.assert_close(M.symmetric_product(X), (dense + dense.T) @ X / 2)


def test_dense_cost_is_symmetric_in_tiles_and_equals_its_rows():
    for lam, D in ((0.1, 5), (1e-6, 700)):  # more points than a tile, with and without a constant part
        A = decompose(gaussian(700, D)).cost(lam)
        dense = A.dense()
        assert torch.equal(dense, dense.T)
        torch.testing.assert_close(dense, A.rows(0, 700))
        assert A.dense(torch.float32).dtype == torch.float32
        assert torch.equal(A.dense(torch.float32), dense.to(torch.float32))
