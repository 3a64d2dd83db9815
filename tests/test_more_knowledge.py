"""What is right and known in addition does not make labels less accurate, beyond chance."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from xsdc import XSDC
from xsdc.core.agreement import agreement

NOISE = 0.03
SETS = {"digits": load_digits, "iris": load_iris, "wine": load_wine}


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = SETS[name](return_X_y=True)
    return (X[:800] / 16, y[:800]) if name == "digits" else (StandardScaler().fit_transform(X), y)


def accuracy(X: np.ndarray, truth: np.ndarray, k: int, **facts: object) -> float:
    """Accuracy of labels, clusters matched to classes: the mean of three seeds."""
    fits = [XSDC(k, max_iter=0, supervised_iter=0, random_state=seed).fit(X, **facts) for seed in range(3)]
    return float(np.mean([agreement(truth, model.labels_).accuracy for model in fits]))


@pytest.mark.parametrize("name", SETS)
class TestNeverWorse:
    def test_labels(self, name):
        X, y = data(name)
        k = len(np.unique(y))
        order = np.random.default_rng(0).permutation(len(y))
        found = [accuracy(X, y, k)]
        for per_class in (1, 5, 20):
            given = np.full(len(y), -1)
            for c in range(k):
                given[order[y[order] == c][:per_class]] = c
            found.append(accuracy(X, y, k, y=given))
        assert (np.diff(found) > -NOISE).all(), found

    def test_pairs(self, name):
        X, y = data(name)
        k = len(np.unique(y))
        pairs = np.random.default_rng(0).integers(len(y), size=(300, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        same = y[pairs[:, 0]] == y[pairs[:, 1]]
        found = [
            accuracy(X, y, k),
            accuracy(X, y, k, must_link=pairs[same][:10], cannot_link=pairs[~same][:90]),
            accuracy(X, y, k, must_link=pairs[same], cannot_link=pairs[~same]),
        ]
        assert (np.diff(found) > -NOISE).all(), found
