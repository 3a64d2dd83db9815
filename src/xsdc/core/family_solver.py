"""One solver for every problem of the family, with no labels, some or all.

The problem is relaxed to eigenvectors, rounded there under what is known, and improved by moves and swaps. There are
several starts, some of them random; the best end is kept. Groups known to be together are one item throughout, so that
must-links and labels hold by construction and make the problem smaller. Matrices are dense: meant for up to a few
thousand points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix, identity, kron
from sklearn.utils import check_random_state

from xsdc import validation
from xsdc.core.assignment import assign
from xsdc.core.constraints import Constraints, close
from xsdc.core.family import ClusteringProblem
from xsdc.core.local_search import Items, descend
from xsdc.core.rounding import RandomState
from xsdc.errors import InfeasibleError, InvalidInputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
LLOYD = 20
SECONDS = 30.0  # for the search of any assignment at all, where the starts have found none


@dataclass(frozen=True, eq=False)
class Solution:
    """Clusters that :func:`solve` found.

    Attributes
    ----------
    labels : array of int64, shape (n,)
        Cluster of each point; those that ``y`` names are called as there.
    objective : float
        ``problem.objective(labels)``.
    n_iter : int
        Moves and swaps on the way, of the start that was kept.
    converged : bool
        Whether no move or swap that was tried lowers the objective any more.
    n_starts : int
        Starts that were made.
    """

    labels: Ints
    objective: float
    n_iter: int
    converged: bool
    n_starts: int


def solve(
    problem: ClusteringProblem,
    n_clusters: int,
    *,
    y: object = None,
    must_link: object = None,
    cannot_link: object = None,
    size: object = None,
    n_starts: int = 16,
    random_state: RandomState = None,
) -> Solution:
    """Find the clusters of least objective that agree with what is known.

    The problem is NP-hard; what is returned is feasible, and locally optimal where ``converged`` says so.

    Parameters
    ----------
    problem : ClusteringProblem
        What is minimised, about n points.
    n_clusters : int
        Number of clusters. Some may stay empty where neither problem nor size forbids it.
    y : array of int, shape (n,), optional
        Cluster of each point, -1 where unknown.
    must_link, cannot_link : array of int, shape (m, 2), optional
        Pairs of points in the same and in different clusters.
    size : pair of int, or array of int of shape (n_clusters, 2), optional
        Least and largest number of points of every cluster, or of each; instead of the bounds of the problem.
    n_starts : int
        Starts. Half of them come from the relaxation, half are random.
    random_state : int or RandomState, optional
        Of the starts.

    Returns
    -------
    Solution

    Raises
    ------
    ContradictionError
        If labels and links clash, with the chain of facts.
    InfeasibleError
        If no assignment meets labels, links and sizes together.
    """
    k = validation.as_count(n_clusters, name="n_clusters", maximum=problem.n)
    n_starts = validation.as_count(n_starts, name="n_starts")
    rng = check_random_state(random_state)
    known = close(problem.n, labels=y, must_link=must_link, cannot_link=cannot_link, n_classes=k)
    lo, hi = problem.bounds(k) if size is None else _as_sizes(size, k)
    _check_sizes(known, lo, hi)
    items = _items(problem, known, k, lo, hi)
    ends = [descend(items, start) for start in _starts(items, known, n_starts, rng)]
    if all(end.violations for end in ends):
        ends.append(descend(items, _any_assignment(items)))
    best = min(ends, key=lambda end: (end.violations, end.value))
    labels = best.labels[known.group]
    return Solution(labels, problem.objective(labels), best.n_iter, best.converged, len(ends))


def _items(problem: ClusteringProblem, known: Constraints, k: int, lo: Ints, hi: Ints) -> Items:
    """Sum the problem over groups known to be together."""
    n, m = problem.n, len(known.group_set)
    G = csr_matrix((np.ones(n), (np.arange(n), known.group)), shape=(n, m))
    Q: Floats = G.T @ (G.T @ problem.weighted).T
    return Items(
        Q=Q if problem.power is not None else np.zeros((m, m)),
        weight=G.T @ problem.weights,
        power=problem.power or 0,
        count=np.bincount(known.group),
        allowed=known.allowed[known.group_set][:, :k],
        apart=known.apart.toarray().astype(np.int64) if known.apart.nnz else None,
        lo=lo,
        hi=hi,
    )


def _starts(items: Items, known: Constraints, n_starts: int, rng: np.random.RandomState) -> list[Ints]:
    """Clusters of the items to begin with; all keep labels and must-links, sizes and cannot-links where it is easy."""
    m, k = items.allowed.shape
    first = np.unique(known.group, return_index=True)[1]  # a point of each item
    Z = _relaxed(items)
    starts = []
    for number in range(n_starts):
        scores = _nearness(Z, items, rng) if number % 2 == 0 else rng.uniform(size=(m, k))
        sizes = (items.lo.astype(np.float64), items.hi.astype(np.float64))
        codes = assign(scores[known.group], known, sizes=sizes if items.constrained else None)
        starts.append(codes[first])
    return starts


def _relaxed(items: Items) -> Floats:
    """Place the items by the relaxation: ``U = Z (Z^T Z)^{-1/2}`` may be any matrix with orthonormal columns.

    Then ``tr(U^T Psi U)`` is least for the eigenvectors of the smallest eigenvalues (Appendix C for beta = 0).
    """
    m, k = items.allowed.shape
    scale = 1 / np.sqrt(items.weight)
    _, U = eigh(scale[:, None] * items.Q * scale, subset_by_index=(0, min(k, m) - 1))
    Z: Floats = scale[:, None] * U
    return Z


def _nearness(Z: Floats, items: Items, rng: np.random.RandomState) -> Floats:
    """Minus the squared distance of items to centres, which k-means finds; a labeled item keeps its cluster.

    Each cluster with labels has one item that holds them all; further centres are drawn far from those there are.
    """
    k = items.allowed.shape[1]
    fixed = items.allowed.sum(1) == 1 if k > 1 else np.zeros(len(Z), dtype=bool)
    own = items.allowed.argmax(1)
    centres = np.full((k, Z.shape[1]), np.inf)
    centres[own[fixed]] = Z[fixed]
    far = ((Z[:, None] - Z[fixed]) ** 2).sum(2).min(1, initial=np.inf)
    for c in np.setdiff1d(np.arange(k), own[fixed]):
        chance = items.weight * np.where(np.isfinite(far), far, 1.0) + np.finfo(np.float64).tiny
        i = rng.choice(len(Z), p=chance / chance.sum())
        centres[c] = Z[i]
        far = np.minimum(far, ((Z - Z[i]) ** 2).sum(1))
    for _ in range(LLOYD):
        codes = np.where(fixed, own, ((Z[:, None] - centres) ** 2).sum(2).argmin(1))
        Y = np.eye(k)[codes] * items.weight[:, None]
        used = Y.any(0)
        moved = centres.copy()
        moved[used] = (Y.T @ Z)[used] / Y.sum(0)[used, None]
        if np.array_equal(moved, centres):
            break
        centres = moved
    squares: Floats = ((Z[:, None] - centres) ** 2).sum(2)
    return -squares


def _any_assignment(items: Items) -> Ints:
    """Find clusters that meet every bound and link, or prove that there are none: an integer programme."""
    m, k = items.allowed.shape
    once = LinearConstraint(kron(identity(m), np.ones((1, k)), format="csr"), 1, 1)
    sums = LinearConstraint(
        kron(items.count[None, :].astype(np.float64), identity(k), format="csr"), items.lo, items.hi
    )
    conditions = [once, sums]
    if items.apart is not None:
        g, h = np.nonzero(np.triu(items.apart))
        rows = np.arange(len(g))
        pairs = csr_matrix((np.ones(2 * len(g)), (np.r_[rows, rows], np.r_[g, h])), shape=(len(g), m))
        conditions.append(LinearConstraint(kron(pairs, identity(k), format="csr"), -np.inf, 1))
    bounds = Bounds(0, items.allowed.ravel().astype(np.float64))
    found = milp(np.zeros(m * k), integrality=1, bounds=bounds, constraints=conditions, options={"time_limit": SECONDS})
    if found.x is None:
        shown = (
            "No assignment meets" if found.status == 2 else f"Within {SECONDS:g} s no assignment was found that meets"
        )
        raise InfeasibleError(
            f"{shown} the labels, links and sizes together: {k} clusters of {_range(items.lo)} to {_range(items.hi)}"
            f" points for {m} groups of points known to be together, the largest of {items.count.max()}. Widen the"
            " sizes, raise n_clusters or drop cannot-links."
        )
    choice: Ints = found.x.reshape(m, k).argmax(1)
    return choice


def _as_sizes(size: object, k: int) -> tuple[Ints, Ints]:
    try:
        given = np.asarray(size, dtype=np.float64)
        pairs = np.broadcast_to(given, (k, 2)) if given.shape in ((2,), (k, 2)) else None
    except (TypeError, ValueError):
        pairs = None
    if pairs is None or not (np.isfinite(pairs) & (pairs == np.round(pairs)) & (pairs >= 0)).all():
        raise InvalidInputError(
            f"size must be two whole numbers, least and largest number of points, or such a pair for each of the {k}"
            f" clusters; {size!r} came. Multiply shares by the number of points."
        )
    return pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)


def _check_sizes(known: Constraints, lo: Ints, hi: Ints) -> None:
    """Refuse bounds that a glance shows to be impossible."""
    n = known.n
    if (lo > hi).any():
        c = int((lo > hi).argmax())
        raise InfeasibleError(
            f"size must have its least first; cluster {c} has at least {lo[c]}, at most {hi[c]} points."
        )
    if lo.sum() > n or hi.sum() < n:
        raise InfeasibleError(
            f"The sizes must allow all {n} points: {len(lo)} clusters hold at least {lo.sum()} and at most {hi.sum()}."
            " Change n_clusters or the sizes."
        )
    given = np.bincount(known.classes[known.classes >= 0], minlength=len(lo))
    if (given > hi).any():
        c = int((given > hi).argmax())
        rows = np.flatnonzero(known.classes == c).tolist()
        raise InfeasibleError(
            f"{given[c]} points are known to be in cluster {c}, which may hold at most {hi[c]}. Raise that size.",
            rows=rows,
        )


def _range(bound: Ints) -> str:
    return str(bound[0]) if (bound == bound[0]).all() else f"{bound.min()}..{bound.max()}"
