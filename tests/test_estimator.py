from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn

from tests.problems import blobs
from xsdc import XSDC
from xsdc.core.rounding import nearest_labels
from xsdc.errors import ContradictionError, InfeasibleError, InvalidInputError
from xsdc.labelers import LABELERS, Labeler, PseudoLabels
from xsdc.model_selection import LabeledKFold, LabeledScorer
from xsdc.training import Callback

NAMES = np.array(["ant", "bee", "cat"])


def groups(n: int = 90, k: int = 3, *, spread: float = 5.0) -> tuple[np.ndarray, np.ndarray]:
    X, y = blobs(n, k, D=6, spread=spread)
    return X.numpy().astype(np.float64), y.numpy()


def few(y: np.ndarray, per_class: int = 2) -> np.ndarray:
    """Keep a few labels of each class."""
    given = np.full(len(y), -1)
    for c in np.unique(y):
        some = np.flatnonzero(y == c)[:per_class]
        given[some] = c
    return given


# Meanings that scikit-learn has no tag for: -1 and NaN in y say "unknown".
DECLARED = {
    "check_non_transformer_estimators_n_iter": "wants a step at least; vectors have none by default",
    "check_transformer_n_iter": "the same",
    "check_classifiers_classes": "uses -1 as the name of a class; here, as in LabelSpreading, it means unknown",
    "check_supervised_y_no_nan": "wants NaN in y to be refused; here it means unknown",
}


@parametrize_with_checks([XSDC(random_state=0)], expected_failed_checks=lambda estimator: DECLARED)
@pytest.mark.filterwarnings("ignore")  # the checks provoke warnings on purpose
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class TestRegimes:
    def test_no_labels(self):
        X, y = groups()
        model = XSDC(3, random_state=0).fit(X)
        assert adjusted_rand_score(y, model.labels_) > 0.95
        assert model.labels_.dtype.kind == "i"
        assert list(model.classes_) == [0, 1, 2]
        assert model.score(X, NAMES[y]) > 0.95  # clusters are matched to classes of any name

    def test_some_labels(self):
        X, y = groups()
        given = few(y)
        model = XSDC(random_state=0).fit(X, given)
        assert model.n_clusters_ == 3
        assert (model.labels_ == y).mean() > 0.95
        assert (model.labels_[given >= 0] == y[given >= 0]).all()

    def test_all_labels(self):
        X, y = groups()
        model = XSDC(random_state=0).fit(X[::2], y[::2])
        assert (model.labels_ == y[::2]).all()
        assert model.score(X[1::2], y[1::2]) > 0.95

    def test_wrong_labels_stay_as_given(self):
        X, y = groups()
        given = few(y, 5)
        given[0] = (given[0] + 1) % 3  # far from the others of its class
        model = XSDC(random_state=0).fit(X, given)
        assert (model.labels_[given >= 0] == given[given >= 0]).all()

    def test_pairs_only(self):
        X, y = groups(60, 2, spread=2.0)
        same = [(i, i + 2) for i in range(20)]
        apart = [(i, i + 1) for i in range(0, 20, 2)]
        model = XSDC(2, random_state=0).fit(X, must_link=same, cannot_link=apart)
        assert all(model.labels_[i] == model.labels_[j] for i, j in same)
        assert all(model.labels_[i] != model.labels_[j] for i, j in apart)
        assert model.n_violated_links_ == 0
        assert adjusted_rand_score(y, model.labels_) > 0.8

    def test_a_class_without_labels_is_found(self):
        X, y = groups()
        given = np.where(y == 2, -1, few(y))
        model = XSDC(3, random_state=0).fit(X, given)
        assert list(model.classes_) == [0, 1, 2]
        assert (model.labels_ == y).mean() > 0.95

    def test_a_class_without_labels_gets_a_name_of_its_own(self):
        X, y = groups()
        given = np.where(few(y) >= 0, NAMES[y], None)
        given[y == 2] = None
        model = XSDC(4, random_state=0).fit(X, given)
        assert list(model.classes_) == ["ant", "bee", "cluster 1", "cluster 2"]
        assert {"ant", "bee"} < set(model.labels_[y == 2]) | {"ant", "bee"}
        assert set(model.labels_[y == 2]) <= {"cluster 1", "cluster 2"}

    def test_labels_for_classes_absent_elsewhere(self):
        X, y = groups(60, 2)
        given = few(y).astype(object)
        given[0] = 7  # one point of a class that no other point is near
        model = XSDC(random_state=0).fit(X, np.array(given, dtype=int))
        assert list(model.classes_) == [0, 1, 7]
        assert model.labels_[0] == 7

    def test_allowed_labels_restrict(self):
        X, y = groups(spread=2.0)
        allowed = {i: NAMES[[y[i], (y[i] + 1) % 3]].tolist() for i in range(40)}
        given = np.where(few(y, 1) >= 0, NAMES[y], None)
        model = XSDC(random_state=0).fit(X, given, allowed_labels=allowed)
        assert all(model.labels_[i] in some for i, some in allowed.items())

    def test_allowed_labels_alone_name_the_classes(self):
        X, y = groups()
        allowed = {i: ["ant"] if y[i] == 0 else ["bee", "cat"] for i in range(30)}
        model = XSDC(random_state=0).fit(X, allowed_labels=allowed)
        assert list(model.classes_) == ["ant", "bee", "cat"]
        assert all(model.labels_[i] in some for i, some in allowed.items())
        assert adjusted_rand_score(y, model.labels_) > 0.95

    def test_one_class_labeled(self):
        X, _y = groups()
        model = XSDC(random_state=0).fit(X, np.where(np.arange(90) < 5, "only", None))
        assert set(model.labels_) == {"only"}
        assert (model.predict_proba(X) == 1).all()

    def test_all_points_in_one_batch_and_many_batches_agree(self):
        X, y = groups(120)
        for batch_size in (16, 1000):
            model = XSDC(3, batch_size=batch_size, random_state=0).fit(X, few(y))
            assert (model.labels_ == y).mean() > 0.95


class TestLabels:
    @pytest.mark.parametrize(
        "given",
        [
            lambda y: np.where(few(y) >= 0, y, -1),
            lambda y: np.where(few(y) >= 0, y, np.nan),
            lambda y: np.where(few(y) >= 0, NAMES[y], None),
            lambda y: [int(c) if keep >= 0 else None for c, keep in zip(y, few(y), strict=True)],
            lambda y: [str(NAMES[c]) if keep >= 0 else np.nan for c, keep in zip(y, few(y), strict=True)],
            lambda y: tuple(str(NAMES[c]) if keep >= 0 else -1 for c, keep in zip(y, few(y), strict=True)),
            lambda y: pd.Series(np.where(few(y) >= 0, NAMES[y], None), dtype="string"),
            lambda y: pd.Series(np.where(few(y) >= 0, y, np.nan)).astype("Int64"),
            lambda y: pd.Categorical(np.where(few(y) >= 0, NAMES[y], None)),
            lambda y: torch.from_numpy(few(y)),
        ],
        ids=[
            "int",
            "float-nan",
            "str-none",
            "list-none",
            "words-nan",
            "words-minus-one",
            "string",
            "Int64",
            "categorical",
            "tensor",
        ],
    )
    def test_every_way_to_write_unknown(self, given):
        X, y = groups()
        model = XSDC(random_state=0).fit(X, given(y))
        truth = y if model.classes_.dtype.kind == "i" else NAMES[y]
        assert model.n_clusters_ == 3
        assert (model.labels_ == truth).mean() > 0.95

    def test_strings_come_back_as_strings(self):
        X, y = groups()
        given = np.where(few(y) >= 0, NAMES[y], None)
        model = XSDC(random_state=0).fit(X, given)
        assert all(isinstance(name, str) for name in model.predict(X))
        assert list(model.classes_) == sorted(NAMES)

    def test_all_unknown_is_as_without_labels(self):
        X, _ = groups()
        one, other = XSDC(3, random_state=0).fit(X, np.full(90, -1)), XSDC(3, random_state=0).fit(X)
        assert (one.labels_ == other.labels_).all()

    def test_fewer_clusters_than_labels_name(self):
        X, y = groups()
        with pytest.warns(UserWarning, match="n_clusters is 2, but the labels given name 3"):
            assert XSDC(2, random_state=0).fit(X, few(y)).n_clusters_ == 3


class TestSizes:
    def test_equal_sizes_are_kept(self):
        X, _ = groups(91)
        sizes = np.bincount(XSDC(3, cluster_size="equal", random_state=0).fit(X).labels_)
        assert set(sizes) == {30, 31}

    def test_bounds_are_kept_in_the_labels(self):
        X, y = groups(90)
        uneven = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y > 0)[:20]])
        sizes = np.bincount(XSDC(3, cluster_size=(0.25, 0.4), random_state=0).fit(X[uneven]).labels_)
        assert sizes.min() >= 12
        assert sizes.max() <= 20

    def test_uneven_groups_are_not_forced_into_equal_ones(self):
        X, y = groups(600, 3, spread=6.0)
        keep = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:60], np.flatnonzero(y == 2)[:20]])
        auto = XSDC(3, random_state=0).fit(X[keep])
        assert auto.score(X[keep], y[keep]) > 0.95
        equal = XSDC(3, cluster_size="equal", random_state=0).fit(X[keep])
        assert np.ptp(np.bincount(equal.labels_)) <= 1

    def test_one_pair_per_class_by_order_or_name(self):
        X, y = groups(90)
        given = np.where(few(y) >= 0, NAMES[y], None)
        pairs = [(0.5, 0.6), (0.0, 1.0), (0.0, 1.0)]
        for cluster_size in (pairs, {"ant": (0.5, 0.6)}):
            labels = XSDC(cluster_size=cluster_size, random_state=0).fit(X, given).labels_
            assert 45 <= (labels == "ant").sum() <= 54

    @pytest.mark.parametrize(("n", "k"), [(60, 3), (150, 3), (150, 5)])
    def test_open_number_of_separate_groups(self, n, k):
        rng = np.random.default_rng(n + k)
        angles = 2 * np.pi * (np.arange(n) % k) / k
        X = 6 * np.stack([np.cos(angles), np.sin(angles)], 1) + 0.6 * rng.normal(size=(n, 2))
        model = XSDC(max_iter=0, random_state=0).fit(X)
        assert model.n_clusters_ == k
        number, probability = model.n_clusters_ranking_[0]
        assert number == k
        assert probability > 0.8
        assert "guess" not in _choice(model, "n_clusters")["why"]

    def test_open_number_of_groups_that_are_not_separate_is_a_guess(self):
        X = load_digits().data[:300]
        model = XSDC(random_state=0).fit(X)
        assert 2 <= model.n_clusters_ <= 20
        assert "guess" in _choice(model, "n_clusters")["why"]
        ranking = model.n_clusters_ranking_
        assert model.n_clusters_ == ranking[0][0]
        assert [share for _, share in ranking] == sorted((share for _, share in ranking), reverse=True)
        assert 0.9 < sum(share for _, share in ranking) <= 1 + 1e-9

    def test_open_number_of_points_without_groups_is_one(self):
        X = np.random.default_rng(0).normal(size=(200, 5)) * [1, 2, 3, 4, 5]
        model = XSDC(random_state=0).fit(X)
        assert model.n_clusters_ == 1
        assert set(model.labels_) == {0}
        assert model.predict_proba(X[:3]).tolist() == [[1.0]] * 3

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_pairs_are_evidence_of_the_number(self, seed):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1, 2, 3], 50)
        # Two pairs of groups that lie close together: by the points alone there may be two or four.
        X = np.array([[0, 0], [2.2, 0], [20, 0], [22.2, 0]])[y] + 0.7 * rng.normal(size=(200, 2))
        assert dict(XSDC(random_state=seed).fit(X).n_clusters_ranking_)[2] >= 0.3
        pairs = rng.integers(200, size=(150, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        same = y[pairs[:, 0]] == y[pairs[:, 1]]
        model = XSDC(random_state=seed).fit(X, must_link=pairs[same], cannot_link=pairs[~same])
        assert dict(model.n_clusters_ranking_).get(2, 0.0) < 0.1
        assert model.n_clusters_ in {4, 5}

    def test_number_that_is_told_is_certain(self):
        X, y = groups()
        assert XSDC(3, random_state=0).fit(X).n_clusters_ranking_ == [(3, 1.0)]
        assert XSDC(random_state=0).fit(X, few(y)).n_clusters_ranking_ == [(3, 1.0)]

    def test_ranking_of_numbers_is_saved(self, tmp_path):
        model = XSDC(random_state=0).fit(load_digits().data[:200])
        model.save(tmp_path / "model.xsdc")
        assert XSDC.load(tmp_path / "model.xsdc").n_clusters_ranking_ == model.n_clusters_ranking_

    def test_effort_decides_whether_the_network_is_trained(self):
        X, y = groups()
        given = few(y)
        for effort, trains in (("fast", False), ("normal", False), ("best", True)):
            model = XSDC(effort=effort, random_state=0).fit(X, given)
            assert (model.n_iter_ > 0) == trains
            assert ("no training" in _choice(model, "max_iter")["why"]) == (effort == "fast")
        assert XSDC(max_iter=2, random_state=0).fit(X, given).n_iter_ == 2  # steps that are asked for are made
        assert XSDC(network="kn", random_state=0).fit(X, given).n_iter_ > 0  # a network that is named
        assert XSDC(network="kn", effort="fast", random_state=0).fit(X, given).n_iter_ == 0
        assert XSDC(random_state=0).fit(X.reshape(90, 2, 3), given).n_iter_ > 0  # images
        assert XSDC(effort="fast", random_state=0).fit(X.reshape(90, 2, 3), given).n_iter_ == 0
        streamed = XSDC(random_state=0).partial_fit(X[::2], given[::2], classes=[0, 1, 2]).partial_fit(X[1::2])
        assert streamed.n_iter_ == 0
        with pytest.raises(InvalidInputError, match="effort must be fast, normal or best"):
            XSDC(effort="much").fit(X, given)

    def test_open_number_within_bounds(self):
        X, _y = groups(120, 4, spread=6.0)
        model = XSDC(cluster_size=(0.1, 0.4), random_state=0).fit(X)
        assert model.n_clusters_ == 4
        assert {"option": "n_clusters", "value": 4}.items() <= _choice(model, "n_clusters").items()
        model.relabel(3)
        assert model.n_clusters_ == 3
        assert model.predict_proba(X).shape == (120, 3)
        with pytest.raises(InfeasibleError, match="allow 20 clusters"):
            model.relabel(20)

    def test_another_number_reads_the_bounds_again(self):
        X, _ = groups()
        equal = XSDC(3, cluster_size="equal", max_iter=1, random_state=0).fit(X).relabel(2)
        assert np.bincount(equal.labels_).tolist() == [45, 45]
        pair = XSDC(3, cluster_size=(0.2, 0.5), max_iter=1, random_state=0).fit(X).relabel(4)
        assert np.bincount(pair.labels_).min() >= 18
        each = XSDC(3, cluster_size=[(0.1, 0.6)] * 3, max_iter=1, random_state=0).fit(X)
        with pytest.raises(InvalidInputError, match="3 pairs, but there are 4"):
            each.relabel(4)

    @pytest.mark.parametrize(
        ("cluster_size", "error", "message"),
        [
            ((0.4, 0.9), InfeasibleError, "allow 3 clusters.*Lower the minimum to 0.333"),
            ((0.0, 0.1), InfeasibleError, "at most 0.3.*Raise the maximum to 0.333"),
            ((0.5, 0.2), InvalidInputError, "0 <= minimum <= maximum"),
            ("even", InvalidInputError, '"auto", "equal", a pair'),
            ([(0.1, 0.5)], InvalidInputError, "holds 1 pairs, but there are 3"),
            ({"dog": (0.1, 0.5)}, InvalidInputError, "'dog', which is no class"),
            (0.5, InvalidInputError, "pair"),
        ],
    )
    def test_impossible_sizes(self, cluster_size, error, message):
        X, y = groups()
        with pytest.raises(error, match=message):
            XSDC(cluster_size=cluster_size).fit(X, few(y))

    def test_sizes_hold_beside_cannot_links(self):
        X, y = groups(90)
        apart = [tuple(np.flatnonzero(y == c)[:2]) for c in range(3)]
        model = XSDC(3, cluster_size="equal", max_iter=2, random_state=0).fit(X, cannot_link=apart)
        assert np.bincount(model.labels_).tolist() == [30, 30, 30]
        assert model.n_violated_links_ == 0

    def test_sizes_that_whole_groups_cannot_fill_are_told(self):
        X, _ = groups(90)
        group = np.repeat(np.arange(5), [20, 20, 20, 20, 10])
        links = [(i, i + 1) for i in range(89) if group[i] == group[i + 1]]
        with pytest.warns(UserWarning, match="not quite met: 10 of 90 points"):
            model = XSDC(3, cluster_size="equal", max_iter=1, random_state=0).fit(X, must_link=links)
        assert sorted(np.bincount(model.labels_)) == [20, 30, 40]

    def test_points_that_no_sizes_suit_are_named_by_their_place_in_the_data(self, monkeypatch):
        def refuse(*_, **__):
            raise InfeasibleError("points 0 and 2999", rows=[0, 2999])

        monkeypatch.setattr("xsdc.fitting.bounds.check_feasible", refuse)
        X = np.random.default_rng(0).normal(size=(6000, 2))
        with pytest.raises(InfeasibleError, match="seen among 3000 of 6000") as caught:
            XSDC(2, cluster_size="equal", max_iter=0, random_state=0).fit(X, must_link=[(0, 5999)])
        assert caught.value.rows == (0, 5999)

    def test_labels_beyond_a_bound(self):
        X, y = groups()
        with pytest.raises(InfeasibleError, match="30 points are labeled 0, but cluster_size allows at most 18"):
            XSDC(cluster_size=[(0.0, 0.2), (0.0, 1.0), (0.0, 1.0)]).fit(X, np.where(y == 0, 0, few(y)))

    def test_equal_needs_a_number(self):
        with pytest.raises(InvalidInputError, match="set n_clusters"):
            XSDC(cluster_size="equal").fit(groups()[0])


class TestPrediction:
    def test_probabilities(self):
        X, y = groups()
        model = XSDC(random_state=0).fit(X, few(y))
        p = model.predict_proba(X)
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(1), 1)
        assert (model.classes_[p.argmax(1)] == model.predict(X)).all()

    def test_probabilities_are_calibrated_by_left_out_labels(self):
        X, y = groups(2500, 3, spread=0.4)  # groups that overlap; the accuracy of 2,000 points is known to a point
        given = np.where(np.arange(500) < 300, y[:500], -1)
        model = XSDC(random_state=0).fit(X[:500], given)
        p = model.predict_proba(X[500:])
        accuracy = (p.argmax(1) == y[500:]).mean()
        assert accuracy < 0.95  # else there would be nothing to calibrate
        assert abs(p.max(1).mean() - accuracy) < 0.06
        assert "300 left-out labels" in _choice(model, "classifier")["why"]

    def test_probabilities_of_groups_say_how_well_they_are_told(self):
        X, _ = groups(600, 3, spread=0.4)
        model = XSDC(3, random_state=0).fit(X)
        p = model.predict_proba(X)
        agreement = (model.classes_[p.argmax(1)] == model.labels_).mean()
        assert abs(p.max(1).mean() - agreement) < 0.1  # sure of the groups, whatever the classes are

    def test_transform_gives_features(self):
        X, y = groups()
        model = XSDC(random_state=0).fit(X, few(y))
        Phi = model.transform(X)
        assert Phi.shape == (90, model.network_.n_features)
        assert np.linalg.norm(Phi, axis=1).mean() == pytest.approx(1)
        assert list(model.get_feature_names_out()[:2]) == ["xsdc0", "xsdc1"]
        assert len(model.get_feature_names_out()) == Phi.shape[1]

    def test_score_ignores_unknown_rows(self):
        X, y = groups()
        model = XSDC(random_state=0).fit(X, few(y))
        hidden = np.where(np.arange(90) < 10, y, -1)
        assert model.score(X, hidden) == (model.predict(X[:10]) == y[:10]).mean()
        with pytest.raises(InvalidInputError, match="no labeled row"):
            model.score(X, np.full(90, -1))

    def test_score_compares_whole_words_and_numbers(self):
        X, y = groups()
        words = np.array(["ant", "antelope", "bee"])
        model = XSDC(max_iter=2, random_state=0).fit(X, words[y])
        long = X[y == 1]
        assert set(model.predict(long)) == {"antelope"}
        assert model.score(long, np.array(["ant"] * len(long))) == 0
        with pytest.raises(InvalidInputError, match="of one kind; y holds 0"):
            model.score(long, np.zeros(len(long), dtype=int))
        large = XSDC(max_iter=2, random_state=0).fit(X, y + 254)
        assert large.score(X, (y + 254).astype(np.uint8)) < 0.7  # 256 is 0 there

    def test_score_takes_labels_as_fit_does(self):
        X, y = groups()
        named, unnamed = (XSDC(3, max_iter=2, random_state=0).fit(X, given) for given in (y, None))
        written = [*y[:-1].tolist(), None]
        for model in (named, unnamed):
            assert model.score(X, written) > 0.95
            with pytest.warns(Warning, match="column-vector"):
                assert model.score(X, y[:, None]) > 0.95
        weight = np.where(y == 0, 1.0, 0.0)
        wrong = np.where(y == 0, y, 2 - y)
        assert named.score(X, wrong, sample_weight=weight) > 0.95 > named.score(X, wrong)

    def test_wrong_shapes_at_predict(self):
        X, y = groups()
        model = XSDC(random_state=0).fit(X, few(y))
        with pytest.raises(ValueError, match="5 features, but XSDC is expecting 6"):
            model.predict(X[:, :5])
        with pytest.raises(InvalidInputError, match="it has shape"):
            model.predict(np.zeros((4, 8, 8)))
        with pytest.raises(NotFittedError):
            XSDC().predict(X)


class TestBadInput:
    def test_nan_and_infinity(self):
        X, y = groups()
        for bad in (np.nan, np.inf):
            spoiled = X.copy()
            spoiled[3, 2] = bad
            with pytest.raises(ValueError, match="Input X contains"):
                XSDC().fit(spoiled, y)

    def test_contradictions_name_the_chain(self):
        X, _ = groups()
        with pytest.raises(ContradictionError, match="3=8, 8=12, but 3≠12"):
            XSDC(3).fit(X, must_link=[(3, 8), (8, 12)], cannot_link=[(3, 12)])
        y = np.full(90, None)
        y[0], y[1] = "ant", "bee"
        with pytest.raises(ContradictionError, match="ant"):
            XSDC().fit(X, y, must_link=[(0, 1)])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_clusters": 0}, "n_clusters"),
            ({"n_clusters": 91}, "at most the number of points, 90"),
            ({"n_clusters": 2.5}, "n_clusters"),
            ({"network": "resnet"}, "must be one of"),
            ({"labeler": "magic"}, "labeler must be one of"),
            ({"max_iter": -1}, "max_iter"),
            ({"max_iter": "many"}, "max_iter"),
            ({"batch_size": 1}, "batch_size"),
            ({"learning_rate": 0}, "learning_rate"),
            ({"ridge": -1.0}, "ridge"),
            ({"filter_penalty": -1}, "filter_penalty"),
            ({"entropy": 0}, "entropy"),
            ({"entropy": "mean"}, "entropy"),
            ({"augmentation": "noise"}, "augmentation must be one of"),
            ({"augmentation": 3}, "augmentation must be"),
            ({"copies": 2, "augmentation": None}, "no augmentation"),
            ({"validation": 1.5}, "below 1"),
            ({"validation": (1, 2, 3)}, "pair"),
            ({"validation": None, "patience": 3}, "validation is None"),
            ({"patience": 3}, "too few to hold some out"),
            ({"evaluate_every": 0}, "evaluate_every"),
            ({"device": "abacus"}, "device"),
            ({"dtype": "float16"}, "dtype"),
            ({"callbacks": [print]}, "callbacks"),
            ({"progress": "yes"}, "progress"),
        ],
    )
    def test_options(self, options, message):
        X, y = groups()
        with pytest.raises(InvalidInputError, match=message):
            XSDC(**options).fit(X, few(y))

    @pytest.mark.parametrize(
        ("facts", "message"),
        [
            ({"y": np.zeros(5)}, "one label per point, 90"),
            ({"y": np.linspace(0, 1, 90)}, "Unknown label type"),
            ({"y": np.array([1, "a"] * 45, dtype=object)}, "all strings or all numbers"),
            ({"must_link": [(0, 90)]}, "indices from 0 to 89"),
            ({"cannot_link": [(0, 1, 2)]}, "pairs"),
            ({"allowed_labels": [1, 2]}, "must map positions"),
            ({"allowed_labels": {0: "ant"}}, "a list of labels"),
            ({"allowed_labels": {99: ["ant"]}}, "the points are 0 to 89"),
        ],
    )
    def test_facts(self, facts, message):
        with pytest.raises(ValueError, match=message):
            XSDC().fit(groups()[0], **facts)

    @pytest.mark.parametrize("nothing", [-1, None, np.nan])
    def test_no_class_is_called_unknown(self, nothing):
        X, y = groups()
        with pytest.raises(InvalidInputError, match="point 5 are"):
            XSDC(random_state=0).fit(X, few(y), allowed_labels={5: [nothing, 0]})
        with pytest.raises(InvalidInputError, match="classes must name"):
            XSDC(random_state=0).partial_fit(X, few(y), classes=[0, nothing])

    def test_a_single_class_beside_unknown_labels_is_told(self):
        X, y = groups()
        with pytest.warns(UserWarning, match="Every label given is 1, so there will be one class"):
            XSDC(max_iter=1, random_state=0).fit(X, np.where(y == 0, 1, -1))

    def test_sample_weights_are_refused(self):
        X, y = groups()
        with pytest.raises(TypeError, match="sample_weight"):
            XSDC().fit(X, y, sample_weight=np.ones(90))

    def test_points_all_alike(self):
        with pytest.raises(InvalidInputError, match="all equal"):
            XSDC(2).fit(np.ones((20, 3)))

    def test_impossible_cannot_links_warn(self):
        X, _ = groups(12, 2)
        with pytest.warns(UserWarning, match="1 cannot-links could not be met"):
            model = XSDC(2, max_iter=0, random_state=0).fit(X, cannot_link=[(0, 1), (1, 2), (0, 2)])
        assert model.n_violated_links_ == 1


class TestEdges:
    @pytest.mark.parametrize("n", [2, 3, 7, 12])
    def test_few_points(self, n):
        X, _ = groups(12)
        for k in (1, 2, n):
            model = XSDC(k, random_state=0).fit(X[:n])
            assert model.labels_.shape == (n,)
            assert np.isfinite(model.predict_proba(X)).all()
        assert len(set(model.labels_)) == n  # as many clusters as points

    def test_duplicates_and_constant_columns(self):
        X, y = groups(30)
        X = np.repeat(np.hstack([X, np.ones((30, 2))]), 3, axis=0)
        model = XSDC(3, random_state=0).fit(X)
        assert adjusted_rand_score(np.repeat(y, 3), model.labels_) > 0.95

    def test_mostly_duplicates(self):
        X = np.array([[0.0, 0.0]] * 30 + [[1.0, 1.0]] * 5)
        assert XSDC(2, random_state=0).fit(X).score(X, np.repeat([0, 1], [30, 5])) == 1

    def test_far_from_zero(self):
        X, y = groups()
        model = XSDC(3, random_state=0).fit(X + 1e4)
        assert model.score(X + 1e4, y) > 0.95

    def test_inputs_are_not_modified(self):
        X, y = groups()
        given, before = few(y), X.copy()
        kept = given.copy()
        XSDC(random_state=0).fit(X, given)
        assert (before == X).all()
        assert (given == kept).all()

    def test_same_seed_same_model(self):
        X, y = groups(spread=2.0)
        one, other = (XSDC(random_state=7).fit(X, few(y)) for _ in range(2))
        assert (one.predict_proba(X) == other.predict_proba(X)).all()

    def test_other_precision(self):
        X, y = groups()
        for dtype, expected in (("float32", np.float32), ("float64", np.float64), ("auto", np.float64)):
            model = XSDC(dtype=dtype, random_state=0).fit(X, few(y))
            assert model.transform(X).dtype == expected
            assert (model.labels_ == y).mean() > 0.95

    def test_bfloat16(self):
        X, _ = groups()
        images = torch.rand(40, 1, 8, 8)
        for data in (torch.from_numpy(X), images):
            coarse = data.to(torch.bfloat16)
            one, other = (XSDC(2, max_iter=2, random_state=0).fit(each) for each in (coarse, coarse.float()))
            assert np.array_equal(one.labels_, other.labels_)

    def test_names_after_small_integers(self):
        X, y = groups()
        given = np.where(few(y) == 2, -1, few(y)).astype(np.int16)
        model = XSDC(4, max_iter=1, random_state=0).fit(X, np.where(given == 1, 32767, given).astype(np.int16))
        assert model.classes_.tolist() == [0, 32767, 32768, 32769]

    def test_divergence_puts_the_first_features_back(self):
        X, _ = groups()
        with pytest.warns(Warning, match="bad end"):
            model = XSDC(3, max_iter=20, learning_rate=1e8, random_state=0).fit(X)
        assert model.history_["best_iteration"] == 0

    def test_validation_does_not_depend_on_the_order_of_rows(self, monkeypatch):
        monkeypatch.setattr("xsdc.fitting.train.SCORED", 60)
        monkeypatch.setattr("xsdc.fitting.train.SAMPLE", 10)
        seen = []

        def watched(Phi, seeds, codes):
            seen.append(np.bincount(codes, minlength=3))
            return nearest_labels(Phi, seeds, codes)

        monkeypatch.setattr("xsdc.fitting.train.nearest_labels", watched)
        X, y = groups(300)
        order = np.argsort(y, kind="stable")  # the first 60 are of one class
        model = XSDC(max_iter=1, supervised_iter=1, validation=(X[:60], y[:60]), random_state=0)
        model.fit(X[order], y[order])
        assert min(map(min, seen)) > 10

    def test_labels_that_classifiers_are_fitted_to_are_bounded(self, monkeypatch):
        monkeypatch.setattr("xsdc.fitting.labels.MOST_LABELED", 60)
        X, y = groups(300)
        model = XSDC(max_iter=1, validation=0.5, random_state=0).fit(X, y)
        assert np.bincount(y[model.checked_.points]).tolist() == [20, 20, 20]


class TestOptions:
    """Each option changes what it says it changes."""

    def test_steps_and_rates(self):
        X, y = groups()
        model = XSDC(max_iter=3, supervised_iter=2, learning_rate=0.5, supervised_learning_rate=0.1, random_state=0)
        steps = model.fit(X, few(y)).history_["steps"]
        assert [step["stage"] for step in steps] == ["supervised"] * 2 + ["joint"] * 3
        assert model.n_iter_ == 5
        still = XSDC(max_iter=0, supervised_iter=0, random_state=0).fit(X, few(y))
        moved = XSDC(max_iter=1, learning_rate=1e-6, random_state=0).fit(X, few(y))
        start, end = (next(m.network_.parameters()).detach() for m in (still, moved))
        assert 0 < float((start - end).norm()) < 1e-3 * float(start.norm())  # a number is no share of anything

    def test_ridge_is_used_throughout(self):
        X, y = groups()
        model = XSDC(3, ridge=0.25, max_iter=2, random_state=0).fit(X, np.where(y == 0, few(y), -1))
        assert {step["ridge"] for step in model.history_["steps"]} == {0.25}
        other = XSDC(3, ridge=0.001, max_iter=2, random_state=0).fit(X, np.where(y == 0, few(y), -1))
        assert _choice(model, "groups")["value"] < _choice(other, "groups")["value"]  # a larger ridge tells less

    @pytest.mark.parametrize("option", [{"filter_penalty": 1e-3}, {"entropy": 1e-3}, {"batch_size": 8}])
    def test_options_that_change_the_network(self, option):
        X, y = groups(spread=2.0)
        options = {"labeler": "balancing", "max_iter": 5, "random_state": 0}
        plain = XSDC(**options).fit(X, few(y))
        other = XSDC(**options, **option).fit(X, few(y))
        assert not np.allclose(plain.transform(X), other.transform(X))

    def test_memory_size(self):
        X, y = groups(spread=2.0)
        one, other = (XSDC(max_iter=5, batch_size=8, memory_size=m, random_state=0).fit(X, few(y)) for m in (0, 16))
        assert not np.allclose(one.transform(X), other.transform(X))

    def test_labeled_batch_size(self):
        X, y = groups(spread=2.0)
        options = {"labeler": "balancing", "max_iter": 5, "random_state": 0}
        one, other = (XSDC(labeled_batch_size=b, **options).fit(X, few(y, 20)) for b in (4, 1000))
        assert not np.allclose(one.transform(X), other.transform(X))

    def test_own_labeler(self):
        calls = []

        class Together(Labeler):
            def label(self, batch):
                calls.append(batch.n)
                return torch.ones(batch.n, batch.n)

        X, y = groups()
        XSDC(labeler=Together(), max_iter=3, random_state=0).fit(X, few(y))
        assert len(calls) == 3

    @pytest.mark.parametrize("labeler", list(LABELERS))
    def test_every_labeler_trains_with_and_without_labels(self, labeler):
        X, y = groups(spread=3.0)
        for given in (None, few(y)):
            model = XSDC(3, labeler=labeler, max_iter=4, batch_size=60, random_state=0).fit(X, given)
            assert model.score(X, y) > 0.9
            assert all(step["eigengap"] >= 0 for step in model.history_["steps"])

    def test_labelers_are_left_as_they_were(self):
        own = PseudoLabels()
        model = XSDC(3, labeler=own, max_iter=2, random_state=0).fit(groups()[0])
        assert own._classifier is None
        assert model.labeler is own

    def test_augmentation_makes_tied_copies(self):
        shapes = []

        def jitter(batch, generator):
            shapes.append(tuple(batch.shape))
            return batch + 0.01 * torch.randn(batch.shape, generator=generator, dtype=batch.dtype)

        X, _ = groups()
        XSDC(3, augmentation=jitter, copies=4, batch_size=40, max_iter=2, random_state=0).fit(X)
        assert shapes == [(40, 6)] * 2  # ten points, four times each

    def test_validation_by_a_share_of_the_labels(self):
        X, y = groups()
        model = XSDC(validation=0.25, evaluate_every=2, max_iter=6, random_state=0).fit(X, few(y, 10))
        scores = [step["score"] for step in model.history_["steps"] if "score" in step]
        assert len(scores) == 3
        assert all(0 <= score <= 1 for score in scores)
        assert (model.labels_[few(y, 10) >= 0] == y[few(y, 10) >= 0]).all()  # held-out labels count at the end

    def test_validation_set_and_patience(self):
        X, y = groups()
        model = XSDC(validation=(X[60:], y[60:]), patience=2, evaluate_every=1, max_iter=50, random_state=0)
        model.fit(X[:60], few(y[:60]))
        assert model.n_iter_ < 50
        assert model.history_["stopped"] == "no better score"
        assert model.history_["best_iteration"] <= model.n_iter_ - 2

    def test_validation_with_unknown_classes(self):
        X, y = groups()
        with pytest.raises(InvalidInputError, match="label 9"):
            XSDC(validation=(X, np.full(90, 9))).fit(X, few(y))

    def test_many_labels_hold_some_out(self):
        X, y = groups(600)
        model = XSDC(labeler="balancing", max_iter=2, random_state=0).fit(X, y)
        assert _choice(model, "validation")["value"] == 0.2
        assert len(model.checked_.points) == 600  # held out of training, not of the classifiers
        assert _choice(XSDC(max_iter=2, random_state=0).fit(X, y), "validation")["value"] is None

    def test_callbacks_and_interruption(self):
        class Stop(Callback):
            def on_step(self, trainer, record):
                if record["iteration"] == 3:
                    raise KeyboardInterrupt

        X, y = groups()
        with pytest.warns(UserWarning, match="interrupted after 3"):
            model = XSDC(effort="best", callbacks=[Stop()], random_state=0).fit(X, few(y))
        assert model.n_iter_ == 3
        assert model.history_["stopped"] == "interrupted"
        assert model.predict(X).shape == (90,)

    def test_progress(self, capsys):
        X, y = groups()
        XSDC(max_iter=2, random_state=0).fit(X, few(y))
        assert capsys.readouterr().err == ""
        XSDC(max_iter=2, progress=True, random_state=0).fit(X, few(y))
        assert "2/2" in capsys.readouterr().err

    def test_history_is_plain_and_says_why(self):
        X, y = groups()
        history = XSDC(effort="best", random_state=0).fit(X, few(y)).history_
        assert json.loads(json.dumps(history)) == history
        assert all(choice["why"] for choice in history["choices"])
        assert {"network", "max_iter", "learning_rate", "cluster_size"} <= {c["option"] for c in history["choices"]}

    def test_what_is_given_is_not_chosen(self):
        X, y = groups()
        model = XSDC(network="kn", max_iter=1, learning_rate=0.1, cluster_size="equal", ridge=0.1, random_state=0)
        chosen = {choice["option"] for choice in model.fit(X, few(y)).history_["choices"]}
        assert not {"network", "max_iter", "learning_rate", "cluster_size", "ridge in training"} & chosen


class TestNetworks:
    def test_images(self):
        X, y = load_digits(return_X_y=True)
        images = X.reshape(-1, 8, 8)[:300] / 16
        model = XSDC(10, max_iter=3, supervised_iter=2, random_state=0).fit(images, few(y[:300], 5))
        assert model.score(images, y[:300]) > 0.6
        assert model.transform(images[:4]).dtype == np.float32
        with pytest.raises(InvalidInputError, match="fitted to images"):
            model.predict(X[:5])
        with pytest.raises(InvalidInputError, match="inputs of shape"):
            model.predict(images[:, :4])

    def test_paper_augmentation_for_images(self):
        X, _ = load_digits(return_X_y=True)
        images = X.reshape(-1, 8, 8)[:100] / 16
        model = XSDC(10, augmentation="images", copies=2, max_iter=2, random_state=0).fit(images)
        assert model.n_iter_ == 2
        with pytest.raises(InvalidInputError, match="is for images"):
            XSDC(10, augmentation="images", max_iter=1).fit(X[:100])

    def test_own_module_is_copied_and_trained(self):
        X, y = groups()
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 8))
        before = module[0].weight.detach().clone()
        model = XSDC(network=module, random_state=0).fit(X, few(y))
        assert (model.labels_ == y).mean() > 0.9
        torch.testing.assert_close(module[0].weight, before)
        assert not torch.equal(model.network_.module[0].weight, before)

    def test_chance_within_a_module_is_ours(self):
        X, _ = groups()
        module = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 4))
        features = []
        for seed in (1, 2):
            torch.manual_seed(seed)
            before = torch.get_rng_state()
            model = XSDC(3, algorithm="published", network=module, max_iter=5, random_state=0).fit(X)
            features.append(model.transform(X))
            assert torch.equal(torch.get_rng_state(), before)
        assert np.array_equal(*features)
        other = XSDC(3, algorithm="published", network=module, max_iter=5, random_state=1).fit(X).transform(X)
        assert not np.allclose(features[0], other)

    def test_fixed_features_are_not_trained(self):
        X, y = groups()
        model = XSDC(network=StandardScaler(), random_state=0).fit(X, few(y))
        assert model.n_iter_ == 0
        assert (model.labels_ == y).mean() > 0.95
        with pytest.raises(InvalidInputError, match="nothing to train"):
            XSDC(network=StandardScaler(), max_iter=5).fit(X, few(y))


class TestManners:
    def test_clone_and_repr(self):
        model = XSDC(3, cluster_size=(0.1, 0.5), ridge=0.1)
        assert clone(model).get_params() == model.get_params()
        assert repr(model) == "XSDC(cluster_size=(0.1, 0.5), n_clusters=3, ridge=0.1)"
        assert is_classifier(model)

    def test_pipeline_and_grid_search_with_unknown_labels(self):
        X, y = groups()
        pipeline = make_pipeline(StandardScaler(), XSDC(max_iter=2, random_state=0))
        search = GridSearchCV(pipeline, {"xsdc__ridge": [0.01, 0.1]}, cv=LabeledKFold(2), scoring=LabeledScorer())
        search.fit(X, few(y, 6))
        assert search.best_score_ > 0.9
        assert search.predict(X).shape == (90,)

    def test_scores_that_need_probabilities(self):
        X, y = groups(60, 2)
        scores = cross_val_score(XSDC(max_iter=2, random_state=0), X, y, cv=2, scoring="roc_auc")
        assert (scores > 0.9).all()

    def test_data_frames(self):
        X, y = groups()
        frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(6)])
        model = XSDC(random_state=0).fit(frame, pd.Series(few(y)))
        assert list(model.feature_names_in_) == list(frame.columns)
        assert model.n_features_in_ == 6
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame[frame.columns[::-1]])

    def test_polars(self):
        polars = pytest.importorskip("polars")
        X, y = groups()
        frame = polars.DataFrame(X, schema=[f"c{i}" for i in range(6)])
        labels = polars.Series(np.where(few(y) >= 0, NAMES[y], None).tolist())
        model = XSDC(random_state=0).fit(frame, labels)
        assert list(model.feature_names_in_) == frame.columns
        assert (model.predict(frame) == NAMES[y]).mean() > 0.95

    def test_tensors_and_lists(self):
        X, y = groups()
        one = XSDC(random_state=0).fit(torch.from_numpy(X), few(y)).labels_
        other = XSDC(random_state=0).fit(X.tolist(), few(y).tolist()).labels_
        assert (one == other).all()


class TestFiles:
    def test_round_trip(self, tmp_path):
        X, y = groups()
        frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(6)])
        given = np.where(few(y) >= 0, NAMES[y], None)
        model = XSDC(cluster_size=(0.2, 0.5), random_state=0).fit(frame, given)
        model.save(tmp_path / "m.xsdc")
        loaded = XSDC.load(tmp_path / "m.xsdc")
        np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
        assert (loaded.predict(frame) == model.predict(frame)).all()
        assert (loaded.labels_ == model.labels_).all()
        assert loaded.history_ == model.history_
        assert loaded.get_params() == {**model.get_params(), "callbacks": loaded.callbacks}
        assert list(loaded.feature_names_in_) == list(frame.columns)
        assert loaded.score(frame, NAMES[y]) == model.score(frame, NAMES[y])

    def test_relabel_needs_the_process_that_fitted(self, tmp_path):
        X, _ = groups()
        XSDC(3, random_state=0).fit(X).save(tmp_path / "m.xsdc")
        with pytest.raises(InvalidInputError, match="Fit again"):
            XSDC.load(tmp_path / "m.xsdc").relabel(2)

    def test_own_module_is_brought_again(self, tmp_path):
        X, y = groups()
        module = nn.Linear(6, 8)
        model = XSDC(network=module, max_iter=2, random_state=0).fit(X, few(y))
        model.save(tmp_path / "m.xsdc")
        with pytest.raises(InvalidInputError, match="Linear"):
            XSDC.load(tmp_path / "m.xsdc")
        loaded = XSDC.load(tmp_path / "m.xsdc", network=nn.Linear(6, 8))
        np.testing.assert_allclose(loaded.transform(X), model.transform(X))

    def test_a_missing_module_is_told_of_the_file_and_the_parameter(self, tmp_path):
        X, _ = groups()
        path = tmp_path / "model.xsdc"
        XSDC(3, network=nn.Linear(6, 4), max_iter=1, random_state=0).fit(X).save(path)
        with pytest.raises(InvalidInputError, match=r"model\.xsdc holds .* as network="):
            XSDC.load(path)

    def test_options_that_were_lost_are_told_at_the_next_fit(self, tmp_path):
        X, _ = groups()
        path = tmp_path / "model.xsdc"
        XSDC(3, labeler=PseudoLabels(every=3), cluster_size=np.full((3, 2), (0.2, 0.5)), max_iter=1).fit(X).save(path)
        loaded = XSDC.load(path)
        loaded.set_params(cluster_size=np.full((3, 2), (0.2, 0.5)))
        with pytest.warns(UserWarning, match="could not hold labeler; "):
            loaded.fit(X)

    def test_files_that_are_no_models(self, tmp_path):
        with pytest.raises(InvalidInputError, match="There is no file"):
            XSDC.load(tmp_path / "none.xsdc")
        (tmp_path / "text.xsdc").write_text("hello")
        with pytest.raises(InvalidInputError, match="not a model saved by xsdc"):
            XSDC.load(tmp_path / "text.xsdc")
        X, y = groups(30)
        XSDC(max_iter=1, random_state=0).fit(X, few(y)).save(tmp_path / "m.xsdc")
        cut = (tmp_path / "m.xsdc").read_bytes()[:2000]
        (tmp_path / "cut.xsdc").write_bytes(cut)
        with pytest.raises(InvalidInputError, match="not a model saved by xsdc"):
            XSDC.load(tmp_path / "cut.xsdc")

    def test_unfitted_models_are_not_saved(self, tmp_path):
        with pytest.raises(NotFittedError):
            XSDC().save(tmp_path / "m.xsdc")
        assert list(tmp_path.iterdir()) == []


def _choice(model: XSDC, option: str) -> dict:
    return next(choice for choice in model.history_["choices"] if choice["option"] == option)


class TestChecked:
    def test_labels_that_the_classifier_did_not_see(self):
        X, y = groups(120)
        labels = few(y, 14)
        model = XSDC(random_state=0, max_iter=2).fit(X, labels)
        checked = model.checked_
        assert sorted(checked.points) == np.flatnonzero(labels >= 0).tolist()
        np.testing.assert_allclose(checked.probabilities.sum(1), 1)
        assert (checked.probabilities.argmax(1) == y[checked.points]).mean() > 0.9

    def test_a_wrong_label_is_not_believed_where_it_is_hidden(self):
        X, y = groups(120)
        wrong = y.copy()
        wrong[0] = (y[0] + 1) % 3
        checked = XSDC(random_state=0, max_iter=0).fit(X, wrong).checked_
        (place,) = np.flatnonzero(checked.points == 0)
        assert checked.probabilities[place].argmax() == y[0]

    def test_tables_of_words_and_names_of_files_are_told_where_to_go(self):
        table = pd.DataFrame(
            {"size": [1.0, 2.0, 3.0], "kind": ["a", "b", "a"], "day": pd.to_datetime(["2020-01-01"] * 3)}
        )
        with pytest.raises(InvalidInputError, match=r"columns kind, day of this table.*xsdc fit"):
            XSDC().fit(table)
        with pytest.raises(InvalidInputError, match=r"name of a file.*read_data"):
            XSDC().fit("data.csv")

    @pytest.mark.parametrize("gap", [np.nan, None, -1])
    def test_gaps_that_numpy_made_words_of_are_told(self, gap):
        X, y = groups(60)
        words = [NAMES[c] if i < 30 else gap for i, c in enumerate(y)]
        with pytest.warns(UserWarning, match="30 labels read '(nan|None|-1)'.*dtype=object"):
            XSDC(max_iter=0, random_state=0).fit(X, np.array(words, dtype=str))
        if gap != "":
            assert list(XSDC(max_iter=0, random_state=0).fit(X, words).classes_) == sorted(NAMES[:3])

    def test_labels_to_score_by_need_labels_to_fit_to(self):
        X, y = groups(60)
        with pytest.raises(InvalidInputError, match="leave validation out"):
            XSDC(3, validation=(X, y), random_state=0).fit(X)

    def test_too_few_labels_to_check(self):
        X, y = groups(60)
        assert XSDC(random_state=0, max_iter=0).fit(X, few(y, 1)).checked_ is None
        assert XSDC(3, random_state=0, max_iter=0).fit(X, np.where(y == 0, few(y, 6), -1)).checked_ is None
        assert XSDC(3, random_state=0, max_iter=0).fit(X).checked_ is None

    def test_a_class_with_a_single_label_is_not_checked(self):
        X, y = groups(60)
        labels = np.where(y == 0, few(y, 1), few(y, 2))
        assert (
            sorted(XSDC(random_state=0, max_iter=0).fit(X, labels).checked_.points)
            == np.flatnonzero(labels > 0).tolist()
        )


class TestEquivalence:
    def test_m_among_points(self):
        X, y = groups(90)
        model = XSDC(3, random_state=0, max_iter=2).fit(X, must_link=[(0, 31)], cannot_link=[(1, 2), (3, 6)])
        points = np.array([0, 3, 6, 31, *range(40, 70)])
        M = model.equivalence(points)
        assert M.shape == (34, 34)
        assert M[0, 3] == M[3, 0] == 1
        assert M[1, 2] == M[2, 1] == 0
        same = y[points][:, None] == y[points]
        assert ((M >= 0) & (M <= 1)).all()
        assert M[same].mean() > M[~same].mean() + 0.3

    def test_m_among_few_points_is_that_among_all(self):
        X, y = groups(90)
        model = XSDC(3, random_state=0, max_iter=2).fit(X)
        whole = model.equivalence(np.arange(90))
        one, other = np.flatnonzero(y == 0)[:2], np.array([np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]])
        for points in (one, other, np.flatnonzero(y == 2)[::-1]):
            np.testing.assert_allclose(model.equivalence(points), whole[np.ix_(points, points)], atol=1e-5)
        assert model.equivalence(one)[0, 1] > model.equivalence(other)[0, 1] + 0.3

    def test_a_mask_is_no_list_of_positions(self):
        X, _ = groups()
        model = XSDC(3, max_iter=1, random_state=0).fit(X)
        with pytest.raises(InvalidInputError, match="flatnonzero"):
            model.equivalence(np.arange(len(X)) < 5)

    def test_another_number_changes_m_and_the_stream(self):
        X, _ = groups()
        model = XSDC(max_iter=2, random_state=0).fit(X)
        model.relabel(2)
        two = model.equivalence(np.arange(len(X)))
        model.relabel(6)
        six = model.equivalence(np.arange(len(X)))
        assert two.sum() > 2 * six.sum()
        model.partial_fit(X[:50] + 0.01)
        assert model.n_clusters_ == 6

    def test_wrong_points(self):
        X, _ = groups(20, 2)
        model = XSDC(2, random_state=0, max_iter=0).fit(X)
        for points in ([0], [0, 20], [0, -1], [0.5, 1]):
            with pytest.raises(InvalidInputError):
                model.equivalence(points)

    def test_not_after_loading(self, tmp_path):
        X, _ = groups(20, 2)
        XSDC(2, random_state=0, max_iter=0).fit(X).save(tmp_path / "m.xsdc")
        with pytest.raises(InvalidInputError, match="Fit again"):
            XSDC.load(tmp_path / "m.xsdc").equivalence([0, 1])


class TestDataAsPeopleHaveThem:
    def test_sparse(self, monkeypatch):
        X, y = groups()
        X = np.where(X > 0, X, 0)
        dense = XSDC(random_state=0).fit(X, few(y))
        model = XSDC(random_state=0).fit(csr_matrix(X), few(y))
        assert (model.labels_ == dense.labels_).all()
        np.testing.assert_allclose(model.predict_proba(csr_matrix(X[:5])), dense.predict_proba(X[:5]))
        monkeypatch.setattr("xsdc.fitting.sources.LARGE", 300)
        large = XSDC(random_state=0).fit(csr_matrix(X), few(y))
        assert (large.labels_ == dense.labels_).mean() > 0.95

    def test_missing_numbers(self):
        X, _ = groups()
        X[3, 1] = np.nan
        with pytest.raises(InvalidInputError, match=r"contains NaN.*make_pipeline\(Preparation\(\), XSDC\(\)\)"):
            XSDC().fit(X)

    def test_an_empty_string_is_no_class(self):
        X, y = groups()
        names = np.where(few(y) >= 0, NAMES[y], "")
        for given in (names, names.tolist(), names.astype(object)):
            model = XSDC(random_state=0).fit(X, given)
            assert model.classes_.tolist() == ["ant", "bee", "cat"]
