from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xsdc.core import assignment
from xsdc.core.assignment import assign, outside_sizes, violated_links
from xsdc.core.constraints import close

SEEDS = st.integers(0, 10**6)


def true_facts(rng: np.random.Generator, y: np.ndarray, k: int, *, links: bool = True) -> dict:
    """Some facts that hold for classes y, so that they cannot clash."""
    n = len(y)
    pairs = rng.integers(n, size=(n // 2, 2))
    together = y[pairs[:, 0]] == y[pairs[:, 1]]
    facts = {
        "labels": np.where(rng.random(n) < 0.3, y, -1),
        "allowed": {i: sorted({int(y[i]), int(rng.integers(k))}) for i in range(0, n, 4)},
        "n_classes": k,
    }
    return facts | {"must_link": pairs[together], "cannot_link": pairs[~together]} if links else facts


def best_by_enumeration(scores: np.ndarray, facts: dict, lo: np.ndarray, hi: np.ndarray) -> float:
    """Highest total score of all assignments that keep labels, allowed sets and sizes."""
    n, k = scores.shape
    best = -np.inf
    for y in itertools.product(range(k), repeat=n):
        counts = np.bincount(y, minlength=k)
        kept = all(label in (-1, c) for label, c in zip(facts["labels"], y, strict=True))
        kept &= all(y[i] in some for i, some in facts["allowed"].items())
        if kept and (counts >= lo).all() and (counts <= hi).all():
            best = max(best, scores[np.arange(n), y].sum())
    return best


def test_without_facts_the_highest_score_wins():
    scores = np.array([[0.1, 0.9, 0.0], [3.0, -1.0, 2.0], [-5.0, -4.0, -3.0]])
    codes = assign(scores, close(3, n_classes=3))
    assert codes.tolist() == [1, 0, 2]
    assert codes.dtype == np.int64


def test_a_pair_known_to_be_together_adds_its_scores():
    scores = np.array([[3.0, 0.0, 0.0], [0.0, 1.0, 2.0], [0.0, 2.5, 2.0]])
    # Alone they would be 0, 2 and 1; of the pairs (0, 1) sums to 3, 1, 2 and (1, 2) to 0, 3.5, 4.
    assert assign(scores, close(3, must_link=[(0, 1)], n_classes=3)).tolist() == [0, 0, 1]
    assert assign(scores, close(3, must_link=[(1, 2)], n_classes=3)).tolist() == [0, 2, 2]


@given(SEEDS, st.booleans())
@settings(max_examples=60, deadline=None)
def test_labels_must_links_and_allowed_sets_are_always_kept(seed, bounded):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    y = rng.integers(k, size=20)
    facts = true_facts(rng, y, k)
    constraints = close(20, **facts)
    scores = rng.normal(size=(20, k))
    sizes = (np.full(k, 20 // k), np.full(k, 20 // k + 1)) if bounded else None
    codes = assign(scores, constraints, sizes=sizes)
    labeled = facts["labels"] >= 0
    assert (codes[labeled] == y[labeled]).all()
    assert all(codes[i] == codes[j] for i, j in facts["must_link"])
    assert constraints.allowed_classes()[np.arange(20), codes].all()
    assert set(codes) <= set(range(k))


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_sizes_are_met_at_the_highest_total_score(seed):
    rng = np.random.default_rng(seed)
    n, k = 6, int(rng.integers(2, 4))
    y = rng.integers(k, size=n)
    facts = true_facts(rng, y, k, links=False)
    counts = np.bincount(y, minlength=k)
    lo, hi = np.maximum(counts - rng.integers(2, size=k), 0), counts + rng.integers(2, size=k)
    scores = rng.normal(size=(n, k))
    codes = assign(scores, close(n, **facts), sizes=(lo.astype(float), hi.astype(float)))
    found = np.bincount(codes, minlength=k)
    assert (found >= lo).all()
    assert (found <= hi).all()
    assert scores[np.arange(n), codes].sum() == pytest.approx(best_by_enumeration(scores, facts, lo, hi))


def test_sizes_move_those_that_lose_least():
    scores = np.array([[5.0, 0.0], [1.0, 0.0], [4.0, 0.0], [2.0, 0.0]])
    even = (np.array([2.0, 2.0]), np.array([2.0, 2.0]))
    assert assign(scores, close(4, n_classes=2), sizes=even).tolist() == [0, 1, 0, 1]


def test_sizes_that_are_met_already_change_nothing():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(30, 3))
    free = assign(scores, close(30, n_classes=3))
    counts = np.bincount(free, minlength=3).astype(float)
    assert assign(scores, close(30, n_classes=3), sizes=(counts, counts)).tolist() == free.tolist()


def test_sizes_count_points_and_not_groups():
    scores = np.array([[9.0, 0.0], [9.0, 0.0], [2.0, 0.0], [1.0, 0.0]])
    pair = close(4, must_link=[(0, 1)], n_classes=2)
    even = (np.array([2.0, 2.0]), np.array([2.0, 2.0]))
    assert assign(scores, pair, sizes=even).tolist() == [0, 0, 1, 1]


def test_labels_come_before_sizes_that_cannot_be_met():
    scores = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    known = close(4, labels=[0, 0, 0, -1], n_classes=2)
    assert assign(scores, known, sizes=(np.array([0.0, 2.0]), np.array([2.0, 4.0]))).tolist() == [0, 0, 0, 1]


def test_a_class_of_minus_infinity_is_taken_only_where_nothing_else_is_allowed():
    scores = np.array([[-np.inf, -7.0, -8.0], [-np.inf, -np.inf, -100.0], [-np.inf, 3.0, 4.0]])
    known = close(3, allowed={2: [0]}, n_classes=3)
    assert assign(scores, known).tolist() == [1, 2, 0]


def test_of_two_points_that_are_apart_the_less_sure_one_moves():
    scores = np.array([[5.0, 1.0, 0.0], [5.0, 2.0, 4.0]])
    apart = close(2, cannot_link=[(0, 1)], n_classes=3)
    assert assign(scores, apart).tolist() == [0, 2]
    assert assign(scores[::-1], apart).tolist() == [2, 0]


def test_a_label_decides_along_a_chain_of_cannot_links():
    scores = np.tile([1.0, 0.0], (4, 1))
    chain = close(4, labels=[1, -1, -1, -1], cannot_link=[(0, 1), (1, 2), (2, 3)], n_classes=2)
    assert assign(scores + np.arange(4)[:, None] * [0.0, 0.1], chain).tolist() == [1, 0, 1, 0]


def test_a_point_whose_classes_are_all_taken_pushes_another_out():
    # The surest two take both classes; the one between them has none left until one of them moves.
    scores = np.array([[5.0, 0.0], [1.0, 0.0], [0.0, 4.0]])
    chain = close(3, cannot_link=[(0, 1), (1, 2)], n_classes=2)
    codes = assign(scores, chain)
    assert violated_links(codes, chain) == 0
    assert codes[0] == codes[2] != codes[1]


def test_a_link_that_cannot_be_met_makes_nobody_leave_what_is_allowed():
    scores = np.array([[1.0, 0.0, 9.0], [0.0, 1.0, 9.0], [1.0, 0.0, 9.0]])
    # The third class would part them all, but it is not allowed.
    known = close(3, labels=[0, 1, -1], allowed={2: [0, 1]}, cannot_link=[(0, 2), (1, 2)], n_classes=3)
    codes = assign(scores, known)
    assert codes[:2].tolist() == [0, 1]
    assert codes[2] in (0, 1)
    assert violated_links(codes, known) == 1


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_cannot_links_are_met_where_every_point_has_more_classes_than_links(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=15)
    pairs = rng.integers(15, size=(12, 2))
    pairs = pairs[y[pairs[:, 0]] != y[pairs[:, 1]]]
    facts = {"labels": np.where(rng.random(15) < 0.2, y, -1), "cannot_link": pairs}
    k = 1 + max(3, int(np.diff(close(15, n_classes=15, **facts).apart.indptr).max()))
    constraints = close(15, n_classes=k, **facts)
    # All want the same class, so that nothing is met by chance.
    codes = assign(rng.random((15, k)) + np.arange(k), constraints)
    assert violated_links(codes, constraints) == 0
    assert all(codes[i] != codes[j] for i, j in pairs)
    assert (codes[facts["labels"] >= 0] == y[facts["labels"] >= 0]).all()


def test_links_that_the_classes_do_not_suffice_for_are_counted():
    triangle = close(3, cannot_link=[(0, 1), (1, 2), (0, 2)], n_classes=2)
    codes = assign(np.array([[3.0, 0.0], [2.0, 0.0], [1.0, 0.0]]), triangle)
    assert violated_links(codes, triangle) == 1
    assert violated_links(np.zeros(3, dtype=np.int64), triangle) == 3
    assert violated_links(np.array([0, 1, 1]), triangle) == 1


def test_a_broken_link_between_groups_counts_once():
    groups = close(4, must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2), (1, 3), (3, 0)], n_classes=2)
    assert violated_links(np.zeros(4, dtype=np.int64), groups) == 1
    assert violated_links(np.array([0, 0, 1, 1]), groups) == 0
    assert violated_links(np.zeros(4, dtype=np.int64), close(4, n_classes=2)) == 0


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_the_order_of_points_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    n, k = 16, 3
    y = rng.integers(k, size=n)
    facts = true_facts(rng, y, k)
    scores = rng.normal(size=(n, k))
    order = rng.permutation(n)
    place = np.argsort(order)
    moved = {
        "labels": facts["labels"][order],
        "allowed": {int(place[i]): some for i, some in facts["allowed"].items()},
        "must_link": place[facts["must_link"]],
        "cannot_link": place[facts["cannot_link"]],
        "n_classes": k,
    }
    codes = assign(scores, close(n, **facts))
    assert assign(scores[order], close(n, **moved)).tolist() == codes[order].tolist()


def test_the_names_of_classes_do_not_matter():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=24)
    scores = rng.normal(size=(24, 4))
    pairs = rng.integers(24, size=(10, 2))
    pairs = pairs[y[pairs[:, 0]] != y[pairs[:, 1]]]
    labels = np.where(rng.random(24) < 0.3, y, -1)
    name = np.array([2, 0, 3, 1])
    renamed = np.where(labels >= 0, name[labels], -1)
    lo, hi = np.array([5.0, 3.0, 6.0, 4.0]), np.array([6.0, 9.0, 8.0, 7.0])
    for links in (None, pairs):
        sizes = (lo, hi) if links is None else None
        codes = assign(scores, close(24, labels=labels, cannot_link=links, n_classes=4), sizes=sizes)
        there = np.argsort(name)
        sizes = (lo[there], hi[there]) if links is None else None
        known = close(24, labels=renamed, cannot_link=links, n_classes=4)
        assert assign(scores[:, there], known, sizes=sizes).tolist() == name[codes].tolist()


def test_inputs_stay_as_they_were():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(12, 3))
    scores[3, 1] = -np.inf
    known = close(12, labels=[0, 1] + [-1] * 10, cannot_link=[(2, 3), (3, 4)], allowed={5: [0, 1]}, n_classes=3)
    sizes = np.full(3, 4.0), np.full(3, 4.0)
    before = [x.copy() for x in (scores, *sizes, known.allowed, known.group, known.apart.data)]
    assign(scores, known, sizes=sizes)
    for old, new in zip(before, (scores, *sizes, known.allowed, known.group, known.apart.data), strict=True):
        np.testing.assert_array_equal(old, new)


def test_cannot_links_that_nobody_breaks_leave_sizes_alone():
    scores = np.array([[5.0, 0, -9], [4.0, 0, -9], [-9, -9, 3]])
    one = np.ones(3)
    facts = close(3, n_classes=3, cannot_link=[(1, 2)])
    assert assign(scores, facts, sizes=(one, one)).tolist() == [0, 1, 2]


def test_minus_infinity_means_cannot():
    scores = np.array([[-np.inf, 0.0], [0.0, 5.0]])
    assert assign(scores, close(2, n_classes=2), sizes=(np.ones(2), np.ones(2))).tolist() == [1, 0]
    scores = np.array([[-np.inf, -10.0], [5.0, -10.0]])
    assert assign(scores, close(2, n_classes=2, must_link=[(0, 1)])).tolist() == [1, 1]


def test_those_who_lose_least_make_way():
    facts = close(3, cannot_link=[(0, 1), (1, 2)], n_classes=2)
    assert assign(np.array([[10.0, 0], [0.1, 0], [0, 1.0]]), facts).tolist() == [0, 1, 0]


@pytest.mark.parametrize("seed", range(10))
def test_groups_of_many_sizes_fill_classes_exactly_where_they_can(seed):
    members = np.array([7, 13, 9, 11, 10, 10, 6, 14, 20])  # 50 and 50 in several ways
    group = np.repeat(np.arange(9), members)
    links = [(i, i + 1) for i in range(99) if group[i] == group[i + 1]]
    scores = np.random.default_rng(seed).normal(size=(100, 2))
    sizes = np.full(2, 50.0), np.full(2, 50.0)
    codes = assign(scores, close(100, must_link=links, n_classes=2), sizes=sizes)
    assert np.bincount(codes).tolist() == [50, 50]
    assert outside_sizes(codes, sizes) == 0


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_sizes_hold_beside_cannot_links(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 3
    scores = 3.0 * np.eye(3)[y] + rng.normal(size=(60, 3))
    apart = rng.integers(60, size=(8, 2))
    apart = apart[apart[:, 0] != apart[:, 1]]
    constraints = close(60, cannot_link=apart[y[apart[:, 0]] == y[apart[:, 1]]], n_classes=3)
    codes = assign(scores, constraints, sizes=(np.full(3, 20.0), np.full(3, 20.0)))
    if not violated_links(codes, constraints):
        assert np.bincount(codes, minlength=3).tolist() == [20, 20, 20]


def test_points_outside_sizes_are_counted():
    codes = np.array([0, 0, 0, 1, 2])
    assert outside_sizes(codes, (np.full(3, 1.0), np.full(3, 3.0))) == 0
    assert outside_sizes(codes, (np.full(3, 1.0), np.full(3, 2.0))) == 1
    assert outside_sizes(codes, (np.array([0.0, 2.0, 2.0]), np.full(3, 5.0))) == 2


class TestManyGroups:
    """Sizes for more groups than prices are first found by."""

    @pytest.fixture(autouse=True)
    def _few(self, monkeypatch):
        monkeypatch.setattr(assignment, "MOST_PRICED", 60)

    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("bounds", [(0.25, 0.25), (0.1, 0.3), (0.2, 0.5)])
    def test_bounds_are_met_at_little_more_than_the_least_cost(self, seed, bounds, monkeypatch):
        n, k = 400, 4
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=(n, k)) + 2.0 * rng.dirichlet(np.ones(k)) * k
        sizes = np.full(k, bounds[0] * n), np.full(k, bounds[1] * n)
        found = assign(scores, close(n, n_classes=k), sizes=sizes)
        counts = np.bincount(found, minlength=k)
        assert (counts >= sizes[0]).all()
        assert (counts <= sizes[1]).all()
        monkeypatch.setattr(assignment, "MOST_PRICED", 10_000)
        best = assign(scores, close(n, n_classes=k), sizes=sizes)
        free = scores.max(1).sum()
        lost, least = (free - scores[np.arange(n), each].sum() for each in (found, best))
        assert lost <= 1.1 * least + 1e-9

    def test_labels_and_links_hold_and_sizes_where_they_can(self):
        n, k = 300, 3
        rng = np.random.default_rng(0)
        scores = rng.normal(size=(n, k)) + np.array([3.0, 0, 0])
        labels = np.where(np.arange(n) < 30, np.arange(n) % k, -1)
        links = np.arange(30, 130).reshape(-1, 2)
        constraints = close(n, labels=labels, n_classes=k, must_link=links)
        found = assign(scores, constraints, sizes=(np.full(k, 90.0), np.full(k, 110.0)))
        assert (found[labels >= 0] == labels[labels >= 0]).all()
        assert (found[links[:, 0]] == found[links[:, 1]]).all()
        counts = np.bincount(found, minlength=k)
        assert counts.min() >= 90
        assert counts.max() <= 110
