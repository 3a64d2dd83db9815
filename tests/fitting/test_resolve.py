from __future__ import annotations

import numpy as np
import pytest

from xsdc.fitting.knowledge import read_knowledge
from xsdc.fitting.resolve import Resolver, Spread, as_view


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2, 3], 50)
    return rng.normal(size=(200, 4)) + 5 * np.eye(4)[truth], truth


def know(truth, points, k=4):
    y = np.full(len(truth), None, dtype=object)
    y[list(points)] = [f"class {truth[i]}" for i in points]
    return read_knowledge(len(truth), y=y, n_clusters=k)


def share(found, truth):
    names = np.asarray(found.knowledge.names)[found.codes]
    return np.mean(names == [f"class {t}" for t in truth])


def test_labels_name_groups_one_after_the_other(blobs):
    X, truth = blobs
    resolver = Resolver(as_view(X), truth)
    given = []
    for point, least in ((0, 0.24), (60, 0.49), (120, 0.74), (160, 0.99)):
        given.append(point)
        found = resolver.solve(know(truth, given))
        assert share(found, truth) >= least
        assert np.allclose(found.probabilities.sum(1), 1, atol=1e-5)
        assert (found.codes[given] == found.knowledge.codes[given]).all()


def test_taking_a_label_back_gives_what_was_there_before(blobs):
    X, truth = blobs
    wrong = truth.copy()
    wrong[10] = 1
    resolver, other = Resolver(as_view(X), truth), Resolver(as_view(X), truth)
    before = resolver.solve(know(truth, [0, 60, 120, 160]))
    resolver.solve(know(wrong, [0, 10, 60, 120, 160]))
    after = resolver.solve(know(truth, [0, 60, 120, 160]))
    assert (before.codes == after.codes).all()
    fresh = other.solve(know(truth, [0, 60, 120, 160]))
    assert np.allclose(after.probabilities, fresh.probabilities, atol=0.02)


def test_visits_are_kept_and_taken_away(blobs):
    X, _ = blobs
    W = as_view(X).graph("euclidean")
    kept, fresh = Spread(W), Spread(W)
    kept({0: "a", 60: "b"}, ["a", "b"])
    kept({0: "b", 60: "b", 70: "a"}, ["a", "b"])
    assert np.allclose(kept({0: "a", 61: "b"}, ["a", "b"]), fresh({0: "a", 61: "b"}, ["a", "b"]), atol=1e-3)
    assert np.allclose(
        fresh.among(np.array([0, 61]), np.array([0, 1]), 2), fresh({0: "a", 61: "b"}, ["a", "b"]), atol=1e-3
    )


def test_pairs_are_kept_to(blobs):
    X, truth = blobs
    resolver = Resolver(as_view(X), truth)
    knowledge = read_knowledge(200, must_link=[(0, 60)], cannot_link=[(1, 2)], n_clusters=4)
    found = resolver.solve(knowledge)
    assert found.codes[0] == found.codes[60]
    assert found.codes[1] != found.codes[2]
    assert found.violated == 0


def test_a_class_more_and_a_class_less(blobs):
    X, truth = blobs
    resolver = Resolver(as_view(X), truth)
    resolver.solve(know(truth, [0, 60, 120, 160]))
    merged = np.minimum(truth, 2)
    found = resolver.solve(know(merged, [0, 60, 120, 160], k=3))
    assert share(found, merged) > 0.99
    found = resolver.solve(know(truth, [0, 60, 120, 160]))
    assert share(found, truth) > 0.99


def test_points_that_are_not_solved_for_follow_their_neighbors(blobs, monkeypatch):
    X, truth = blobs
    monkeypatch.setattr("xsdc.fitting.resolve.MOST_SOLVED", 80)
    resolver = Resolver(as_view(X), truth)
    assert share(resolver.solve(know(truth, [0, 60, 120, 160])), truth) > 0.95
