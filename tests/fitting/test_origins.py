from __future__ import annotations

import re

import numpy as np
import pytest

from tests.problems import blobs, gaussian
from xsdc import XSDC
from xsdc.core.assignment import assign
from xsdc.errors import InvalidInputError
from xsdc.fitting import hidden, origins
from xsdc.fitting.hidden import FOLDS, hide_labels, label_blindly
from xsdc.fitting.knowledge import read_knowledge
from xsdc.fitting.origins import LEAST_OF_CLASS, _best
from xsdc.training import Callback

NONE = np.empty(0, dtype=np.int64)


def halves(n: int = 600, D: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """One cloud, cut through its middle: classes that are no groups."""
    X = gaussian(n, D).numpy()
    return X, (X[:, :2].sum(1) > 0).astype(np.int64)


def first(y: np.ndarray, count: int) -> np.ndarray:
    return np.where(np.arange(len(y)) < count, y, -1)


def choice(model: XSDC) -> dict | None:
    return next((c for c in model.history_["choices"] if c["option"] == "labels_by"), None)


class TestChoice:
    def test_classes_that_are_no_groups_come_from_the_labels(self):
        X, y = halves()
        auto, groups = (XSDC(labels_by=how, random_state=0).fit(X, first(y, 60)) for how in ("auto", "groups"))
        assert choice(auto)["value"] in ("classifier", "nearest")
        new, truth = halves(3000)
        assert auto.score(new[600:], truth[600:]) > groups.score(new[600:], truth[600:]) + 0.1
        assert (auto.labels_ == y).mean() > (groups.labels_ == y).mean() + 0.1

    def test_groups_come_first_where_all_are_right(self):
        X, y = blobs(300, 3)
        model = XSDC(random_state=0).fit(X, first(y.numpy(), 30))
        assert choice(model)["value"] == "groups"
        assert "30 labels, hidden a fifth at a time" in choice(model)["why"]
        assert "groups 1.00, classifier 1.00, nearest 1.00; groups are clear" in choice(model)["why"]

    @pytest.mark.parametrize(
        ("clarity", "ahead", "chosen"),
        [
            (0.8, [0.0, 0.3, 0.1], 0),  # clear groups stay, unless they are beaten clearly
            (0.8, [0.0, 5.0, 0.1], 1),
            (0.8, [0.0, 0.1, 5.0], 2),
            (0.5, [0.0, 0.5, 0.1], 1),
            (0.5, [0.0, 0.1, 0.5], 2),
            (0.5, [0.0, -0.1, -0.5], 0),
            (0.1, [0.3, 0.0, 0.1], 1),  # vague ones are not taken, unless they are clearly better
            (0.1, [5.0, 0.0, 0.1], 0),
            (0.1, [0.1, 0.0, 5.0], 2),
        ],
    )
    def test_what_is_expected_must_be_beaten_clearly(self, clarity, ahead, chosen):
        scatter = np.random.default_rng(0).normal(size=(3, 50))
        scatter -= scatter.mean(1, keepdims=True)  # a standard error of the mean difference is about 0.2
        assert _best(clarity, list(scatter + np.array(ahead)[:, None])) == chosen

    def test_equals_are_groups(self):
        assert _best(0.5, [np.full(30, -0.1)] * 3) == 0

    def test_the_share_that_is_told_is_what_the_check_shows(self):
        X, y = halves()
        model = XSDC(random_state=0).fit(X, first(y, 60))
        checked = model.checked_
        right = (model.classes_[checked.probabilities.argmax(1)] == y[checked.points]).mean()
        # Another ridge: there chosen for each fold, here that of the final classifier.
        told = dict(re.findall(r"(\w+) (\d\.\d\d)", choice(model)["why"]))
        assert float(told[choice(model)["value"]]) == pytest.approx(right, abs=0.1)

    @pytest.mark.parametrize(
        ("given", "n_clusters", "why"),
        [
            (first(halves()[1], 18), 2, "too few labels to hide any"),
            (first(halves()[1], 60), 3, "no label shows the class 2"),
            (halves()[1], 2, "every class is known"),
        ],
    )
    def test_nothing_to_choose(self, given, n_clusters, why):
        model = XSDC(n_clusters, max_iter=1, random_state=0).fit(halves()[0], given)
        assert choice(model) == {"option": "labels_by", "value": "groups", "why": why}

    def test_no_labels_no_word(self):
        assert choice(XSDC(2, max_iter=1, random_state=0).fit(halves()[0])) is None

    def test_labels_that_tell_nothing_leave_groups(self):
        """Two groups far apart, one of them so small that no classifier dares to name it."""
        rng = np.random.default_rng(1)
        y = np.where(np.arange(600) < 18, 1, 0)
        X = 0.3 * rng.normal(size=(600, 5))
        X[:, 0] += 6 * y
        given = np.full(600, -1)
        given[np.r_[:8, 18:40]] = y[np.r_[:8, 18:40]]
        model = XSDC(random_state=0).fit(X, given)
        assert choice(model)["value"] == "groups"
        assert "no more than the most frequent class has" in choice(model)["why"]
        assert (model.labels_ == y).mean() > 0.95

    def test_labels_that_tell_nothing_may_still_be_met_by_what_the_classifier_says(self):
        rng = np.random.default_rng(18)
        X = rng.normal(size=(600, 8))
        y = (X[:, 0] + rng.normal(size=600) > 1.2).astype(np.int64)  # a fifth, and hard to tell
        chosen, right = [], []
        for seed in range(6):
            given = np.full(600, -1)
            some = np.random.default_rng(seed).permutation(600)[:30]
            given[some] = y[some]
            model = XSDC(max_iter=0, random_state=0).fit(X, given)
            if "most frequent" in choice(model)["why"]:
                by_groups, by_classifier = map(float, re.findall(r"\d\.\d\d", choice(model)["why"])[-2:])
                chosen.append(choice(model)["value"])
                right.append("classifier" if by_classifier > by_groups else "groups")
        assert chosen == right
        assert "classifier" in chosen

    def test_clarity_is_measured_by_what_sizes_allow(self):
        X, y = blobs(600, 2, spread=20)
        few = np.flatnonzero((y.numpy() == 0) | (np.arange(600) < 60))  # ten to one
        model = XSDC(random_state=0).fit(X[few], first(y.numpy()[few], 60))
        clarity = float(re.search(r"\((\d\.\d\d)\)", choice(model)["why"])[1])
        assert 0.85 < clarity <= 1.05  # 0.69 of what two equal groups can have

    def test_held_out_labels_decide_where_there_are_some(self):
        X, y = halves()
        model = XSDC(max_iter=1, validation=0.25, random_state=0).fit(X, first(y, 200))
        assert "50 labels held out of training" in choice(model)["why"]


@pytest.mark.parametrize("how", ["classifier", "nearest"])
class TestByLabels:
    def test_what_is_known_holds(self, how):
        X, y = halves()
        rng = np.random.default_rng(0)
        free = rng.permutation(np.arange(60, 600))
        together, apart = free[:60].reshape(30, 2), free[60:120].reshape(30, 2)
        allowed = {int(i): [0] for i in free[120:150]}
        model = XSDC(labels_by=how, max_iter=1, random_state=0)
        labels = model.fit(
            X, first(y, 60), must_link=together, cannot_link=apart, allowed_labels=allowed | {int(free[150]): [0, 1]}
        ).labels_
        assert (labels[:60] == y[:60]).all()
        assert (labels[together[:, 0]] == labels[together[:, 1]]).all()
        assert (labels[apart[:, 0]] != labels[apart[:, 1]]).all()
        assert (labels[list(allowed)] == 0).all()
        assert choice(model) == {"option": "labels_by", "value": how, "why": "as asked"}

    def test_sizes_hold(self, how):
        X, y = halves()
        model = XSDC(labels_by=how, cluster_size=[(0.2, 0.3), (0.7, 0.8)], max_iter=1, random_state=0)
        labels = model.fit(X, first(y, 60)).labels_
        assert 0.2 * 600 <= (labels == 0).sum() <= 0.3 * 600

    def test_every_class_needs_a_label(self, how):
        X, y = halves()
        steps = []

        class Steps(Callback):
            def on_step(self, trainer, record):
                steps.append(record)

        named = np.where(first(y, 60) < 0, None, np.array(["ham", "spam"])[y])
        with pytest.raises(InvalidInputError, match=f'labels_by="{how}" needs labels of every class; cluster 1 has'):
            XSDC(3, labels_by=how, callbacks=[Steps()], random_state=0).fit(X, named)
        with pytest.raises(InvalidInputError, match="labels of every class"):
            XSDC(labels_by=how, callbacks=[Steps()], random_state=0).fit(X)
        assert not steps  # before training

    def test_a_stream_may_announce_classes(self, how):
        X, y = halves()
        model = XSDC(labels_by=how, max_iter=1, random_state=0)
        model.partial_fit(X[:300], np.where(y[:300] == 0, first(y[:300], 60), -1), classes=[0, 1])
        assert choice(model)["value"] == "groups"
        model.partial_fit(X[300:], first(y[300:], 60))
        assert choice(model)["value"] == how

    def test_one_class(self, how):
        X, _ = halves()
        y = np.full(len(X), None)
        y[3] = "ham"
        model = XSDC(labels_by=how, max_iter=1, random_state=0).fit(X, y)
        assert set(model.labels_) == {"ham"}
        assert choice(model)["why"] == "every class is known"

    def test_a_stream_and_many_points(self, how, monkeypatch):
        monkeypatch.setattr(origins, "MOST_LABELED", 80)
        X, y = halves(1200)
        model = XSDC(labels_by=how, max_iter=1, n_landmarks=100, random_state=0)
        model.partial_fit(X[:600], first(y[:600], 100)).partial_fit(X[600:], first(y[600:], 100))
        assert (model.labels_ == y[600:]).mean() > 0.75


def test_the_ridge_is_the_users():
    X, y = halves()
    labels = [
        XSDC(labels_by="classifier", ridge=ridge, max_iter=0, random_state=0).fit(X, first(y, 60)).labels_
        for ridge in (1e-9, 1.0)
    ]
    assert (labels[0] != labels[1]).any()


def test_sizes_hold_in_the_trial_too(monkeypatch):
    seen = []

    def watched(scores, constraints, *, sizes=None):
        seen.append(sizes)
        return assign(scores, constraints, sizes=sizes)

    monkeypatch.setattr(origins, "assign", watched)
    X, y = halves()
    XSDC(labels_by="nearest", cluster_size=(0.4, 0.6), max_iter=0, random_state=0).fit(X, first(y, 60))
    assert len(seen) == FOLDS
    for low, high in seen:
        assert low.tolist() == [240, 240]
        assert high.tolist() == [360, 360]


def test_bounds_leave_room_for_labels_that_are_over_represented(monkeypatch):
    """Of a sample in which a rare class has most of its labels, it may have more than its share of all points."""
    monkeypatch.setattr(hidden, "MOST_POINTS", 300)
    X, y = blobs(3000, 10, D=12)
    rare = (y.numpy() == 0).astype(np.int64)  # a tenth
    labeled = np.concatenate([np.flatnonzero(rare == c)[:100] for c in (0, 1)])
    given = np.full(3000, -1)
    given[labeled] = rare[labeled]
    model = XSDC(cluster_size=[(0.88, 0.92), (0.08, 0.12)], max_iter=0, n_landmarks=400, random_state=0).fit(X, given)
    assert "groups 1.00" in choice(model)["why"]
    assert (model.labels_ == rare).mean() > 0.99


def test_other_words_are_refused():
    with pytest.raises(InvalidInputError, match="labels_by must be auto, groups, classifier or nearest; it is 'both'"):
        XSDC(labels_by="both").fit(*halves())


class TestHiding:
    def test_each_label_once_and_classes_alike(self):
        y = np.repeat([0, 1, 2, -1], [10, 40, 50, 100])
        knowledge = read_knowledge(200, y=y)
        hidden_labels = hide_labels(knowledge, NONE, np.random.RandomState(0))
        assert np.array_equal(np.sort(hidden_labels.points), np.arange(100))
        for fold in hidden_labels.folds:
            assert np.bincount(y[fold]).tolist() == [2, 8, 10]

    def test_too_few_and_too_many(self, monkeypatch):
        rng = np.random.RandomState(0)
        knowledge = read_knowledge(400, y=first(np.arange(400) % 2, 19))
        assert hide_labels(knowledge, NONE, rng) is None
        knowledge = read_knowledge(400, y=first(np.arange(400) % 2, 300))
        monkeypatch.setattr(hidden, "MOST_POINTS", 80)
        assert len(hide_labels(knowledge, NONE, rng).points) == 40
        assert len(hide_labels(knowledge, np.arange(100), rng).points) == 80
        assert len(hide_labels(knowledge, np.arange(19), rng).points) == 40  # too few are held out

    def test_no_way_sees_what_is_hidden_from_it(self):
        y = first(np.arange(200) % 2, 50)
        knowledge = read_knowledge(200, y=y)
        hidden_labels = hide_labels(knowledge, NONE, np.random.RandomState(0))
        seen = []

        def way(known, points):
            seen.append((set(np.flatnonzero(known.codes >= 0)), set(points)))
            return np.zeros(len(points), dtype=np.int64)

        ((*found,),) = label_blindly([way], knowledge, hidden_labels, np.random.RandomState(0))
        for blind, (labeled, points), fold in zip(found, seen, hidden_labels.folds, strict=True):
            assert not labeled & set(fold)
            assert len(labeled) == 40
            assert points == set(range(200))
            assert not set(blind.points) & set(fold)  # nor is the classifier fitted to them
            assert len(blind.codes) == len(blind.points)
            assert len(blind.found) == len(fold)


def test_many_labeled_points_are_thinned_evenly_but_for_rare_classes(monkeypatch):
    monkeypatch.setattr(origins, "MOST_LABELED", 100)
    classes = np.repeat([0, 1, 2], [6000, 3997, 3])
    kept = origins._some(np.arange(10_000), classes)
    counts = np.bincount(classes[kept])
    assert counts[2] == 3
    assert counts[:2].tolist() == pytest.approx([60, 40], abs=LEAST_OF_CLASS + 1)
