"""Networks in files: tensors by safetensors, the description as JSON in the file's header; nothing is run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from xsdc.core.outliers import Limits
from xsdc.errors import InvalidInputError
from xsdc.networks.configs import NetworkConfig
from xsdc.networks.external import FixedNetwork, ModuleNetwork, Transformer, is_fitted
from xsdc.networks.layered import LayeredNetwork
from xsdc.networks.network import Network

HEADER = "xsdc_network"
VERSION = 1
LIMITS, LIMITING = "limits.", ("center", "low", "high")  # what of the limits are tensors
DTYPES = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
}


def save_network(network: Network, path: str | os.PathLike[str]) -> None:
    """Save a network to one file.

    Parameters
    ----------
    network : Network
        Of a module the parameters and buffers are saved, of a fixed representation only the description.
    path : str or path
        File to write; an existing one is replaced once the new one is complete.
    """
    description = {
        "version": VERSION,
        "input_shape": list(network.input_shape),
        "n_features": network.n_features,
        "dtype": str(network.dtype).removeprefix("torch."),
        **network.description(),
    }
    state = _state(network)
    if network.limits is not None:
        description["limits"] = {"radius": network.limits.radius, "margin": network.limits.margin}
        state |= {LIMITS + name: getattr(network.limits, name) for name in LIMITING}
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in state.items()}
    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    save_file(tensors, partial, metadata={HEADER: json.dumps(description)})
    partial.replace(target)


def load_network(path: str | os.PathLike[str], *, module: object | None = None) -> Network:
    """Load a network saved by `save_network`.

    Parameters
    ----------
    path : str or path
        The file.
    module : nn.Module, transformer or callable, optional
        For a network made from one: an object of the same make, which no file can hold without running code.
        The saved parameters are put into a module; a transformer is used as it is, and must be fitted.

    Returns
    -------
    Network
    """
    description, tensors = _read(Path(path))
    strange = sorted(name for name, value in tensors.items() if not bool(torch.isfinite(value).all()))
    if strange:
        raise InvalidInputError(f"{path} is damaged: {strange[0]} has entries that are no finite numbers.")
    limiting: dict[str, Any] = {name: tensors.pop(LIMITS + name) for name in LIMITING if LIMITS + name in tensors}
    try:
        if description["kind"] == "layers":  # without memory first: a description may say any size
            with torch.device("meta"):
                _require_alike(_state(_remake(description, module, path=Path(path))), tensors, path)
        network = _remake(description, module, path=Path(path))
        if "limits" in description:
            network.limits = Limits(**limiting, **description["limits"])
    except (KeyError, TypeError, AttributeError, ValueError, RuntimeError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{path} holds no complete description of a network ({error!r}).") from error
    state = _state(network)
    _require_alike(state, tensors, path)
    with torch.no_grad():
        for name, value in state.items():
            value.copy_(tensors[name])
    return network


def _require_alike(state: Mapping[str, Tensor], tensors: Mapping[str, Tensor], path: str | os.PathLike[str]) -> None:
    wrong = [name for name in state.keys() | tensors.keys() if _shape(state.get(name)) != _shape(tensors.get(name))]
    if wrong:
        raise InvalidInputError(
            f"The tensors in {path} do not fit the network: {', '.join(sorted(wrong)[:5])} differ in name or shape."
        )


def _state(network: Network) -> dict[str, Tensor]:
    if isinstance(network, FixedNetwork):
        return {}
    # Bandwidths stand in the description.
    return {name: value for name, value in network.state_dict().items() if name != "_extra_state"}


def _shape(value: Tensor | None) -> tuple[int, ...] | None:
    return None if value is None else tuple(value.shape)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    if not path.is_file():
        raise InvalidInputError(f"There is no file {path}.")
    try:
        with safe_open(path, framework="pt") as file:
            header = (file.metadata() or {}).get(HEADER)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dict
        description = json.loads(header) if header is not None else None
    except (SafetensorError, ValueError) as error:
        raise InvalidInputError(f"{path} is not a network file, or it is damaged ({error}).") from error
    if not isinstance(description, dict):
        raise InvalidInputError(f"{path} is a safetensors file, but holds no network saved by xsdc.")
    if description.get("version") != VERSION:
        raise InvalidInputError(
            f"{path} has version {description.get('version')!r}; this release reads version {VERSION}."
        )
    return description, tensors


def _remake(description: dict[str, Any], module: object | None, *, path: Path) -> Network:
    shape = tuple(int(size) for size in description["input_shape"])
    dtype = DTYPES[description["dtype"]]
    kind = description["kind"]
    if kind == "layers":
        if module is not None:
            raise InvalidInputError(f"{path} holds a network of layers; it takes no module. Leave module out.")
        return LayeredNetwork(NetworkConfig.from_dict(description["config"]), input_shape=shape, dtype=dtype)
    if kind not in ("module", "fixed"):
        raise InvalidInputError(f"{path} holds a network of unknown kind {kind!r}.")
    made_from = description.get("module", description.get("transform"))
    if module is None:
        raise InvalidInputError(
            f"{path} holds a network made from {made_from}, which a file cannot hold. Pass one like it as module=."
        )
    example = torch.zeros(2, *shape, dtype=dtype)
    network: Network
    if kind == "module":
        if not isinstance(module, nn.Module):
            raise InvalidInputError(f"{path} needs a torch module like {made_from}; module is {type(module).__name__}.")
        network = ModuleNetwork(module, example=example, dtype=dtype)
    elif isinstance(module, Transformer) and not is_fitted(module):
        raise InvalidInputError(f"{path} needs {made_from} as it was when saved; the one given is not fitted.")
    elif isinstance(module, Transformer) or callable(module):
        network = FixedNetwork(module, example=example, dtype=dtype)
    else:
        raise InvalidInputError(f"{path} needs a transformer or callable; module is {type(module).__name__}.")
    if network.n_features != description["n_features"]:
        raise InvalidInputError(
            f"{path} was saved with {description['n_features']} features; the given {made_from} makes"
            f" {network.n_features}."
        )
    return network
