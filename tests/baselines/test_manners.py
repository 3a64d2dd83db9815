"""What scikit-learn asks of any estimator, and what both baselines promise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.baselines.cases import NAMES, few, groups
from xsdc.baselines import DIFFRAC, SeededKMeans
from xsdc.errors import InvalidInputError

# Meanings that scikit-learn has no tag for: -1 and NaN in y say "unknown".
DECLARED = {
    "check_classifiers_classes": "uses -1 as the name of a class; here, as in LabelSpreading, it means unknown",
    "check_supervised_y_no_nan": "wants NaN in y to be refused; here it means unknown",
}
MODELS = [
    SeededKMeans(random_state=0),
    SeededKMeans(similarity="inverse-correlation", random_state=0),
    SeededKMeans(similarity="rbf", random_state=0),
    DIFFRAC(random_state=0),
]


def declared(estimator):
    # y of nothing but NaN names no class, and SeededKMeans then refuses to guess a number of them.
    return DECLARED if isinstance(estimator, DIFFRAC) else {k: DECLARED[k] for k in ["check_classifiers_classes"]}


@pytest.fixture(params=MODELS, ids=["linear", "inverse-correlation", "rbf", "DIFFRAC"])
def model(request):
    return clone(request.param)


@parametrize_with_checks(MODELS, expected_failed_checks=declared)
@pytest.mark.filterwarnings("ignore")  # the checks provoke warnings on purpose
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class TestManners:
    def test_parameters_stay_as_given(self, model):
        X, y = groups()
        before = model.get_params()
        assert model.fit(X, few(y)) is model
        assert model.get_params() == before
        assert clone(model).get_params() == before
        assert is_classifier(model)

    def test_strings_come_back_as_strings(self, model):
        X, y = groups()
        given = np.where(few(y) >= 0, NAMES[y], None)
        labels = model.fit_predict(X, given)
        assert list(model.classes_) == sorted(NAMES)
        assert (labels == NAMES[y]).mean() > 0.95
        assert (model.predict(X) == NAMES[y]).mean() > 0.95
        assert all(isinstance(name, str) for name in model.predict(X))

    @pytest.mark.parametrize("unknown", [-1, np.nan, None])
    def test_every_way_to_write_unknown(self, model, unknown):
        X, y = groups()
        given = [int(c) if keep >= 0 else unknown for c, keep in zip(y, few(y), strict=True)]
        plain = clone(model).fit(X, few(y)).labels_
        assert (model.fit(X, given).labels_ == plain).all()

    def test_given_labels_never_change(self, model):
        X, y = groups(spread=1.0)
        given = few(y, 6)
        given[given >= 0] = np.random.RandomState(0).permutation(given[given >= 0])  # many of them wrong
        labels = model.fit(X, given).labels_
        assert (labels[given >= 0] == given[given >= 0]).all()

    def test_a_class_that_no_label_names(self, model):
        X, y = groups()
        given = np.where((few(y) >= 0) & (y < 2), NAMES[y], None)
        model.set_params(n_clusters=3).fit(X, given)
        assert list(model.classes_) == ["ant", "bee", "cluster 1"]
        assert (model.labels_[y == 2] == "cluster 1").mean() > 0.95
        assert (model.predict(X)[y < 2] == NAMES[y[y < 2]]).mean() > 0.95

    def test_one_class_labeled(self, model):
        X, _ = groups(30)
        model.fit(X, np.where(np.arange(30) < 5, "only", None))
        assert set(model.labels_) == set(model.predict(X)) == {"only"}

    def test_all_labeled(self, model):
        X, y = groups()
        model.fit(X[::2], y[::2])
        assert (model.labels_ == y[::2]).all()
        assert model.score(X[1::2], y[1::2]) > 0.95

    def test_score(self, model):
        X, y = groups(spread=1.0)
        model.fit(X, few(y))
        hidden = np.where(np.arange(90) < 10, y, -1)
        right = model.predict(X)[:10] == y[:10]
        assert model.score(X, hidden) == right.mean()
        weight = np.arange(90.0)
        assert model.score(X, hidden, sample_weight=weight) == pytest.approx(right @ weight[:10] / weight[:10].sum())
        with pytest.raises(InvalidInputError, match="no labeled row"):
            model.score(X, np.full(90, -1))

    def test_score_without_names_matches_clusters_to_classes(self, model):
        X, y = groups()
        model.set_params(n_clusters=3).fit(X)
        assert list(model.classes_) == [0, 1, 2]
        assert model.score(X, NAMES[y]) > 0.95
        with pytest.raises(InvalidInputError, match="sample_weight"):
            model.score(X, y, sample_weight=np.ones(90))

    def test_fit_refuses_sample_weights(self, model):
        X, y = groups()
        with pytest.raises(TypeError, match="sample_weight"):
            model.fit(X, y, sample_weight=np.ones(90))

    def test_predict_before_fit_and_wrong_shapes(self, model):
        X, y = groups()
        with pytest.raises(NotFittedError):
            model.predict(X)
        model.fit(X, few(y))
        with pytest.raises(ValueError, match=r"5 features, but .* is expecting 6"):
            model.predict(X[:, :5])
        with pytest.raises(ValueError, match="Expected 2D array"):
            model.predict(X[0])

    def test_bad_numbers(self, model):
        X, y = groups()
        for bad, message in ((np.nan, "Input X contains NaN"), (np.inf, "infinity"), (1e200, r"below 1e\+100")):
            spoiled = X.copy()
            spoiled[3, 2] = bad
            with pytest.raises(ValueError, match=message):
                clone(model).fit(spoiled, y)

    @pytest.mark.parametrize(
        ("n_clusters", "message"), [(0, "at least 1"), (2.5, "n_clusters"), (91, "at most the number of points, 90")]
    )
    def test_bad_numbers_of_clusters(self, model, n_clusters, message):
        with pytest.raises(InvalidInputError, match=message):
            model.set_params(n_clusters=n_clusters).fit(groups()[0])

    @pytest.mark.parametrize(
        ("y", "message"),
        [
            (np.zeros(5), "one label per point, 90"),
            (np.linspace(0, 1, 90), "Unknown label type"),
            (np.array([1, "a"] * 45, dtype=object), "all strings or all numbers"),
        ],
    )
    def test_bad_labels(self, model, y, message):
        with pytest.raises(ValueError, match=message):
            model.fit(groups()[0], y)

    def test_fewer_clusters_than_labels_name(self, model):
        X, y = groups()
        with pytest.warns(UserWarning, match="n_clusters is 2, but the labels given name 3"):
            assert len(model.set_params(n_clusters=2).fit(X, few(y)).classes_) == 3

    def test_one_cluster(self, model):
        X, _ = groups(20)
        assert set(model.set_params(n_clusters=1).fit_predict(X)) == {0}
        assert set(model.predict(X)) == {0}

    def test_as_many_clusters_as_points(self, model):
        X, _ = groups(12)
        assert len(set(model.set_params(n_clusters=12).fit_predict(X))) == 12

    def test_duplicates_and_constant_columns(self, model):
        X, y = groups(30)
        X = np.repeat(np.hstack([X, np.ones((30, 2))]), 3, axis=0)
        assert model.set_params(n_clusters=3).fit(X).score(X, np.repeat(y, 3)) > 0.95

    def test_far_from_zero(self, model):
        X, y = groups()
        assert model.fit(X + 1e4, few(y)).score(X + 1e4, y) > 0.95

    def test_inputs_are_neither_modified_nor_held(self, model):
        X, y = groups()
        given, before = few(y), X.copy()
        model.fit(X, given)
        assert (before == X).all()
        assert (given == few(y)).all()
        expected = model.predict(before)
        X[:] = 0.0
        assert (model.predict(before) == expected).all()

    def test_frames_and_tensors(self, model):
        X, y = groups()
        frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(6)])
        one = clone(model).fit(frame, few(y))
        other = model.fit(torch.from_numpy(X), few(y).tolist())
        assert list(one.feature_names_in_) == list(frame.columns)
        assert (one.labels_ == other.labels_).all()
        assert (one.predict(frame) == other.predict(torch.from_numpy(X))).all()

    def test_same_seed_same_labels(self, model):
        X, _ = groups(spread=0.5)
        one, other = (clone(model).set_params(n_clusters=5).fit_predict(X) for _ in range(2))
        assert (one == other).all()

    def test_pipeline_and_grid(self, model):
        X, y = groups()
        pipeline = make_pipeline(StandardScaler(), model)
        name = pipeline.steps[-1][0]
        search = GridSearchCV(pipeline, {f"{name}__n_clusters": [None, 3]}, cv=3).fit(X, y)
        assert search.best_score_ > 0.95
