"""Scoring a fit without labels, by whether near points share a group.

docs/tuning.md compares what was tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.neighbors import NearestNeighbors

from xsdc.core.judging import indicators, merit
from xsdc.estimator import XSDC
from xsdc.tuning.problem import Problem
from xsdc.validation import require_finite

Ints = npt.NDArray[np.int64]
MOST_JUDGED = 2000  # points by which a grouping is judged
NEIGHBOURS = 10


@dataclass(frozen=True)
class LabelFree:
    """Merit of a fit's groups, with the nearest neighbours among the inputs as the classifier.

    The inputs are the same for all trials, where features of a trial's own can be made to fit any grouping.

    Attributes
    ----------
    points : array of int, shape (m,)
        Those that are judged.
    neighbours : array of int, shape (m, 10)
        For each of them the nearest others, as positions in ``points``.
    """

    points: Ints
    neighbours: Ints
    name: str = "label-free"

    @classmethod
    def of(cls, problem: Problem, *, seed: int) -> LabelFree:
        """Find the neighbours."""
        points = np.sort(np.random.RandomState(seed).permutation(problem.n)[:MOST_JUDGED])
        inputs = np.array(problem.rows(points), dtype=np.float64).reshape(len(points), -1)
        require_finite(torch.from_numpy(inputs), name="X")
        nearest = NearestNeighbors(n_neighbors=min(NEIGHBOURS, max(len(points) - 1, 1))).fit(inputs)
        return cls(points, nearest.kneighbors(return_distance=False))

    def describe(self) -> str:
        """Say how it is made."""
        return f"merit by {self.neighbours.shape[1]} neighbours of {len(self.points)} points"

    def score(self, problem: Problem, estimator: XSDC, options: Mapping[str, Any], *, seed: int) -> float:
        """Fit and judge."""
        model = problem.fit(estimator, options, seed=seed)
        codes = np.unique(model.labels_[self.points], return_inverse=True)[1]
        return self.merit(codes)

    def merit(self, codes: Ints) -> float:
        """Merit of a grouping of the points that are judged into groups 0, 1, ...; up to log k + 1 for k of them."""
        votes = indicators(codes, int(codes.max()) + 1)[self.neighbours].mean(1)
        return merit(codes, votes)
