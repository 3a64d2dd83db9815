"""A fitted model, and how its points are labeled again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.balancing import balance
from xsdc.core.objective import decompose
from xsdc.fitting.automatic import choose_bounds, choose_sizes
from xsdc.fitting.bounds import MOST_BALANCED, Bounds
from xsdc.fitting.choices import Choices
from xsdc.fitting.labels import Outcome, join_inputs, label_points
from xsdc.fitting.number import Ranking
from xsdc.fitting.points import choose_points
from xsdc.fitting.published import label_as_published
from xsdc.fitting.settings import Settings, read_sizes
from xsdc.networks import LayeredNetwork, Network
from xsdc.networks.rows import Rows

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Fitted:
    """A fitted model without its manners.

    Attributes
    ----------
    network : Network
        Trained.
    norm : float
        What features are divided by.
    data : Tensor of shape (n, ...), or Rows
        Prepared data.
    features : Tensor of shape (n, D), or Rows
        Normalised features of the data.
    outcome : Outcome
        Classes and classifier.
    ranking : list of pairs
        Numbers of classes and their probabilities.
    bounds : Bounds
        Bounds on sizes.
    settings : Settings
        Options.
    steps : list of dict
        Account of the training.
    stopped : str
        Why training ended.
    best_iteration : int
        Step after which the network was kept.
    """

    network: Network
    norm: float
    data: Tensor | Rows
    features: Tensor | Rows
    outcome: Outcome
    ranking: Ranking
    bounds: Bounds
    settings: Settings
    steps: list[dict[str, Any]]
    stopped: str
    best_iteration: int

    @property
    def learned(self) -> bool:
        """Whether the features were learned."""
        return has_learned(self.network, self.best_iteration)

    def equivalence(self, points: Ints) -> Tensor:
        """Estimate M among some points: the cost balanced under what is known.

        They are balanced along with points that stand for all: among a few alone neither the ridge nor the sizes of
        classes, which were chosen for all, would mean anything.
        """
        knowledge, k = self.outcome.knowledge, len(self.outcome.knowledge.names)
        together = np.union1d(points, choose_points(knowledge, np.random.RandomState(0), most=MOST_BALANCED))
        constraints = knowledge.constraints.restricted(together)
        known = constraints.entries()
        spectrum = decompose(self.features[torch.from_numpy(together)])
        separating = max(k - 1, 1)  # directions that groups apart from each other need
        lam = spectrum.ridge_for_dimension(separating) if self.settings.ridge == "auto" else self.settings.ridge
        A = spectrum.cost(lam).dense(torch.float32)
        bounds = self.bounds if self.bounds.given else choose_bounds(knowledge, algorithm=self.settings.algorithm)
        size = bounds.for_classes(k).among_sample(constraints, known, np.arange(len(together)))
        M = balance(A, size=size, known=known, nu=self.settings.entropy).M
        place = torch.from_numpy(np.searchsorted(together, points))
        return (M if isinstance(M, Tensor) else M.dense())[place][:, place]

    def relabeled(self, n_clusters: int, *, choices: Choices, rng: np.random.RandomState) -> Outcome:
        """Label anew with another number of classes, within the user's bounds where there are any."""
        knowledge = self.outcome.knowledge.with_clusters(n_clusters)
        given = read_sizes(self.settings.cluster_size, knowledge.names.tolist(), n_clusters)
        if given is not None:
            given.check(knowledge.constraints, n_classes=n_clusters, names=knowledge.names)
        _, bounds = choose_sizes(knowledge, given, choices, algorithm=self.settings.algorithm)
        if self.settings.algorithm == "published":
            return label_as_published(
                self.features,
                knowledge,
                bounds=bounds,
                ridge=self.settings.ridge,
                entropy=self.settings.entropy,
                choices=choices,
                rng=rng,
            )
        return label_points(
            join_inputs(self.data, knowledge, rng),
            self.features,
            knowledge,
            learned=self.learned,
            bounds=bounds,
            ridge=self.settings.ridge,
            choices=choices,
            rng=rng,
        )


def has_learned(network: Network, steps: int) -> bool:
    """Whether features were learned: by the steps that were kept, or before, in a network that the user gave."""
    return steps > 0 or not isinstance(network, LayeredNetwork)
