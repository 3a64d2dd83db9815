"""Random correct facts about pairs of a batch, as in the paper's experiment with constraints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.known import Known
from xsdc.core.operators import Operator
from xsdc.labelers import BatchProblem, Labeler, WholeData

SHARE = 1 / 3  # of all pairs


@dataclass(frozen=True)
class WithRandomFacts(Labeler):
    """Tells another labeler of random pairs of each batch whether they are together.

    Each pair with probability 1/3, drawn afresh for each batch; but of a labeled and an unlabeled point only that they
    are apart.

    Attributes
    ----------
    inner : Labeler
        Fills in M.
    truth : array of int, shape (n,)
        True classes of the data.
    labeled : array of bool, shape (n,)
        Points whose labels are given.
    """

    inner: Labeler
    truth: npt.NDArray[np.int64]
    labeled: npt.NDArray[np.bool_]

    def label(self, batch: BatchProblem) -> Operator:
        """Add the facts, and pass the question on."""
        i, j = torch.triu_indices(batch.n, batch.n, offset=1)
        drawn = torch.rand(len(i), generator=batch.generator) < SHARE
        i, j = i[drawn], j[drawn]
        truth = torch.from_numpy(self.truth[batch.points])
        given = torch.from_numpy(self.labeled[batch.points])
        same = truth[i] == truth[j]
        usable = ~(same & (given[i] != given[j]))
        old = torch.cat([batch.known.ones, batch.known.zeros]).cpu()
        known = Known.from_entries(
            batch.n,
            torch.cat([old[:, 0], i[usable]]),
            torch.cat([old[:, 1], j[usable]]),
            torch.cat([torch.arange(len(old)) < len(batch.known.ones), same[usable]]).long(),
        )
        return self.inner.label(replace(batch, known=known))

    def look(self, data: WholeData) -> None:
        """Let the other labeler look."""
        self.inner.look(data)

    def draw_weights(self) -> Tensor | None:
        """Draw as the other labeler does."""
        return self.inner.draw_weights()

    def state_dict(self) -> dict[str, Any]:
        """State of the other labeler."""
        return self.inner.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue with it."""
        self.inner.load_state_dict(state)
