from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from tests.problems import blobs
from xsdc.core import grouping
from xsdc.core.agreement import agreement
from xsdc.core.constraints import close
from xsdc.core.graph import NeighborIndex
from xsdc.core.grouping import (
    GraphSmoother,
    Mean,
    RidgeSmoother,
    find_groups,
    leading_eigenvectors,
    match_classes,
    solve,
    with_links,
)
from xsdc.core.objective import cost_matrix


def seed(number: int = 0) -> np.random.RandomState:
    return np.random.RandomState(number)


def graph_of(X: torch.Tensor, n_neighbors: int = 10) -> csr_matrix:
    return NeighborIndex.of(X, n_neighbors=n_neighbors).graph()


def both(X: torch.Tensor, k: int) -> Mean:
    return Mean([GraphSmoother(graph_of(X), leak=0.1), RidgeSmoother(X, k)])


def moons(n: int) -> tuple[torch.Tensor, np.ndarray]:
    """Two half circles, which a graph tells apart and no line does."""
    rng = np.random.default_rng(0)
    t, y = rng.uniform(0, np.pi, n), np.arange(n) % 2
    X = np.where(y[:, None] == 0, np.stack([np.cos(t), np.sin(t)], 1), np.stack([1 - np.cos(t), 0.4 - np.sin(t)], 1))
    return torch.from_numpy(X + 0.03 * rng.normal(size=(n, 2))), y


class TestSmoothers:
    def test_the_ridge_smoother_is_one_minus_the_cost(self):
        X, _ = blobs(40, 3)
        lam = 0.03
        expected = np.eye(40) - 40 * cost_matrix(X.double(), lam).numpy()
        assert RidgeSmoother(X, 3, lam=lam)(np.eye(40)) == pytest.approx(expected, abs=1e-10)

    def test_the_graph_smoother_is_that_of_the_dense_formula(self):
        X, _ = blobs(60, 3)
        W = graph_of(X, 5).toarray()
        root = np.sqrt(W.sum(1))
        L = np.eye(60) - W / root[:, None] / root
        expected = 0.1 * np.linalg.inv(L + 0.1 * np.eye(60))
        found = GraphSmoother(csr_matrix(W), leak=0.1)(np.eye(60))
        assert found == pytest.approx(expected, abs=1e-4)

    @given(st.integers(0, 1000))
    @settings(deadline=None, max_examples=20)
    def test_eigenvalues_are_between_zero_and_one_links_or_not(self, number):
        rng = np.random.default_rng(number)
        X = torch.from_numpy(rng.normal(size=(30, 2)))
        pairs = rng.permutation(30)[:12].reshape(6, 2)
        known = close(30, must_link=pairs[:3], cannot_link=pairs[3:], n_classes=3)
        W = with_links(graph_of(X, 4), known)
        S = Mean([GraphSmoother(W, leak=0.1), RidgeSmoother(X, 2)])(np.eye(30))
        values = np.linalg.eigvalsh((S + S.T) / 2)
        assert np.abs(S - S.T).max() < 1e-4
        assert values.min() > -1e-4
        assert values.max() < 1 + 1e-4

    def test_leading_eigenvectors(self):
        X, _ = blobs(80, 4)
        S = both(X, 4)
        expected = np.linalg.eigvalsh(S(np.eye(80)))[::-1][:5]
        values, V = leading_eigenvectors(S, 80, 5, rng=seed())
        assert values == pytest.approx(expected, abs=1e-3)
        assert pytest.approx(np.eye(5), abs=1e-8) == V.T @ V

    def test_more_eigenvectors_than_points_are_as_many_as_points(self):
        X, _ = blobs(6, 2)
        values, V = leading_eigenvectors(RidgeSmoother(X, 2), 6, 9, rng=seed())
        assert values.shape == (6,)
        assert V.shape == (6, 6)

    def test_formed_for_few_points_and_not_for_many(self, monkeypatch):
        W, Y = graph_of(blobs(80, 3)[0]), np.random.default_rng(0).normal(size=(80, 4))
        formed = GraphSmoother(W, leak=0.1)
        monkeypatch.setattr(grouping, "MOST_FORMED", 79)
        not_formed = GraphSmoother(W, leak=0.1)
        assert formed.formed is not None
        assert not_formed.formed is None
        assert formed(Y) == pytest.approx(not_formed(Y), abs=2e-3)
        assert Mean([formed, formed, not_formed])(Y) == pytest.approx(formed(Y), abs=2e-3)


class TestSolve:
    def test_many_starts_end_as_each_alone(self):
        X, _ = blobs(120, 3)
        S, known = both(X, 3), close(120, n_classes=3)
        sizes = (np.full(3, 30.0), np.full(3, 60.0))
        starts = [np.random.default_rng(i).permutation(np.arange(120) % 3) for i in range(4)]
        together = solve(S, starts, known, 3, sizes=sizes)
        for start, found in zip(starts, together, strict=True):
            (alone,) = solve(S, [start], known, 3, sizes=sizes)
            assert (alone.codes == found.codes).all()
            assert (alone.steps, alone.converged) == (found.steps, found.converged)
            assert alone.objective == pytest.approx(found.objective)

    def test_the_best_of_all_groupings_is_found(self):
        rng = np.random.default_rng(1)
        X = torch.from_numpy(rng.normal(size=(9, 2)) + 3 * (np.arange(9) % 3 == 0)[:, None])
        S = RidgeSmoother(X, 2, lam=0.1)
        sizes = (np.array([3.0, 3.0]), np.array([6.0, 6.0]))

        def objective(codes: np.ndarray) -> float:
            Y = np.eye(2)[codes]
            return float((Y * S(Y)).sum()) / 9

        every = [np.array(codes) for codes in itertools.product((0, 1), repeat=9) if 3 <= sum(codes) <= 6]
        found = find_groups(S, close(9, n_classes=2), 2, sizes=[[sizes]], rng=seed())[0]
        assert found.objective == pytest.approx(max(map(objective, every)))
        assert found.objective == pytest.approx(objective(found.codes))
        assert found.converged

    @given(st.integers(0, 1000))
    @settings(deadline=None, max_examples=20)
    def test_the_objective_rises_from_any_start(self, number):
        rng = np.random.default_rng(number)
        X = torch.from_numpy(rng.normal(size=(40, 3)))
        S = both(X, 3)
        codes = np.arange(40) % 3
        sizes = (np.full(3, 10.0), np.full(3, 20.0))
        Y = np.eye(3)[codes]
        (found,) = solve(S, [codes], close(40, n_classes=3), 3, sizes=sizes)
        assert found.objective >= float((Y * S(Y)).sum()) / 40 - 1e-6

    def test_a_graph_finds_what_no_line_separates(self):
        X, y = moons(300)
        sizes = (np.full(2, 100.0), np.full(2, 200.0))
        graph = GraphSmoother(graph_of(X), leak=0.1)
        by_graph, by_line = (
            agreement(find_groups(S, close(300, n_classes=2), 2, sizes=[[sizes]], rng=seed())[0].codes, y).accuracy
            for S in (graph, RidgeSmoother(X, 2))
        )
        assert by_graph > 0.97
        assert by_line < 0.95

    def test_what_is_known_holds(self):
        X, y = blobs(90, 3)
        y = y.numpy()
        labels = np.where(np.arange(90) < 6, (y + 1) % 3, -1)  # names that are not those of the first start
        pairs = np.array([[10, 11], [40, 41], [70, 80]])
        same = y[pairs[:, 0]] == y[pairs[:, 1]]
        known = close(
            90, labels=labels, must_link=pairs[same], cannot_link=pairs[~same], allowed={20: [0]}, n_classes=3
        )
        sizes = (np.full(3, 20.0), np.full(3, 40.0))
        found = find_groups(both(X, 3), known, 3, sizes=[[sizes]], rng=seed())[0].codes
        assert (found[:6] == labels[:6]).all()
        assert found[20] == 0
        assert (found[pairs[same, 0]] == found[pairs[same, 1]]).all()
        assert (found[pairs[~same, 0]] != found[pairs[~same, 1]]).all()
        others = np.setdiff1d(np.arange(6, 90), [20])
        assert (found[others] == (y[others] + 1) % 3).mean() > 0.95

    @pytest.mark.parametrize("counts", [(10, 30, 60), (33, 33, 34)])
    def test_sizes_are_met_exactly(self, counts):
        X, _ = blobs(100, 3)
        sizes = (np.array(counts, dtype=float), np.array(counts, dtype=float))
        found = find_groups(both(X, 3), close(100, n_classes=3), 3, sizes=[[sizes]], rng=seed())[0]
        assert np.bincount(found.codes).tolist() == list(counts)

    def test_links_tell_apart_what_features_do_not(self):
        rng = np.random.default_rng(0)
        X = torch.from_numpy(rng.normal(size=(200, 2)))
        y = (X[:, 0] > 0).long().numpy()  # a cut through one cloud, in a direction like any other
        pairs = rng.integers(200, size=(300, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        same = y[pairs[:, 0]] == y[pairs[:, 1]]
        known = close(200, must_link=pairs[same], cannot_link=pairs[~same], n_classes=2)
        W = with_links(graph_of(X), known)
        S = Mean([GraphSmoother(W, leak=0.1), RidgeSmoother(X, 2)])
        sizes = (np.full(2, 60.0), np.full(2, 140.0))
        found = find_groups(S, known, 2, sizes=[[sizes]], rng=seed())[0]
        assert agreement(found.codes, y).accuracy > 0.97

    def test_same_seed_same_groups(self):
        X, _ = blobs(60, 3)
        S, known = both(X, 3), close(60, n_classes=3)
        first, second = (find_groups(S, known, 3, sizes=None, rng=seed(3))[0].codes for _ in range(2))
        assert (first == second).all()


class TestMatching:
    def test_groups_take_the_classes_of_their_labels(self):
        known = close(6, labels=[2, -1, 0, -1, -1, 1], n_classes=3)
        assert match_classes(np.array([0, 0, 1, 1, 2, 2]), known, 3, sizes=None).tolist() == [2, 2, 0, 0, 1, 1]

    def test_without_labels_sizes_decide(self):
        sizes = (np.array([4.0, 0.0]), np.array([6.0, 2.0]))
        known = close(6, n_classes=2)
        assert match_classes(np.array([1, 1, 1, 1, 1, 0]), known, 2, sizes=sizes).tolist() == [0, 0, 0, 0, 0, 1]


class TestLinks:
    def test_nothing_known_leaves_the_graph_as_it_is(self):
        W = graph_of(blobs(20, 2)[0])
        assert with_links(W, close(20, n_classes=2)) is W

    def test_links_are_edges_and_negative_edges_of_the_mean_degree(self):
        W = csr_matrix(np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 2], [0, 0, 2, 0]], dtype=float))
        found = with_links(W, close(4, must_link=[(0, 2)], cannot_link=[(1, 3)], n_classes=2)).toarray()
        expected = W.toarray()
        expected[0, 2] = expected[2, 0] = 1.5
        expected[1, 3] = expected[3, 1] = -1.5
        assert found == pytest.approx(expected)
