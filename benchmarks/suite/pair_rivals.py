"""K-means with pairs: PCKMeans (Basu, Banerjee and Mooney, 2004) and MPCKMeans (Bilenko, Basu and Mooney, 2004).

MPCKMeans learns one diagonal metric for all clusters. Both are written for speed: only points that occur in a pair
are assigned one by one.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from benchmarks.suite.sets import Array

STEPS = 100
TINY = 1e-9


def fit_pairs(
    X: Array,
    k: int,
    must_link: Array,
    cannot_link: Array,
    *,
    learn_metric: bool,
    rng: np.random.Generator,
    penalty: float | None = None,
    centers: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Cluster points under soft pairs.

    Parameters
    ----------
    X : array, shape (n, d)
        Points.
    k : int
        Number of clusters.
    must_link, cannot_link : array, shape (m, 2)
        Pairs in the same and in different clusters.
    learn_metric : bool
        Whether to weigh the columns (MPCKMeans), or to count distances as they are (PCKMeans).
    rng : Generator
        For the start and for the order of assignment.
    penalty : float, optional
        Cost of a violated pair. By default 1 with a metric, which has a scale of its own, and without one half of the
        mean squared distance from the mean.
    centers : array, shape (k, d), optional
        Start; by default the means of sets of points joined by must-links.

    Returns
    -------
    labels : array of int, shape (n,)
    centers : array, shape (k, d)
    metric : array, shape (d,)
    """
    if penalty is None:
        penalty = 1.0 if learn_metric else float(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean() / 2)
    if centers is None:
        centers = start(X, k, must_link, rng)
    metric = np.ones(X.shape[1])
    labels = np.full(len(X), -1)
    for _ in range(STEPS):
        before = centers
        weights = np.full(len(must_link) + len(cannot_link), penalty)
        farthest = _farthest(X, metric)
        if learn_metric:
            weights *= 2 * _severity(X, metric, float(farthest @ metric), must_link, cannot_link)
        costs = _distances(X, centers, metric) / (1 if learn_metric else 2)
        labels = assign(costs, must_link, cannot_link, weights, rng=rng)
        centers = _means(X, labels, before)
        if learn_metric:
            metric = _update_metric(X, labels, centers, farthest, (must_link, cannot_link), penalty=penalty)
        if np.allclose(before, centers, rtol=0, atol=1e-6):
            break
    return labels, centers, metric


def start(X: Array, k: int, must_link: Array, rng: np.random.Generator) -> Array:
    """Begin from the largest sets of joined points, far from each other; the rest are points drawn at random."""
    joined = coo_array((np.ones(len(must_link)), (must_link[:, 0], must_link[:, 1])), shape=(len(X), len(X)))
    n_sets, member = connected_components(joined, directed=False)
    sizes = np.bincount(member, minlength=n_sets)
    large = np.flatnonzero(sizes > 1)
    means = np.array([X[member == s].mean(axis=0) for s in large]).reshape(len(large), X.shape[1])
    if len(large) > k:
        means = means[_farthest_first(means, sizes[large], k)]
    others = X[rng.choice(len(X), k - len(means), replace=False)]
    return np.concatenate([means, others])


def _farthest_first(points: Array, weights: Array, k: int) -> list[int]:
    """Take the point of the largest weight, then always the one of the largest weighted distance from those taken."""
    taken = [int(weights.argmax())]
    nearest = np.full(len(points), np.inf)
    for _ in range(k - 1):
        nearest = np.minimum(nearest, np.linalg.norm(points - points[taken[-1]], axis=1))
        taken.append(int((weights * nearest).argmax()))
    return taken


def assign(costs: Array, must_link: Array, cannot_link: Array, weights: Array, *, rng: np.random.Generator) -> Array:
    """Give each point the cluster of least cost, points in pairs one after the other in random order.

    Parameters
    ----------
    costs : array, shape (n, k)
        Of a point in a cluster, pairs apart.
    must_link, cannot_link : array, shape (m, 2)
        Pairs. One counts once its other point has a cluster.
    weights : array, shape (m,)
        Cost of each pair if it is violated, must-links first.
    rng : Generator
        For the order.

    Returns
    -------
    array of int, shape (n,)
    """
    labels: Array = costs.argmin(axis=1)
    pairs = np.concatenate([must_link, cannot_link])
    paired = np.unique(pairs)
    labels[paired] = -1
    others: dict[int, list[tuple[int, float, bool]]] = {int(i): [] for i in paired}
    for position, (i, j) in enumerate(pairs):
        together = position < len(must_link)
        others[int(i)].append((int(j), float(weights[position]), together))
        others[int(j)].append((int(i), float(weights[position]), together))
    for i in rng.permutation(paired):
        total = costs[i].copy()
        for j, weight, together in others[int(i)]:
            if labels[j] >= 0:
                total[labels[j]] += -weight if together else weight
        labels[i] = total.argmin()
    return labels


def _distances(X: Array, centers: Array, metric: Array) -> Array:
    """Squared distances from the centers."""
    root = np.sqrt(metric)
    norms = ((X * root) ** 2).sum(axis=1)[:, None] + ((centers * root) ** 2).sum(axis=1)
    distances: Array = np.maximum(norms - 2 * (X * metric) @ centers.T, 0)
    return distances


def _severity(X: Array, metric: Array, largest: float, must_link: Array, cannot_link: Array) -> Array:
    """How bad it is to violate a pair: far points that should be together, near ones that should not."""
    apart = ((X[must_link[:, 0]] - X[must_link[:, 1]]) ** 2) @ metric
    near = largest - ((X[cannot_link[:, 0]] - X[cannot_link[:, 1]]) ** 2) @ metric
    return np.concatenate([apart, np.maximum(near, 0)])


def _means(X: Array, labels: Array, before: Array) -> Array:
    """Mean of each cluster; an empty one stays where it was."""
    k = len(before)
    counts = np.bincount(labels, minlength=k)
    onehot = coo_array((np.ones(len(X)), (labels, np.arange(len(X)))), shape=(k, len(X)))
    return np.where(counts[:, None] > 0, (onehot @ X) / np.maximum(counts, 1)[:, None], before)


def _farthest(X: Array, metric: Array) -> Array:
    """Squared differences, column by column, of two points that lie far apart, found in a few steps."""
    Z = X * np.sqrt(metric)
    first = second = int(((Z - Z.mean(axis=0)) ** 2).sum(axis=1).argmax())
    for _ in range(3):
        first, second = second, int(((Z - Z[second]) ** 2).sum(axis=1).argmax())
    differences: Array = (X[first] - X[second]) ** 2
    return differences


def _update_metric(
    X: Array, labels: Array, centers: Array, farthest: Array, links: tuple[Array, Array], *, penalty: float
) -> Array:
    """Weigh each column by the inverse of its mean squared spread, violated pairs counted along."""
    must_link, cannot_link = links
    spread = ((X - centers[labels]) ** 2).sum(axis=0)
    split = must_link[labels[must_link[:, 0]] != labels[must_link[:, 1]]]
    spread += penalty * ((X[split[:, 0]] - X[split[:, 1]]) ** 2).sum(axis=0)
    merged = cannot_link[labels[cannot_link[:, 0]] == labels[cannot_link[:, 1]]]
    short = farthest - (X[merged[:, 0]] - X[merged[:, 1]]) ** 2
    spread += 2 * penalty * np.maximum(short, 0).sum(axis=0)
    metric: Array = len(X) / np.maximum(spread, TINY)
    return metric
