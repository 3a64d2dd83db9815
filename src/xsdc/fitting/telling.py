"""Options as text, by which one fit or search is told from another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor


def describe_options(options: Mapping[str, Any], *, without: Collection[str] = ()) -> str:
    """Write options as text that differs where they do."""
    return json.dumps({name: tell_apart(options[name]) for name in sorted(options) if name not in without})


def tell_apart(value: Any) -> Any:
    """Turn an option into plain data that differs where the option does.

    Arrays are told by what they hold, modules by the shapes of their parameters, other objects by their options. Of an
    object that has none, only what it is called is known.
    """
    if value is None or isinstance(value, str | bool | int | float):
        told: Any = value
    elif isinstance(value, Mapping):
        told = [[tell_apart(key), tell_apart(each)] for key, each in value.items()]
    elif isinstance(value, tuple | list):
        told = [tell_apart(each) for each in value]
    elif isinstance(value, np.generic):
        told = value.item()
    elif isinstance(value, Tensor) or hasattr(value, "__array__"):
        told = _array(value.detach().cpu() if isinstance(value, Tensor) else value)
    else:
        named = value if hasattr(value, "__qualname__") else type(value)
        told = [f"{named.__module__}.{named.__qualname__}", _options(value)]
    return told


def _options(value: Any) -> Any:
    """Options of an object, as far as they are known."""
    if isinstance(value, torch.nn.Module):
        return [[key, list(each.shape)] for key, each in value.state_dict().items()]
    if isinstance(value, type):
        return None
    if is_dataclass(value):
        return {field.name: tell_apart(getattr(value, field.name)) for field in fields(value) if field.init}
    return tell_apart(value.get_params(deep=False)) if hasattr(value, "get_params") else None  # of scikit-learn


def _array(value: Any) -> str:
    array = np.asarray(value)
    held = repr(array.tolist()).encode() if array.dtype == object else np.ascontiguousarray(array).tobytes()
    return f"{array.dtype} {array.shape} {hashlib.sha256(held).hexdigest()}"
