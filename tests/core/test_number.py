from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.problems import blobs
from xsdc.core.constraints import close
from xsdc.core.graph import NeighborIndex
from xsdc.core.number import (
    evidence_of_pairs,
    gaps,
    leading_eigenvalues,
    normal_like,
    number_apart,
    number_range,
    vote_on_number,
)
from xsdc.core.sizes import ClassSizes


def one_bound(low: float, high: float) -> ClassSizes:
    return ClassSizes(np.array([low]), np.array([high]))


def random() -> np.random.RandomState:
    return np.random.RandomState(0)


class TestRange:
    @pytest.mark.parametrize(
        ("bound", "limit", "expected"),
        [
            ((0.1, 1.0), 50, (1, 10)),
            ((0.1, 0.5), 50, (2, 10)),
            ((0.3, 1.0), 50, (1, 3)),
            ((1 / 3, 1 / 3), 50, (3, 3)),
            ((0.3333333333334, 1.0), 50, (1, 3)),  # too much by rounding alone
            ((0.0, 0.3333333333333), 50, (4 - 1, 50)),  # three groups hold all but rounding
            ((0.1, 1.0), 7, (1, 7)),
            ((0.0, 1.0), 7, (1, 7)),
        ],
    )
    def test_bounds_on_sizes_limit_the_number(self, bound, limit, expected):
        assert number_range(one_bound(*bound), limit) == expected

    def test_without_a_bound_any_number_is_possible(self):
        assert number_range(None, 50) == (1, 50)

    @given(st.floats(0.01, 0.3), st.floats(0.4, 1.0))
    @settings(deadline=None)
    def test_numbers_within_it_can_meet_the_bounds(self, low, high):
        fewest, most = number_range(one_bound(low, high), 1000)
        for number in (fewest, most):
            assert number * low <= 1 + 1e-6
            assert number * high >= 1 - 1e-6


class TestVotes:
    @pytest.mark.parametrize("k", [2, 3, 5])
    def test_separate_groups_have_all_votes(self, k):
        Z = blobs(120, k)[0].numpy()
        assert vote_on_number(Z, fewest=1, most=50, rng=random()) == pytest.approx({k: 1.0})

    def test_points_without_groups_vote_for_one(self):
        for d in (1, 2, 6):
            Z = np.random.default_rng(0).normal(size=(200, d)) * np.arange(1, d + 1)
            votes = vote_on_number(Z, fewest=1, most=50, rng=random())
            assert max(votes, key=lambda number: votes[number]) == 1

    @pytest.mark.parametrize(("fewest", "most"), [(2, 50), (4, 8), (2, 3), (3, 3)])
    def test_votes_are_shares_within_the_range(self, fewest, most):
        Z = np.random.default_rng(0).normal(size=(90, 3))
        votes = vote_on_number(Z, fewest=fewest, most=most, rng=random())
        assert sum(votes.values()) == pytest.approx(1)
        assert all(fewest <= number <= most for number in votes)

    @pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
    def test_few_points(self, n):
        votes = vote_on_number(np.arange(n, dtype=float)[:, None], fewest=1, most=n, rng=random())
        assert votes == {1: 1.0}

    def test_points_that_coincide(self):
        Z = np.repeat(np.eye(3), 40, axis=0)
        assert sum(vote_on_number(Z, fewest=1, most=50, rng=random()).values()) == pytest.approx(1)


def test_eigenvalues_are_one_for_each_part_of_a_graph():
    Z = np.concatenate([np.random.default_rng(0).normal(size=(40, 2)) + 100 * part for part in range(3)])
    values = leading_eigenvalues(NeighborIndex.of(blobs(1, 1)[0].new_tensor(Z)).graph(), 5)
    np.testing.assert_allclose(values[:3], 1, atol=1e-9)
    assert values[3] < 0.999
    assert (np.diff(values) <= 1e-12).all()


def test_the_largest_gap_is_after_the_last_group():
    found = gaps(blobs(120, 4)[0].numpy(), 12)
    assert len(found) == 11
    assert found.argmax() + 2 == 4


def test_normal_points_have_the_same_mean_and_covariance():
    Z = np.random.default_rng(0).uniform(size=(4000, 3)) * [1, 5, 0] + [7, 0, 2]
    drawn = normal_like(Z, random())
    np.testing.assert_allclose(drawn.mean(axis=0), Z.mean(axis=0), atol=0.1)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(Z.T), atol=0.15)


def test_points_kept_apart_by_links_need_as_many_groups():
    triangle = close(6, cannot_link=[(0, 1), (1, 2), (0, 2), (3, 4)])
    assert number_apart(triangle.apart) == 3
    joined = close(6, must_link=[(2, 3)], cannot_link=[(0, 1), (1, 2), (0, 3)])  # 2 and 3 are one
    assert number_apart(joined.apart) == 3
    assert number_apart(close(6, cannot_link=[(0, 1), (2, 3)]).apart) == 2
    assert number_apart(close(6, must_link=[(0, 1)]).apart) == 1


def test_pairs_speak_for_the_groups_they_come_from():
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 3
    pairs = rng.integers(300, size=(60, 2))
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    evidence = {
        name: evidence_of_pairs(codes, pairs[same], pairs[~same])
        for name, codes in {
            "truth": truth,
            "one": np.zeros(300, dtype=int),
            "two": truth // 2,
            "six": truth + 3 * rng.integers(2, size=300),
        }.items()
    }
    assert max(evidence, key=lambda name: evidence[name]) == "truth"


def test_must_links_alone_do_not_speak_for_one_group():
    truth = np.arange(300) % 3
    pairs = np.stack([np.arange(30), np.arange(30) + 3], axis=1)
    nothing = np.empty((0, 2), dtype=int)
    one = evidence_of_pairs(np.zeros(300, dtype=int), pairs, nothing)
    assert evidence_of_pairs(truth, pairs, nothing) == pytest.approx(one)
