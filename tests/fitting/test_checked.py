"""Which labels the classifiers are judged by, and which labels they judge."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fitting.test_labels import fit, gaussians, some
from xsdc import XSDC
from xsdc.errors import NotConvergedWarning
from xsdc.fitting.checked import SuspiciousLabels, check_labels
from xsdc.fitting.knowledge import read_knowledge
from xsdc.training import Trainer


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


class TestUnseen:
    def test_without_training_all_labels_are(self):
        X, y = gaussians(spread=8.0)
        assert fit(X, some(y, 5)).checked_.unseen.all()

    def test_labels_that_trained_the_network_are_not(self):
        X, y = gaussians(spread=8.0)
        for steps in ({"max_iter": 2, "supervised_iter": 0}, {"max_iter": 0, "supervised_iter": 2}):
            model = XSDC(random_state=0, **steps).fit(X, some(y, 5))
            assert not model.checked_.unseen.any()

    def test_labels_held_out_of_training_are(self, monkeypatch):
        monkeypatch.setattr(Trainer, "_score", lambda trainer, _score: float(trainer.iteration))  # ever better
        X, y = gaussians(spread=8.0)
        given = some(y, 20)
        model = XSDC(random_state=0, max_iter=10, supervised_iter=0, validation=0.3).fit(X, given)
        assert model.history_["best_iteration"] == 10
        checked = model.checked_
        assert np.bincount(y[checked.points[checked.unseen]]).tolist() == [6, 6, 6]
        assert np.bincount(y[checked.points]).tolist() == [20, 20, 20]  # the others may still be wrong

    def test_a_training_that_was_thrown_away_has_seen_nothing(self):
        X, y = gaussians(spread=8.0)
        with pytest.warns(NotConvergedWarning, match="an earlier state is kept"):
            model = XSDC(random_state=0, max_iter=20, learning_rate=1e8).fit(X, some(y, 5))
        assert model.n_iter_ > 0
        assert model.checked_.unseen.all()


def test_checked_labels_are_given_and_without_links():
    knowledge = read_knowledge(5, y=[0, 1, -1, 0, 1], must_link=[(0, 2), (4, 4)])
    p = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.6, 0.4]])
    unseen = np.array([True, False, True, True, False])
    checked = check_labels(knowledge, np.array([4, 0, 2, 1]), p, unseen=unseen)
    assert checked.points.tolist() == [4, 1]  # 0 has a link, 2 has no label, 4 is linked to itself only
    np.testing.assert_array_equal(checked.probabilities, p[[0, 3]])
    assert checked.unseen.tolist() == [False, False]
    assert check_labels(knowledge, np.array([0, 2]), p[:2], unseen=unseen) is None
