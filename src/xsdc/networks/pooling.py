"""Poolings between layers: average, Gaussian, maximum, and the mean over the whole map."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from xsdc.errors import InvalidInputError
from xsdc.validation import as_count

POOLINGS = ("average", "gaussian", "max", "global")


@dataclass(frozen=True)
class Pooling:
    """Summarise neighbouring positions of a map (n, C, H, W), each channel by itself.

    Parameters
    ----------
    kind : {"average", "gaussian", "max", "global"}
        ``average`` and ``max`` act on squares of ``size`` that do not overlap. ``gaussian`` weighs positions
        x = -size..size on each axis by exp(-x²/size²), normalised, every ``size`` positions, with zeros
        around the map. ``global`` averages the whole map and takes no size.
    size : int, default 2
        See above.
    """

    kind: str
    size: int = 2

    def __post_init__(self) -> None:
        if self.kind not in POOLINGS:
            raise InvalidInputError(f"pooling must be one of {', '.join(POOLINGS)}; it is {self.kind!r}.")
        as_count(self.size, name="pool_size")

    @property
    def is_linear(self) -> bool:
        """Whether pooling commutes with a linear map of the channels."""
        return self.kind != "max"

    def __call__(self, x: Tensor) -> Tensor:
        """Pool a map (n, C, H, W)."""
        if self.kind == "average":
            return F.avg_pool2d(x, self.size)
        if self.kind == "max":
            return F.max_pool2d(x, self.size)
        if self.kind == "global":
            return x.mean((2, 3), keepdim=True)
        return _gaussian_pool(x, size=self.size)

    def output_size(self, size: int) -> int:
        """Positions left along an axis that has ``size`` of them; zero or less when none fits."""
        if self.kind == "global":
            return min(size, 1)
        if self.kind == "gaussian":
            return (size - 1) // self.size + 1
        return size // self.size


def gaussian_weights(size: int, *, dtype: torch.dtype = torch.float64) -> Tensor:
    """Weights exp(-x²/size²) at x = -size..size, with sum one; (2 size + 1,)."""
    x = torch.arange(-size, size + 1, dtype=torch.float64)
    weights = (-x.square() / size**2).exp()
    return (weights / weights.sum()).to(dtype)


def _gaussian_pool(x: Tensor, *, size: int) -> Tensor:
    # The weights are a product of one factor per axis, so each axis is pooled by one small banded matrix:
    # two matrix products on channels-last memory, faster than a depthwise convolution and its gradient.
    n, C, H, W = x.shape
    rows, columns = _banded(H, size, like=x), _banded(W, size, like=x)  # (H', H), (W', W)
    y = x.permute(0, 2, 3, 1).reshape(n, H, W * C)
    y = (rows @ y).reshape(n * len(rows), W, C)
    y = (columns @ y).reshape(n, len(rows), len(columns), C)
    return y.permute(0, 3, 1, 2)


def _banded(length: int, size: int, *, like: Tensor) -> Tensor:
    weights = gaussian_weights(size)
    n_out = (length - 1) // size + 1
    matrix = torch.zeros(n_out, length + 2 * size, dtype=torch.float64)
    for i in range(n_out):
        matrix[i, i * size : i * size + 2 * size + 1] = weights
    return matrix[:, size : size + length].to(like)
