"""Classes from labels of every class: the ensemble of classifiers, its representations, and what it says of itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits, load_wine
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from xsdc import XSDC
from xsdc.fitting import groups, representation
from xsdc.fitting import labels as module
from xsdc.fitting.ensemble import VIEWS, deal, fit_ensemble, fit_to_groups
from xsdc.fitting.groups import Inputs, LabelSolver
from xsdc.fitting.labels import _limited
from xsdc.fitting.models import Linear, Trees
from xsdc.fitting.representation import fit_representation
from xsdc.fitting.views import View


def gaussians(n=300, k=3, d=4, *, spread=4.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    return rng.normal(size=(n, d)) + spread * rng.normal(size=(k, d))[y], y


def both(X):
    """The same points as inputs and as features."""
    return [View(torch.from_numpy(X), metrics=metrics) for metrics in (("euclidean", "cosine"), ("euclidean",))]


def rings(n=600, *, seed=0):
    """Two classes that no line separates."""
    rng = np.random.default_rng(seed)
    y, angle = rng.integers(2, size=n), rng.uniform(0, 2 * np.pi, n)
    return (1 + 2 * y)[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1) + 0.1 * rng.normal(size=(n, 2)), y


def some(y, per_class, *, seed=0):
    """Labels of a few points of each class, -1 elsewhere."""
    order = np.random.default_rng(seed).permutation(len(y))
    given = np.full(len(y), -1)
    for c in np.unique(y):
        chosen = order[y[order] == c][:per_class]
        given[chosen] = c
    return given


def fit(X, y, **options):
    return XSDC(max_iter=0, supervised_iter=0, random_state=0, **options).fit(X, y)


class TestRepresentation:
    def test_few_columns_are_kept_and_scaled(self):
        X = torch.from_numpy(gaussians()[0])
        Z = fit_representation(X)(X)
        assert float(Z.square().mean()) == pytest.approx(1)
        ratio = torch.pdist(Z) / torch.pdist(X)
        torch.testing.assert_close(ratio, ratio[:1].expand(len(ratio)))

    @pytest.mark.parametrize("n", [30, 300])
    def test_many_columns_become_principal_components(self, n):
        rng = np.random.default_rng(0)
        X = torch.from_numpy(rng.normal(size=(n, 5)) @ rng.normal(size=(5, 120)))  # five directions hold everything
        Z = fit_representation(X)(X)
        assert Z.shape == (n, 5)
        ratio = torch.pdist(Z) / torch.pdist(X)
        torch.testing.assert_close(ratio, ratio[:1].expand(len(ratio)))

    def test_some_rows_alone(self, monkeypatch):
        X = torch.from_numpy(gaussians()[0])
        represent, rows = fit_representation(X), torch.tensor([250, 3, 17, 18, 299])
        monkeypatch.setattr(representation, "BLOCK", 2)
        torch.testing.assert_close(represent(X, rows), represent(X)[rows])

    def test_constant_data_stay_finite(self):
        X = torch.ones(20, 3, dtype=torch.float64)
        assert bool((fit_representation(X)(X) == 0).all())

    def test_large_images_are_shrunk(self):
        X = torch.rand(4, 3, 100, 200)
        assert fit_representation(X)(X).shape == (4, 3)  # four points span three directions

    def test_units_do_not_matter(self):
        X = torch.from_numpy(gaussians()[0])
        torch.testing.assert_close(fit_representation(X)(X), fit_representation(1e6 * X)(1e6 * X))


class TestEnsemble:
    def test_folds_share_each_class_evenly(self):
        codes = np.repeat([0, 1, 2], [50, 12, 1])
        folds = deal(codes, np.random.RandomState(0))
        counts = np.array([np.bincount(folds[codes == c], minlength=5) for c in range(3)])
        assert (counts.max(axis=1) - counts.min(axis=1) <= 1).all()

    def test_left_out_labels_are_not_seen(self):
        """Wrong labels of points far inside another class: without them the ensemble says what the others are."""
        X, y = gaussians(spread=8.0)
        given = some(y, 20)
        flipped = np.flatnonzero(given == 0)[:4]
        given[flipped] = 1
        Z = View(torch.from_numpy(X))
        _, left_out = fit_ensemble([Z, Z], given, 3, rng=np.random.RandomState(0))
        said = dict(zip(left_out.points.tolist(), left_out.probabilities, strict=True))
        assert all(said[i].argmax() == 0 for i in flipped)
        own = left_out.probabilities[np.arange(len(left_out.points)), given[left_out.points]]
        assert set(left_out.points[np.argsort(own)[:4]]) == set(flipped)  # the least probable labels are the wrong ones

    def test_the_only_label_of_a_class_is_not_left_out(self):
        X, y = gaussians()
        given = some(y, 5)
        given[np.flatnonzero(given == 2)[1:]] = -1
        Z = View(torch.from_numpy(X))
        _, left_out = fit_ensemble([Z, Z], given, 3, rng=np.random.RandomState(0))
        assert set(given[left_out.points]) == {0, 1}

    def test_graphs_count_where_classes_are_groups_and_a_classifier_where_not(self):
        def weights(X, y):
            ensemble, _ = fit_ensemble(both(X), y, 2, rng=np.random.RandomState(0))
            named = ensemble.named_weights()
            assert len({name for name, _ in named}) == len(named)
            assert all(any(view in name for view in VIEWS) for name, _ in named)
            graphs = sum(weight for name, weight in named if "graph" in name)
            return graphs, sum(weight for name, weight in named if "logistic" in name)

        X, y = rings()
        graphs, linear = weights(X, some(y, 15))
        assert graphs > 3 * linear
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 20))  # two halves of one cloud
        graphs, linear = weights(X, some((X[:, 0] + X[:, 1] > 0).astype(int), 60))
        assert linear > graphs


class TestGroups:
    def test_new_points_get_the_groups_they_lie_in(self):
        X, y = gaussians(600, spread=8.0)
        Z = View(torch.from_numpy(X[:300]), metrics=("euclidean", "cosine"))
        ensemble = fit_to_groups([Z, Z], y[:300], np.arange(0, 300, 2), 3, rng=np.random.RandomState(0))
        new = torch.from_numpy(X[300:])
        assert (ensemble.log_probabilities([new, new]).argmax(1) == y[300:]).all()

    def test_neighbors_tell_groups_that_no_line_separates(self):
        X, y = rings()
        Z = View(torch.from_numpy(X))
        ensemble = fit_to_groups([Z, Z], y, np.arange(len(y)), 2, rng=np.random.RandomState(0))
        weights = dict(ensemble.named_weights())
        assert weights["neighbors, euclidean of inputs"] > 3 * weights["logistic regression of inputs"]
        assert (ensemble.log_probabilities([Z.Z, Z.Z]).argmax(1) == y).mean() > 0.99

    def test_one_group_needs_no_members(self):
        Z = View(torch.zeros(5, 2, dtype=torch.float64))
        ensemble = fit_to_groups([Z], np.zeros(5, dtype=int), np.arange(5), 1, rng=np.random.RandomState(0))
        assert ensemble.log_probabilities([Z.Z]).tolist() == [[0.0]] * 5


class TestSolver:
    def solver(self, X, classes, k, **options):
        n = len(X)
        sizes = [(np.full(k, np.floor(n / k / t)), np.full(k, np.ceil(n / k * t))) for t in (1.1, 1.6, 3)]
        inputs = Inputs(View(torch.from_numpy(X), metrics=("euclidean", "cosine")), None, ridge="auto")
        return LabelSolver(inputs, classes, k, sizes=sizes[:2], wide=sizes[2], rng=np.random.RandomState(0), **options)

    def test_one_label_of_each_class_names_clear_groups(self):
        X, y = gaussians(spread=8.0)
        given = some(y, 1)
        labeled = np.flatnonzero(given >= 0)
        for scores in self.solver(X, given, 3).scores(labeled, given[labeled]):
            assert (scores.argmax(1) == y).mean() > 0.99

    def test_a_class_whose_label_is_left_out_does_not_take_points_of_others(self):
        X, y = gaussians(spread=8.0)
        given = some(y, 1)
        shown = np.flatnonzero((given >= 0) & (given < 2))
        from_labels, _ = self.solver(X, given, 3).scores(shown, given[shown])
        assert (from_labels.argmax(1) == y)[y < 2].mean() > 0.99

    def test_of_many_points_some_are_solved_for_labeled_ones_among_them(self, monkeypatch):
        monkeypatch.setattr(groups, "MOST_STARTED", 60)
        X, y = gaussians(spread=8.0)
        given = some(y, 2)
        labeled = np.flatnonzero(given >= 0)
        for scores in self.solver(X, given, 3).scores(labeled, given[labeled]):
            assert scores.shape == (len(X), 3)
            assert len(np.unique(scores, axis=0)) > 60  # the others are means of their neighbors
            assert (scores.argmax(1) == y).mean() > 0.98

    def test_it_counts_where_few_labels_lie_in_clear_groups(self):
        X, y = load_digits(return_X_y=True)
        model = fit(X, some(y, 1))
        chosen = next(choice for choice in model.history_["choices"] if choice["option"] == "classifier")
        assert "solution from labels of inputs 0.20" in chosen["value"]
        assert (model.labels_ == y).mean() > 0.87

    def test_allowed_classes_tell_neighbors_too(self):
        """Of two groups beside each other one is known not to be the third; the other points follow."""
        X, y = gaussians(spread=8.0)
        given = np.full(len(y), -1)
        labeled = np.array([np.flatnonzero(y == c)[0] for c in range(3)])
        given[labeled] = [0, 2, 1]  # the labels of two classes are exchanged
        allowed = {int(i): [1, 0] for i in np.flatnonzero(y == 1)[1:80]}
        plain = self.solver(X, given, 3).scores(labeled, given[labeled])[0].argmax(1)
        told = self.solver(X, given, 3, allowed=allowed).scores(labeled, given[labeled])[0].argmax(1)
        others = np.flatnonzero(y == 1)[80:]
        assert (plain[others] == 2).mean() > 0.9
        assert (told[others] == 2).mean() < 0.1

    def test_features_by_chance_that_are_too_few_are_left_out(self, monkeypatch):
        asked = []

        class Spy(Inputs):
            def __init__(self, inputs, learned, **options):
                asked.append(learned is not None)
                super().__init__(inputs, learned, **options)

        monkeypatch.setattr(module, "Inputs", Spy)
        X, _ = gaussians(60)
        narrow = {"name": "kn", "input": "vectors", "layers": [{"width": 20, "kernel": "rbf"}]}
        for k in (5, 4):
            XSDC(k, network=narrow, random_state=0, max_iter=0).fit(X)
        assert asked == [False, True]
        asked.clear()
        XSDC(5, network=narrow, random_state=0, max_iter=1).fit(X)
        assert asked == [False, True]  # before training and after it


class TestFit:
    def test_predict_says_what_labels_say(self):
        X, y = load_digits(return_X_y=True)
        given = some(y, 5)
        model = fit(X / 16, given)
        free = given < 0
        np.testing.assert_array_equal(model.predict(X / 16)[free], model.labels_[free])
        np.testing.assert_array_equal(model.labels_[~free], given[~free])
        np.testing.assert_allclose(model.predict_proba(X / 16).sum(axis=1), 1)
        assert (model.labels_ == y).mean() > 0.9

    def test_wrong_given_labels_stay_and_are_improbable(self):
        X, y = gaussians(spread=8.0)
        given = some(y, 10)
        wrong = np.flatnonzero(given == 0)[0]
        given[wrong] = 1
        model = fit(X, given)
        assert model.labels_[wrong] == 1
        (said,) = model.checked_.probabilities[model.checked_.points == wrong]
        assert said[1] < 0.1

    def test_labels_that_links_give_to_other_points_are_not_checked(self):
        """A label that is left out must not come back by way of a point whose class follows from it."""
        X, y = gaussians(spread=8.0)
        given = some(y, 5)
        labeled, free = np.flatnonzero(given == 0), np.flatnonzero((given < 0) & (y == 0))
        links = [(labeled[0], free[0]), (free[0], free[1]), (labeled[1], labeled[2]), (free[2], free[3])]
        model = XSDC(max_iter=0, supervised_iter=0, random_state=0).fit(X, given, must_link=links)
        unlinked = np.setdiff1d(np.flatnonzero(given >= 0), labeled[:3])
        assert sorted(model.checked_.points) == unlinked.tolist()
        assert model.checked_.probabilities.shape == (12, 3)

    def test_where_all_labels_are_linked_none_is_checked(self):
        X, y = gaussians(90, spread=8.0)
        given = some(y, 2)
        links = [np.flatnonzero(given == c) for c in range(3)]
        model = XSDC(max_iter=0, supervised_iter=0, random_state=0).fit(X, given, must_link=links)
        assert model.checked_ is None
        assert model.suspicious_labels_ is None

    def test_links_allowed_labels_and_sizes_hold(self):
        X, y = gaussians(spread=1.0)
        given = some(y, 5)
        free = np.flatnonzero(given < 0)
        must, cannot = free[:20].reshape(-1, 2), free[20:40].reshape(-1, 2)
        allowed = {int(i): [0, 1] for i in free[40:60]}
        model = XSDC(cluster_size=(0.3, 0.37), max_iter=0, supervised_iter=0, random_state=0)
        model.fit(X, given, must_link=must, cannot_link=cannot, allowed_labels=allowed)
        found = model.labels_
        assert (found[must[:, 0]] == found[must[:, 1]]).all()
        assert (found[cannot[:, 0]] != found[cannot[:, 1]]).all()
        assert set(found[free[40:60]]) <= {0, 1}
        counts = np.bincount(found)
        assert counts.min() >= 90
        assert counts.max() <= 111

    def test_order_of_the_rows_does_not_matter(self):
        X, y = gaussians(spread=3.0)
        given, order = some(y, 20), np.random.default_rng(1).permutation(300)
        first, second = fit(X, given), fit(X[order], given[order])
        assert (first.labels_[order] == second.labels_).mean() > 0.97  # folds and trees are drawn by position

    def test_saved_and_loaded(self, tmp_path):
        X, y = load_wine(return_X_y=True)
        X = StandardScaler().fit_transform(X)
        model = fit(X, np.array(["a", "b", "c"])[y])
        model.save(tmp_path / "model.xsdc")
        loaded = XSDC.load(tmp_path / "model.xsdc")
        np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), atol=1e-6)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))

    def test_weights_are_told(self):
        X, y = gaussians()
        (note,) = [c for c in fit(X, some(y, 5)).history_["choices"] if c["option"] == "classifier"]
        assert "logistic regression of inputs" in note["value"]
        assert note["why"] == "weights that make 15 left-out labels most likely"

    def test_a_class_without_labels_is_found_as_a_group(self):
        X, y = gaussians(spread=8.0)
        given = some(y, 5)
        given[given == 2] = -1
        model = fit(X, given, n_clusters=3)
        assert model.checked_ is None
        assert len(model.eigenvalues_)
        assert (model.labels_ == y)[y < 2].mean() > 0.95


class TestManyPoints:
    def test_some_points_stand_for_all(self, monkeypatch):
        X, y = gaussians(2000, spread=5.0)
        given = some(y, 200)
        all_joined = fit(X, given)
        monkeypatch.setattr(module, "MOST_JOINED", 500)
        monkeypatch.setattr(module, "MOST_LABELED", 100)
        thinned = fit(X, given)
        assert (thinned.labels_ == all_joined.labels_).mean() > 0.97
        np.testing.assert_array_equal(thinned.labels_[given >= 0], given[given >= 0])
        assert len(thinned.checked_.points) == 100
        assert (given[thinned.checked_.points] >= 0).all()

    def test_rare_classes_keep_their_labels(self, monkeypatch):
        monkeypatch.setattr(module, "MOST_LABELED", 30)
        classes = np.repeat([0, 1, 2, -1], [500, 400, 3, 200])
        used = _limited(classes, np.random.RandomState(0))
        np.testing.assert_array_equal(np.sort(np.bincount(used[used >= 0])), [3, 13, 14])
        np.testing.assert_array_equal(used[used >= 0], classes[used >= 0])


class TestModels:
    @pytest.mark.parametrize("k", [2, 4])
    def test_say_what_scikit_learn_says(self, k):
        X, y = gaussians(200, k, spread=1.0)
        linear, trees = (kind.fit(X[:100], y[:100], k, seed=3) for kind in (Linear, Trees))
        theirs = LogisticRegression(max_iter=300).fit(X[:100], y[:100])
        np.testing.assert_allclose(linear.probabilities(X[100:]), theirs.predict_proba(X[100:]), atol=1e-8)
        theirs = ExtraTreesClassifier(Trees.N_TREES, random_state=3).fit(X[:100], y[:100])
        np.testing.assert_allclose(trees.probabilities(X[100:]), theirs.predict_proba(X[100:]), atol=1e-8)

    @pytest.mark.parametrize("kind", [Linear, Trees])
    @pytest.mark.parametrize("shown", [(0, 2), (0, 1, 3)])
    def test_classes_that_were_not_shown_have_no_probability(self, kind, shown):
        X, y = gaussians(200, 4)
        among = np.isin(y, shown)
        p = kind.fit(X[among], y[among], 4, seed=0).probabilities(X)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        assert set(np.flatnonzero(p.any(axis=0))) == set(shown)
