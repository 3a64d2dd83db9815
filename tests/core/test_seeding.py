from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tests.problems import blobs, gaussian
from xsdc.core.agreement import agreement
from xsdc.core.seeding import seeded_scores


def seed(number: int = 0) -> np.random.RandomState:
    return np.random.RandomState(number)


@pytest.mark.parametrize("entries", [1 << 22, 16])  # all points at once, and a few at a time
def test_scores_are_distances_to_the_nearest_point_of_each_class(monkeypatch, entries):
    monkeypatch.setattr("xsdc.core.seeding.BLOCK_ENTRIES", entries)
    Z = gaussian(50, 4).numpy()
    classes = np.full(50, -1)
    classes[:12] = np.arange(12) % 3
    expected = np.stack([cdist(Z, Z[classes == c]).min(1) for c in range(3)], 1)
    np.testing.assert_allclose(seeded_scores(Z, classes, 3, rng=seed()), -expected, atol=1e-7)


def test_scores_by_hand():
    Z = np.array([[0.0], [1.0], [4.0], [10.0]])
    scores = seeded_scores(Z, np.array([0, -1, 0, 1]), 2, rng=seed())
    np.testing.assert_allclose(scores, [[0, -10], [-1, -9], [0, -6], [-6, 0]], atol=1e-12)


def test_without_labels_scores_tell_blobs_apart():
    X, y = blobs(60, 4)
    scores = seeded_scores(X.numpy(), np.full(60, -1), 4, rng=seed())
    assert scores.shape == (60, 4)
    assert (scores <= 0).all()
    assert agreement(scores.argmax(1), y).accuracy == 1.0


@pytest.mark.parametrize("unlabeled", [[2], [0], [1, 3], [0, 1, 4]])
def test_classes_without_a_label_are_found_and_the_others_keep_their_names(unlabeled):
    X, y = blobs(100, 5)
    y = y.numpy()
    classes = np.where((np.arange(100) < 10) & ~np.isin(y, unlabeled), y, -1)
    codes = seeded_scores(X.numpy(), classes, 5, rng=seed()).argmax(1)
    named = ~np.isin(y, unlabeled)
    assert (codes[named] == y[named]).all()
    assert agreement(codes, y).accuracy == 1.0
    assert set(codes[~named]) == set(unlabeled)


def test_k_means_leaves_labeled_points_in_their_class():
    # The second point is labeled as the first, but lies among the others: the centre of its class stays between.
    Z = np.array([[0.0], [10.0], [9.0], [10.0], [11.0]])
    scores = seeded_scores(Z, np.array([0, 0, -1, -1, -1]), 2, rng=seed())
    np.testing.assert_allclose(scores, -np.abs(Z - [5.0, 10.0]), atol=1e-12)


def test_k_means_takes_unlabeled_points_into_labeled_classes():
    Z = np.array([[0.0], [1.0], [2.0], [20.0], [22.0]])
    scores = seeded_scores(Z, np.array([-1, 0, -1, -1, -1]), 2, rng=seed())
    np.testing.assert_allclose(scores, -np.abs(Z - [1.0, 21.0]), atol=1e-12)


def test_k_means_ends_where_every_centre_is_the_mean_of_its_points():
    Z = gaussian(80, 3).numpy()
    classes = np.where(np.arange(80) < 8, np.arange(80) % 2, -1)
    scores = seeded_scores(Z, classes, 5, rng=seed())
    members = np.where(classes >= 0, classes, scores.argmax(1))
    centres = np.stack([Z[members == c].mean(0) for c in range(5)])
    np.testing.assert_allclose(scores, -cdist(Z, centres), atol=1e-12)


def test_same_seed_same_scores():
    Z = gaussian(60, 3).numpy()
    for classes in (np.full(60, -1), np.where(np.arange(60) < 4, 0, -1)):
        one, two = (seeded_scores(Z, classes, 7, rng=seed(2)) for _ in range(2))
        assert np.array_equal(one, two)


def test_a_class_may_stay_without_points_of_its_own():
    Z = np.repeat([[0.0], [1.0]], 3, axis=0)
    classes = np.array([0, -1, -1, 1, -1, -1])
    scores = seeded_scores(Z, classes, 3, rng=seed())
    assert np.isfinite(scores).all()
    assert (scores[:3, 0] == 0).all()
    assert (scores[3:, 1] == 0).all()


def test_scoring_leaves_its_inputs_as_they_were():
    X, y = blobs(40, 4)
    Z, classes = X.numpy(), np.where((np.arange(40) < 8) & (y.numpy() > 0), y.numpy(), -1)
    before = Z.copy(), classes.copy()
    seeded_scores(Z, classes, 4, rng=seed())
    assert np.array_equal(Z, before[0])
    assert np.array_equal(classes, before[1])
