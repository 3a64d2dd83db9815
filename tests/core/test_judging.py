from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from tests.problems import blobs, gaussian
from xsdc.core.judging import Judge, indicators, mean_margin, merit
from xsdc.core.objective import decompose, ridge_classifier

SEEDS = st.integers(0, 10**6)


def judge_of(X: torch.Tensor, *, dimension: float) -> tuple[Judge, torch.Tensor]:
    """A judge, and the cost at the same ridge."""
    spectrum = decompose(X)
    lam = spectrum.ridge_for_dimension(dimension)
    return Judge(spectrum, lam), spectrum.cost(lam).dense().to(torch.float32)


def lumped_and_cut(X: torch.Tensor, y: np.ndarray) -> np.ndarray:
    """Classes 0 and 1 as one group, class 2 as two."""
    first = X[:, 0].numpy()
    codes = np.where(y == 1, 0, y)
    codes[(y == 2) & (first > np.median(first[y == 2]))] = 1
    return codes


@pytest.mark.parametrize(("n", "D"), [(12, 3), (8, 20)])  # more points than features, fewer
def test_left_out_scores_are_those_of_classifiers_that_have_not_seen_the_point(n, D):
    X, Y, lam = gaussian(n, D), gaussian(n, 2, seed=1), 0.05
    scores = Judge(decompose(X), lam).scores(Y.numpy())
    for i in range(n):
        others = torch.arange(n) != i
        # The ridge weighs n · lam against the sum of squares, however many points are left.
        W, b = ridge_classifier(X[others], Y[others], lam * n / (n - 1))
        np.testing.assert_allclose(scores[i], X[i] @ W + b, rtol=1e-8, atol=1e-10)


def test_a_score_does_not_look_at_the_point_itself():
    X = gaussian(10, 3)
    judge = Judge(decompose(X), 0.1)
    one, two = np.zeros((10, 1)), np.zeros((10, 1))
    one[:4] = two[:4] = 1
    two[7] = 5
    assert judge.scores(two)[7] == pytest.approx(judge.scores(one)[7])
    assert judge.scores(two)[6] != pytest.approx(judge.scores(one)[6])


def test_scores_of_merged_groups_add_up():
    X, y = blobs(30, 3)
    judge = Judge(decompose(X), 0.01)
    three = judge.scores(indicators(y.numpy(), 3))
    two = judge.scores(indicators(np.where(y.numpy() == 2, 0, y.numpy()), 2))
    np.testing.assert_allclose(two[:, 0], three[:, 0] + three[:, 2], atol=1e-12)
    np.testing.assert_allclose(two[:, 1], three[:, 1], atol=1e-12)
    np.testing.assert_allclose(three.sum(1), 1, atol=1e-12)  # every point is in some group


def test_indicators_by_hand():
    assert indicators(np.array([1, 0, 1]), 3).tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 0]]


def test_merit_by_hand():
    codes = np.array([0, 0, 1, 1])
    assert merit(codes, np.eye(2)[codes]) == pytest.approx(math.log(2) + 1)
    assert merit(codes, np.tile([1.0, 0.0], (4, 1))) == pytest.approx(0)  # nothing told, margins 1 and -1
    assert merit(codes, np.eye(2)[1 - codes]) == pytest.approx(math.log(2) - 1)
    assert merit(np.zeros(4, dtype=np.int64), np.ones((4, 1))) == 0


def test_margins_are_averaged_group_by_group():
    codes = np.array([0, 0, 0, 1])
    scores = np.array([[0.9, 0.1]] * 3 + [[0.6, 0.4]])
    assert mean_margin(codes, scores) == pytest.approx((0.8 - 0.2) / 2)  # by point it would be 0.55
    assert merit(codes, scores) == pytest.approx((0.8 - 0.2) / 2)  # all are told to be in the first


def test_the_margin_is_over_the_best_of_the_others():
    codes = np.array([0, 1, 2])
    scores = np.array([[1.0, 0.7, 0.1], [0.0, 1.0, 0.4], [0.2, 0.0, 1.0]])
    assert merit(codes, scores) == pytest.approx(math.log(3) + (0.3 + 0.6 + 0.8) / 3)


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_merit_is_mutual_information_plus_mean_margin_whatever_groups_are_called(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    codes = rng.integers(k, size=int(rng.integers(1, 40)))  # some groups may be empty
    scores = rng.normal(size=(len(codes), k)) + indicators(codes, k)
    margins = [row[c] - np.delete(row, c).max() for row, c in zip(scores, codes, strict=True)]
    by_group = [np.mean([m for m, c in zip(margins, codes, strict=True) if c == g]) for g in set(codes.tolist())]
    value = merit(codes, scores)
    assert value == pytest.approx(mutual_info_score(codes, scores.argmax(1)) + np.mean(by_group), abs=1e-12)
    name = rng.permutation(k)
    assert merit(name[codes], scores[:, np.argsort(name)]) == pytest.approx(value)


def test_the_truth_has_more_merit_than_what_is_near_it():
    X, y = blobs(120, 4)
    y = y.numpy()
    judge, _ = judge_of(X, dimension=4)
    rng = np.random.default_rng(0)
    off = y.copy()
    off[rng.choice(120, 12, replace=False)] = rng.integers(4, size=12)
    best = judge.merit(y)
    for worse in (off, np.where(y == 3, 0, y), lumped_and_cut(X, y), rng.permutation(y)):
        assert judge.merit(worse) < best - 0.1
    cut = y.copy()
    cut[np.flatnonzero(y == 0)[::2]] = 4
    assert judge.merit(cut) < best - 0.1
    assert judge.merit(np.zeros(120, dtype=np.int64)) == 0


def test_the_margin_is_merit_without_what_the_predictions_tell():
    X, y = blobs(120, 4)
    judge, _ = judge_of(X, dimension=4)
    assert judge.merit(y.numpy()) - judge.margin(y.numpy()) == pytest.approx(math.log(4))  # four of like size, all told
    assert 0.8 < judge.margin(y.numpy()) < 1.1
    cut = np.where(np.arange(120) % 8 == 0, 4, y.numpy())  # half of the first group
    assert judge.margin(cut) < judge.margin(y.numpy()) - 0.2
    assert judge.margin(np.where(y.numpy() < 2, 0, 1)) > 0.5
    assert judge.margin(np.zeros(120, dtype=np.int64)) == 0


def test_the_merit_of_chance_is_near_zero():
    X = gaussian(400, 10)
    judge, _ = judge_of(X, dimension=8)
    codes = np.random.default_rng(0).integers(3, size=400)
    assert judge.merit(codes) < 0.05
