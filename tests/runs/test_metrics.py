from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, confusion_matrix

from xsdc.data import Dataset
from xsdc.errors import InvalidInputError
from xsdc.fitting.ensemble import LeftOut
from xsdc.runs.given import Given, draw_evenly, hide_labels
from xsdc.runs.metrics import describe_found, match_truth, measure

NONE = np.empty((0, 2), dtype=np.int64)


def given(labels, truth=None, *, must=NONE, cannot=NONE) -> Given:
    n = len(labels)
    as_objects = np.array(labels, dtype=object)
    known = None if truth is None else np.array(truth, dtype=object)
    dataset = Dataset("made", "vectors", np.zeros((n, 2)), np.arange(n), "row", as_objects, truth=known)
    return Given(dataset, np.asarray(must), np.asarray(cannot))


def model(classes, *, named=True, checked=None, cluster_size="auto"):
    return SimpleNamespace(
        classes_=np.array(classes), _named=named, checked_=checked, cluster_size=cluster_size, eigenvalues_=np.ones(2)
    )


def test_measured_numbers_are_scikit_learns():
    rng = np.random.default_rng(0)
    truth = rng.choice(["a", "b", "c"], 200)
    codes = np.where(rng.random(200) < 0.8, np.searchsorted(["a", "b", "c"], truth), rng.integers(0, 3, 200))
    labels = [t if i < 20 else None for i, t in enumerate(truth)]
    probability = rng.random(200)
    said = measure(model(["a", "b", "c"]), given(labels, truth), codes, probability)
    true, found = truth[20:], np.array(["a", "b", "c"])[codes[20:]]
    assert said["n"] == 180
    assert said["accuracy"] == pytest.approx(accuracy_score(true, found))
    assert said["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(true, found))
    assert said["confusion"]["counts"] == confusion_matrix(true, found).tolist()
    bins = said["calibration"]["bins"]
    assert sum(each["n"] for each in bins) == 180
    first = (probability[20:] >= 0.1) & (probability[20:] < 0.2)
    assert bins[1]["accuracy"] == pytest.approx((true == found)[first].mean())
    assert bins[1]["confidence"] == pytest.approx(probability[20:][first].mean())
    gap = sum(each["n"] * abs(each["confidence"] - each["accuracy"]) for each in bins) / 180
    assert said["calibration"]["error"] == pytest.approx(gap)


def test_clusters_without_names_are_matched():
    truth = ["x"] * 5 + ["y"] * 4 + [None]
    codes = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 1])
    unnamed = model([0, 1], named=False)
    facts = given([None] * 10, truth)
    assert match_truth(unnamed, facts, codes).tolist() == [1] * 5 + [0] * 4 + [-1]
    said = measure(unnamed, facts, codes, np.ones(10))
    assert said["matched"]
    assert said["accuracy"] == pytest.approx(8 / 9)


def test_more_true_classes_than_clusters():
    truth = ["x", "x", "y", "y", "z"]
    said = measure(model([0, 1], named=False), given([None] * 5, truth), np.array([0, 0, 1, 1, 1]), np.ones(5))
    assert said["accuracy"] == pytest.approx(4 / 5)
    assert said["balanced_accuracy"] == pytest.approx(2 / 3)


def test_without_truth_left_out_labels_are_measured_and_said_to_be():
    checked = LeftOut(np.array([2, 0]), np.array([[0.7, 0.3], [0.6, 0.4]]))
    said = measure(model(["a", "b"], checked=checked), given(["b", None, "a"]), np.array([1, 1, 0]), np.ones(3))
    assert said["accuracy"] == 0.5
    assert said["on"] == "2 given labels, each left out of the classifiers that tell it"
    assert said["note"]
    assert measure(model(["a", "b"]), given(["b", None, "a"]), np.array([1, 1, 0]), np.ones(3)) is None


def test_truth_of_given_points_is_not_counted():
    assert measure(model(["a"]), given(["a", "a"], ["a", "a"]), np.array([0, 0]), np.ones(2)) is None


def test_violations_sizes_and_bounds():
    facts = given([None] * 4, must=[(0, 1), (2, 3)], cannot=[(0, 2), (0, 3)])
    half = model([0, 1], cluster_size=(0.5, 0.5))
    found = describe_found(half, facts, np.array([0, 0, 0, 1]), np.array([0.9, 0.4, 1, 1]))
    assert found["violations"] == [
        {"kind": "must-link", "points": ["2", "3"]},
        {"kind": "cannot-link", "points": ["0", "2"]},
    ]
    assert found["violated_links"] == 2
    assert found["sizes"] == {"0": 3, "1": 1}
    assert not found["bounds"]["kept"]
    assert found["n_doubtful"] == 1
    even = describe_found(half, facts, np.array([0, 0, 1, 1]), np.ones(4))
    assert even["bounds"]["kept"]


def test_labels_are_hidden_evenly_and_become_truth():
    labels = np.array(["a"] * 50 + ["b"] * 10 + ["c"] * 2 + [None] * 5, dtype=object)
    dataset = given(labels).dataset
    hidden = hide_labels(dataset, 12, np.random.default_rng(0))
    kept = [label for label in hidden.labels if label is not None]
    assert sorted(kept) == ["a"] * 5 + ["b"] * 5 + ["c"] * 2
    assert hidden.truth.tolist() == labels.tolist()
    assert all(h is None or h == label for h, label in zip(hidden.labels, labels, strict=True))
    assert hide_labels(dataset, 0, np.random.default_rng(0)).labels.tolist() == [None] * 67
    for wrong in (-1, 63):
        with pytest.raises(InvalidInputError, match="62"):
            hide_labels(dataset, wrong, np.random.default_rng(0))


def test_draw_is_even_and_reproducible():
    first, again = (draw_evenly([0, 0, 0, 1, 1, 2], 4, np.random.default_rng(1)) for _ in range(2))
    assert first.tolist() == again.tolist()
    assert sorted([0, 0, 0, 1, 1, 2][i] for i in first)[-1] == 2
    assert len(set(first.tolist())) == 4
