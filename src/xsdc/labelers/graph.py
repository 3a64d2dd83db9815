"""M from an answer for all points: neighbor graphs and classifiers say which class each point has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from xsdc.errors import InvalidInputError
from xsdc.labelers.base import BatchProblem, Labeler, WholeData, require_number
from xsdc.validation import as_count


@dataclass
class Graph(Labeler):
    """``M = P Pᵀ`` with the probability of each class for each point, as a fit without training finds them.

    The first answer comes from the inputs alone, so that there is something for the features to learn. The
    probabilities are soft: a point between two classes has a share of both, and M pulls less at it than at a point that
    is well inside of one. Known entries of M are kept. Labeled points are drawn like all others, since all have
    probabilities.

    Attributes
    ----------
    every : int, optional
        Steps after which the answer is renewed from inputs and learned features; by default it is not.
    """

    every: int | None = None
    draws_together = True
    _shares: Tensor | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the options."""
        if self.every is not None:
            as_count(self.every, name="every")

    def look(self, data: WholeData) -> None:
        """Ask for the probabilities, where it is time."""
        first = self._shares is None
        if not first and (self.every is None or data.iteration % self.every):
            return
        require_number(data.n_clusters, name="graph")
        if data.answer is None:
            raise InvalidInputError(
                "labeler='graph' needs an answer for all points, and this training has none. Give the Trainer one as"
                " answer, or train with XSDC, which does."
            )
        self._shares = torch.from_numpy(data.answer(first))

    def label(self, batch: BatchProblem) -> Tensor:
        """Fill in M."""
        if self._shares is None:
            raise InvalidInputError("The labeler graph must look at the data before it labels a batch.")
        P = self._shares[torch.from_numpy(batch.points)].to(batch.spectrum.s.device, torch.float32)
        return batch.with_known(P @ P.T)

    def state_dict(self) -> dict[str, Any]:
        """Return the probabilities."""
        return {"shares": None if self._shares is None else self._shares.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue with saved probabilities."""
        self._shares = state["shares"]
