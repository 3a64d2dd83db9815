"""Groups of points that a graph and a ridge regression find easy to tell: max tr(Yᵀ S Y) over assignments Y.

S is the mean of smoothers, symmetric matrices with eigenvalues between 0 and 1. The hat matrix of the ridge regression
is one: tr(Yᵀ (I - H) Y) / n is the discriminative cost of the paper. The smoother of a neighbour graph,
``eps (L + eps)⁻¹`` with its normalised Laplacian L, is the other: the hat matrix of the graph's own kernel. For more
than a few thousand points S is never formed: a product with Y costs O(n (neighbours + D) k).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans
from torch import Tensor

from xsdc.core.assignment import assign
from xsdc.core.constraints import Constraints
from xsdc.core.objective import decompose
from xsdc.core.propagation import Propagation
from xsdc.defaults import DEFAULTS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Sizes = tuple[Floats, Floats]
MOST_STEPS = 50
TOLERANCE = 1e-3  # of products with a graph's smoother
MOST_FORMED = 3000  # points up to which a smoother is formed: 72 MB
POWER_STEPS = 30
SETTLED = 1e-3  # share of the points; where fewer change class, a solution is taken as found


class Smoother(Protocol):
    """A symmetric matrix with eigenvalues between 0 and 1."""

    def __call__(self, Y: Floats) -> Floats:
        """Multiply it by Y, shape (n, c)."""


class RidgeSmoother:
    """Hat matrix of the ridge regression from features (n, D), with intercept.

    Parameters
    ----------
    Phi : Tensor, shape (n, D)
        Features.
    k : int
        Number of classes, by which the ridge is chosen.
    lam : float or "auto"
        Ridge, where it is not to be chosen.
    """

    def __init__(self, Phi: Tensor, k: int, *, lam: float | Literal["auto"] = "auto") -> None:
        spectrum = decompose(Phi.to(torch.float64))
        lam = spectrum.ridge_for_classes(k) if isinstance(lam, str) else lam
        self._cost, self._n = spectrum.cost(lam), spectrum.n

    def __call__(self, Y: Floats) -> Floats:
        """Multiply it by Y, shape (n, c)."""
        T = torch.from_numpy(Y)
        return np.asarray((T - self._n * (self._cost @ T)).numpy())


class GraphSmoother:
    """``leak (L + leak)⁻¹`` of a graph with normalised Laplacian L.

    For few points it is formed, which pays after some twenty products; for many a product is computed by conjugate
    gradients.

    Parameters
    ----------
    W : sparse matrix, shape (n, n)
        Weights of the graph.
    leak : float
        A walk on the graph goes on for ``1 / leak`` steps on average.
    """

    def __init__(self, W: csr_matrix, *, leak: float) -> None:
        self._propagation = propagation = Propagation(W, leak=leak, tolerance=TOLERANCE)
        self._root = np.sqrt(propagation.degrees)[:, None]
        self.formed: Tensor | None = None
        if W.shape[0] <= MOST_FORMED:
            shifted = torch.from_numpy((1 + leak) * np.eye(W.shape[0]) - propagation.normalized.toarray())
            self.formed = leak * torch.cholesky_inverse(torch.linalg.cholesky(shifted))

    def __call__(self, Y: Floats) -> Floats:
        """Multiply it by Y, shape (n, c)."""
        if self.formed is not None:
            return np.asarray((self.formed @ torch.from_numpy(Y)).numpy())
        return self._propagation.leak * self._root * self._propagation.visits(self._root * Y)


class Mean:
    """Mean of smoothers; those that are formed are added once."""

    def __init__(self, smoothers: Sequence[Smoother]) -> None:
        formed = [S.formed for S in smoothers if isinstance(S, GraphSmoother) and S.formed is not None]
        self._formed = sum(formed[1:], formed[0]) if formed else None
        self._others = tuple(S for S in smoothers if not (isinstance(S, GraphSmoother) and S.formed is not None))
        self._count = len(smoothers)

    def __call__(self, Y: Floats) -> Floats:
        """Multiply it by Y, shape (n, c)."""
        total = np.zeros_like(Y) if self._formed is None else (self._formed @ torch.from_numpy(Y)).numpy()
        return np.asarray(sum((S(Y) for S in self._others), total) / self._count)


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
    eigenvalues : array
        Leading eigenvalues of S, in descending order, where starts were found by its eigenvectors: near 1 for each
        group that is well apart from the others.
    """

    codes: Ints
    objective: float
    steps: int
    converged: bool
    eigenvalues: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def beyond_chance(self) -> float:
        """The objective less that of groups of the same sizes drawn by chance, as a share of what is possible.

        Unlike the objective it does not prefer uneven sizes as such: all points but one in the same group are easy to
        tell, and tell nothing.
        """
        chance = float(((np.bincount(self.codes) / len(self.codes)) ** 2).sum())
        return (self.objective - chance) / (1 - chance) if chance < 1 else 0.0


def solve(
    S: Smoother, starts: Sequence[Ints], constraints: Constraints, k: int, *, sizes: Sizes | None
) -> list[Grouping]:
    """Raise the objective from first assignments, until it cannot be raised by assigning points to ``S Y``.

    S has no negative eigenvalue, so the objective is convex and at least its linear approximation ``2 S Y``; the
    assignment that maximises this raises it, or leaves it as it is. All starts take their steps together: S is then
    multiplied by one wide matrix instead of by many narrow ones.

    Parameters
    ----------
    S : Smoother
        Of the n points.
    starts : sequence of arrays of int, each of shape (n,)
        First classes.
    constraints : Constraints
        What is known of the points; every assignment meets it.
    k : int
        Number of classes.
    sizes : pair of arrays, each of shape (k,), or None
        Least and largest number of points of each class.

    Returns
    -------
    list of Grouping
        One for each start.
    """
    rows = np.arange(constraints.n)
    prices = np.zeros((len(starts), k))
    best = [Grouping(codes, -np.inf, 0, False) for codes in starts]
    current = list(starts)
    Y = np.concatenate([np.eye(k)[codes] for codes in starts], axis=1)
    scores = S(Y)
    active = list(range(len(starts)))
    for step in range(1, MOST_STEPS + 1):
        moves, moved = [], []
        for run in active:
            found = assign(scores[:, run * k : (run + 1) * k], constraints, sizes=sizes, prices=prices[run])
            changed = np.flatnonzero(found != current[run])
            move = np.zeros((len(rows), k))
            move[changed, found[changed]], move[changed, current[run][changed]] = 1.0, -1.0
            moves.append(move)
            moved.append(len(changed))
            current[run] = found
        if any(moved):  # little has changed: the products of the changes take far fewer steps than others
            change = S(np.concatenate(moves, axis=1))
            for place, run in enumerate(active):
                scores[:, run * k : (run + 1) * k] += change[:, place * k : (place + 1) * k]
        still = []
        for run, count in zip(active, moved, strict=True):
            objective = float(scores[rows, run * k + current[run]].sum()) / len(rows)
            if objective > best[run].objective:
                best[run] = Grouping(current[run], objective, step, False)
            if step > 1 and count < SETTLED * len(rows):
                best[run] = replace(best[run], steps=step, converged=True)
            else:
                still.append(run)
        active = still
        if not active:
            break
    return best


def find_groups(
    S: Smoother,
    constraints: Constraints,
    k: int,
    *,
    sizes: Sequence[Sequence[Sizes]] | None,
    also_from: Sequence[Smoother] = (),
    rng: np.random.RandomState,
) -> tuple[Grouping, Sizes | None]:
    """Solve from several starts, and keep the solution of the highest objective.

    Without the assignment's constraints the best Y are the leading eigenvectors of S. Starts are found by k-means on
    them, scaled in several ways. Where labels name every class, they are the start.

    Parameters
    ----------
    S, constraints, k
        As for `solve`.
    sizes : sequence of sequences of pairs of arrays, each of shape (k,), or None
        Least and largest number of points of each class, in one or several ways. Each way is a sequence of bounds from
        narrow to wide: the best solution within the first is the start within the next. Of several ways a later one is
        taken where it leaves clearly less unexplained beyond chance.
    also_from : sequence of Smoother
        Others whose eigenvectors give further starts.
    rng : RandomState
        Source of randomness.

    Returns
    -------
    Grouping
    sizes : pair of arrays or None
        The last bounds of the way that was taken.
    """
    count = max(k + 1, round(max(DEFAULTS.eigenvectors) * k))
    relaxed = [leading_eigenvectors(each, constraints.n, count, rng=rng) for each in (S, *also_from)]
    starts = [start for found in relaxed for start in _starts(*found, k, rng)]
    labels = np.eye(k)[constraints.classes] * (constraints.classes >= 0)[:, None]
    if labels.any(axis=0).all():
        starts = [np.asarray(S(labels / labels.sum(axis=0)).argmax(1))]
    best, taken = None, None
    way: Sequence[Sizes | None]
    for way in [[None]] if sizes is None else sizes:
        named = [match_classes(start, constraints, k, sizes=way[0]) for start in starts]
        found = max(solve(S, named, constraints, k, sizes=way[0]), key=lambda each: each.objective)
        for bounds in way[1:]:
            (found,) = solve(S, [found.codes], constraints, k, sizes=bounds)
        if best is None or 1 - found.beyond_chance < DEFAULTS.clearly * (1 - best.beyond_chance):
            best, taken = found, way[-1]
    assert best is not None  # noqa: S101  at least one way was tried
    return replace(best, eigenvalues=relaxed[0][0][: k + 1]), taken


def _starts(eigenvalues: Floats, V: Floats, k: int, rng: np.random.RandomState) -> list[Ints]:
    """Group points by leading eigenvectors, with rows of length one, and by k of them without the first.

    The first tells nothing apart where the graph is connected.
    """
    forms = [V[:, 1 : k + 1] * np.sqrt(eigenvalues[1 : k + 1])]
    for number in DEFAULTS.eigenvectors:
        Z = V[:, : round(number * k)]
        forms.append(Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), np.finfo(np.float64).tiny))
    seeds = rng.randint(2**31, size=DEFAULTS.starts)
    return [KMeans(k, n_init=1, random_state=seed).fit_predict(Z) for Z in forms for seed in seeds]


def leading_eigenvectors(S: Smoother, n: int, count: int, *, rng: np.random.RandomState) -> tuple[Floats, Floats]:
    """Leading eigenvalues of S, in descending order, and their eigenvectors (n, count) by subspace iteration."""
    count = min(n, count)
    Q = np.linalg.qr(rng.standard_normal((n, min(n, count + count // 2))))[0]
    for _ in range(POWER_STEPS):
        Q = np.linalg.qr(S(Q))[0]
    values, vectors = np.linalg.eigh(Q.T @ S(Q))
    return np.maximum(values[::-1][:count], 0), (Q @ vectors)[:, ::-1][:, :count]


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
