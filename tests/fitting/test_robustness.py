"""One absurd value, in one cell or in a whole row, must not decide what becomes of all other rows."""

from __future__ import annotations

import warnings
from functools import lru_cache

import numpy as np
import pytest
import torch
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from xsdc import XSDC
from xsdc.core.agreement import agreement
from xsdc.networks import build_network

UNTRAINED = {"max_iter": 0, "supervised_iter": 0}
N = 178
ABSURD = 60  # the row that is made absurd


@lru_cache
def wine() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, classes, and five labels of each class."""
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(N)
    given = np.full(N, -1)
    for c in range(3):
        given[order[y[order] == c][:5]] = c
    return StandardScaler().fit_transform(X), y, given


def spoiled(X: np.ndarray, kind: str, value: float) -> np.ndarray:
    X = X.copy()
    X[ABSURD, 0 if kind == "cell" else slice(None)] = value
    return X


def accuracies(X: np.ndarray, *, labeled: bool, **options: int) -> tuple[float, float]:
    """Accuracy of the labels, and of predictions for the rows as they were."""
    clean, y, given = wine()
    model = XSDC(3, random_state=0, **options).fit(X, given if labeled else None)
    return agreement(model.labels_, y).accuracy, agreement(model.predict(clean), y).accuracy


@lru_cache
def clean_accuracies(labeled: bool, **options: int) -> tuple[float, float]:
    return accuracies(wine()[0], labeled=labeled, **options)


@pytest.mark.parametrize(
    ("kind", "value", "labeled", "steps"),
    [
        ("cell", 1e2, False, 0),
        ("cell", 1e9, False, 0),
        ("row", -9999.0, False, 5),
        ("cell", -1e5, False, 5),
        ("cell", 1e9, True, 5),
        ("row", -9999.0, True, 5),
    ],
)
def test_accuracy_stays_within_a_point(kind, value, labeled, steps):
    options = {"max_iter": steps, "supervised_iter": 0}
    found = accuracies(spoiled(wine()[0], kind, value), labeled=labeled, **options)
    assert np.all(np.array(found) >= np.array(clean_accuracies(labeled, **options)) - 0.01)


@lru_cache
def fitted() -> XSDC:
    X, _, given = wine()
    return XSDC(random_state=0, **UNTRAINED).fit(spoiled(X, "row", -9999.0), given)


@pytest.mark.parametrize("value", [1e2, 1e9, -1e38, 1e155, 1e300])
def test_absurd_new_rows_have_probabilities(value):
    X, y, _ = wine()
    new = np.concatenate([spoiled(X, kind, value)[[ABSURD]] for kind in ("cell", "row")])
    p = fitted().predict_proba(new)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert fitted().score(np.concatenate([X, new]), np.concatenate([y, [0, 0]])) > 0.9
    np.testing.assert_allclose(fitted().predict_proba(np.concatenate([X, new]))[:N], fitted().predict_proba(X))
    assert np.isfinite(fitted().transform(new)).all()


def test_outliers_are_told_and_no_others():
    X, _, given = wine()
    told = {choice["option"]: choice for choice in fitted().history_["choices"]}
    assert told["outliers"]["value"] == 1
    assert f"rows {ABSURD}" in told["outliers"]["why"]
    model = XSDC(random_state=0, **UNTRAINED).fit(X, given)
    assert "outliers" not in {choice["option"] for choice in model.history_["choices"]}


def test_a_file_keeps_the_limits(tmp_path):
    fitted().save(tmp_path / "model.xsdc")
    again = XSDC.load(tmp_path / "model.xsdc")
    new = spoiled(wine()[0], "cell", 1e9)
    np.testing.assert_array_equal(again.predict_proba(new), fitted().predict_proba(new))


def test_limits_follow_a_stream():
    rng = np.random.default_rng(0)
    model = XSDC(2, random_state=0, **UNTRAINED).partial_fit(rng.normal(size=(120, 3)))
    before = model.network_.limits.radius
    model.partial_fit(rng.normal(size=(60, 3)) + 50)
    assert model.network_.limits.radius > 5 * before


def test_absurd_pixels_do_not_decide_the_scale_of_images():
    rng = np.random.default_rng(0)
    images = rng.random((60, 6, 6)).astype(np.float32)
    images[:30, :, :3] += 1
    images[30:, :, 3:] += 1
    images[4, 2, 2] = 1e9
    labels = XSDC(2, random_state=0, **UNTRAINED).fit_predict(images)
    assert agreement(labels, np.repeat([0, 1], 30)).accuracy > 0.95


class TestOrder:
    """Rows may be sorted by class."""

    def test_bandwidth_and_classes_are_those_of_shuffled_rows(self):
        rng = np.random.default_rng(0)
        X = np.concatenate([0.1 * rng.normal(size=(1100, 4)), 3 + rng.normal(size=(1100, 4))])
        shuffled = X[rng.permutation(len(X))]
        bandwidths = [
            build_network("kn", Z, generator=torch.Generator().manual_seed(0)).layers[0].kernel.bandwidth
            for Z in (X, shuffled)
        ]
        assert bandwidths[0] == pytest.approx(bandwidths[1], rel=0.1)

    def test_the_first_thousand_rows_may_be_equal(self):
        rng = np.random.default_rng(0)
        X = np.concatenate([np.zeros((1001, 2)), 5 + rng.normal(size=(500, 2))])
        labels = XSDC(2, random_state=0, **UNTRAINED).fit_predict(X)
        assert agreement(labels, np.arange(len(X)) > 1000).accuracy > 0.99


class TestSpreads:
    def fit(self, X, **options):
        return XSDC(2, random_state=0, **UNTRAINED, **options).fit(X)

    def test_columns_of_other_units_are_warned_of_by_name(self):
        data = load_wine(as_frame=True)
        with pytest.warns(UserWarning, match=r"2,\d\d\d-fold.*'proline' 943.*'nonflavanoid_phenols' 0\.41") as caught:
            self.fit(data.data)
        assert "StandardScaler" in str(caught[0].message)
        assert caught[0].filename == __file__

    def test_positions_name_columns_of_arrays(self):
        X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 1, 2000]
        with pytest.warns(UserWarning, match="column 2 .* against column"):
            self.fit(X)

    @pytest.mark.parametrize("what", ["hundredfold", "absurd cell", "rare words", "null direction", "constant"])
    def test_others_are_not(self, what):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 3))
        if what == "hundredfold":
            X[:, 1] *= 200
        elif what == "absurd cell":
            X[7, 1] = 1e9
        elif what == "rare words":
            X[:, 1] = np.where(np.arange(60) < 2, 1e-5, 0.0)
        elif what == "null direction":
            X[:, 1] *= 1e-14
        else:
            X[:, 1] = 3.0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.fit(X)
