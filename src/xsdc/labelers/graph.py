"""M from a solution over all points: neighbor graphs and ridge regressions say which class each point has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from xsdc.errors import InvalidInputError
from xsdc.labelers.base import BatchProblem, Labeler, WholeData, draw_seed, require_number
from xsdc.validation import as_count


@dataclass
class Graph(Labeler):
    """``M = P Pᵀ`` with the share of each class in each point, by the solver that groups points at the end of a fit.

    The first solution comes from the inputs alone, so that there is something for the features to learn. Later ones
    start from the one before, and look at the learned features too. Bounds on sizes and links hold in them.

    The shares are soft: a point between two classes has a share of both, and M pulls less at it than at a point that is
    well inside of one. Labeled points have their class alone.

    Attributes
    ----------
    every : int
        Steps after which the solution is renewed.
    """

    every: int = 10
    _shares: Tensor | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the options."""
        as_count(self.every, name="every")

    def look(self, data: WholeData) -> None:
        """Solve for all points, where it is time."""
        if data.iteration % self.every and self._shares is not None:
            return
        require_number(data.n_clusters, name="graph")
        if data.solve is None:
            raise InvalidInputError(
                "labeler='graph' needs a solver over all points, and this training has none. Give the Trainer one as"
                " solve, or train with XSDC, which does."
            )
        before = None if self._shares is None else self._shares.numpy()
        self._shares = torch.from_numpy(data.solve(before, draw_seed(data.generator)))

    def label(self, batch: BatchProblem) -> Tensor:
        """Fill in M."""
        if self._shares is None:
            raise InvalidInputError("The labeler graph must look at the data before it labels a batch.")
        P = self._shares[torch.from_numpy(batch.points)].to(batch.spectrum.s.device, torch.float32)
        return batch.with_known(P @ P.T)

    def state_dict(self) -> dict[str, Any]:
        """Return the shares."""
        return {"shares": None if self._shares is None else self._shares.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue with saved shares."""
        self._shares = state["shares"]
