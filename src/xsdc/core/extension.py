"""From the points of a balanced matrix to all others: where a point would lie among the eigenvectors of M.

A point outside has a cost towards each point of the matrix, and with it a row of M up to a factor; the eigenvectors
extend to it by that row (Nyström). Where groups overlap, that agrees better with the matrix of all points than
the label of the nearest point does.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from xsdc.core.balanced import Balanced
from xsdc.core.objective import Spectrum
from xsdc.core.rounding import RandomState, leading_eigenvectors, unit_rows

LEAST_EIGENVALUE = 1e-3


@dataclass(frozen=True)
class Extension:
    """The embedding of m points, for these and for others.

    Attributes
    ----------
    own : Tensor of float64, shape (m, k)
        Where the points lie: leading eigenvectors, rows of length one.
    eigenvalues : Tensor of float64
        Leading eigenvalues, one more than k where there are that many.
    """

    own: Tensor
    eigenvalues: Tensor
    _spectrum: Spectrum
    _to_factor: Tensor
    _kernel: Tensor
    _shift: Tensor
    _weights: Tensor

    @classmethod
    def of(
        cls,
        spectrum: Spectrum,
        lam: float,
        balanced: Balanced,
        n_clusters: int,
        *,
        random_state: RandomState,
        guess: Tensor | None = None,
    ) -> Extension:
        """Decompose a balanced matrix.

        Parameters
        ----------
        spectrum : Spectrum
            Decomposed features of the m points.
        lam : float
            Ridge of the cost.
        balanced : Balanced
            Their cost, balanced.
        n_clusters : int
            k.
        random_state, guess
            As for `spectral_embedding`.
        """
        values, vectors, degree = leading_eigenvectors(balanced.M, n_clusters, random_state=random_state, guess=guess)
        A = spectrum.cost(lam)
        d = spectrum.s**2 + spectrum.n * lam
        scalings = torch.where(
            balanced.log_u.isfinite() & balanced.log_v.isfinite(), balanced.log_u + balanced.log_v, 0
        )
        return cls(
            own=unit_rows(vectors),
            eigenvalues=values,
            _spectrum=spectrum,
            _to_factor=d.rsqrt() if A.alpha else 1 / spectrum.s,
            _kernel=(-(A.w / balanced.nu) * A.B).T,  # (r, m)
            _shift=scalings / 2,
            _weights=degree.rsqrt()[:, None] * vectors / values[:n_clusters].clamp(min=LEAST_EIGENVALUE),
        )

    def embed(self, Phi: Tensor) -> Tensor:
        """Place points by their features (n, D), on the scale of those decomposed; shape (n, k)."""
        P = (Phi.to(self._kernel) - self._spectrum.mean) @ self._spectrum.V
        exponents = torch.addmm(self._shift, P * self._to_factor, self._kernel)  # the rest is the same for a whole row
        rows = exponents.sub_(exponents.amax(1, keepdim=True)).to(torch.float32).exp_()
        return unit_rows((rows @ self._weights.to(rows)).to(self.own))
