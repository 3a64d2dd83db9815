from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import make_blobs

from benchmarks.family import KNOWN, ROWS, draw_facts, draw_shape, least, of_graph, solved
from xsdc.core import family
from xsdc.core.constraints import close
from xsdc.core.family import ClusteringProblem, known_matrix
from xsdc.core.family_solver import _any_assignment, solve
from xsdc.core.local_search import Items, descend
from xsdc.errors import ContradictionError, InfeasibleError, InvalidInputError

CASES = 20  # per row; `python -m benchmarks.family` runs 200
ENOUGH = 0.95
SEEDS = st.integers(0, 10**6)
CLOSE = {"rel": 1e-10, "abs": 1e-10}


def points(seed: int, n: int = 12, d: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def symmetric(seed: int, n: int = 12) -> np.ndarray:
    S = np.random.default_rng(seed).random((n, n))
    return S + S.T


def labelings(seed: int, n: int = 12, k: int = 4) -> list[np.ndarray]:
    """Random ones, among them one with an empty cluster and one with a single cluster."""
    rng = np.random.default_rng(seed + 1)
    return [rng.integers(k, size=n), rng.integers(k, size=n), rng.integers(k - 1, size=n) + 1, np.zeros(n, dtype=int)]


def one_hot(y: np.ndarray) -> np.ndarray:
    return np.eye(int(y.max()) + 1)[y]


def cut(S: np.ndarray, inside: np.ndarray) -> float:
    return sum(S[i, j] for i in np.flatnonzero(inside) for j in np.flatnonzero(~inside))


def ridge(X: np.ndarray, Y: np.ndarray, lam: float) -> float:
    """Least value of the regression in eq. 2, by least squares on rows added for the penalty."""
    n, d = X.shape
    rows = np.block([[X, np.ones((n, 1))], [np.sqrt(n * lam) * np.eye(d), np.zeros((d, 1))]])
    targets = np.vstack([Y, np.zeros((d, Y.shape[1]))])
    residual = targets - rows @ np.linalg.lstsq(rows, targets, rcond=None)[0]
    return float((residual**2).sum() / n)


def by_definition(problem: ClusteringProblem, y: np.ndarray) -> float:
    """Definition 3.1 as it is written, with powers and pseudo-inverses."""
    Y, Gamma = one_hot(y), np.diag(problem.Gamma)
    Xi = Gamma @ Y @ Y.T @ Gamma
    middle = np.linalg.matrix_power(Xi, problem.alpha) @ np.linalg.matrix_power(np.linalg.pinv(Xi), problem.beta)
    return float(np.trace(problem.Psi.T @ middle))


def feasible(problem: ClusteringProblem, k: int, y: np.ndarray) -> list[np.ndarray]:
    """All labelings within the bounds that agree with known labels."""
    lo, hi = problem.bounds(k)
    everything = (np.array(codes) for codes in itertools.product(range(k), repeat=problem.n))
    kept = (codes for codes in everything if ((y < 0) | (codes == y)).all())
    return [c for c in kept if (np.bincount(c, minlength=k) >= lo).all() and (np.bincount(c, minlength=k) <= hi).all()]


# --- the definition -------------------------------------------------------------------------------------------------


@given(SEEDS, st.sampled_from([0, 1]), st.sampled_from([0, 1]))
@settings(max_examples=40, deadline=None)
def test_the_pairing_is_that_of_the_definition(seed, alpha, beta):
    rng = np.random.default_rng(seed)
    problem = ClusteringProblem(rng.normal(size=(8, 8)), rng.uniform(0.5, 2, size=8), alpha=alpha, beta=beta)
    y = rng.integers(3, size=8)
    assert problem.pairing(y) == pytest.approx(by_definition(problem, y), **CLOSE)


@pytest.mark.parametrize("row", ROWS)
def test_each_row_is_a_member_of_the_family(row):
    rng = np.random.default_rng(3)
    problem = ROWS[row](rng, 8, 3)
    for y in labelings(3, 8, 3):
        expected = problem.factor * by_definition(problem, y) + problem.constant
        assert problem.objective(y) == pytest.approx(expected, **CLOSE)


def test_rows_have_the_exponents_and_bounds_of_table_1():
    table = {
        "correlation clustering": (1, 0, 0, 0),
        "DIFFRAC": (1, 0, 1, 1),
        "DIFFRAC-cosegmentation": (1, 0, 1, 1),
        "k-means": (1, 1, 0, 0),
        "kernel k-means": (1, 1, 0, 0),
        "balanced cut": (1, 0, 1, 1),
        "normalised cut": (1, 1, 1, 0),
        "ratio cut": (1, 1, 1, 0),
        "stochastic block model": (1, 0, 0, 0),
    }
    assert set(table) == set(ROWS)
    for row, expected in table.items():
        problem = ROWS[row](np.random.default_rng(0), 8, 2)
        assert (problem.alpha, problem.beta, problem.gamma_1, problem.gamma_2) == expected


# --- textbook formulas ----------------------------------------------------------------------------------------------


@given(SEEDS)
@settings(max_examples=15, deadline=None)
def test_correlation_clustering_counts_disagreements(seed):
    w_in, w_out = symmetric(seed), symmetric(seed + 1)
    for y in labelings(seed):
        pairs = itertools.combinations(range(12), 2)
        disagreements = sum(w_out[i, j] if y[i] == y[j] else w_in[i, j] for i, j in pairs)
        assert family.correlation_clustering(w_in, w_out).objective(y) == pytest.approx(disagreements, **CLOSE)


@given(SEEDS, st.floats(1e-4, 10))
@settings(max_examples=15, deadline=None)
def test_diffrac_is_the_error_of_the_best_classifier(seed, lam):
    X = points(seed)
    for y in labelings(seed):
        assert family.diffrac(X, lam=lam).objective(y) == pytest.approx(ridge(X, one_hot(y), lam), **CLOSE)


@given(SEEDS, st.floats(0, 10))
@settings(max_examples=15, deadline=None)
def test_cosegmentation_adds_smoothness(seed, mu):
    X, S = points(seed), symmetric(seed)
    degree = S.sum(1)
    for y in labelings(seed):
        scaled = one_hot(y) / np.sqrt(degree)[:, None]
        rough = sum(S[i, j] * ((scaled[i] - scaled[j]) ** 2).sum() for i in range(12) for j in range(12)) / 2
        expected = ridge(X, one_hot(y), 0.1) + mu / 12 * rough
        problem = family.diffrac_cosegmentation(X, S, lam=0.1, mu=mu)
        assert problem.objective(y) == pytest.approx(expected, **CLOSE)


@given(SEEDS)
@settings(max_examples=15, deadline=None)
def test_kmeans_is_inertia(seed):
    X = points(seed) + 5
    for y in labelings(seed):
        inertia = sum(((X[y == c] - X[y == c].mean(0)) ** 2).sum() for c in np.unique(y))
        assert family.kmeans(X).objective(y) == pytest.approx(inertia, **CLOSE)
        assert family.kernel_kmeans(X @ X.T).objective(y) == pytest.approx(inertia, **CLOSE)


@given(SEEDS)
@settings(max_examples=15, deadline=None)
def test_cuts(seed):
    S = symmetric(seed)
    for y in labelings(seed):
        clusters = [y == c for c in np.unique(y)]
        cuts = [cut(S, c) for c in clusters]
        assert family.balanced_cut(S).objective(y) == pytest.approx(sum(cuts), **CLOSE)
        by_size = sum(value / c.sum() for value, c in zip(cuts, clusters, strict=True))
        assert family.ratio_cut(S).objective(y) == pytest.approx(by_size, **CLOSE)
        by_volume = sum(value / S[c].sum() for value, c in zip(cuts, clusters, strict=True))
        assert family.normalised_cut(S).objective(y) == pytest.approx(by_volume, **CLOSE)


@given(SEEDS, st.floats(0.05, 0.95), st.floats(0.05, 0.95))
@settings(max_examples=15, deadline=None)
def test_block_model_is_minus_the_log_likelihood(seed, p, q):
    A = np.triu(np.random.default_rng(seed).random((12, 12)) < 0.4, 1).astype(float)
    A = A + A.T
    for y in labelings(seed):
        likelihood = 0.0
        for i, j in itertools.combinations(range(12), 2):
            chance = p if y[i] == y[j] else q
            likelihood += np.log(chance if A[i, j] else 1 - chance)
        assert family.stochastic_block_model(A, p=p, q=q).objective(y) == pytest.approx(-likelihood, **CLOSE)


# --- the paper's examples, with and without labels ------------------------------------------------------------------

NOTHING, SOME = np.full(6, -1), np.array([1, -1, -1, 0, -1, -1])


@pytest.mark.parametrize("known", [NOTHING, SOME])
def test_example_kmeans(known):
    X = points(0, 6, 2)
    problem = family.kernel_kmeans(X @ X.T)  # -XX^T as in the example, not centred
    values = []
    for y in feasible(problem, 2, known):
        Y = one_hot(y)
        projection = Y @ np.linalg.pinv(Y)
        M = Y @ Y.T
        first = np.trace(X @ X.T @ (np.eye(6) - M @ np.linalg.pinv(M)))
        second = np.linalg.norm(X - projection @ X) ** 2
        mu = np.linalg.lstsq(Y, X, rcond=None)[0]
        third = np.linalg.norm(X - Y @ mu) ** 2
        for c in np.unique(y):
            np.testing.assert_allclose(mu[c], X[y == c].mean(0), atol=1e-10)
        np.testing.assert_allclose([first, second, third], problem.objective(y), rtol=0, atol=1e-10)
        values.append(third)
    assert solve(problem, 2, y=known, random_state=0).objective == pytest.approx(min(values), **CLOSE)


@pytest.mark.parametrize("known", [NOTHING, SOME])
def test_example_diffrac(known):
    X, lam = points(1, 6, 2), 0.05
    problem = family.diffrac(X, lam=lam, n_min=2, n_max=4)
    Pi = np.eye(6) - 1 / 6
    A = lam * Pi @ np.linalg.inv(Pi @ X @ X.T @ Pi + 6 * lam * np.eye(6)) @ Pi
    np.testing.assert_allclose(problem.Psi, A, atol=1e-12)
    values = []
    for y in feasible(problem, 2, known):
        values.append(ridge(X, one_hot(y), lam))
        assert problem.objective(y) == pytest.approx(values[-1], **CLOSE)
    assert solve(problem, 2, y=known, random_state=0).objective == pytest.approx(min(values), **CLOSE)


@pytest.mark.parametrize("known", [NOTHING, SOME])
def test_example_normalised_cut(known):
    S = symmetric(2, 6)
    problem = family.normalised_cut(S)
    D, L = np.diag(S.sum(1)), np.diag(S.sum(1)) - S
    half = np.sqrt(D)
    values = []
    for y in feasible(problem, 2, known):
        Y = one_hot(y)
        inverse = np.diag(1 / np.diag(half))
        first = np.trace(np.linalg.pinv(half @ Y) @ inverse @ L @ Y)
        second = np.trace(np.linalg.inv(Y.T @ D @ Y) @ Y.T @ L @ Y)
        third = sum((c @ L @ c) / (c @ D @ c) for c in Y.T)
        fourth = sum(cut(S, y == c) / S[y == c].sum() for c in (0, 1))
        np.testing.assert_allclose([first, second, third, fourth], problem.objective(y), rtol=0, atol=1e-10)
        values.append(fourth)
    assert solve(problem, 2, y=known, random_state=0).objective == pytest.approx(min(values), **CLOSE)


def test_without_a_lower_bound_one_cluster_has_no_cut():
    S = symmetric(0)
    assert family.normalised_cut(S).objective(np.zeros(12, dtype=int)) == pytest.approx(0, abs=1e-12)
    assert len(np.unique(solve(family.normalised_cut(S), 3, random_state=0).labels)) == 3


# --- the solver -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("row", ROWS)
def test_small_cases_are_solved(row, known):
    assert sum(solved(row, known, case) for case in range(CASES)) >= ENOUGH * CASES


def test_the_enumeration_is_that_of_the_objective():
    rng = np.random.default_rng(5)
    problem = family.balanced_cut(symmetric(5, 6), n_min=1, n_max=3)
    facts = draw_facts(rng, 6, 3, "labels")
    expected = min(problem.objective(y) for y in feasible(problem, 3, facts["y"]))
    assert least(problem, 3, facts) == pytest.approx(expected, **CLOSE)


@given(SEEDS, st.sampled_from(list(ROWS)))
@settings(max_examples=40, deadline=None)
def test_what_is_known_is_kept(seed, row):
    rng = np.random.default_rng(seed)
    n, k = draw_shape(rng)
    problem, facts = ROWS[row](rng, n, k), draw_facts(rng, n, k, "labels and links")
    found = solve(problem, k, **facts, n_starts=2, random_state=0)
    labels, y = found.labels, facts["y"]
    assert labels.dtype == np.int64
    assert (labels[y >= 0] == y[y >= 0]).all()
    assert all(labels[i] == labels[j] for i, j in facts["must_link"])
    assert all(labels[i] != labels[j] for i, j in facts["cannot_link"])
    lo, hi = problem.bounds(k)
    assert ((np.bincount(labels, minlength=k) >= lo) & (np.bincount(labels, minlength=k) <= hi)).all()
    assert found.objective == problem.objective(labels)
    assert found.converged


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_no_move_and_no_swap_helps_where_the_search_ended(seed):
    rng = np.random.default_rng(seed)
    m, k = 9, 3
    Q = rng.normal(size=(m, m))
    items = Items(
        Q=Q + Q.T,
        weight=rng.uniform(0.5, 2, m),
        power=int(rng.integers(-2, 1)),
        count=rng.integers(1, 3, m),
        allowed=np.ones((m, k), dtype=bool),
        apart=None,
        lo=np.full(k, 2),
        hi=np.full(k, 9),
    )

    def value(z):
        members = [np.flatnonzero(z == c) for c in range(k) if (z == c).any()]
        return sum(items.Q[np.ix_(c, c)].sum() * items.weight[c].sum() ** float(items.power) for c in members)

    def kept(z):
        sizes = np.bincount(z, items.count, minlength=k)
        return bool(((sizes >= items.lo) & (sizes <= items.hi)).all())

    end = descend(items, np.arange(m) % k)
    assert end.converged
    assert kept(end.labels)
    assert end.value == pytest.approx(value(end.labels), **CLOSE)
    for i, h in itertools.product(range(m), repeat=2):
        swapped = end.labels.copy()
        swapped[[i, h]] = swapped[[h, i]]
        moved = [np.where(np.arange(m) == i, c, end.labels) for c in range(k)]
        assert all(value(z) >= end.value - 1e-9 for z in [swapped, *moved] if kept(z))


def test_all_labels_known_are_returned():
    y = np.random.default_rng(0).integers(3, size=12)
    found = solve(family.kmeans(points(0)), 3, y=y, random_state=0)
    np.testing.assert_array_equal(found.labels, y)
    assert found.n_iter == 0


def test_sizes_can_differ_and_replace_those_of_the_problem():
    found = solve(family.balanced_cut(symmetric(1)), 3, size=[(2, 2), (3, 3), (7, 7)], random_state=0)
    np.testing.assert_array_equal(np.bincount(found.labels), [2, 3, 7])
    assert np.bincount(solve(family.kmeans(points(0)), 3, size=(4, 4), random_state=0).labels).tolist() == [4, 4, 4]


def test_a_seed_repeats_and_the_number_of_starts_is_told():
    problem = family.kmeans(points(4, 30))
    first, second = (solve(problem, 4, n_starts=3, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first.labels, second.labels)
    assert first.n_starts == 3


def test_a_search_that_is_cut_short_says_so():
    problem = family.kmeans(points(0, 30))
    ones = np.ones(30)
    items = Items(problem.weighted, ones, -1, ones.astype(int), np.ones((30, 3), bool), None, *problem.bounds(3))
    end = descend(items, np.arange(30) % 3, max_steps=1)
    assert (end.n_iter, end.converged) == (1, False)


def test_groups_of_unequal_size_are_packed_exactly():
    # Groups of 6, 6, 6, 9, 9 points into two clusters of 18: only 6 + 6 + 6 and 9 + 9 will do.
    group = np.repeat(np.arange(5), [6, 6, 6, 9, 9])
    together = [(i, i + 1) for i in range(35) if group[i] == group[i + 1]]
    found = solve(family.kmeans(points(0, 36)), 2, must_link=together, size=(18, 18), n_starts=1, random_state=0)
    assert len(set(found.labels[group < 3])) == len(set(found.labels[group >= 3])) == 1
    assert np.bincount(found.labels).tolist() == [18, 18]


def test_an_integer_programme_finds_an_assignment_where_any_exists():
    counts, both = np.array([6, 6, 6, 9, 9]), np.array([18, 18])
    items = Items(np.zeros((5, 5)), counts.astype(float), 0, counts, np.ones((5, 2), bool), None, both, both)
    assert np.bincount(_any_assignment(items), counts).tolist() == [18, 18]


def test_groups_are_packed_whole_into_tight_sizes():
    # An even ring in two colours: two mistakes far apart can only be mended together.
    ring = [(i, (i + 1) % 30) for i in range(30)]
    found = solve(family.kmeans(points(0, 30)), 2, cannot_link=ring, n_starts=1, random_state=0)
    assert found.n_starts == 2  # the programme's was needed
    assert (found.labels != np.roll(found.labels, 1)).all()


def test_blobs_are_as_good_as_scikit_learns():
    X, _ = make_blobs(150, centers=4, cluster_std=2.0, random_state=1)
    problem = family.kmeans(X)
    theirs = KMeans(4, n_init=10, random_state=0).fit(X).inertia_
    assert solve(problem, 4, n_starts=6, random_state=0).objective <= 1.01 * theirs
    S = np.exp(-((X[:, None] - X) ** 2).sum(2) / 8)
    labels = SpectralClustering(4, affinity="precomputed", random_state=0).fit_predict(S)
    problem = family.normalised_cut(S)
    assert solve(problem, 4, n_starts=6, random_state=0).objective <= 1.01 * problem.objective(labels)


def test_planted_blocks_are_as_good_as_scikit_learns():
    problems, theirs = of_graph(120, 3, 0.3, 0.05)
    for problem in problems.values():
        best = min(problem.objective(codes) for codes in theirs)
        assert solve(problem, 3, n_starts=6, random_state=0).objective <= 1.01 * best


def test_with_the_identity_of_table_1_the_block_model_would_not_tell_blocks_apart():
    A = np.kron(np.eye(2), np.ones((5, 5))) - np.eye(10)
    blocks, one = np.arange(10) // 5, np.zeros(10, dtype=int)
    printed = ClusteringProblem(-A * np.log(0.81 / 0.01) - np.eye(10) * np.log(0.1 / 0.9))
    assert printed.objective(one) == pytest.approx(printed.objective(blocks))
    mended = family.stochastic_block_model(A, p=0.9, q=0.1)
    assert mended.objective(blocks) < mended.objective(one) - 1


# --- refusals -------------------------------------------------------------------------------------------------------


def test_contradictions_come_with_their_chain():
    problem = family.kmeans(points(0))
    with pytest.raises(ContradictionError) as error:
        solve(problem, 3, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])
    assert len(error.value.chain) == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": (5, 12)}, "at least 15"),
        ({"size": (0, 3)}, "at most 9"),
        ({"size": (4, 3)}, "least first"),
        ({"size": (1, 4), "y": np.array([0] * 5 + [-1] * 7)}, "5 points are known to be in cluster 0"),
        ({"size": (4, 4), "must_link": [(i, i + 1) for i in range(4)]}, "No assignment meets"),
        ({"cannot_link": list(itertools.combinations(range(4), 2))}, "No assignment meets"),
    ],
)
def test_what_cannot_be_met_is_refused(given, message):
    with pytest.raises(InfeasibleError, match=message):
        solve(family.kmeans(points(0)), 3, **given, n_starts=2, random_state=0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ClusteringProblem(np.ones((3, 3)), np.array([1.0, 0.0, 1.0])), "above zero"),
        (lambda: ClusteringProblem(np.ones((3, 3)), np.eye(3)), "diagonal"),
        (lambda: ClusteringProblem(np.ones((3, 3)), alpha=2), "alpha and beta"),
        (lambda: ClusteringProblem(np.ones((3, 3)), n_min=0), "n_min"),
        (lambda: family.kernel_kmeans(np.arange(9.0).reshape(3, 3)), "symmetric"),
        (lambda: family.correlation_clustering(np.ones((3, 3)), np.ones((4, 4))), "one shape"),
        (lambda: family.ratio_cut(-np.ones((3, 3))), "zero or more"),
        (lambda: family.normalised_cut(np.diag([1.0, 1.0, 0.0])), "2 are not connected"),
        (lambda: family.diffrac_cosegmentation(points(0), np.ones((3, 3)), lam=1, mu=1), "match X"),
        (lambda: family.stochastic_block_model(np.full((3, 3), 0.5), p=0.5, q=0.1), "zeros and ones"),
        (lambda: family.stochastic_block_model(np.ones((3, 3)), p=1.0, q=0.1), "strictly"),
        (lambda: solve(family.kmeans(points(0)), 13), "n_clusters"),
        (lambda: solve(family.kmeans(points(0)), 2, y=np.full(12, 2)), "classes"),
        (lambda: solve(family.kmeans(points(0)), 3, size=(0.2, 0.5)), "whole numbers"),
        (lambda: solve(family.kmeans(points(0)), 3, size="equal"), "whole numbers"),
    ],
)
def test_wrong_input_is_refused(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


# --- Figure 2 -------------------------------------------------------------------------------------------------------


def test_known_matrix_at_three_levels_of_supervision():
    y = np.array([0, 1, 0, 1])
    open_, one = family.UNKNOWN, family.KNOWN_ONE
    nothing = known_matrix(close(4))
    np.testing.assert_array_equal(nothing, np.where(np.eye(4), one, open_))
    everything = known_matrix(close(4, labels=y), order=[0, 2, 1, 3])
    np.testing.assert_array_equal(everything, np.kron(np.eye(2), np.ones((2, 2))))
    some = known_matrix(close(4, labels=[0, 1, 0, -1], cannot_link=[(3, 0)]))
    np.testing.assert_array_equal(some, [[1, 0, 1, 0], [0, 1, 0, -1], [1, 0, 1, 0], [0, -1, 0, 1]])
    assert some.dtype == np.int8
