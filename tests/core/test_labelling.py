from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from tests.problems import blobs, gaussian
from xsdc.core.agreement import agreement
from xsdc.core.assignment import violated_links
from xsdc.core.balancing import balance
from xsdc.core.constraints import Constraints, close
from xsdc.core.judging import Judge
from xsdc.core.labelling import Candidate, Labelling, label_points, largest_number, seeded_scores, suggest_number
from xsdc.core.objective import Spectrum, decompose
from xsdc.core.problem import Fractions
from xsdc.core.rounding import spectral_embedding
from xsdc.core.sizes import ClassSizes


def seed(number: int = 0) -> np.random.RandomState:
    return np.random.RandomState(number)


def one_bound(low: float, high: float) -> ClassSizes:
    return ClassSizes(np.array([low]), np.array([high]))


def label(
    X: torch.Tensor, constraints: Constraints, *, k: int, candidates: list[Candidate] | None = None, **options
) -> list[Labelling]:
    spectrum: Spectrum = decompose(X)
    candidates = candidates or [Candidate(0.1, ClassSizes.around(k, 0.5, 2))]
    judge = Judge(spectrum, 0.05)
    options = {"n_clusters": k, "judge": judge, "rng": seed()} | options
    return [label_points(spectrum, constraints, candidate=way, **options) for way in candidates]


def test_blobs_are_found_without_any_label():
    X, y = blobs(90, 3)
    (found,) = label(X, close(90, n_classes=3), k=3)
    assert agreement(found.codes, y).accuracy == 1.0
    assert found.eigenvalues.shape == (4,)
    assert found.merit == pytest.approx(Judge(decompose(X), 0.05).merit(found.codes))


def test_one_label_per_class_names_the_classes():
    X, y = blobs(90, 3)
    labels = np.full(90, -1)
    labels[[3, 7, 11]] = y[[3, 7, 11]]
    assert sorted(labels[[3, 7, 11]]) == [0, 1, 2]
    (found,) = label(X, close(90, labels=labels, n_classes=3), k=3)
    assert found.codes.tolist() == y.tolist()


def test_a_class_that_nobody_labeled_is_found_beside_those_that_are():
    X, y = blobs(120, 4)
    labels = np.where((np.arange(120) < 24) & (y.numpy() != 2), y.numpy(), -1)
    (found,) = label(X, close(120, labels=labels, n_classes=4), k=4)
    assert found.codes.tolist() == y.tolist()


def test_what_is_known_holds_against_what_the_features_say():
    X, y = blobs(60, 3)
    y = y.numpy()
    labels = np.full(60, -1)
    labels[:12] = y[:12]
    labels[30] = (y[30] + 1) % 3  # wrong, but said
    facts = {"must_link": [(40, 41)], "cannot_link": [(45, 48)], "allowed": {50: [(int(y[50]) + 1) % 3]}}
    assert y[40] != y[41]
    assert y[45] == y[48]
    constraints = close(60, labels=labels, n_classes=3, **facts)
    (found,) = label(X, constraints, k=3)
    assert (found.codes[labels >= 0] == labels[labels >= 0]).all()
    assert found.codes[40] == found.codes[41]
    assert found.codes[50] == (y[50] + 1) % 3
    assert violated_links(found.codes, constraints) == 0
    untouched = np.setdiff1d(np.arange(60), [30, 40, 41, 45, 48, 50])
    assert (found.codes[untouched] == y[untouched]).all()


def test_sizes_are_kept_exactly_where_they_are_given():
    X, y = blobs(60, 3)
    wanted = np.array([10.0, 20.0, 30.0])
    labels = np.where(np.arange(60) < 6, y.numpy(), -1)
    (found,) = label(X, close(60, labels=labels, n_classes=3), k=3, sizes=(wanted, wanted))
    assert np.bincount(found.codes).tolist() == [10, 20, 30]
    assert (found.codes[:6] == y.numpy()[:6]).all()


def test_each_way_has_its_merit():
    X = gaussian(120, 5) * torch.tensor([10.0, 8.0, 5.0, 3.0, 1.0])  # no groups: each ridge finds others
    ways = [Candidate(lam, ClassSizes.around(4, 1, 1)) for lam in (0.1, 0.001, 1.0, 0.01)]
    found = label(X, close(120, n_classes=4), k=4, candidates=ways)
    judge = Judge(decompose(X), 0.05)
    assert [labelling.merit for labelling in found] == pytest.approx([judge.merit(f.codes) for f in found])
    assert [labelling.candidate for labelling in found] == ways
    assert len({labelling.merit for labelling in found}) == 4


def test_each_way_is_tried_on_its_own_terms():
    X = gaussian(60, 5)
    labels = np.where(np.arange(60) < 6, np.arange(60) % 3, -1)  # with labels nothing is left to chance
    constraints = close(60, labels=labels, n_classes=3)
    narrow, wide = ClassSizes.around(3, 1, 1), ClassSizes.around(3, 0.1, 3)
    ways = [Candidate(0.1, narrow), Candidate(0.1, wide), Candidate(0.001, narrow)]
    together = {id(f.candidate): f.codes.tolist() for f in label(X, constraints, k=3, candidates=ways)}
    alone = [label(X, constraints, k=3, candidates=[way])[0].codes.tolist() for way in ways]
    assert [together[id(way)] for way in ways] == alone
    assert alone[0] != alone[1] != alone[2] != alone[0]


def test_same_seed_same_labels():
    X = gaussian(60, 5)
    one, two = (label(X, close(60, n_classes=4), k=4, rng=seed(5))[0].codes for _ in range(2))
    assert np.array_equal(one, two)


def test_the_order_of_points_does_not_matter():
    X, y = blobs(60, 3)
    labels = np.where(np.arange(60) < 6, y.numpy(), -1)
    order = np.random.default_rng(0).permutation(60)
    (here,) = label(X, close(60, labels=labels, n_classes=3), k=3)
    (there,) = label(X[torch.from_numpy(order)], close(60, labels=labels[order], n_classes=3), k=3)
    assert there.codes.tolist() == here.codes[order].tolist()


@pytest.mark.parametrize("entries", [1 << 22, 16])  # all points at once, and a few at a time
def test_scores_are_distances_to_the_nearest_point_of_each_class(monkeypatch, entries):
    monkeypatch.setattr("xsdc.core.labelling.BLOCK_ENTRIES", entries)
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


@pytest.mark.parametrize(
    ("values", "bound", "number"),
    [
        ([1.0, 0.98, 0.95, 0.3, 0.28, 0.1], (0.1, 1.0), 3),
        ([1.0, 0.2, 0.19, 0.1, 0.08, 0.07], (0.1, 1.0), 1),
        ([1.0, 0.2, 0.19, 0.1, 0.08, 0.07], (0.1, 0.5), 3),  # two groups or more
        ([1.0, 0.98, 0.95, 0.3, 0.28, 0.1], (0.5, 1.0), 2),  # no more than two
        ([1.0, 0.99, 0.98, 0.9, 0.2, 0.1], (1 / 3, 1.0), 3),
        ([1.0, 0.99, 0.98, 0.9, 0.2, 0.1], (0.0, 1.0), 4),
        ([1.0, 0.5, 0.4, 0.0], (1 / 3, 1 / 3), 3),  # the bounds leave no choice
        ([1.0, 0.9, 0.8, 0.2, 0.1], (0.0, 0.3333333333333), 3),  # three groups hold all but rounding
    ],
)
def test_the_number_is_where_the_eigenvalues_fall_most_within_the_bounds(values, bound, number):
    assert suggest_number(torch.tensor(values), one_bound(*bound)) == number


@given(st.lists(st.floats(0, 1), min_size=6, max_size=12), st.floats(0.1, 0.3), st.floats(0.4, 1.0))
@settings(deadline=None)
def test_the_suggested_number_is_one_that_the_bounds_allow(values, low, high):
    number = suggest_number(torch.tensor(sorted(values, reverse=True)), one_bound(low, high))
    assert number * low <= 1 + 1e-6
    assert number * high >= 1 - 1e-6
    assert number < len(values)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_number_of_separate_blobs_is_found(k):
    X, _ = blobs(120, k)
    spectrum = decompose(X)
    # Bounds that leave room for other numbers on both sides.
    bound = one_bound(0.1, 0.9)
    M = balance(spectrum.cost(0.1).dense(), size=Fractions(0.1, 0.9)).M
    eigenvalues, _ = spectral_embedding(M, 10, random_state=seed())
    assert suggest_number(eigenvalues, bound) == k


def test_the_largest_number_of_groups():
    assert largest_number(one_bound(0.1, 1), 50) == 10
    assert largest_number(one_bound(0.3, 1), 50) == 3
    assert largest_number(one_bound(0.3333333333334, 1), 50) == 3  # too much by rounding alone
    assert largest_number(one_bound(0.1, 1), 7) == 7
    assert largest_number(one_bound(0.0, 1), 7) == 7
