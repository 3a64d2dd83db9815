"""Inputs and features as vectors of a few columns at a common scale: what the classifiers of labels look at."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from sklearn.decomposition import PCA
from torch import Tensor

from xsdc.defaults import DEFAULTS
from xsdc.networks.rows import Rows
from xsdc.networks.scattering import scattering

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


def fit_representation(data: Tensor | Rows, *, images: bool = False) -> Representation:
    """Find the directions of largest variance, among all rows or as many as suffice, evenly spread.

    Parameters
    ----------
    data : Tensor of shape (n, d) or (n, C, H, W), or Rows
        Prepared inputs.
    images : bool
        Whether they are images, or transformed from images.
    """
    n = len(data)
    index = torch.arange(n)
    if n > MOST_FITTED:
        index = torch.linspace(0, n - 1, MOST_FITTED, dtype=torch.float64).round().to(torch.int64)
    X = torch.cat([_vectors(data[index[start : start + BLOCK]]) for start in range(0, len(index), BLOCK)])
    mean = X.mean(0)
    kept = DEFAULTS.image_columns if images else DEFAULTS.columns
    if X.shape[1] <= kept:
        components = torch.eye(X.shape[1], dtype=X.dtype)
    else:
        pca = PCA(min(kept, *X.shape), random_state=0).fit(X.numpy())
        variances = torch.from_numpy(pca.explained_variance_)
        told = variances > RELATIVE_VARIANCE * variances[0]
        told[0] = True
        components = torch.from_numpy(pca.components_).T[:, told]
        if images:
            components = components / variances[told].clamp(min=torch.finfo(X.dtype).tiny) ** DEFAULTS.flattening
    spread = float(((X - mean) @ components).square().mean().sqrt())
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
    """Square roots of the scattering transform of images (n, C, H, W), as vectors.

    Roots keep the few largest coefficients from deciding distances; where there are negative ones, signs are kept.
    """
    data = data.detach().cpu()
    largest = max(data.shape[-2:])
    if largest > MOST_SCATTERED:
        size = [max(1, round(side * MOST_SCATTERED / largest)) for side in data.shape[-2:]]
        data = torch.nn.functional.interpolate(data.float(), size=size, mode="area")
    transformed = scattering(data)
    return transformed.sign() * transformed.abs().sqrt()
