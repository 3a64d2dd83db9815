"""How many groups a neighbor graph tells of: the eigengap of its Laplacian, beside that of points without groups.

A random walk leaves a group slowly. A graph of k groups has k - 1 rates of its Laplacian that are small beside the next
one. Graphs of points without groups have gaps too, in low dimensions large ones: only a gap that is larger than those
of normal samples with the same covariance is evidence, as in parallel analysis and the gap statistic.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch
from scipy.linalg import eigh
from scipy.sparse import csr_matrix
from scipy.special import betaln

from xsdc.core.graph import NeighborIndex
from xsdc.core.sizes import ClassSizes
from xsdc.defaults import DEFAULTS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
LARGEST_SAMPLE = 1000
POINTS_PER_GROUP = 4  # fewest of a sample, on average


def number_range(sizes: ClassSizes | None, limit: int) -> tuple[int, int]:
    """Fewest and most groups that one bound on their sizes allows, up to a limit; any number without a bound."""
    if sizes is None:
        return 1, max(1, limit)
    fewest = max(1, math.ceil(1 / float(sizes.maximum.max()) - 1e-9))
    smallest = float(sizes.minimum.min())
    most = min(limit, math.floor(1 / smallest + 1e-9)) if smallest > 0 else limit
    return fewest, max(fewest, most)


def number_apart(apart: csr_matrix) -> int:
    """Size of a set of groups that cannot-links keep apart from each other, all of them: as many are needed at least.

    Sets are grown from each group by the neighbor with the most cannot-links; the largest one need not be found.
    """
    neighbors = np.split(apart.indices, apart.indptr[1:-1])
    degrees = np.diff(apart.indptr)
    largest = 1
    for group in np.flatnonzero(degrees >= 1).tolist():
        found, left = 1, neighbors[group]
        while len(left):
            added = left[degrees[left].argmax()]
            found, left = found + 1, np.intersect1d(left, neighbors[added])
        largest = max(largest, found)
    return largest


def vote_on_number(Z: Floats, *, fewest: int, most: int, rng: np.random.RandomState) -> dict[int, float]:
    """Share of samples of the points whose neighbor graph tells of each number of groups.

    Parameters
    ----------
    Z : array, shape (n, d)
        Points.
    fewest, most : int
        Numbers that are possible.
    rng : RandomState
        Source of randomness.
    """
    n = len(Z)
    size = min(LARGEST_SAMPLE, math.ceil(DEFAULTS.sample_share * n))
    most = min(most, size // POINTS_PER_GROUP)
    if most <= fewest:
        return {fewest: 1.0}
    samples = [Z[np.sort(rng.permutation(n)[:size])] for _ in range(DEFAULTS.samples)]
    found = np.array([gaps(sample, most) for sample in samples])
    usual = np.array([gaps(normal_like(sample, rng), most) for sample in samples])
    excess, chance = found - usual.mean(axis=0), usual - usual.mean(axis=0)
    first = max(fewest, 2)
    counts: dict[int, int] = {}
    for row in excess[:, first - 2 :]:
        none = fewest == 1 and row.max() <= chance.max()
        number = 1 if none else first + int(row.argmax())
        counts[number] = counts.get(number, 0) + 1
    return {number: count / DEFAULTS.samples for number, count in counts.items()}


def gaps(Z: Floats, most: int) -> Floats:
    """How much larger the next rate of the graph's Laplacian is after 2, 3, ... ``most`` groups; logarithms."""
    graph = NeighborIndex.of(torch.from_numpy(Z)).graph()
    values = leading_eigenvalues(graph, most + 1)
    rates = np.log(np.maximum(1 - values[1:], 0) + DEFAULTS.least_rate)
    return np.asarray(np.diff(rates))


def leading_eigenvalues(graph: csr_matrix, count: int) -> Floats:
    """Largest eigenvalues of the normalised adjacency matrix, in descending order."""
    W = graph.toarray()
    scale = 1 / np.sqrt(np.maximum(W.sum(axis=1), np.finfo(np.float64).tiny))
    n = len(W)
    values = eigh(scale[:, None] * W * scale, eigvals_only=True, subset_by_index=[n - min(count, n), n - 1])
    return np.asarray(values[::-1])


def normal_like(Z: Floats, rng: np.random.RandomState) -> Floats:
    """Draw as many points of the normal distribution with the same mean and covariance."""
    centered = Z - Z.mean(axis=0)
    _, deviations, directions = np.linalg.svd(centered, full_matrices=False)
    drawn: Floats = rng.normal(size=(len(Z), len(deviations))) * (deviations / math.sqrt(max(len(Z) - 1, 1)))
    return np.asarray(drawn @ directions + Z.mean(axis=0))


def evidence_of_pairs(codes: Ints, must_link: Ints, cannot_link: Ints) -> float:
    """Logarithm of how probable it is, by some groups, that just these pairs are must-links and cannot-links.

    Pairs within a group are must-links with one unknown probability, pairs across groups with another one; all
    probabilities are equally likely beforehand.
    """
    must, cannot = (codes[pairs[:, 0]] == codes[pairs[:, 1]] for pairs in (must_link, cannot_link))
    within, across = betaln(1 + must.sum(), 1 + cannot.sum()), betaln(1 + (~must).sum(), 1 + (~cannot).sum())
    return float(within + across)
