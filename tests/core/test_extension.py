from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from tests.problems import blobs, gaussian
from xsdc.core.balancing import balance
from xsdc.core.extension import Extension
from xsdc.core.objective import decompose
from xsdc.core.rounding import spectral_embedding
from xsdc.fitting.others import choose_rule

LAM = 0.01


def extended(X: torch.Tensor, k: int, *, operator: bool = False) -> Extension:
    spectrum = decompose(X)
    A = spectrum.cost(LAM)
    n = len(X)
    balanced = balance(A if operator else A.dense(), size=(n / (2 * k), 2 * n / k))
    return Extension.of(spectrum, LAM, balanced, k, random_state=0)


@pytest.mark.parametrize("D", [5, 300])  # with and without a constant part of the cost
def test_points_of_the_matrix_come_to_lie_where_they_are(D):
    X, _ = blobs(250, 3, D=D, spread=2.0)
    extension = extended(X, 3)
    torch.testing.assert_close(extension.embed(X), extension.own, atol=0.12, rtol=0)


def test_own_places_are_those_of_spectral_clustering():
    X, _ = blobs(200, 3, spread=2.0)
    A = decompose(X).cost(LAM).dense()
    values, Z = spectral_embedding(balance(A, size=(200 / 6, 400 / 3)).M, 3, random_state=0)
    extension = extended(X, 3)
    torch.testing.assert_close(extension.eigenvalues, values)
    torch.testing.assert_close(extension.own.abs(), Z.abs())


def test_an_operator_and_a_dense_matrix_place_others_alike():
    X, _ = blobs(900, 3, spread=2.0)
    inside, outside = X[:600], X[600:]
    dense, lazy = (extended(inside, 3, operator=way).embed(outside) for way in (False, True))
    torch.testing.assert_close(dense @ dense.T, lazy @ lazy.T, atol=0.02, rtol=0)  # up to a rotation


def test_others_are_told_apart_better_than_by_the_nearest_point():
    X, y = blobs(3000, 4, D=40, spread=1.0)
    inside, outside = slice(0, 400), slice(400, None)
    codes = y[inside].numpy()
    rule = choose_rule(X[inside], codes, 4, extension=extended(X[inside], 4))
    found = rule.scores(X[outside]).argmax(1)
    nearest = codes[torch.cdist(X[outside], X[inside]).argmin(1).numpy()]
    truth = y[outside].numpy()
    assert (found == truth).mean() > (nearest == truth).mean() + 0.02


def test_points_are_left_out_of_their_own_centre():
    X = gaussian(60, 8)
    codes = np.arange(60) % 20  # three points each, by chance
    Z = extended(X, 4)
    rule = choose_rule(X, codes, 20, extension=Z)
    told = dict(re.findall(r"(nearest centre among eigenvectors|ridge classifier) ([\d.]+)", rule.why))
    own = Z.embed(X).numpy()
    right = 0
    for i in range(60):
        rest = np.arange(60) != i
        centres = np.stack([own[rest & (codes == c)].mean(0) for c in range(20)])
        right += np.linalg.norm(centres - own[i], axis=1).argmin() == codes[i]
    assert float(told["nearest centre among eigenvectors"]) == pytest.approx(right / 60, abs=1e-3)


def test_the_rule_follows_classes_that_no_eigenvector_shows():
    X, y = blobs(600, 2, spread=3.0)
    codes = (X[:, 0] > X[:, 0].median()).long().numpy() + 2 * y.numpy()  # each group cut in two by a line
    rule = choose_rule(X, codes, 5, extension=extended(X, 2))
    scores = rule.scores(X)
    assert rule.name == "ridge classifier"
    assert (scores.argmax(1) == codes).mean() > 0.8
    assert np.isneginf(scores[:, 4]).all()  # a class that no point shows
