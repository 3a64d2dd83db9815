"""Opinions pooled, and their weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from xsdc.core.pool import fit_weights, pool
from xsdc.defaults import DEFAULTS


def opinions(n=300, k=3, *, noise, seed=0):
    """Log-probabilities of an observer of noisy scores, and the classes."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(k, size=n)
    return [log_softmax(np.eye(k)[classes] * 2 + level * rng.normal(size=(n, k)), axis=1) for level in noise], classes


def test_pool_by_hand():
    first, second = np.log([[0.5, 0.5]]), np.log([[0.9, 0.1]])
    np.testing.assert_allclose(np.exp(pool([first, second], np.array([3.0, 1.0]))), [[0.9, 0.1]])
    np.testing.assert_allclose(np.exp(pool([first, second], np.array([0.0, 2.0]))), [[81 / 82, 1 / 82]])


def test_without_labels_weights_are_those_before():
    np.testing.assert_array_equal(fit_weights([np.zeros((0, 2))] * 4, np.zeros(0, int), prior=np.full(4, 0.5)), 0.5)


def test_weights_are_those_of_a_plain_minimisation():
    said, classes = opinions(noise=(1.0, 2.0, 4.0))

    def loss(w):
        log_p = log_softmax(sum(a * b for a, b in zip(w, said, strict=True)), axis=1)
        return (((w - 0.5) / DEFAULTS.deviation) ** 2).sum() / 2 - log_p[np.arange(len(classes)), classes].sum()

    plain = minimize(loss, np.full(3, 0.5), bounds=[(0, None)] * 3).x
    np.testing.assert_allclose(fit_weights(said, classes, prior=np.full(len(said), 1.5 / len(said))), plain, atol=1e-3)


def test_better_opinions_count_more_and_worthless_ones_nothing():
    said, classes = opinions(noise=(1.0, 3.0))
    worthless = np.roll(said[0], 1, axis=0)
    weights = fit_weights([*said, worthless], classes, prior=np.full(len(said) + 1, 1 / (len(said) + 1)))
    assert weights[0] > 2 * weights[1]
    assert weights[2] < 0.05
    assert (weights >= 0).all()


def test_what_comes_out_is_calibrated():
    """Opinions that are far too sure, and others that are far too vague."""
    said, classes = opinions(3000, noise=(1.5, 1.5))
    said = [log_softmax(10 * said[0], axis=1), log_softmax(0.1 * said[1], axis=1)]
    p = np.exp(pool(said, fit_weights(said, classes, prior=np.full(len(said), 1 / len(said)))))
    sure = p.max(axis=1)
    for low, high in ((0.4, 0.6), (0.6, 0.8), (0.8, 0.95), (0.95, 1)):
        here = (sure >= low) & (sure < high)
        assert (p.argmax(axis=1) == classes)[here].mean() == pytest.approx(sure[here].mean(), abs=0.06)
