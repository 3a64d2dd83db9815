"""Which labels the classifiers are judged by, and which labels they judge."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fitting.test_labels import fit, gaussians, some
from xsdc import XSDC
from xsdc.fitting.checked import SuspiciousLabels, check_labels
from xsdc.fitting.knowledge import read_knowledge


def flipped(given, count, *, seed=0):
    """Give some labels the next class; also return where."""
    wrong = np.random.default_rng(seed).permutation(np.flatnonzero(given >= 0))[:count]
    given = given.copy()
    given[wrong] = (given[wrong] + 1) % 3
    return given, wrong


class TestSuspiciousLabels:
    def test_flipped_labels_and_no_others(self):
        X, y = gaussians(spread=8.0)
        given, wrong = flipped(some(y, 20), 2)
        found = fit(X, given).suspicious_labels_
        assert isinstance(found, SuspiciousLabels)
        assert sorted(found.points) == sorted(wrong)
        np.testing.assert_array_equal(found.labels, given[found.points])
        np.testing.assert_array_equal(found.likelier, y[found.points])
        assert (np.diff(found.probabilities) >= 0).all()
        assert (found.likelier_probabilities > found.probabilities).all()

    def test_none_where_none_is_wrong(self):
        X, y = gaussians(spread=8.0)
        assert len(fit(X, some(y, 15)).suspicious_labels_) == 0

    def test_all_rows_labeled_with_words(self):
        X, y = gaussians(150, spread=8.0)
        names = np.array(["ant", "bee", "cat"], dtype=object)
        given, wrong = flipped(y, 2)
        found = fit(X, names[given]).suspicious_labels_
        assert sorted(found.points) == sorted(wrong)
        assert found.labels.tolist() == names[given[found.points]].tolist()
        assert found.likelier.tolist() == names[y[found.points]].tolist()

    def test_labels_stay_as_given(self):
        X, y = gaussians(spread=8.0)
        given, wrong = flipped(some(y, 15), 4)
        np.testing.assert_array_equal(fit(X, given).labels_[wrong], given[wrong])

    @pytest.mark.parametrize("given", ["none", "one per class", "one class", "a class without labels"])
    def test_where_no_label_can_be_left_out(self, given):
        X, y = gaussians(90, spread=8.0)
        labels = {
            "none": None,
            "one per class": some(y, 1),
            "one class": np.zeros(90, dtype=int),
            "a class without labels": np.where(y == 0, some(y, 5), -1),
        }[given]
        model = XSDC(
            None if given in ("one per class", "one class") else 3, max_iter=0, supervised_iter=0, random_state=0
        ).fit(X, labels)
        assert model.checked_ is None
        assert model.suspicious_labels_ is None


class TestTraining:
    """A network that was trained on labels knows their points too well."""

    def test_does_not_change_what_is_said_of_labels(self):
        X, y = gaussians(spread=8.0)
        said = [XSDC(random_state=0, max_iter=steps).fit(X, some(y, 5)).checked_ for steps in (0, 5)]
        np.testing.assert_array_equal(said[0].points, said[1].points)
        np.testing.assert_array_equal(said[0].probabilities, said[1].probabilities)


def test_checked_labels_are_given_and_without_links():
    knowledge = read_knowledge(5, y=[0, 1, -1, 0, 1], must_link=[(0, 2), (4, 4)])
    p = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.6, 0.4]])
    checked = check_labels(knowledge, np.array([4, 0, 2, 1]), p)
    assert checked.points.tolist() == [4, 1]  # 0 has a link, 2 has no label, 4 is linked to itself only
    np.testing.assert_array_equal(checked.probabilities, p[[0, 3]])
    assert check_labels(knowledge, np.array([0, 2]), p[:2]) is None
