"""Rows far from nearly all others: scales, distances and steps must not depend on how far they are.

A row is far if its distance from the median of the rows is more than three times that of nine tenths of them. Far rows
are moved: what lies beyond the range of the near rows in a column is compressed into a margin next to that range. The
order of values stays, so that a small class far away remains a class. Near rows stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from xsdc.defaults import DEFAULTS

BLOCK = 8192  # rows compared at a time
MOST_MEASURED = 2000  # rows by which limits are found, spread evenly over the data: enough for a quantile


@dataclass(frozen=True)
class Limits:
    """Where near rows are, and what becomes of far ones.

    Attributes
    ----------
    center : Tensor, shape (d,)
        Median of each column.
    radius : float
        Distance from there beyond which a row is far.
    low, high : Tensor, shape (d,)
        Range of the near rows in each column.
    margin : float
        How far beyond that range a value of a far row may lie, at most.
    """

    center: Tensor
    radius: float
    low: Tensor
    high: Tensor
    margin: float

    def far(self, X: Tensor) -> Tensor:
        """Tell which rows of X (n, ...) are far; shape (n,)."""
        center = self.center.to(X)
        parts = torch.split(X, BLOCK)  # a large array is not held twice
        return torch.cat([torch.linalg.vector_norm(part.flatten(1) - center, dim=1) for part in parts]) > self.radius

    def __call__(self, X: Tensor) -> Tensor:
        """Move the far rows of X (n, ...); X itself if there are none."""
        far = self.far(X)
        if not bool(far.any()):
            return X
        rows, low, high = X[far].flatten(1), self.low.to(X), self.high.to(X)
        beyond = self._compressed(rows - high) - self._compressed(low - rows)
        moved = X.clone()
        moved[far] = (rows.clamp(low, high) + beyond).view(-1, *X.shape[1:])
        return moved

    def _compressed(self, excess: Tensor) -> Tensor:
        """Map excess t > 0 to m t / (m + t), which grows like t at first and stays below the margin m; others to 0."""
        return self.margin / (1 + self.margin / excess.clamp(min=0))


def fit_limits(X: Tensor) -> Limits | None:
    """Find where near rows are.

    Parameters
    ----------
    X : Tensor, shape (n, ...)
        Vectors, each column with a range of its own, or images (n, C, H, W), whose pixels have one range.

    Returns
    -------
    Limits or None
        None where nine tenths of the rows are equal: they set no scale.
    """
    n = len(X)
    if n > MOST_MEASURED:
        X = X[torch.linspace(0, n - 1, MOST_MEASURED, dtype=torch.float64).round().to(torch.int64)]
    rows = X.flatten(1)
    center = rows.median(0).values
    distances = torch.linalg.vector_norm(rows - center, dim=1)
    near_share = -(-int(DEFAULTS.near_share * 100) * len(rows) // 100)  # rounded up: of fewer than ten rows none is far
    usual = float(distances.kthvalue(near_share).values)
    if not usual > 0:
        return None
    near = rows[distances <= DEFAULTS.far * usual]
    low, high = near.amin(0), near.amax(0)
    if X.ndim > 2:
        low, high = low.min().expand_as(low), high.max().expand_as(high)
    return Limits(center, DEFAULTS.far * usual, low, high, usual / rows.shape[1] ** 0.5)
