"""Filters from data: patches drawn at random, or the centres of k-means on them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from sklearn.cluster import KMeans
from torch import Tensor

from xsdc.errors import InvalidInputError

N_PATCHES = 8192  # more than enough to choose some tens of filters from; bounds time and memory


def draw_patches(
    x: Tensor, *, patch: int, stride: int = 1, padding: int = 0, n_patches: int = N_PATCHES, generator: torch.Generator
) -> Tensor:
    """Draw patches of the maps x (n, C, H, W), uniformly and without replacement; (N, C patch²)."""
    windows = F.pad(x, [padding] * 4).unfold(2, patch, stride).unfold(3, patch, stride)  # (n, C, H', W', p, p)
    n, _, H, W = windows.shape[:4]
    chosen = torch.randperm(n * H * W, generator=generator)[:n_patches]
    image, row, column = chosen // (H * W), chosen // W % H, chosen % W
    return windows[image, :, row, column].flatten(1)


def filters_from_patches(P: Tensor, *, width: int, init: str, generator: torch.Generator) -> Tensor:
    """Choose unit-norm filters for patches of images; (width, d).

    Parameters
    ----------
    P : Tensor (N, d)
        Patches. Constant ones are left out while others exist: they hold no shape.
    width : int
        Number of filters.
    init : {"samples", "kmeans", "spherical-kmeans"}
        Patches as drawn, or centres of clusters of them.
    generator : torch.Generator
        Source of randomness.
    """
    norms = P.norm(dim=1)
    varied = (P.amax(1) > P.amin(1)) & (norms > 0)
    keep = varied if bool(varied.any()) else norms > 0
    if not bool(keep.any()):
        raise InvalidInputError("Filters are taken from patches of the data, and all of them are zero here.")
    unit = P[keep] / norms[keep, None]
    return F.normalize(choose_rows(unit, width=width, init=init, generator=generator), dim=1)


def choose_rows(X: Tensor, *, width: int, init: str, generator: torch.Generator) -> Tensor:
    """Choose filters among the rows of X (N, d), or as centres of clusters of them; (width, d)."""
    if init == "kmeans" and len(torch.unique(X, dim=0)) > width:
        return kmeans_centres(X, width=width, generator=generator)
    if init == "spherical-kmeans" and len(X) > width:
        return spherical_kmeans_centres(X, width=width, generator=generator)
    rows = X[torch.randperm(len(X), generator=generator)[:width]]
    if len(rows) == width and len(torch.unique(rows, dim=0)) == width:
        return rows
    # Some came twice: draw among distinct rows, in an order that depends on the generator alone.
    distinct: Tensor = torch.unique(X, dim=0)
    rows = distinct[torch.randperm(len(distinct), generator=generator)[:width]]
    if len(rows) == width:
        return rows
    # Fewer points than filters: the rest are random averages of the points. Repeating points instead would
    # give twins, whose gradients are equal for ever.
    share = torch.rand(width - len(rows), len(rows), generator=generator, dtype=torch.float64)
    share = share / share.sum(1, keepdim=True)
    return torch.cat([rows, share.to(X) @ rows])


def kmeans_centres(X: Tensor, *, width: int, generator: torch.Generator) -> Tensor:
    """Cluster the rows of X (N, d) by k-means and return the centres (width, d)."""
    seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
    model = KMeans(width, n_init=1, max_iter=50, random_state=seed).fit(X.double().cpu().numpy())
    return torch.from_numpy(model.cluster_centers_).to(X)


def spherical_kmeans_centres(X: Tensor, *, width: int, generator: torch.Generator, n_iter: int = 30) -> Tensor:
    """Cluster directions: maximise the cosines between the rows of X (N, d) and their centres (width, d).

    Starts from random rows. A centre that loses all its rows moves to the row that is served worst.
    """
    X = F.normalize(X, dim=1)
    centres = X[torch.randperm(len(X), generator=generator)[:width]]
    for _ in range(n_iter):
        cosines, nearest = (X @ centres.T).max(1)
        sums = torch.zeros_like(centres).index_add_(0, nearest, X)
        empty = sums.norm(dim=1) == 0
        if bool(empty.any()):
            worst = cosines.argsort()[: int(empty.sum())]
            sums[empty] = X[worst]
        moved = F.normalize(sums, dim=1)
        if torch.equal(moved, centres):
            break
        centres = moved
    return centres
