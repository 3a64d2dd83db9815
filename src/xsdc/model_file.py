"""A fitted model in one file: a zip of the network, the arrays and a description. Nothing in it is run when read."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from xsdc import __version__
from xsdc.core.classifier import Classifier
from xsdc.errors import InvalidInputError
from xsdc.networks import load_network, save_network

if TYPE_CHECKING:
    from xsdc.estimator import XSDC

FORMAT = 1
ARRAYS = ("labels_", "classes_", "eigenvalues_", "feature_names_in_")


def write_model(model: XSDC, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; an existing file is replaced once the new one is complete."""
    classifier = model._classifier
    params, left_out = _plain_params(model)
    description = {
        "format": FORMAT,
        "xsdc": __version__,
        "params": params,
        "left_out": left_out,
        "history": model.history_,
        "norm": model._norm,
        "named": model._named,
        "ridge": classifier.lam,
        "sharpness": classifier.sharpness,
        "n_violated_links": model.n_violated_links_,
        "n_features_in": getattr(model, "n_features_in_", None),
    }
    arrays = {name: _storable(getattr(model, name)) for name in ARRAYS if hasattr(model, name)}
    arrays |= {"W": classifier.W.cpu().numpy(), "b": classifier.b.cpu().numpy()}
    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    with tempfile.TemporaryDirectory() as folder:
        network = Path(folder) / "network.safetensors"
        save_network(model.network_, network)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        with zipfile.ZipFile(partial, "w") as file:
            file.writestr("model.json", json.dumps(description, indent=1, default=_plain))
            file.writestr("arrays.npz", buffer.getvalue())
            file.write(network, network.name)
    partial.replace(target)


def read_model(kind: type[XSDC], path: str | os.PathLike[str], *, network: object | None) -> XSDC:
    """Read a model written by :func:`write_model`."""
    if not Path(path).is_file():
        raise InvalidInputError(f"There is no file {path}.")
    try:
        with zipfile.ZipFile(path) as file, tempfile.TemporaryDirectory() as folder:
            description = json.loads(file.read("model.json"))
            with np.load(io.BytesIO(file.read("arrays.npz")), allow_pickle=False) as stored:
                arrays = dict(stored)
            if description.get("format") != FORMAT:
                raise InvalidInputError(
                    f"{path} has format {description.get('format')!r}; this release reads format {FORMAT}."
                )
            loaded = load_network(Path(file.extract("network.safetensors", folder)), module=network)
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError, EOFError, OSError) as error:
        raise InvalidInputError(f"{path} is not a model saved by xsdc, or it is damaged ({error}).") from error
    params = description["params"]
    if isinstance(params.get("cluster_size"), list) and not isinstance(params["cluster_size"][0], list):
        params["cluster_size"] = tuple(params["cluster_size"])
    model = kind(**params)
    if network is not None:
        model.set_params(network=network)
    for name in ARRAYS:
        if name in arrays:
            setattr(model, name, arrays[name].astype(object) if name == "feature_names_in_" else arrays[name])
    if description["n_features_in"] is not None:
        model.n_features_in_ = description["n_features_in"]
    model.network_, model.n_clusters_ = loaded.to(torch.device(model.device)), len(model.classes_)
    model.history_ = description["history"]
    model.n_violated_links_ = description["n_violated_links"]
    model._norm, model._named = description["norm"], description["named"]
    W, b = (torch.from_numpy(arrays[name]).to(model.network_.device) for name in ("W", "b"))
    model._classifier = Classifier(W, b, description["ridge"], description["sharpness"])
    return model


def _plain_params(model: XSDC) -> tuple[dict[str, Any], list[str]]:
    """Parameters that are plain data, and the names of those that are not and fall back to their defaults."""
    plain, left_out = {}, []
    for name, value in model.get_params(deep=False).items():
        try:
            plain[name] = json.loads(json.dumps(value))
        except TypeError:
            left_out.append(name)
    return plain, left_out


def _storable(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return values.astype(str) if values.dtype == object else values


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
