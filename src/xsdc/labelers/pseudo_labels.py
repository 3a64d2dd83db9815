"""Pseudo-labels: a classifier fitted to what is labeled says the class of what is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from xsdc.core.assignment import assign
from xsdc.core.balancing import balance
from xsdc.core.classifier import Classifier, fit_classifier
from xsdc.core.objective import decompose
from xsdc.core.rounding import spectral_clustering
from xsdc.labelers.base import BatchProblem, Labeler, WholeData, draw_seed, require_number
from xsdc.validation import as_count, as_positive

MOST_CLUSTERED = 2000


@dataclass
class PseudoLabels(Labeler):
    """W and b from the labeled part of the batch; without labels from a clustering of the whole data.

    Attributes
    ----------
    every : int
        Steps after which the data is clustered anew, where there are no labels.
    lam : float
        Ridge of the clustering of the whole data.
    """

    every: int = 50
    lam: float = 2.0**-7
    _classifier: Classifier | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the options."""
        as_count(self.every, name="every")
        as_positive(self.lam, name="lam")

    def look(self, data: WholeData) -> None:
        """Cluster the whole data, or a sample of it, and fit a classifier to the clusters."""
        if (data.constraints.classes >= 0).any() or (data.iteration % self.every and self._classifier is not None):
            return
        k = require_number(data.n_clusters, name="pseudo-labels")
        rng = draw_seed(data.generator)
        Phi = data.features()
        sample = rng.permutation(len(Phi))[:MOST_CLUSTERED]
        spectrum = decompose(Phi[torch.from_numpy(sample)])
        A = spectrum.cost(self.lam).dense(torch.float32)
        known = data.constraints.entries(sample)
        M = balance(A, size=data.sizes.among_sample(data.constraints, known, sample), known=known).M
        codes = spectral_clustering(M, k, random_state=rng).labels
        self._classifier = fit_classifier(spectrum, codes, n_classes=k, lam=self.lam)

    def label(self, batch: BatchProblem) -> Tensor:
        """Fill in M."""
        k = require_number(batch.n_clusters, name="pseudo-labels")
        classes = torch.from_numpy(batch.constraints.classes)
        labeled = (classes >= 0).nonzero().flatten()
        features = batch.spectrum.Pc + batch.spectrum.mean
        classifier = self._classifier
        if len(labeled) >= 2:
            classifier = fit_classifier(decompose(features[labeled]), classes[labeled], n_classes=k, lam=batch.lam)
        if classifier is None:  # a single label: nothing that a classifier could tell apart
            return batch.with_known(torch.full((batch.n, batch.n), 1 / k, device=features.device))
        codes = assign(classifier.scores(features).cpu().numpy(), batch.constraints)
        return batch.equivalence(torch.from_numpy(codes).to(features.device))

    def state_dict(self) -> dict[str, Any]:
        """Return the classifier."""
        return {"classifier": None if self._classifier is None else vars(self._classifier)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue with a saved classifier."""
        self._classifier = None if state["classifier"] is None else Classifier(**state["classifier"])
