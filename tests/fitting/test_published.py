"""The algorithm as published: options, nearest labels or clusters of M, and the ridge classifier."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch.nn.functional import one_hot

from tests.problems import gaussian
from xsdc import XSDC
from xsdc.core.agreement import agreement
from xsdc.core.balancing import balance
from xsdc.core.classifier import PATH, choose_ridge
from xsdc.core.objective import decompose, ridge_classifier
from xsdc.core.problem import Fractions
from xsdc.core.rounding import nearest_labels, spectral_clustering
from xsdc.core.sizes import ClassSizes
from xsdc.errors import InvalidInputError
from xsdc.fitting import Choices, published, read_knowledge
from xsdc.fitting.bounds import Bounds
from xsdc.fitting.published import FeatureClassifier, label_as_published, ridge_by_validation
from xsdc.networks import normalize_features
from xsdc.training import Callback

X, TRUTH = load_digits(return_X_y=True)
X = X / 16
GIVEN = np.where(np.isin(np.arange(len(X)), np.random.default_rng(0).permutation(len(X))[:50]), TRUTH, -1)
SHORT = {"max_iter": 3, "supervised_iter": 0, "progress": False}


def short(n_clusters=None, **options) -> XSDC:
    return XSDC.as_published(n_clusters, random_state=0).set_params(**SHORT | options)


def chosen(model: XSDC) -> dict:
    return {choice["option"]: choice["value"] for choice in model.history_["choices"]}


@pytest.fixture(scope="module")
def clustered() -> XSDC:
    return short(10, max_iter=20).fit(X)


@pytest.fixture(scope="module")
def labeled() -> XSDC:
    return short().fit(X, GIVEN)


def equal_sizes(k: int) -> Bounds:
    return Bounds(ClassSizes(np.full(k, 1 / k), np.full(k, 1 / k)), given=False)


class TestOptions:
    def test_they_are_those_of_the_paper(self):
        model = XSDC.as_published(random_state=0).set_params(callbacks=(), max_iter="auto", supervised_iter=2)
        assert model.get_params() == XSDC(algorithm="published", supervised_iter=2, random_state=0).get_params()

    @pytest.mark.parametrize(("given", "supervised"), [(None, 0), (GIVEN, 100)])
    def test_steps(self, given, supervised):
        class Stop(Callback):
            def on_step(self, trainer, record):
                assert trainer.plan.supervised_iter == supervised
                assert trainer.plan.total == 500
                raise KeyboardInterrupt

        model = XSDC.as_published(10, random_state=0).set_params(callbacks=[Stop()])
        with pytest.warns(UserWarning, match="interrupted after 1"):
            model.fit(X[:300], None if given is None else given[:300])

    def test_networks(self):
        model = short(2, max_iter=0).fit(X[:100])
        assert model.network_.n_features == 32
        assert chosen(model)["network"] == "kn with 32 filters"
        images = np.random.default_rng(0).random((20, 32, 32, 3))
        model = short(2, max_iter=0).fit(images)
        assert chosen(model)["network"] == "ckn-gm"
        assert model.labels_.shape == (20,)

    def test_classes_have_equal_sizes_in_training(self, labeled):
        assert chosen(labeled)["cluster_size"] == "equal"
        one, other = (short(cluster_size=size).fit(X, GIVEN) for size in ("equal", (0.01, 0.5)))
        assert not np.allclose(one.transform(X[:9]), other.transform(X[:9]))

    def test_an_unknown_algorithm_is_refused(self):
        with pytest.raises(InvalidInputError, match="ensemble or published; it is 'paper'"):
            XSDC(2, algorithm="paper").fit(X)


class TestLabels:
    def test_are_those_of_the_nearest_labeled_points(self, labeled):
        Phi, seen = torch.from_numpy(labeled.transform(X)), GIVEN >= 0
        expected = nearest_labels(Phi, Phi[seen], torch.from_numpy(GIVEN[seen])).numpy()
        np.testing.assert_array_equal(labeled.labels_, expected)
        assert (labeled.labels_ == TRUTH).mean() > 0.8
        assert labeled.checked_ is None  # neighbors of a label have it too: left out, it would still be seen

    def test_classifier_is_ridge_regression_on_all_of_them(self, labeled):
        raw = torch.from_numpy(labeled.transform(X))
        _, norm = normalize_features(raw[GIVEN >= 0])  # of labeled points the norm is one on average
        Phi, Y = raw / norm, one_hot(torch.from_numpy(labeled.labels_), 10).double()
        lam = choose_ridge(decompose(Phi), Y, rows=torch.from_numpy(np.flatnonzero(GIVEN >= 0)))
        assert chosen(labeled)["ridge of the classifier"] == lam
        W, b = ridge_classifier(Phi, Y, lam)
        scores = Phi @ W + b
        np.testing.assert_array_equal(labeled.predict(X), scores.argmax(1))
        ratio = np.log(labeled.predict_proba(X)) - scores.numpy() * labeled._classifier.ridge.sharpness
        np.testing.assert_allclose(ratio, ratio[:, :1].repeat(10, 1), atol=1e-5)
        assert (labeled.predict(X) == labeled.labels_).mean() > 0.85

    def test_a_given_ridge_is_used(self):
        model = short(ridge=0.25).fit(X, GIVEN)
        assert model._classifier.ridge.lam == 0.25
        assert {step["ridge"] for step in model.history_["steps"]} == {0.25}

    def test_what_is_known_holds(self):
        free = np.flatnonzero(GIVEN < 0)
        same, apart = free[:40].reshape(-1, 2), free[40:60].reshape(-1, 2)
        allowed = {int(i): [0, 1] for i in free[60:80]}
        model = short().fit(X, GIVEN, must_link=same, cannot_link=apart, allowed_labels=allowed)
        found = model.labels_
        np.testing.assert_array_equal(found[GIVEN >= 0], GIVEN[GIVEN >= 0])
        np.testing.assert_array_equal(*found[same].T)
        assert (found[apart[:, 0]] != found[apart[:, 1]]).all()
        assert set(found[free[60:80]]) <= {0, 1}


class TestClusters:
    def test_on_digits(self, clustered):
        assert agreement(clustered.labels_, TRUTH).accuracy > 0.6
        assert agreement(clustered.predict(X), clustered.labels_).accuracy > 0.9
        assert (clustered.predict(X) == clustered.labels_).mean() > 0.9
        assert len(clustered.eigenvalues_) == 11

    def test_are_those_of_the_balanced_matrix(self):
        Phi = torch.from_numpy(X[:300])
        outcome = label_as_published(
            Phi,
            read_knowledge(300, n_clusters=10),
            bounds=equal_sizes(10),
            ridge=2.0**-7,
            entropy="median",
            choices=Choices(),
            rng=np.random.RandomState(3),
        )
        spectrum = decompose(Phi)
        M = balance(spectrum.cost(2.0**-7).dense(torch.float32), size=Fractions(0.1, 0.1)).M
        expected = spectral_clustering(M, 10, random_state=np.random.RandomState(3))
        np.testing.assert_array_equal(outcome.codes, expected.labels)
        np.testing.assert_allclose(outcome.eigenvalues, expected.eigenvalues, atol=1e-5)
        W, b = ridge_classifier(Phi, one_hot(expected.labels, 10).double(), 2.0**-7)
        np.testing.assert_array_equal(outcome.classifier.log_probabilities(Phi, Phi).argmax(1), (Phi @ W + b).argmax(1))

    def test_a_class_without_labels(self):
        given = np.where(GIVEN == 9, -1, GIVEN)
        model = short(10).fit(X, given)
        np.testing.assert_array_equal(model.labels_[given >= 0], given[given >= 0])
        assert set(model.labels_) == set(range(10))

    def test_of_many_points_some_are_clustered_and_the_others_classified(self, monkeypatch):
        whole = short(3, max_iter=0).fit(X[TRUTH < 3])
        monkeypatch.setattr(published, "MOST_BALANCED", 200)
        part = short(3, max_iter=0).fit(X[TRUTH < 3])
        assert agreement(part.labels_, whole.labels_).accuracy > 0.9
        assert 0 < (part.labels_ == part.predict(X[TRUTH < 3])).mean() <= 1

    def test_one_class(self):
        model = short(1).fit(X[:40])
        assert set(model.labels_) == {0}
        np.testing.assert_allclose(model.predict_proba(X[:5]), 1)

    def test_relabel(self, clustered):
        model = short(3, max_iter=0).fit(X[:300])
        model.relabel(5)
        assert len(np.unique(model.labels_)) == 5
        assert model.predict_proba(X[:4]).shape == (4, 5)

    def test_an_open_number_is_suggested(self):
        model = short(max_iter=0).fit(X[TRUTH < 2])
        assert model.n_clusters_ == len(np.unique(model.labels_))

    def test_clusters_of_a_stream_keep_their_names(self):
        some = X[TRUTH < 3]
        model = short(3)
        for part in (some[:250], some[250:]):
            model.partial_fit(part)
            found = model.labels_
        assert agreement(found, TRUTH[TRUTH < 3][250:]).accuracy > 0.8


class TestValidation:
    def test_ridge_is_the_one_that_is_right_most_often(self):
        Phi, y = gaussian(80, 5), torch.arange(80) % 3
        Phi[:, 0] += y
        held, truth = gaussian(60, 5, seed=1), np.arange(60) % 3
        held[:, 0] += torch.from_numpy(truth)
        right = []
        for lam in PATH:
            W, b = ridge_classifier(Phi, one_hot(y, 3).double(), lam)
            right.append(((held @ W + b).argmax(1).numpy() == truth).mean())
        assert ridge_by_validation(decompose(Phi), y, 3, held, truth) == PATH[int(np.argmax(right))]
        assert len(set(right)) > 1

    def test_it_decides_lambda_and_the_state_that_is_kept(self):
        held = np.arange(len(X)) >= 1500
        model = short(validation=(X[held], TRUTH[held]), evaluate_every=1).fit(X[~held], GIVEN[~held])
        steps = model.history_["steps"]
        assert {step["ridge"] for step in steps} <= set(PATH)
        assert model._classifier.ridge.lam in PATH
        assert "ridge of the classifier" not in chosen(model)  # which is for fits without a validation set
        best = max(step["score"] for step in steps)
        assert model.score(X[held], TRUTH[held]) == pytest.approx(best, abs=0.03)
        assert best > 0.7


class TestFiles:
    @pytest.mark.parametrize("which", ["labeled", "clustered"])
    def test_round_trip(self, which, request, tmp_path):
        model = request.getfixturevalue(which)
        model.save(tmp_path / "m.xsdc")
        loaded = XSDC.load(tmp_path / "m.xsdc")
        assert loaded.algorithm == "published"
        assert isinstance(loaded._classifier, FeatureClassifier)
        np.testing.assert_array_equal(loaded.labels_, model.labels_)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), atol=1e-12)
        np.testing.assert_allclose(loaded.predict_proba(X).sum(1), 1)

    def test_fits_are_repeatable(self):
        one, other = (short(3).fit(X[:200]) for _ in range(2))
        np.testing.assert_array_equal(one.labels_, other.labels_)
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
