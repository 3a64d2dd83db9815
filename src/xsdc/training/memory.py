"""A memory of recent features, by which a small batch is balanced among as many points as a large one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from xsdc import validation


@dataclass(frozen=True)
class Remembered:
    """Features of points that took part in earlier steps.

    Attributes
    ----------
    points : Tensor of int64, shape (m,)
        Their positions in the data, the oldest first; a point that augmentation copies comes several times.
    features : Tensor, shape (m, D)
        As the network gave them then, before normalisation and without gradient.
    """

    points: Tensor
    features: Tensor

    def rows(self, chosen: Tensor) -> Remembered:
        """Keep some rows."""
        return Remembered(self.points[chosen], self.features[chosen.to(self.features.device)])


class Memory:
    """The features of the last unlabeled points, first in, first out.

    They are balanced together with those of the batch, so that M is as large as that of a large batch; the gradient
    flows through the batch alone. A point that is drawn again replaces what was remembered of it.

    Parameters
    ----------
    size : int
        Most rows to remember; 0 for none.
    """

    def __init__(self, size: int) -> None:
        self.size = validation.as_count(size, name="memory_size", minimum=0)
        self._kept: Remembered | None = None

    def __len__(self) -> int:
        return 0 if self._kept is None else len(self._kept.points)

    def beside(self, points: Tensor) -> Remembered | None:
        """Recall what is remembered of other points than these; None where that is nothing."""
        if self._kept is None:
            return None
        others = self._kept.rows(~torch.isin(self._kept.points, points))
        return others if len(others.points) else None

    def take(self, points: Tensor, features: Tensor) -> None:
        """Remember points of a batch, and forget the oldest ones beyond the size."""
        if not self.size:
            return
        taken = Remembered(points, features.detach())
        older = self.beside(points)
        if older is not None:
            taken = Remembered(torch.cat([older.points, taken.points]), torch.cat([older.features, taken.features]))
        last = torch.arange(max(0, len(taken.points) - self.size), len(taken.points))
        self._kept = taken.rows(last)

    def state_dict(self) -> dict[str, Any]:
        """Return what is remembered."""
        return {} if self._kept is None else {"points": self._kept.points, "features": self._kept.features}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Remember what a saved state holds, and nothing else."""
        self._kept = Remembered(state["points"], state["features"]) if state else None
