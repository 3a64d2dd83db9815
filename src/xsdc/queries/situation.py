"""What a question is chosen by: points, what the model says of them, and what is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from xsdc.core.propagation import Propagation

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
TOLERANCE = 1e-2  # of smoothed doubts, which only rank points


@dataclass(frozen=True)
class Situation:
    """What is known and found so far.

    Attributes
    ----------
    Z : array, shape (n, d)
        Representation of the points.
    graph : sparse matrix, shape (n, n)
        Weights of the graph of nearest neighbors.
    probabilities : array, shape (n, k)
        Of each class.
    codes : array of int, shape (n,)
        Class of each point.
    names : sequence of str, length k
        What the classes are called.
    named : array of bool, shape (k,)
        Whether a label names each class; the others are groups.
    known : array of bool, shape (n,)
        Whether the class of each point follows from what was told.
    asked : frozenset of tuple
        Keys of questions that were asked before, see `Question.key`. They are not asked again.
    """

    Z: Floats
    graph: csr_matrix
    probabilities: npt.NDArray[np.floating]
    codes: Ints
    names: Sequence[str]
    named: Bools
    known: Bools
    asked: frozenset[tuple[str, tuple[int, ...]]] = field(default_factory=frozenset)

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.codes)

    @cached_property
    def skipped(self) -> Bools:
        """Points that were asked about by themselves, whether or not there was an answer."""
        skipped = np.zeros(self.n, dtype=bool)
        skipped[[points[0] for kind, points in self.asked if kind in ("label", "set")]] = True
        return skipped

    def without(self, points: Ints) -> Situation:
        """The same where some points are known too."""
        known = self.known.copy()
        known[points] = True
        return replace(self, known=known)

    @cached_property
    def open(self) -> Ints:
        """Points whose class may be asked for."""
        return np.flatnonzero(~self.known & ~self.skipped)

    @cached_property
    def doubt(self) -> Floats:
        """How near the second class comes to the first, from 0, sure, to 1, shape (n,)."""
        if self.probabilities.shape[1] < 2:
            return np.zeros(self.n)
        second, first = np.partition(self.probabilities, -2, axis=1)[:, -2:].T
        return np.asarray(1.0 - (first - second), dtype=np.float64)

    @cached_property
    def density(self) -> Floats:
        """One over the mean distance to the neighbors, shape (n,): large where points are crowded."""
        edges = self.graph.tocoo()
        lengths = np.linalg.norm(self.Z[edges.row] - self.Z[edges.col], axis=1)
        count = np.maximum(np.bincount(edges.row, minlength=self.n), 1)
        mean = np.bincount(edges.row, weights=lengths, minlength=self.n) / count
        positive = mean[mean > 0]
        return np.asarray(1.0 / np.maximum(mean, positive.min() if len(positive) else 1.0))

    @cached_property
    def reach(self) -> Propagation:
        """How far an answer reaches: walks over the graph."""
        return Propagation(self.graph, tolerance=TOLERANCE)

    def around(self, values: Floats) -> Floats:
        """Sum values over the points around each point, weighted by how often walks from it come by, shape (n,)."""
        root = np.sqrt(self.reach.degrees)
        visits = self.reach.visits((root * values)[:, None])[:, 0]
        return np.asarray(self.reach.leak * root * visits)

    def reached(self, point: int) -> Floats:
        """Share of an answer that reaches each other point, 1 at the point itself, shape (n,)."""
        here = np.zeros(self.n)
        here[point] = 1.0
        reached = self.around(here)
        return np.asarray(reached / max(reached[point], np.finfo(np.float64).tiny))
