"""How good labels are: against the truth, whatever groups are called, and against labels with names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from scipy.stats import binomtest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from torch import Tensor

from xsdc import validation
from xsdc.errors import InvalidInputError

CONFIDENCE = 0.95  # of intervals: the usual level


@dataclass(frozen=True)
class Agreement:
    """How well a grouping agrees with the truth, whatever the groups are called.

    Attributes
    ----------
    accuracy : float
        Share of points that agree under the best one-to-one naming of the groups.
    nmi : float
        Normalised mutual information.
    ari : float
        Rand index adjusted for chance.
    """

    accuracy: float
    nmi: float
    ari: float


def align(labels: object, truth: object) -> npt.NDArray[Any]:
    """Rename clusters to the classes they agree with most, one to one (Hungarian method).

    Clusters beyond the number of classes keep no class and are named -1.

    Parameters
    ----------
    labels : array, shape (n,)
        Clusters.
    truth : array of int, shape (n,)
        Classes.

    Returns
    -------
    array of int, shape (n,)
    """
    found, true = _as_two(labels, truth)
    clusters, cluster = np.unique(found, return_inverse=True)
    classes = np.unique(true)
    if classes.dtype.kind not in "iub":
        raise InvalidInputError(f"truth must hold classes as integers; it holds {true.dtype}.")
    rows, columns = linear_sum_assignment(contingency_matrix(found, true), maximize=True)
    name = np.full(len(clusters), -1, dtype=np.int64)
    name[rows] = classes[columns]
    return name[cluster]


def agreement(labels: object, truth: object) -> Agreement:
    """Measure how well a grouping agrees with the truth: accuracy after alignment, NMI and ARI."""
    found, true = _as_two(labels, truth)
    table = contingency_matrix(found, true)
    matched = table[linear_sum_assignment(table, maximize=True)].sum()
    return Agreement(
        accuracy=float(matched / len(true)),
        nmi=float(normalized_mutual_info_score(true, found)),
        ari=float(adjusted_rand_score(true, found)),
    )


def share_right(predicted: npt.NDArray[Any], y: object, *, named: bool, sample_weight: object = None) -> float:
    """Share of known labels that are predicted: the score of an estimator.

    Parameters
    ----------
    predicted : array, shape (n,)
        Classes or clusters.
    y : array-like, shape (n,)
        Labels; rows where they are unknown do not count.
    named : bool
        Whether groups have the names of classes; if not, they are matched to the classes one to one first.
    sample_weight : array-like, shape (n,), optional
        How much a row counts.
    """
    truth = validation.as_labels(y, n=len(predicted))
    known = ~validation.is_unknown(truth)
    if not known.any():
        raise InvalidInputError("There is no labeled row to score. Give the label of one row at least.")
    truth, predicted = truth[known], predicted[known]
    if not named:
        if sample_weight is not None:
            raise InvalidInputError("sample_weight is not supported where clusters are matched to classes.")
        return agreement(predicted, np.unique(truth, return_inverse=True)[1]).accuracy
    weight = None if sample_weight is None else np.asarray(sample_weight)[known]
    label, found = truth[:1].tolist()[0], predicted[:1].tolist()[0]
    if isinstance(label, str) != isinstance(found, str):
        raise InvalidInputError(
            f"y and the classes of the model must be of one kind; y holds {label!r}, the model says {found!r}."
        )
    right = predicted.astype(object) == truth.astype(object)  # a common type might cut words or wrap numbers
    return float(np.average(right, weights=weight))


def wilson_interval(right: int, n: int) -> tuple[float, float]:
    """Interval for a share of which n independent points are a sample (Wilson, 1927), at the level `CONFIDENCE`.

    Unlike the normal approximation it stays within 0 and 1 and has a length where all or none are right.

    Parameters
    ----------
    right, n : int
        How many of the points are right, of how many; one point at least.
    """
    interval = binomtest(right, n).proportion_ci(CONFIDENCE, method="wilson")
    return float(interval.low), float(interval.high)


def _as_two(labels: object, truth: object) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    found, true = (x.detach().cpu().numpy() if isinstance(x, Tensor) else np.asarray(x) for x in (labels, truth))
    if found.ndim != 1 or found.shape != true.shape:
        raise InvalidInputError(
            f"labels and truth must be flat and of one length; they have shapes {found.shape} and {true.shape}."
        )
    if not len(found):
        raise InvalidInputError("labels and truth must hold at least one point; they are empty.")
    return found, true
