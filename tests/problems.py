"""Cases with known answers."""

from __future__ import annotations

import torch
from torch import Tensor


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def gaussian(n: int, D: int, *, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(n, D, generator=generator(seed), dtype=dtype)


def features_with_spectrum(n: int, D: int, s: Tensor, *, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Features whose centred part has singular values ``s``; returned with the orthonormal U and V.

    A(Phi; lam) is then known: (Pi - U diag(s² / (s² + n lam)) U^T) / n.
    """
    r = len(s)
    basis = torch.cat([torch.ones(n, 1, dtype=torch.float64), gaussian(n, r, seed=seed)], 1)
    U = torch.linalg.qr(basis).Q[:, 1 : r + 1]  # orthogonal to the vector of ones
    V = torch.linalg.qr(gaussian(D, r, seed=seed + 1)).Q[:, :r]
    mean = gaussian(1, D, seed=seed + 2)
    return U * s @ V.T + mean, U, V


def blobs(n: int, k: int, *, D: int = 5, spread: float = 5.0, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Well separated groups of equal size; returns features and classes."""
    y = torch.arange(n) % k
    centres = spread * torch.linalg.qr(gaussian(max(D, k), max(D, k), seed=seed)).Q[:k, :D]
    return centres[y] + gaussian(n, D, seed=seed + 1) * 0.3, y


def random_cost(n: int, *, seed: int = 0) -> Tensor:
    """A symmetric matrix of the size and sign that A has."""
    Z = gaussian(n, n, seed=seed)
    return (Z + Z.T) / (2 * n)


def label_entries(y: Tensor, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Known entries of M among labeled points: rows, columns, values."""
    i = points.repeat_interleave(len(points))
    j = points.repeat(len(points))
    return i, j, (y[i] == y[j]).to(torch.int64)


def dense_known(n: int, entries: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Mask and values of known entries, the diagonal among them."""
    mask, values = torch.eye(n, dtype=torch.bool), torch.eye(n, dtype=torch.float64)
    i, j, value = entries
    mask[i, j] = mask[j, i] = True
    values[i, j] = values[j, i] = value.to(torch.float64)
    values.fill_diagonal_(1)
    return mask, values
