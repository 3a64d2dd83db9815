"""Inputs and features as vectors of a few columns at a common scale: what the classifiers of labels look at."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from xsdc.networks.rows import Rows
from xsdc.networks.scattering import scattering

MOST_COLUMNS = 50  # directions of largest variance that are kept
RELATIVE_VARIANCE = 1e-10  # of a direction beside the first, below which it is rounding
MOST_FITTED = 10_000  # rows by which these are found
MOST_SCATTERED = 64  # pixels on a side up to which images are transformed as they are; larger ones are shrunk
MOST_HELD = 1 << 26  # numbers of the scattering transform of all images that are kept in memory
BLOCK = 4096


@dataclass(frozen=True)
class Representation:
    """Principal components of vectors, or of the scattering transform of images, at a common scale.

    Attributes
    ----------
    mean : Tensor, shape (D,)
    components : Tensor, shape (D, d)
        Orthogonal directions, divided so that the coordinates have variance one in the mean.
    """

    mean: Tensor
    components: Tensor

    def __call__(self, data: Tensor | Rows, rows: Tensor | None = None) -> Tensor:
        """Represent prepared inputs, shape (n, d), or those at some positions, reading a block at a time."""
        n = len(data if rows is None else rows)
        parts = []
        for start in range(0, max(n, 1), BLOCK):
            part = slice(start, start + BLOCK)
            parts.append((_vectors(data[part if rows is None else rows[part]]) - self.mean) @ self.components)
        return torch.cat(parts)


def fit_representation(data: Tensor | Rows) -> Representation:
    """Find the directions of largest variance, among all rows or as many as suffice, evenly spread.

    Parameters
    ----------
    data : Tensor of shape (n, d) or (n, C, H, W), or Rows
        Prepared inputs.
    """
    n = len(data)
    index = torch.arange(n)
    if n > MOST_FITTED:
        index = torch.linspace(0, n - 1, MOST_FITTED, dtype=torch.float64).round().to(torch.int64)
    X = torch.cat([_vectors(data[index[start : start + BLOCK]]) for start in range(0, len(index), BLOCK)])
    mean = X.mean(0)
    X = X - mean
    components = torch.eye(X.shape[1], dtype=X.dtype)
    if X.shape[1] > MOST_COLUMNS:
        wide = X.shape[1] > len(X)
        values, vectors = (part.flip(-1) for part in torch.linalg.eigh(X @ X.T if wide else X.T @ X))
        kept = min(MOST_COLUMNS, max(1, int((values > RELATIVE_VARIANCE * values[0]).sum())))
        components = vectors[:, :kept]
        if wide:
            components = X.T @ components / values[:kept].clamp(min=torch.finfo(X.dtype).tiny).sqrt()
    spread = float((X @ components).square().mean().sqrt())
    return Representation(mean, components / (spread if spread > 0 else 1.0))


def transformed(data: Tensor | Rows) -> Tensor | Rows:
    """Replace images by their scattering transform, so that it is not computed again; not where it would be large."""
    first = data[:1]
    if first.ndim == 2 or len(data) * _scattered(first).shape[1] > MOST_HELD:
        return data
    return torch.cat([_scattered(data[start : start + BLOCK]) for start in range(0, len(data), BLOCK)])


def _vectors(data: Tensor) -> Tensor:
    """Vectors as they are, images by their scattering transform."""
    return (data.detach().cpu() if data.ndim == 2 else _scattered(data)).to(torch.float64)


def _scattered(data: Tensor) -> Tensor:
    """Scattering transform of images (n, C, H, W) as vectors."""
    data = data.detach().cpu()
    largest = max(data.shape[-2:])
    if largest > MOST_SCATTERED:
        size = [max(1, round(side * MOST_SCATTERED / largest)) for side in data.shape[-2:]]
        data = torch.nn.functional.interpolate(data.float(), size=size, mode="area")
    return scattering(data)
