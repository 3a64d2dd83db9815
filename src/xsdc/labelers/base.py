"""What a labeler is."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor

from xsdc.core.known import Known
from xsdc.core.objective import Spectrum
from xsdc.core.operators import Operator
from xsdc.core.problem import Fractions


@runtime_checkable
class Labeler(Protocol):
    """Decides who is with whom in a batch, given its features and what is known."""

    def label(self, spectrum: Spectrum, *, lam: float, known: Known, size: Fractions) -> Tensor | Operator:
        """Fill in the unknown entries of M.

        Parameters
        ----------
        spectrum : Spectrum
            Decomposed features of the n points of the batch.
        lam : float
            Ridge penalty.
        known : Known
            Entries of M that are known.
        size : Fractions
            Bounds on group sizes, as shares of the batch.

        Returns
        -------
        Tensor of shape (n, n), or Operator
        """
