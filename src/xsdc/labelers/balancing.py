"""The paper's labeler: matrix balancing, Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from xsdc.core.balancing import balance
from xsdc.labelers.base import BatchProblem, Labeler


@dataclass(frozen=True)
class Balancing(Labeler):
    """Balance the cost matrix of the batch; see :func:`xsdc.core.balancing.balance`.

    Attributes
    ----------
    nu : float or "median"
        Entropic weight.
    max_iter : int
        Iterations; the paper makes 10.
    cap : float or None
        Largest entry of M; the paper sets none.
    symmetric : bool
        Whether M is scaled by the same vector on both sides.
    dtype : torch.dtype
        Precision of the matrix. The sums are safe in float32, and twice as fast.
    """

    nu: float | Literal["median"] = "median"
    max_iter: int = 10
    cap: float | None = None
    symmetric: bool = False
    dtype: torch.dtype = torch.float32

    def label(self, batch: BatchProblem) -> Tensor:
        """Fill in the unknown entries of M."""
        A = batch.spectrum.cost(batch.lam).dense(self.dtype)
        result = balance(
            A,
            size=batch.size,
            known=batch.known,
            nu=self.nu,
            max_iter=self.max_iter,
            cap=self.cap,
            symmetric=self.symmetric,
        )
        assert isinstance(result.M, Tensor)  # noqa: S101  a dense cost gives a dense M
        return result.M
