"""Classes of all points between two steps of training, by the solver that finds groups at the end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from xsdc.core.constraints import Constraints
from xsdc.core.grouping import Sizes, find_groups, solve
from xsdc.fitting.bounds import Bounds
from xsdc.fitting.features import normalised
from xsdc.fitting.groups import Inputs, choose_solved, sizes_among, walk_leak
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.labels import METRICS
from xsdc.fitting.representation import fit_representation, transformed
from xsdc.fitting.views import View
from xsdc.networks import Network
from xsdc.networks.rows import Rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class StepSolver:
    """Finds the share of each class in each point from the inputs and from the features that a network has by then.

    Parameters
    ----------
    data : Tensor of shape (n, ...), or Rows
        Prepared data.
    knowledge : Knowledge
        What training may know of it; the number of classes among it.
    bounds : Bounds
        Bounds on the sizes of classes.
    ridge : float or "auto"
        lambda of the regressions.
    """

    def __init__(
        self, data: Tensor | Rows, knowledge: Knowledge, *, bounds: Bounds, ridge: float | Literal["auto"]
    ) -> None:
        self._data, self._knowledge, self._bounds, self._ridge = data, knowledge, bounds, ridge

    def __call__(self, network: Network, before: Floats | None, rng: np.random.RandomState) -> Floats:
        """Find the shares, shape (n, k); rows sum to one.

        A share is how much of a class is around a point in the solution, by the smoother. Points known to be together
        have the same shares; a point has none of a class that it cannot have.

        Parameters
        ----------
        network : Network
            Gives the learned features.
        before : array, shape (n, k), or None
            Shares at an earlier step, from which the solution is improved. Without them it is the best of several
            starts, and the features, which may not be learned yet, take no part.
        rng : RandomState
            Source of randomness.
        """
        few, k = self._few, len(self._knowledge.names)
        Phi = None
        if before is not None:
            Phi = normalised(network.features(self._data[torch.from_numpy(few.points)]))[0].cpu()
        S, unlinked = Inputs(few.view, Phi, ridge=self._ridge).smoothers(
            few.known, k, leak=walk_leak(len(few.points), k)
        )
        if before is None:
            codes = find_groups(S, few.known, k, sizes=[few.sizes], also_from=unlinked, rng=rng)[0].codes
        else:
            start = before[few.points].argmax(1)
            codes = solve(S, [start], few.known, k, sizes=few.sizes[-1])[0].codes
        scores = np.maximum(S(np.eye(k)[codes]), 0)
        return _as_known(scores if few.near is None else few.near @ scores, self._knowledge.constraints)

    @cached_property
    def _few(self) -> _Few:
        """Pose the problem; only when it is asked for, as few labelers do."""
        constraints, k, n = self._knowledge.constraints, len(self._knowledge.names), self._knowledge.n
        inputs = transformed(self._data)
        view = View(fit_representation(inputs, images=self._data[:1].ndim > 2)(inputs), metrics=METRICS[0])
        points = choose_solved(constraints.classes, np.random.RandomState(0))  # the same in a run that is resumed
        sizes = sizes_among(self._bounds.ways(constraints, np.arange(n), k)[0], len(points) / n)
        if len(points) == n:
            return _Few(points, view, None, constraints, sizes)
        some = view[points]
        return _Few(points, some, some.index().weights(view.Z), constraints.restricted(points), sizes)


@dataclass(frozen=True)
class _Few:
    """The points that are solved for, all or some, and how all others follow from them.

    Attributes
    ----------
    points : array of int, shape (m,)
        Their positions.
    view : View
        Their inputs.
    near : sparse matrix, shape (n, m), or None
        Weights of each point on its neighbors among them.
    known : Constraints
        What is known of them.
    sizes : list of pairs of arrays
        Least and largest number of points of each class among them, from narrow to wide.
    """

    points: Ints
    view: View
    near: csr_matrix | None
    known: Constraints
    sizes: list[Sizes]


def _as_known(scores: Floats, constraints: Constraints) -> Floats:
    """Turn scores, none below zero, into shares that agree with what is known of single points and of groups."""
    k = scores.shape[1]
    total = np.zeros((len(constraints.group_set), k))
    np.add.at(total, constraints.group, scores)
    total = (total + np.finfo(np.float64).tiny) * constraints.allowed[constraints.group_set][:, :k]
    return np.asarray((total / total.sum(1, keepdims=True))[constraints.group])
