"""How an answer is scored against the true classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.suite.regimes import Problem
from benchmarks.suite.sets import Array
from xsdc.core.agreement import agreement

LEAST = 1e-6  # probability that a class with less is taken to have, so that log loss stays finite
BINS = 15


@dataclass(frozen=True)
class Answer:
    """What a method says.

    Attributes
    ----------
    train, test : array of int
        Classes of the training and of the test points; names of clusters where no label is known.
    probabilities : array, shape (n_test, k), or None
        Of classes 0 ... k-1 for the test points.
    """

    train: Array
    test: Array
    probabilities: Array | None = None


def score(problem: Problem, answer: Answer) -> dict[str, float]:
    """Accuracy on test points and on unlabeled training points, and what else is asked.

    Without labels, clusters are matched to classes one to one, on test and on training points separately.
    """
    if not problem.given.has_labels:
        test, train = agreement(answer.test, problem.truth_test), agreement(answer.train, problem.truth)
        return {
            "accuracy": test.accuracy,
            "train_accuracy": train.accuracy,
            "nmi": test.nmi,
            "ari": test.ari,
        }
    unlabeled = problem.given.y < 0
    scores = {
        "accuracy": float((answer.test == problem.truth_test).mean()),
        "train_accuracy": float((answer.train == problem.truth)[unlabeled].mean()),
    }
    if answer.probabilities is not None:
        scores["log_loss"] = log_loss(answer.probabilities, problem.truth_test)
        scores["calibration_error"] = calibration_error(answer.probabilities, problem.truth_test)
    return scores


def log_loss(probabilities: Array, truth: Array) -> float:
    """Mean negative log probability of the true class, which counts as a millionth where it is less."""
    return float(-np.log(np.maximum(probabilities[np.arange(len(truth)), truth], LEAST)).mean())


def calibration_error(probabilities: Array, truth: Array) -> float:
    """Mean gap between confidence and accuracy, over points in 15 bins of equal width by confidence."""
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, confidence - right, BINS)
    return float(np.abs(gaps).sum() / len(truth))
