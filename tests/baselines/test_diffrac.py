from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge

from tests.baselines.cases import NAMES, few, groups
from xsdc.baselines import DIFFRAC
from xsdc.core.objective import cost_matrix
from xsdc.errors import ContradictionError, InfeasibleError, InvalidInputError


def scaled(X: np.ndarray) -> np.ndarray:
    centred = X - X.mean(0)
    return centred / np.linalg.norm(centred, axis=1).mean()


class TestGroupings:
    def test_the_grouping_is_the_best_of_all(self):
        X, _ = groups(10, 2, spread=2.0)
        A = cost_matrix(torch.from_numpy(scaled(X)), 0.1).numpy()
        every = (np.array(bits) for bits in product([0, 1], repeat=10))
        best = min((y for y in every if y.sum() == 5), key=lambda y: A[y[:, None] == y].sum())
        model = DIFFRAC(2, ridge=0.1, cluster_size="equal", random_state=0).fit(X)
        assert model.score(X, best) == 1
        assert model.objective_ == pytest.approx(A[best[:, None] == best].sum())

    def test_a_direction_that_separates_is_found_among_larger_ones(self):
        """The groups differ in a small direction; k-means would follow the large one."""
        rng = np.random.RandomState(0)
        y = np.arange(100) % 2
        X = np.stack([rng.uniform(-10, 10, 100), y + 0.05 * rng.normal(size=100)], 1)
        assert DIFFRAC(2, ridge=1e-6, cluster_size="equal", random_state=0).fit(X).score(X, y) == 1

    def test_some_labels_of_digits(self):
        X, y = load_digits(return_X_y=True)
        X, y = X[:600], y[:600]
        given = few(y, 5)
        model = DIFFRAC(random_state=0).fit(X, given)
        assert (model.labels_ == y)[given < 0].mean() > 0.85
        assert model.choices_[-1]["option"] == "ridge of the classifier"

    def test_does_not_depend_on_units(self):
        X, y = groups(spread=1.0)
        one, other = (DIFFRAC(ridge=0.01, random_state=0).fit(Z, few(y)) for Z in (X, 1000 * X + 5))
        assert (one.labels_ == other.labels_).all()
        np.testing.assert_allclose(other.coef_, one.coef_ / 1000, rtol=1e-6)

    def test_open_number(self):
        X, _ = groups(120, 4, spread=6.0)
        assert DIFFRAC(cluster_size=(0.1, 0.4), random_state=0).fit(X).n_clusters_ == 4


class TestClassifier:
    def test_agrees_with_scikit_learns_ridge(self):
        X, y = groups(spread=1.0)
        model = DIFFRAC(ridge=0.05, random_state=0).fit(X, few(y))
        Y = (model.labels_[:, None] == model.classes_).astype(float)
        theirs = Ridge(alpha=0.05 * len(X)).fit(scaled(X), Y)
        np.testing.assert_allclose(X @ model.coef_.T + model.intercept_, theirs.predict(scaled(X)), atol=1e-8)
        error = ((theirs.predict(scaled(X)) - Y) ** 2).sum() / len(X) + 0.05 * (theirs.coef_**2).sum()
        assert model.objective_ == pytest.approx(error)
        assert (model.predict(X) == model.classes_[theirs.predict(scaled(X)).argmax(1)]).all()


class TestKnowledge:
    def test_links_are_met(self):
        X, _ = groups(60, 2, spread=1.0)
        same = [(i, i + 2) for i in range(20)]
        apart = [(i, i + 1) for i in range(0, 20, 2)]
        model = DIFFRAC(2, random_state=0).fit(X, must_link=same, cannot_link=apart)
        assert all(model.labels_[i] == model.labels_[j] for i, j in same)
        assert all(model.labels_[i] != model.labels_[j] for i, j in apart)
        assert model.n_violated_links_ == 0

    def test_links_against_the_features(self):
        X, y = groups(60, 2)
        pairs = [(0, 1), (4, 7)]
        assert all(y[i] != y[j] for i, j in pairs)
        labels = DIFFRAC(2, random_state=0).fit(X, must_link=pairs).labels_
        assert all(labels[i] == labels[j] for i, j in pairs)

    def test_allowed_labels_restrict_and_name(self):
        X, y = groups(spread=1.0)
        allowed = {i: NAMES[[y[i], (y[i] + 1) % 3]].tolist() for i in range(40)}
        model = DIFFRAC(random_state=0).fit(X, allowed_labels=allowed)
        assert list(model.classes_) == list(NAMES)
        assert all(model.labels_[i] in some for i, some in allowed.items())

    def test_impossible_cannot_links_warn(self):
        X, _ = groups(12, 2)
        with pytest.warns(UserWarning, match="1 cannot-links could not be met with 2 classes"):
            model = DIFFRAC(2, random_state=0).fit(X, cannot_link=[(0, 1), (1, 2), (0, 2)])
        assert model.n_violated_links_ == 1

    def test_contradictions_name_the_chain(self):
        X, _ = groups()
        with pytest.raises(ContradictionError, match="3=8, 8=12, but 3≠12"):
            DIFFRAC(3).fit(X, must_link=[(3, 8), (8, 12)], cannot_link=[(3, 12)])


class TestSizes:
    def test_equal_sizes_are_kept(self):
        X, _ = groups(91)
        assert set(np.bincount(DIFFRAC(3, cluster_size="equal", random_state=0).fit_predict(X))) == {30, 31}

    def test_bounds_are_kept(self):
        X, y = groups(90)
        uneven = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y > 0)[:20]])
        sizes = np.bincount(DIFFRAC(3, cluster_size=(0.25, 0.4), random_state=0).fit_predict(X[uneven]))
        assert sizes.min() >= 12
        assert sizes.max() <= 20

    def test_uneven_groups_are_found(self):
        X, y = groups(600, spread=6.0)
        keep = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:60], np.flatnonzero(y == 2)[:20]])
        assert DIFFRAC(3, random_state=0).fit(X[keep]).score(X[keep], y[keep]) > 0.95

    @pytest.mark.parametrize(
        ("cluster_size", "error", "message"),
        [
            ((0.4, 0.9), InfeasibleError, "allow 3 clusters.*Lower the minimum to 0.333"),
            ((0.0, 0.1), InfeasibleError, r"Raise the maximum to 0\.333"),
            ([(0.0, 0.01), (0.0, 1.0), (0.0, 1.0)], InfeasibleError, "2 points are labeled 0"),
            ((0.5, 0.2), InvalidInputError, "0 <= minimum <= maximum"),
            ("even", InvalidInputError, '"auto", "equal", a pair'),
        ],
    )
    def test_impossible_sizes(self, cluster_size, error, message):
        X, y = groups()
        with pytest.raises(error, match=message):
            DIFFRAC(cluster_size=cluster_size).fit(X, few(y))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ridge": 0}, "ridge.* above zero"),
        ({"ridge": "big"}, "ridge"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InvalidInputError, match=message):
        DIFFRAC(3, **options).fit(groups()[0])


def test_points_all_alike():
    with pytest.raises(InvalidInputError, match="all 20 are equal"):
        DIFFRAC(2).fit(np.full((20, 3), 0.1))
