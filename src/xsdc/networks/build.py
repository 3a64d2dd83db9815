"""One door to every representation: a name, a configuration, a module, a transformer or a callable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from xsdc.core.outliers import fit_limits
from xsdc.errors import InvalidInputError
from xsdc.networks.configs import NetworkConfig
from xsdc.networks.external import FixedNetwork, ModuleNetwork, Transformer
from xsdc.networks.images import is_image_array
from xsdc.networks.layered import LayeredNetwork
from xsdc.networks.network import Network, prepare_input
from xsdc.networks.zoo import NAMES, NETWORKS, SIZED, choose_config

NetworkSpec = str | NetworkConfig | Mapping[str, Any] | nn.Module | Transformer | Callable[[Tensor], Any]


def build_network(
    spec: NetworkSpec,
    X: object,
    *,
    generator: torch.Generator,
    dtype: torch.dtype = torch.float32,
    channels: str | None = None,
    limit_outliers: bool = False,
) -> Network:
    """Make a network that fits the data and is ready for use: filters from the data, transformers fitted.

    Parameters
    ----------
    spec : str, NetworkConfig, mapping, nn.Module, transformer or callable
        A name (``kn``, ``lenet5-ckn``, ``ckn-gm``, ``ckn``, ``cnn``) or ``auto``, which chooses by the data; a
        configuration, also as plain data; a network made before, which is used as it is; a module, see
        `ModuleNetwork`; a transformer or callable, see `FixedNetwork`.
    X : array-like
        Vectors (n, d), or images (n, H, W), (n, H, W, C), (n, C, H, W).
    generator : torch.Generator
        Source of randomness.
    dtype : torch.dtype, default float32
        float32 or float64; a module keeps the type of its parameters.
    channels : {None, "first", "last"}
        The channel axis of images, where it cannot be told from the shape.
    limit_outliers : bool, default False
        Whether the network moves rows that are far from nearly all rows of X, see `xsdc.core.outliers`.

    Returns
    -------
    Network
    """
    if not isinstance(generator, torch.Generator):
        raise InvalidInputError("generator must be a torch.Generator, the one source of randomness.")
    if dtype not in (torch.float32, torch.float64):
        raise InvalidInputError(f"dtype must be torch.float32 or torch.float64; it is {dtype}.")
    data = prepare_input(X, images=is_image_array(X), channels=channels, dtype=dtype)
    limits = fit_limits(data) if limit_outliers else None
    network = _build(spec, data if limits is None else limits(data), generator=generator, dtype=dtype)
    if limit_outliers:
        network.limits = limits
    return network


def _build(spec: NetworkSpec, data: Tensor, *, generator: torch.Generator, dtype: torch.dtype) -> Network:
    """Make a network from prepared data."""
    if isinstance(spec, Network):  # one of ours, as it is: it knows how its filters take a step
        if tuple(data.shape[1:]) != spec.input_shape:
            raise InvalidInputError(
                f"The network was made for inputs of shape {spec.input_shape} each (channels first); X has"
                f" {tuple(data.shape[1:])}."
            )
        return spec
    if isinstance(spec, nn.Module):
        return ModuleNetwork(spec, example=data, dtype=dtype)
    if isinstance(spec, str | NetworkConfig | Mapping):
        config = _resolve(spec, tuple(data.shape[1:]))
        network = LayeredNetwork(config, input_shape=tuple(data.shape[1:]), dtype=dtype)
        network.initialize(data, generator=generator)
        return network
    if isinstance(spec, type):
        raise InvalidInputError(f"The network must be an object; it is the class {spec.__name__}. Make one of it.")
    if isinstance(spec, Transformer) or callable(spec):
        return FixedNetwork(spec, example=data, dtype=dtype)
    raise InvalidInputError(
        "The network must be a name, a configuration, a torch module, a transformer or a callable; it is of type"
        f" {type(spec).__name__}."
    )


def _resolve(spec: str | NetworkConfig | Mapping[str, Any], input_shape: tuple[int, ...]) -> NetworkConfig:
    if isinstance(spec, Mapping):
        spec = NetworkConfig.from_dict(spec)
    elif isinstance(spec, str):
        if spec == "auto":
            return choose_config(input_shape)
        if spec not in NAMES:
            raise InvalidInputError(f"The network must be one of auto, {', '.join(NAMES)}; it is {spec!r}.")
        if spec in SIZED:
            sides = input_shape[1:] if len(input_shape) == 3 else (1, 1)  # of vectors: refused below
            spec = SIZED[spec](*sides)
        else:
            spec = NETWORKS[spec]
    images = len(input_shape) == 3
    if images and spec.input == "vectors":
        raise InvalidInputError(
            f"Network {spec.name!r} takes vectors (n, d); X holds images. Choose another, or flatten them."
        )
    if not images and spec.input != "vectors":
        raise InvalidInputError(
            f"Network {spec.name!r} takes images; X holds vectors (n, d). Use 'kn', or reshape X to (n, H, W)."
        )
    return spec
