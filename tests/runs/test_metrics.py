from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, confusion_matrix

from xsdc.data import Dataset
from xsdc.errors import InvalidInputError
from xsdc.fitting.checked import CheckedLabels, SuspiciousLabels
from xsdc.runs.given import Given, draw_evenly, hide_labels
from xsdc.runs.metrics import MOST_SUSPICIOUS, describe_found, explain_unmeasured, list_suspicious, match_truth, measure

NONE = np.empty((0, 2), dtype=np.int64)


def given(labels, truth=None, *, must=NONE, cannot=NONE, allowed=None) -> Given:
    n = len(labels)
    as_objects = np.array(labels, dtype=object)
    known = None if truth is None else np.array(truth, dtype=object)
    dataset = Dataset("made", "vectors", np.zeros((n, 2)), np.arange(n), "row", as_objects, allowed or {}, truth=known)
    return Given(dataset, np.asarray(must), np.asarray(cannot))


def model(classes, *, named=True, checked=None, suspicious=None, cluster_size="auto", best_iteration=0):
    return SimpleNamespace(
        classes_=np.array(classes),
        n_clusters_ranking_=[(len(classes), 1.0)],
        _named=named,
        checked_=checked,
        suspicious_labels_=suspicious,
        cluster_size=cluster_size,
        eigenvalues_=np.ones(2),
        history_={"best_iteration": best_iteration},
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
    low, high = said["interval"]
    assert low < said["accuracy"] < high
    assert high - low < 0.13
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


def test_without_truth_left_out_labels_are_measured_on():
    checked = CheckedLabels(np.array([2, 0]), np.array([[0.7, 0.3], [0.6, 0.4]]))
    facts, codes = given(["b", None, "a", "a"]), np.array([1, 1, 0, 0])
    said = measure(model(["a", "b"], checked=checked), facts, codes, np.ones(4))
    assert (said["n"], said["accuracy"]) == (2, 0.5)
    assert said["interval"] == pytest.approx([0.0945, 0.9055], abs=1e-4)
    assert said["on"] == "2 given labels, each held out of the classifiers that tell it"
    assert said["note"].startswith("It holds for all points as far as")
    trained = model(["a", "b"], checked=checked, best_iteration=10)
    assert "Measured without training" in measure(trained, facts, codes, np.ones(4))["note"]


def test_without_labels_that_can_be_left_out_nothing_is_measured():
    facts, codes = given(["b", None, "a"]), np.array([1, 1, 0])
    assert measure(model(["a", "b"]), facts, codes, np.ones(3)) is None
    assert "the fit needs all labels" in explain_unmeasured(facts)
    why = explain_unmeasured(given([None] * 3))
    assert "--truth-column" in why
    assert "--keep-labels" not in why  # there are none to keep


def test_true_classes_that_follow_from_what_was_given_are_not_counted():
    """Of eight points the first has a label and the fourth a choice; the next two hang on each of them by links."""
    truth = ["a", "a", "a", "b", "b", "b", "b", "a"]
    labels = ["a", *[None] * 7]
    facts = given(labels, truth, must=[(0, 1), (2, 1), (3, 4), (5, 4)], allowed={3: ["a", "b"]})
    said = measure(model(["a", "b"]), facts, np.array([0, 0, 0, 1, 1, 1, 1, 1]), np.ones(8))
    assert (said["n"], said["accuracy"]) == (2, 0.5)  # the last two
    free = given(labels, truth, must=[(1, 2), (3, 4), (5, 4)])  # links among points of which nothing else is known
    assert measure(model(["a", "b"]), free, np.zeros(8, dtype=int), np.ones(8))["n"] == 7


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


def suspicious(m: int) -> SuspiciousLabels:
    points = np.arange(m)[::-1]
    return SuspiciousLabels(points, np.full(m, "a"), np.full(m, 1e-7), np.full(m, "b"), np.full(m, 0.98765432))


def test_suspicious_labels_are_listed_by_id_and_row():
    facts = given(["a"] * 3)
    facts.dataset.ids[:] = [10, 20, 30]
    checked = CheckedLabels(np.arange(3), np.full((3, 2), 0.5))
    table = list_suspicious(model(["a", "b"], checked=checked, suspicious=suspicious(2)), facts)
    assert table.to_dict("list") == {
        "id": [20, 10],
        "row": [1, 0],
        "label": ["a", "a"],
        "probability": [0.0, 0.0],
        "likelier": ["b", "b"],
        "likelier_probability": [0.987654, 0.987654],
    }
    found = describe_found(
        model(["a", "b"], checked=checked, suspicious=suspicious(2)), facts, np.zeros(3, dtype=int), np.ones(3)
    )
    assert (found["n_checked"], found["n_suspicious"]) == (3, 2)
    assert [each["row"] for each in found["suspicious"]] == [1, 0]
    assert list_suspicious(model(["a", "b"]), facts) is None


def test_metrics_hold_no_endless_list_of_suspicious_labels():
    n = MOST_SUSPICIOUS + 5
    checked = CheckedLabels(np.arange(n), np.full((n, 2), 0.5))
    judged = model(["a", "b"], checked=checked, suspicious=suspicious(n))
    found = describe_found(judged, given(["a"] * n), np.zeros(n, dtype=int), np.ones(n))
    assert found["n_suspicious"] == n
    assert [each["row"] for each in found["suspicious"]] == list(range(n - 1, n - 1 - MOST_SUSPICIOUS, -1))


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
