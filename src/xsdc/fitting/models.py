"""Classifiers of scikit-learn as plain arrays: a file of them holds nothing that runs when it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
BLOCK = 4096


@dataclass(frozen=True)
class Linear:
    """Logistic regression.

    Attributes
    ----------
    W : array, shape (d, k)
    b : array, shape (k,)
        Minus infinity for classes that were not shown.
    """

    W: Floats
    b: Floats

    @classmethod
    def fit(cls, X: Floats, codes: Ints, k: int, *, seed: int) -> Linear:  # noqa: ARG003  it is not random
        """Fit to points (l, d) and their classes."""
        model = LogisticRegression(max_iter=300).fit(X, codes)
        W, b = np.zeros((X.shape[1], k)), np.full(k, -np.inf)
        if len(model.classes_) == 2:  # one column tells both apart
            b[model.classes_[0]] = 0
            W[:, model.classes_[1]], b[model.classes_[1]] = model.coef_[0], model.intercept_[0]
        else:
            W[:, model.classes_], b[model.classes_] = model.coef_.T, model.intercept_
        return cls(W, b)

    def probabilities(self, X: Floats) -> Floats:
        """Probability of each class, shape (m, k), of points (m, d)."""
        return np.asarray(softmax(X @ self.W + self.b, axis=1))


@dataclass(frozen=True)
class Trees:
    """Extremely randomized trees; all nodes in one list.

    Attributes
    ----------
    roots : array of int, shape (trees,)
    feature : array of int, shape (nodes,)
        Column that a node asks about, -1 for a leaf.
    threshold : array, shape (nodes,)
        Up to it a point goes to the first child.
    children : array of int, shape (nodes, 2)
    values : array, shape (nodes, k)
        Share of each class.
    """

    roots: Ints
    feature: Ints
    threshold: Floats
    children: Ints
    values: Floats

    N_TREES = 100

    @classmethod
    def fit(cls, X: Floats, codes: Ints, k: int, *, seed: int) -> Trees:
        """Fit to points (l, d) and their classes."""
        model = ExtraTreesClassifier(cls.N_TREES, random_state=seed).fit(X, codes)
        trees: list[Any] = [each.tree_ for each in model.estimators_]
        roots = np.cumsum([0, *(tree.node_count for tree in trees)])
        values = np.zeros((roots[-1], k))
        values[:, model.classes_] = np.concatenate([tree.value[:, 0, :] for tree in trees])
        children = [
            np.stack([tree.children_left, tree.children_right], axis=1) + root
            for tree, root in zip(trees, roots, strict=False)
        ]
        feature = np.concatenate([np.where(tree.children_left < 0, -1, tree.feature) for tree in trees])
        threshold = np.concatenate([tree.threshold for tree in trees])
        return cls(roots[:-1], feature.astype(np.int64), threshold, np.concatenate(children), values)

    def probabilities(self, X: Floats) -> Floats:
        """Probability of each class, shape (m, k), of points (m, d)."""
        single = X.astype(np.float32)  # as scikit-learn compares them
        blocks = range(0, max(len(X), 1), BLOCK)
        return np.concatenate([self.values[self._leaves(single[i : i + BLOCK])].mean(axis=1) for i in blocks])

    def _leaves(self, X: npt.NDArray[np.float32]) -> Ints:
        """Leaf that each point reaches in each tree, shape (m, trees)."""
        node = np.tile(self.roots, (len(X), 1))
        rows = np.broadcast_to(np.arange(len(X))[:, None], node.shape)
        inner = self.feature[node] >= 0
        while inner.any():
            here = node[inner]
            beyond = X[rows[inner], self.feature[here]] > self.threshold[here]
            node[inner] = self.children[here, beyond.astype(np.int64)]
            inner = self.feature[node] >= 0
        return node
