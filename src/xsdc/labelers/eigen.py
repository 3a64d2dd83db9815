"""The relaxation of Appendix C: M by the eigenvectors of A, in closed form, and followed by k-means.

    min tr(M A)  s.t.  M = M^T, tr(M) = n, M >= 0 (semidefinite), sum_i min(l_i / l_0, 1) >= k

over the eigenvalues l_i of M. The solution keeps the k eigenvectors of A with the smallest eigenvalues, the first with
weight n - (k - 1) l_0, the others with weight l_0. The first is the constant vector, since A 1 = 0; the next ones are
the leading left singular vectors of the centred features.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from sklearn.cluster import KMeans
from torch import Tensor

from xsdc.errors import InvalidInputError
from xsdc.labelers.base import BatchProblem, Labeler, draw_seed, require_number


@dataclass(frozen=True)
class Eigen(Labeler):
    """M in closed form by the leading eigenvectors; entries may be negative. Known entries are written into it.

    Attributes
    ----------
    weight : float or None
        l_0 as a share of the points in the batch; the paper tries 0.01 to 0.1. By default 1/k, with which an
        equivalence matrix of equal groups is a solution.
    """

    weight: float | None = None

    def label(self, batch: BatchProblem) -> Tensor:
        """Fill in M."""
        k = require_number(batch.n_clusters, name="eigen")
        share = 1 / k if self.weight is None else self.weight
        if not (share > 0 and k * share <= 1 + 1e-12):
            raise InvalidInputError(f"weight must be above 0 and at most 1/{k} for {k} classes; it is {share}.")
        U = eigenvectors(batch, k)
        weights = torch.full((U.shape[1],), batch.n * share, dtype=U.dtype, device=U.device)
        weights[0] = batch.n - (U.shape[1] - 1) * batch.n * share
        return batch.with_known(((U * weights) @ U.T).to(torch.float32))


@dataclass(frozen=True)
class EigenKMeans(Labeler):
    """k-means on the leading eigenvectors of A, with rows scaled to length one; M is then an equivalence matrix."""

    def label(self, batch: BatchProblem) -> Tensor:
        """Fill in M."""
        k = require_number(batch.n_clusters, name="eigen-kmeans")
        U = eigenvectors(batch, k)
        Z = (U / U.norm(dim=1, keepdim=True).clamp(min=1e-300)).cpu().numpy()
        codes = KMeans(min(k, batch.n), n_init=10, random_state=draw_seed(batch.generator)).fit(Z).labels_
        return batch.equivalence(torch.from_numpy(codes).to(U.device))


def eigenvectors(batch: BatchProblem, k: int) -> Tensor:
    """Eigenvectors of A to its k smallest eigenvalues, shape (n, k).

    Fewer where the features have fewer directions: which others belong to the k smallest is then left open, since all
    vectors outside the features have the same eigenvalue.
    """
    spectrum = batch.spectrum
    U = spectrum.P[:, : k - 1] / spectrum.s[: k - 1]
    constant = torch.full((batch.n, 1), batch.n**-0.5, dtype=U.dtype, device=U.device)
    return torch.cat([constant, U], 1)
