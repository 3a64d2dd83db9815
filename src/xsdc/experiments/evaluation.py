"""How good features are, by the authors' protocol: labels spread by nearest neighbours, then a ridge classifier.

Without labels, the test points themselves are balanced and clustered, and clusters matched to classes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.agreement import agreement
from xsdc.core.objective import Spectrum, decompose, one_hot
from xsdc.core.problem import Fractions
from xsdc.experiments.splits import Part, Splits
from xsdc.fitting.published import cluster, ridge_by_validation, spread_labels
from xsdc.networks import Network, normalize_features

Floats = npt.NDArray[np.float64]


class Scores(NamedTuple):
    """Accuracy on the validation set and on the test set."""

    validation: float
    test: float


@dataclass
class Evaluation:
    """Scores a network on validation and test points, and remembers both.

    Attributes
    ----------
    splits : Splits
        Data of the trial.
    ridge : float or None
        lambda, where it is fixed.
    validation, test, ridges : list of float
        What was seen, one for each evaluation.
    """

    splits: Splits
    ridge: float | None
    validation: list[float] = field(default_factory=list)
    test: list[float] = field(default_factory=list)
    ridges: list[float] = field(default_factory=list)

    def __call__(self, network: Network, lam: float) -> float:
        """Score by the validation set; by the test set where there are no labels, as the authors do."""
        if len(self.splits.labeled):
            held, tested = self.classify(network, lam)
            self.validation.append(held)
        else:
            tested = self._cluster(network, lam)
        self.test.append(tested)
        self.ridges.append(lam)
        return self.validation[-1] if self.validation else tested

    def state_dict(self) -> dict[str, list[float]]:
        """What was seen so far."""
        return {"validation": list(self.validation), "test": list(self.test), "ridges": list(self.ridges)}

    def load_state_dict(self, state: dict[str, list[float]]) -> None:
        """Go on from what was seen before."""
        self.validation, self.test, self.ridges = (list(state[name]) for name in ("validation", "test", "ridges"))

    def choose_ridge(self, network: Network, *, labeled_only: bool) -> float:
        """Choose lambda on the validation set, by labeled points alone or by all, the others as their neighbours."""
        if self.ridge is not None:
            return self.ridge
        spectrum, codes, norm = self._spread(network, labeled_only=labeled_only)
        Phi = _features(network, self.splits.validation, norm)
        return ridge_by_validation(spectrum, codes, self.splits.n_classes, Phi, self.splits.validation.y)

    def _spread(self, network: Network, *, labeled_only: bool) -> tuple[Spectrum, Tensor, Tensor]:
        """Decompose the features of training points with a class for each; features are scaled by the labeled ones."""
        splits = self.splits
        given = splits.train.taken(splits.labeled)
        seeds, norm = normalize_features(network.features(given.X))
        codes = torch.from_numpy(given.y)
        if labeled_only:
            return decompose(seeds), codes, norm
        Phi = _features(network, splits.train, norm)
        found = spread_labels(Phi, seeds, torch.from_numpy(splits.labeled), codes)
        return decompose(Phi), found, norm

    def classify(self, network: Network, lam: float) -> Scores:
        """Score a classifier fitted to all training points, those without a label as their nearest labeled ones."""
        spectrum, codes, norm = self._spread(network, labeled_only=False)
        W, b = spectrum.ridge(one_hot(codes, n_classes=self.splits.n_classes), [lam])
        scores = []
        for part in (self.splits.validation, self.splits.test):
            Phi = _features(network, part, norm)
            found = (Phi @ W[0].to(Phi) + b[0].to(Phi)).argmax(1).numpy()
            scores.append(float((found == part.y).mean()))
        return Scores(*scores)

    def _cluster(self, network: Network, lam: float) -> float:
        k = self.splits.n_classes
        Phi, _ = normalize_features(network.features(self.splits.test.X))
        size = Fractions(1 / k, 1 / k)
        found = cluster(decompose(Phi), lam, k, size=size, rng=np.random.RandomState(0)).labels
        return agreement(found, self.splits.test.y).accuracy


def _features(network: Network, part: Part, norm: Tensor) -> Tensor:
    return normalize_features(network.features(part.X), norm=norm)[0]
