"""A feasible discrete M: the balanced one rounded to groups, improved by moves and swaps that keep what is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from xsdc.core.assignment import assign
from xsdc.core.balancing import balance
from xsdc.core.local_search import Items, descend
from xsdc.core.rounding import spectral_embedding
from xsdc.core.seeding import seeded_scores
from xsdc.labelers.base import BatchProblem, Ints, Labeler, draw_seed, require_number


@dataclass(frozen=True)
class Hard(Labeler):
    """Minimise tr(M A) over equivalence matrices M = Y Y^T that honour sizes and constraints, by local search.

    The relaxed M has entries far from 0 and 1; this one says for every pair whether it is together. The search starts
    from the groups that the balanced M suggests.

    Attributes
    ----------
    nu : float or "median"
        Entropic weight of the balancing that it starts from.
    max_steps : int
        Most moves and swaps.
    """

    nu: float | Literal["median"] = "median"
    max_steps: int = 1000

    def label(self, batch: BatchProblem) -> Tensor:
        """Fill in M."""
        k = require_number(batch.n_clusters, name="hard")
        if batch.n < k:  # no group needs two points that nothing ties together
            return batch.equivalence(torch.from_numpy(batch.constraints.group).to(batch.spectrum.s.device))
        A = batch.spectrum.cost(batch.lam).dense()
        least, most = (np.broadcast_to(x, (k,)) for x in batch.class_size)
        sizes = np.floor(least + 1e-9), np.ceil(most - 1e-9)
        start = self._start(batch, A, k, sizes)
        items = self._items(batch, A.cpu().numpy(), k, *(x.astype(np.int64) for x in sizes))
        first = np.unique(batch.constraints.group, return_index=True)[1]
        end = descend(items, start[first], max_steps=self.max_steps)
        codes = end.labels[batch.constraints.group]
        return batch.equivalence(torch.from_numpy(codes).to(batch.spectrum.s.device))

    def _start(self, batch: BatchProblem, A: Tensor, k: int, sizes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        rng = draw_seed(batch.generator)
        M = balance(A.to(torch.float32), size=batch.size, known=batch.known, nu=self.nu).M
        _, Z = spectral_embedding(M, k, random_state=rng)
        scores = seeded_scores(Z.cpu().numpy(), batch.constraints.classes, k, rng=rng)
        return assign(scores, batch.constraints, sizes=sizes)

    @staticmethod
    def _items(batch: BatchProblem, A: np.ndarray, k: int, lo: Ints, hi: Ints) -> Items:
        """Points known to be together, as one item each."""
        facts = batch.constraints
        m = len(facts.group_set)
        together = csr_matrix((np.ones(batch.n), (facts.group, np.arange(batch.n))), shape=(m, batch.n))
        return Items(
            Q=together @ (together @ A).T,
            weight=np.ones(m),
            power=0,
            count=np.bincount(facts.group),
            allowed=facts.allowed[facts.group_set][:, :k],
            apart=facts.apart.toarray().astype(np.int64) if facts.apart.nnz else None,
            lo=lo,
            hi=hi,
        )
