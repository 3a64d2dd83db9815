"""Groups of points that a graph and a ridge regression find easy to tell: max tr(Yᵀ S Y) over assignments Y.

S is the mean of smoothers, symmetric matrices with eigenvalues between 0 and 1. The hat matrix of the ridge regression
is one: tr(Yᵀ (I - H) Y) / n is the discriminative cost of the paper. The smoother of a neighbour graph,
``eps (L + eps)⁻¹`` with its normalised Laplacian L, is the other: the hat matrix of the graph's own kernel. S is never
formed: a product with Y costs O(n (neighbours + D) k).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans
from torch import Tensor

from xsdc.core.assignment import assign
from xsdc.core.constraints import Constraints
from xsdc.core.objective import Spectrum, decompose
from xsdc.core.propagation import Propagation

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Sizes = tuple[Floats, Floats]
MOST_STEPS = 50
POWER_STEPS = 30
STARTS = 5  # of k-means on each form of the relaxed solution


class Smoother(Protocol):
    """A symmetric matrix with eigenvalues between 0 and 1."""

    def __call__(self, Y: Floats) -> Floats:
        """Multiply it by Y, shape (n, c)."""


class RidgeSmoother:
    """Hat matrix of the ridge regression from features (n, D), with intercept, of some effective dimension."""

    def __init__(self, Phi: Tensor, dimension: float) -> None:
        spectrum: Spectrum = decompose(Phi)
        most = 0.9 * min(spectrum.n / 4, max(len(spectrum.s), 1))
        self._cost = spectrum.cost(spectrum.ridge_for_dimension(min(dimension, most)))
        self._n = spectrum.n

    def __call__(self, Y: Floats) -> Floats:
        """Multiply it by Y, shape (n, c)."""
        T = torch.from_numpy(Y)
        return np.asarray((T - self._n * (self._cost @ T)).numpy())


class GraphSmoother:
    """``leak (L + leak)⁻¹`` of a graph with normalised Laplacian L."""

    def __init__(self, propagation: Propagation) -> None:
        self._propagation = propagation
        self._root = np.sqrt(propagation.degrees)[:, None]

    def __call__(self, Y: Floats) -> Floats:
        """Multiply it by Y, shape (n, c)."""
        return self._propagation.leak * self._root * self._propagation.visits(self._root * Y)


class Mean:
    """Mean of smoothers."""

    def __init__(self, smoothers: Sequence[Smoother]) -> None:
        self._smoothers = tuple(smoothers)

    def __call__(self, Y: Floats) -> Floats:
        """Multiply it by Y, shape (n, c)."""
        return sum((S(Y) for S in self._smoothers), np.zeros_like(Y)) / len(self._smoothers)


@dataclass(frozen=True)
class Grouping:
    """A class for each point.

    Attributes
    ----------
    codes : array of int, shape (n,)
    objective : float
        tr(Yᵀ S Y) / n, at most 1.
    steps : int
        Assignments made.
    converged : bool
        Whether the last one changed nothing.
    """

    codes: Ints
    objective: float
    steps: int
    converged: bool


def solve(S: Smoother, codes: Ints, constraints: Constraints, k: int, *, sizes: Sizes | None) -> Grouping:
    """Raise the objective from a first assignment, until it cannot be raised by assigning points to ``S Y``.

    S has no negative eigenvalue, so the objective is convex and at least its linear approximation ``2 S Y``; the
    assignment that maximises this raises it, or leaves it as it is.

    Parameters
    ----------
    S : Smoother
        Of the n points.
    codes : array of int, shape (n,)
        First classes.
    constraints : Constraints
        What is known of the points; every assignment meets it.
    k : int
        Number of classes.
    sizes : pair of arrays, each of shape (k,), or None
        Least and largest number of points of each class.
    """
    prices = np.zeros(k)
    codes = assign(S(np.eye(k)[codes]), constraints, sizes=sizes, prices=prices)
    best = Grouping(codes, -np.inf, 0, False)
    for step in range(1, MOST_STEPS + 1):
        Y = np.eye(k)[codes]
        scores = S(Y)
        objective = float((Y * scores).sum()) / len(codes)
        if objective > best.objective:
            best = Grouping(codes, objective, step, False)
        found = assign(scores, constraints, sizes=sizes, prices=prices)
        if (found == codes).all():
            return Grouping(best.codes, best.objective, step, True)
        codes = found
    return best


def find_groups(
    S: Smoother, constraints: Constraints, k: int, *, sizes: Sizes | None, rng: np.random.RandomState
) -> Grouping:
    """Solve from several starts, and keep the solution of the highest objective.

    Without the assignment's constraints the best Y are the leading eigenvectors of S. Starts are found by k-means on
    them, scaled in two ways.
    """
    starts = [
        KMeans(k, n_init=1, random_state=rng.randint(2**31)).fit_predict(Z)
        for Z in relaxed(S, constraints.n, k, rng=rng)
        for _ in range(STARTS)
    ]
    named = [match_classes(start, constraints, k, sizes=sizes) for start in starts]
    return max((solve(S, start, constraints, k, sizes=sizes) for start in named), key=lambda found: found.objective)


def relaxed(S: Smoother, n: int, k: int, *, rng: np.random.RandomState) -> tuple[Floats, Floats]:
    """Leading eigenvectors of S by subspace iteration: k with rows of length one, and the next k scaled by eigenvalues.

    The first eigenvector of a connected graph tells nothing apart; the second form leaves it out.
    """
    Q = np.linalg.qr(rng.standard_normal((n, min(n, k + 1 + k // 2))))[0]
    for _ in range(POWER_STEPS):
        Q = np.linalg.qr(S(Q))[0]
    values, vectors = np.linalg.eigh(Q.T @ S(Q))
    V, values = (Q @ vectors)[:, ::-1], np.maximum(values[::-1], 0)
    first = V[:, :k] / np.maximum(np.linalg.norm(V[:, :k], axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return first, V[:, 1 : k + 1] * np.sqrt(values[1 : k + 1])


def match_classes(codes: Ints, constraints: Constraints, k: int, *, sizes: Sizes | None) -> Ints:
    """Number groups so that they agree with what is known of their points, then with the sizes of the classes."""
    allowed = constraints.allowed_classes()[:, :k]
    hits = np.zeros((k, k))
    np.add.at(hits, codes, np.where(allowed.all(1, keepdims=True), 0.0, allowed))
    if sizes is not None:
        counts = np.bincount(codes, minlength=k)[:, None]
        outside = np.maximum(sizes[0] - counts, 0) + np.maximum(counts - sizes[1], 0)
        hits = hits - outside / (1 + len(codes))
    return np.asarray(linear_sum_assignment(hits, maximize=True)[1][codes])


def with_links(W: csr_matrix, constraints: Constraints) -> csr_matrix:
    """Add what is known of pairs to a graph: edges between points that are together, negative ones between others.

    An edge weighs as much as all neighbours of a point have in the mean. Points of a group are joined in a row, and two
    groups that are apart by one edge.
    """
    order = np.argsort(constraints.group, kind="stable")
    same = constraints.group[order][1:] == constraints.group[order][:-1]
    first = np.zeros(constraints.apart.shape[0], dtype=np.int64)
    first[constraints.group[::-1]] = np.arange(constraints.n)[::-1]
    apart = constraints.apart.tocoo()
    ones, zeros = (order[1:][same], order[:-1][same]), (first[apart.row], first[apart.col])
    if not (len(ones[0]) or len(zeros[0])):
        return W
    weight = W.sum() / max(W.shape[0], 1)
    links = csr_matrix((np.full(len(ones[0]), weight), ones), shape=W.shape)
    cuts = csr_matrix((np.full(len(zeros[0]), weight), zeros), shape=W.shape)
    return (W + links + links.T - cuts).tocsr()
