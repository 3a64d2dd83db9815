"""Deep clustering: k-means on the features of the whole data, made anew every so many steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize
from torch import Tensor

from xsdc.errors import InvalidInputError
from xsdc.labelers.base import BatchProblem, Labeler, WholeData, draw_seed, require_number
from xsdc.validation import as_count

KEPT_VARIANCE = 0.95


@dataclass
class DeepClustering(Labeler):
    """k-means of whitened components, each point on the unit sphere, as Caron et al. (2018) have it.

    The components are the fewest that keep 95 % of the variance, as in the paper.

    Unlabeled points are drawn uniformly over the clusters, so that large ones do not rule the batch. Known entries
    of M are kept.

    Attributes
    ----------
    n_groups : int or None
        Clusters of k-means, which may be more than classes; the paper tries k to 32 k. By default as many.
    every : int
        Steps after which clusters are made anew.
    """

    n_groups: int | None = None
    every: int = 50
    _codes: Tensor | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the options."""
        as_count(self.every, name="every")
        if self.n_groups is not None:
            as_count(self.n_groups, name="n_groups")

    def look(self, data: WholeData) -> None:
        """Make the clusters, where it is time."""
        if data.iteration % self.every and self._codes is not None:
            return
        if self.n_groups is None:
            require_number(data.n_clusters, name="deep-clustering")
        Phi = data.features().cpu().numpy()
        groups = min(self.n_groups or data.n_clusters or 1, len(Phi))
        if np.ptp(Phi, axis=0).max() > 0:
            Phi = normalize(PCA(KEPT_VARIANCE, whiten=True, svd_solver="full").fit_transform(Phi))
        labels = KMeans(groups, n_init=10, random_state=draw_seed(data.generator)).fit(Phi).labels_
        self._codes = torch.from_numpy(labels.astype(np.int64))

    def label(self, batch: BatchProblem) -> Tensor:
        """Fill in M: together are those in the same cluster, and those known to be."""
        if self._codes is None:
            raise InvalidInputError("Deep clustering must look at the data before it labels a batch.")
        codes = self._codes[torch.from_numpy(batch.points)]
        return batch.equivalence(codes.to(batch.spectrum.s.device))

    def draw_weights(self) -> Tensor | None:
        """Weight each point by one over the size of its cluster."""
        if self._codes is None:
            return None
        return 1 / torch.bincount(self._codes).to(torch.float64)[self._codes]

    def state_dict(self) -> dict[str, Any]:
        """Return the clusters."""
        return {"codes": None if self._codes is None else self._codes.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue with saved clusters."""
        self._codes = state["codes"]
