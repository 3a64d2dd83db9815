"""How good is a grouping, when nobody knows the truth? As good as a classifier can tell the group of a point left out.

The merit of a grouping has two parts. The first is the mutual information between the groups and their left-out
predictions, in nats: high for groups that are many, of like size and predictable. The second is the mean margin, group
by group, by which a point's own group wins: low where a group was cut through its middle, whatever its size. The
first alone favours equal sizes, the second alone favours cutting off a few odd points.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xsdc.core.objective import Spectrum

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Judge:
    """Scores points by ridge classifiers that leave them out, and groupings by those scores.

    Parameters
    ----------
    spectrum : Spectrum
        Decomposed features of n points.
    lam : float
        Ridge of the classifier.
    """

    def __init__(self, spectrum: Spectrum, lam: float) -> None:
        d = spectrum.s**2 + spectrum.n * lam
        self.P = spectrum.P.cpu().numpy()
        self.smoother = (spectrum.P / d).cpu().numpy()
        self.leverage = 1 / spectrum.n + (self.P * self.smoother).sum(1, keepdims=True)

    def scores(self, Y: Floats) -> Floats:
        """Left-out scores for the columns of ``Y (n, m)``; linear in Y, so that those of merged groups add up."""
        fitted = Y.mean(0) + self.smoother @ (self.P.T @ Y)
        left_out: Floats = (fitted - self.leverage * Y) / np.maximum(1 - self.leverage, 1e-12)
        return left_out

    def margin(self, codes: Ints) -> float:
        """Mean margin of a grouping, about 1 at best: the part of its merit that sizes have no say in."""
        k = int(codes.max()) + 1
        return mean_margin(codes, self.scores(indicators(codes, k))) if k > 1 else 0.0

    def merit(self, codes: Ints) -> float:
        """Merit of a grouping into groups 0, 1, ...; up to log k + 1 for k groups, or thereabouts."""
        return merit(codes, self.scores(indicators(codes, int(codes.max()) + 1)))


def make_judge(spectrum: Spectrum, n_clusters: int) -> Judge:
    """Make a judge of groupings into some number of classes."""
    return Judge(spectrum, spectrum.ridge_for_classes(n_clusters))


def merit(codes: Ints, scores: Floats) -> float:
    """Mutual information of groups with their predictions, plus the mean margin of the groups.

    Parameters
    ----------
    codes : array of int, shape (n,)
        Groups.
    scores : array, shape (n, k)
        Left-out score of each point for each group.
    """
    if scores.shape[1] < 2:
        return 0.0
    return _mutual_information(codes, scores.argmax(1), scores.shape[1]) + mean_margin(codes, scores)


def clarity(merit: float, codes: Ints) -> float:
    """Merit of a grouping as a share of what groups of such sizes have at best, about 1 for groups far apart.

    Groups smaller than about a twentieth do not come near that however far apart they are: no classifier dares to name
    them.
    """
    return merit / (1 + _entropy(np.bincount(codes) / len(codes)))


def mean_margin(codes: Ints, scores: Floats) -> float:
    """Mean over the groups of the mean margin by which a point's own group wins."""
    rows = np.arange(len(codes))
    own = scores[rows, codes]
    others = scores.copy()
    others[rows, codes] = -np.inf
    sizes = np.bincount(codes, minlength=scores.shape[1])
    totals = np.bincount(codes, own - others.max(1), minlength=scores.shape[1])
    return float((totals[sizes > 0] / sizes[sizes > 0]).mean())


def _mutual_information(codes: Ints, predicted: Ints, k: int) -> float:
    """Mutual information of two groupings in nats; scikit-learn's checks would take ten times as long."""
    table = np.bincount(codes * k + predicted, minlength=k * k).reshape(k, k) / len(codes)
    return _entropy(table.sum(0)) + _entropy(table.sum(1)) - _entropy(table.ravel())


def _entropy(shares: Floats) -> float:
    positive = shares[shares > 0]
    return float(-(positive * np.log(positive)).sum())


def indicators(codes: Ints, k: int) -> Floats:
    """Columns of zeros and ones, one per group."""
    Y: Floats = (codes[:, None] == np.arange(k)).astype(np.float64)
    return Y
