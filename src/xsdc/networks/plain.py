"""Plain layers, weights and bias with or without rectification, beside the kernel layers of a network."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from xsdc.networks.images import channels_last
from xsdc.networks.nystrom import Weights
from xsdc.networks.pooling import Pooling
from xsdc.validation import as_count


class PlainLayer(nn.Module):
    """An ordinary layer, w * x + b, for vectors or for the patches of images.

    Parameters
    ----------
    n_inputs : int
        Length of the vectors, or channels of the images.
    width : int
        Number of outputs. Weights are zero until set from data.
    patch : int, optional
        Height and width of a patch; None for a layer on vectors.
    rectify : bool
        Whether negative outputs become zero.
    stride, padding, pooling
        As in `ConvNystromLayer`; for images.
    trained : bool, default True
        Whether weight and bias are parameters; otherwise they are buffers.
    """

    weight: Tensor
    bias: Tensor

    def __init__(
        self,
        n_inputs: int,
        width: int,
        *,
        rectify: bool,
        patch: int | None = None,
        stride: int = 1,
        padding: int = 0,
        pooling: Pooling | None = None,
        trained: bool = True,
    ) -> None:
        super().__init__()
        shape = [as_count(width, name="width"), as_count(n_inputs, name="n_inputs")]
        if patch is not None:
            shape += [as_count(patch, name="patch")] * 2
        self.rectify = rectify
        self.stride, self.padding, self.pooling = stride, padding, pooling
        self.trained = trained
        for name, start in (("weight", torch.zeros(shape)), ("bias", torch.zeros(width))):
            if trained:
                self.register_parameter(name, nn.Parameter(start))
            else:
                self.register_buffer(name, start)

    @property
    def width(self) -> int:
        """Number of outputs."""
        return int(self.weight.shape[0])

    def forward(self, x: Tensor) -> Tensor:
        """Map x (n, d) or (n, C, H, W) to (n, m) or (n, m, H', W')."""
        return self.respond(x, self.weights())

    def weights(self) -> Weights:
        """Return the filters as they are: there is nothing to compute from them."""
        return Weights(filters=self.weight, mix=None, stride=self.stride, pooling=self.pooling)

    def respond(self, x: Tensor, weights: Weights) -> Tensor:
        """Map x with the weights given."""
        y = self.products(x, weights)
        if self.rectify:
            y = F.relu(y)
        return y if weights.pooling is None else weights.pooling(y)

    def products(self, x: Tensor, weights: Weights) -> Tensor:
        """Compute w * x + b, before rectification and pooling."""
        filters = weights.filters
        assert filters is not None  # noqa: S101  plain layers always carry their filters
        if filters.ndim == 2:
            return F.linear(x, filters, self.bias)
        return F.conv2d(x, channels_last(filters), self.bias, stride=weights.stride, padding=self.padding)
