"""A network made from a declared list of layers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from xsdc.errors import InvalidInputError
from xsdc.networks.configs import LayerConfig, NetworkConfig
from xsdc.networks.images import channels_last, gradient_map
from xsdc.networks.initialization import N_PATCHES, choose_rows, draw_patches, filters_from_patches
from xsdc.networks.kernels import RBF, Linear, median_bandwidth
from xsdc.networks.network import Network
from xsdc.networks.nystrom import ConvNystromLayer, NystromLayer, Weights, absorb_mixing
from xsdc.networks.plain import PlainLayer
from xsdc.networks.pooling import Pooling

Layer = NystromLayer | ConvNystromLayer | PlainLayer

# A batch goes through in parts whose largest map takes about this many numbers. Measured on two cores with
# 32 MB of shared cache: parts of 256 to 512 images (lenet5-ckn) halve the time of one part of 1,024, whose
# maps of 26 MB are written to fresh memory each time; parts of 64 pay for starting each operation.
PART_NUMBERS = 2**21

# Filters are chosen from the maps of this many images, fewer where the maps are so large that they pass the
# second bound together (2^26 numbers: 268 MB in float32).
SAMPLE_IMAGES, SAMPLE_NUMBERS = 1000, 2**26


class LayeredNetwork(Network):
    """Layers in a row, from a `NetworkConfig`; filters are zero until `initialize` or loading sets them.

    Parameters
    ----------
    config : NetworkConfig
        The layers. Bandwidths left to the data are filled in by `initialize`.
    input_shape : tuple of int
        (d,) for vectors, (C, H, W) for images.
    dtype : torch.dtype, default float32
        Type of the filters and the features. The small Gram matrices are factored in float64 in any case.
    """

    def __init__(
        self, config: NetworkConfig, *, input_shape: tuple[int, ...], dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        self.config = config
        self.input_shape = tuple(input_shape)
        if self.takes_images != (config.input != "vectors"):
            raise InvalidInputError(f"The network takes {config.input}; each input has shape {self.input_shape}.")
        shape = (2, *self.input_shape[1:]) if config.input == "gradient-map" else self.input_shape
        layers: list[Layer] = []
        largest = 1
        for number, layer in enumerate(config.layers, start=1):
            built, shape, inner = _build_layer(layer, config, shape, number)
            layers.append(built)
            largest = max(largest, inner)
        self.layers = nn.ModuleList(layers).to(dtype)
        self.n_features = _size(shape)
        self.part_size = max(16, PART_NUMBERS // largest)
        self._sample_size = min(SAMPLE_IMAGES, max(32, SAMPLE_NUMBERS // largest))

    @property
    def dtype(self) -> torch.dtype:
        """Type of the filters, of the prepared data and of the features."""
        first = next(iter((*self.parameters(), *self.buffers())))
        return first.dtype

    def get_extra_state(self) -> Tensor:
        """Bandwidths, which belong to the state: they come from data as the filters do. Zero where there is none."""
        bandwidths = [getattr(layer.kernel, "bandwidth", 0.0) for layer in self._nystrom_rows()]
        return torch.tensor(bandwidths, dtype=torch.float64)

    def set_extra_state(self, state: Tensor) -> None:
        """Put bandwidths back, into the layers and their configuration."""
        configs = list(self.config.layers)
        places = [i for i, layer in enumerate(self._rows()) if not isinstance(layer, PlainLayer)]
        for i, bandwidth in zip(places, state.tolist(), strict=True):
            layer = self._rows()[i]
            if isinstance(layer, NystromLayer | ConvNystromLayer) and not isinstance(layer.kernel, Linear):
                layer.kernel = replace(layer.kernel, bandwidth=bandwidth)
                configs[i] = replace(configs[i], bandwidth=bandwidth)
        self.config = replace(self.config, layers=tuple(configs))

    def _nystrom_rows(self) -> list[NystromLayer | ConvNystromLayer]:
        return [layer for layer in self._rows() if not isinstance(layer, PlainLayer)]

    def forward(self, batch: Tensor) -> Tensor:
        """Map a batch (n, *input_shape) to features (n, D)."""
        self._check_batch(batch)
        weights = self.weights()
        parts = [self._respond(part, weights) for part in torch.split(batch, self.part_size)]
        return torch.cat(parts) if len(parts) != 1 else parts[0]

    def weights(self) -> list[Weights]:
        """Compute what the data meets in each layer, with mixings moved into linear layers after them."""
        weights = [layer.weights() for layer in self._rows()]
        for i, layer in enumerate(self._rows()[1:], start=1):
            if isinstance(layer, ConvNystromLayer) and isinstance(layer.kernel, Linear):
                weights[i - 1], weights[i] = absorb_mixing(weights[i - 1], weights[i])
        return weights

    def _respond(self, x: Tensor, weights: list[Weights]) -> Tensor:
        x = self.enter(x)
        for layer, weight in zip(self._rows(), weights, strict=True):
            x = layer.respond(_flat(x) if _on_vectors(layer) else x, weight)
        return _flat(x)

    def enter(self, x: Tensor) -> Tensor:
        """Bring a batch into the form of the first layer: the gradient map where asked, channels last."""
        if self.config.input == "gradient-map":
            x = gradient_map(x)
        return channels_last(x) if self.takes_images else x

    def _rows(self) -> list[Layer]:
        return list(self.layers)  # type: ignore[arg-type]

    def initialize(self, X: Tensor, *, generator: torch.Generator) -> None:
        """Set the filters from data, layer after layer, each from the output of those before it.

        Parameters
        ----------
        X : Tensor (n, *input_shape)
            Prepared data. Bandwidths come from 1,000 points drawn at random; of images, up to 1,000 drawn at random
            take part in all.
        generator : torch.Generator
            Source of randomness.
        """
        self._check_batch(X)
        if self.takes_images:
            X = X[torch.randperm(len(X), generator=generator)[: self._sample_size]]
        configs = []
        with torch.no_grad():
            x = self.enter(X)
            for number, (config, layer) in enumerate(zip(self.config.layers, self._rows(), strict=True), start=1):
                x = _flat(x) if _on_vectors(layer) else x
                try:
                    configs.append(_start_layer(layer, config, x, generator))
                except InvalidInputError as error:
                    raise InvalidInputError(f"layer {number}: {error}") from error
                x = torch.cat([layer.respond(part, layer.weights()) for part in torch.split(x, self.part_size)])
        self.config = replace(self.config, layers=tuple(configs))

    def description(self) -> dict[str, Any]:
        """Describe the network: its configuration, with bandwidths from data, and its input."""
        return {"kind": "layers", "config": self.config.to_dict()}


def _start_layer(layer: Layer, config: LayerConfig, x: Tensor, generator: torch.Generator) -> LayerConfig:
    """Set one layer's filters from its input x; return its configuration with the bandwidth filled in."""
    if isinstance(layer, PlainLayer):
        _start_plain(layer, x, generator)
        return config
    if isinstance(layer.kernel, RBF) and config.bandwidth is None:
        config = replace(config, bandwidth=median_bandwidth(x, generator=generator))
        layer.kernel = RBF(float(config.bandwidth or 0.0))
    if config.start == "identity":
        V = torch.eye(layer.width)
    elif isinstance(layer, ConvNystromLayer):
        patches = draw_patches(
            x, patch=layer.V.shape[-1], stride=layer.stride, padding=layer.padding, generator=generator
        )
        V = filters_from_patches(patches, width=layer.width, init=config.start, generator=generator)
    elif layer.kernel.on_sphere:
        V = filters_from_patches(_some_rows(x, generator), width=layer.width, init=config.start, generator=generator)
    else:
        V = choose_rows(_some_rows(x, generator), width=layer.width, init=config.start, generator=generator)
    layer.V.copy_(V.reshape(layer.V.shape))
    return config


def _start_plain(layer: PlainLayer, x: Tensor, generator: torch.Generator) -> None:
    """Draw weights at random, then scale them so that each output has mean zero and variance one on x."""
    shape = layer.weight.shape
    layer.weight.copy_(torch.randn(shape, generator=generator, dtype=torch.float64))
    layer.bias.zero_()
    y = layer.products(x, layer.weights()).transpose(0, 1).flatten(1).double()  # (m, n H W)
    deviation, mean = torch.std_mean(y, dim=1, correction=0)
    # An output that does not vary on the data is left at the scale of its input.
    deviation = torch.where(deviation > 1e-6 * y.abs().amax(1), deviation, y.abs().amax(1).clamp_min(1e-12))
    layer.weight.div_(deviation.view(-1, *[1] * (len(shape) - 1)))
    layer.bias.copy_(-mean / deviation)


def _build_layer(
    config: LayerConfig, network: NetworkConfig, shape: tuple[int, ...], number: int
) -> tuple[Layer, tuple[int, ...], int]:
    """Make one layer for inputs of the given shape; return it, its output shape and its largest map."""
    pooling = config.make_pooling()
    n_inputs = _size(shape) if config.patch is None else shape[0]
    if config.start == "identity" and config.width != n_inputs:
        raise InvalidInputError(
            f"layer {number}: init 'identity' needs width {n_inputs}, as many filters as inputs; width is"
            f" {config.width}."
        )
    if config.patch is None:
        return _vector_layer(config, network, n_inputs), (config.width,), max(n_inputs, config.width)
    sizes, pooled = _map_sizes(config, config.patch, pooling, shape, number)
    fused = config.kernel == "linear" and config.pooling == "average"
    H, W = pooled if fused else sizes
    layer = _map_layer(config, network, config.patch, n_inputs, pooling)
    return layer, (config.width, *pooled), max(config.width * H * W, _size(shape))


def _map_sizes(
    config: LayerConfig, patch: int, pooling: Pooling | None, shape: tuple[int, ...], number: int
) -> tuple[list[int], list[int]]:
    """Compute height and width of a layer's map before and after pooling; both must hold a position."""
    sizes = [(size + 2 * config.padding - patch) // config.stride + 1 for size in shape[1:]]
    if min(sizes) < 1:
        raise InvalidInputError(
            f"layer {number}: patch {patch} with padding {config.padding} does not fit a map of"
            f" {shape[1]}×{shape[2]}. Use a smaller patch, more padding, or less pooling before."
        )
    pooled = [size if pooling is None else pooling.output_size(size) for size in sizes]
    if min(pooled) < 1:
        raise InvalidInputError(
            f"layer {number}: pool_size {config.pool_size or 2} does not fit a map of {sizes[0]}×{sizes[1]}."
            " Use a smaller one, or more padding."
        )
    return sizes, pooled


def _map_layer(
    config: LayerConfig, network: NetworkConfig, patch: int, n_inputs: int, pooling: Pooling | None
) -> Layer:
    if config.is_plain:
        return PlainLayer(
            n_inputs,
            config.width,
            rectify=config.kernel == "relu",
            patch=patch,
            stride=config.stride,
            padding=config.padding,
            pooling=pooling,
            trained=config.trained,
        )
    return ConvNystromLayer(
        n_inputs,
        config.width,
        patch=patch,
        kernel=config.make_kernel(),
        stride=config.stride,
        padding=config.padding,
        pooling=pooling,
        eps=network.eps,
        root=network.root,
        root_iter=network.root_iter or 20,
        trained=config.trained,
    )


def _vector_layer(config: LayerConfig, network: NetworkConfig, n_inputs: int) -> Layer:
    if config.is_plain:
        return PlainLayer(n_inputs, config.width, rectify=config.kernel == "relu", trained=config.trained)
    return NystromLayer(
        n_inputs,
        config.width,
        kernel=config.make_kernel(),
        eps=network.eps,
        root=network.root,
        root_iter=network.root_iter or 20,
        trained=config.trained,
    )


def _on_vectors(layer: Layer) -> bool:
    return isinstance(layer, NystromLayer) or (isinstance(layer, PlainLayer) and layer.weight.ndim == 2)


def _flat(x: Tensor) -> Tensor:
    return x.flatten(1)


def _some_rows(X: Tensor, generator: torch.Generator) -> Tensor:
    return X[torch.randperm(len(X), generator=generator)[:N_PATCHES]]


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size
