"""Drawing the points of a batch, and the copies of them that augmentation makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from xsdc.training.memory import Remembered

MANY = 100_000
Augment = Callable[[Tensor, torch.Generator], Tensor]


@dataclass(frozen=True)
class Batch:
    """Points that take part in one step.

    Attributes
    ----------
    labeled, unlabeled : Tensor of int64
        Their positions in the data; a point that augmentation copies comes several times.
    remembered : Remembered or None
        Unlabeled points of earlier steps that M is to hold too.
    """

    labeled: Tensor
    unlabeled: Tensor
    remembered: Remembered | None = None

    @property
    def index(self) -> Tensor:
        """All positions, in the order of the rows of M: labeled first, remembered last."""
        remembered = [] if self.remembered is None else [self.remembered.points]
        return torch.cat([self.labeled, self.unlabeled, *remembered])


@dataclass(frozen=True)
class Batches:
    """Draws batches: some labeled points, some unlabeled ones, each without replacement.

    Attributes
    ----------
    labeled, unlabeled : Tensor of int64
        Positions of the points with and without a label.
    labeled_size, unlabeled_size : int
        How many of each a batch holds, copies counted; fewer where there are fewer.
    copies : int
        Times that each unlabeled point comes, and at most that each labeled one does.
    """

    labeled: Tensor
    unlabeled: Tensor
    labeled_size: int
    unlabeled_size: int
    copies: int = 1

    def draw(
        self,
        generator: torch.Generator,
        *,
        labeled_only: bool = False,
        together: bool = False,
        weights: Tensor | None = None,
    ) -> Batch:
        """Draw the points of one step.

        Parameters
        ----------
        generator : torch.Generator
            Source of randomness.
        labeled_only : bool
            Whether to draw no unlabeled points.
        together : bool
            Whether to draw labeled points along with the unlabeled ones, as one of them.
        weights : Tensor, shape (n,), optional
            By which unlabeled points are drawn, one for each point of the data.
        """
        if together and not labeled_only:
            points = torch.cat([self.labeled, self.unlabeled])
            chosen = _some(points, max(1, self.unlabeled_size // self.copies), generator, weights)
            return Batch(points[:0], chosen.repeat(self.copies))
        labeled = _some(self.labeled, self.labeled_size, generator)
        if len(labeled):  # labels are few, and each should be there: copies of them as far as there is room
            labeled = labeled.repeat(max(1, min(self.copies, self.labeled_size // len(labeled))))
        if labeled_only:
            return Batch(labeled, self.unlabeled[:0])
        unlabeled = _some(self.unlabeled, max(1, self.unlabeled_size // self.copies), generator, weights)
        return Batch(labeled, unlabeled.repeat(self.copies))


def _some(points: Tensor, size: int, generator: torch.Generator, weights: Tensor | None = None) -> Tensor:
    if len(points) <= size:
        return points
    if weights is not None:
        # The largest of uniform^(1/w), in logarithms: drawing by weight without replacement, for any number of points.
        keys = torch.rand(len(points), generator=generator, dtype=torch.float64).log() / weights[points]
        return points[keys.topk(size).indices]
    if len(points) > MANY and size < len(points) // 100:  # a permutation of them all would take longer than the step
        chosen = torch.empty(0, dtype=torch.int64)
        while len(chosen) < size:
            more = torch.randint(len(points), (size - len(chosen),), generator=generator)
            chosen = torch.cat([chosen, more])
            first = torch.ones(len(chosen), dtype=torch.bool)
            order = chosen.argsort(stable=True)
            first[order[1:]] = chosen[order[1:]] != chosen[order[:-1]]
            chosen = chosen[first]  # those that came before stay, in the order drawn
        return points[chosen]
    return points[torch.randperm(len(points), generator=generator)[:size]]
