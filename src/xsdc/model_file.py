"""A fitted model in one file: a zip of the network, the arrays and a description. Nothing in it is run when read."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xsdc.data.archives import open_zip, read_arrays
from xsdc.errors import InvalidInputError
from xsdc.fitting.labels import PointClassifier
from xsdc.fitting.storage import read_classifier, write_classifier
from xsdc.networks import Network, NetworkConfig, load_network, save_network

FORMAT = 2
PAIRS = "pairs of key and value"


@dataclass(frozen=True)
class ModelFile:
    """What a file holds of a fitted model.

    Attributes
    ----------
    params : mapping
        Options of the estimator; of a file, those that are plain data.
    lost : tuple of str
        Options that a file cannot hold, and that fall back to their defaults.
    network : Network
        The trained network.
    classifier : PointClassifier
        Of groups, or of labels.
    arrays : mapping from name to array
        Labels, names and the like; objects are written as strings.
    facts : mapping
        Anything else that is plain data.
    """

    params: Mapping[str, Any]
    network: Network
    classifier: PointClassifier
    arrays: Mapping[str, npt.NDArray[Any]]
    facts: Mapping[str, Any]
    lost: tuple[str, ...] = ()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file; an existing one is replaced once the new one is complete."""
        params = plain_items(self.params)
        description = {
            "format": FORMAT,
            "xsdc": version("xsdc"),
            "params": params,
            "lost": sorted(self.params.keys() - params.keys()),
            "facts": dict(self.facts),
        }
        arrays = {name: x.astype(str) if x.dtype == object else x for name, x in self.arrays.items()}
        target = Path(path)
        partial = target.with_name(target.name + ".partial")
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        try:
            with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(partial, "w") as file:
                network = Path(folder) / "network.safetensors"
                save_network(self.network, network)
                file.writestr("model.json", json.dumps(description, indent=1, default=_plain))
                file.writestr("arrays.npz", buffer.getvalue())
                write_classifier(self.classifier, file)
                file.write(network, network.name)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, network: object | None = None) -> ModelFile:
        """Read a file, with a network of the same make where it was fitted with the user's own."""
        if not Path(path).is_file():
            raise InvalidInputError(f"There is no file {path}.")
        try:
            with (
                open_zip(Path(path), name=str(path), what="a model saved by xsdc") as file,
                tempfile.TemporaryDirectory() as folder,
            ):
                description = json.loads(file.read("model.json"))
                arrays = read_arrays(file.read("arrays.npz"), name="arrays.npz")
                extracted = Path(file.extract("network.safetensors", folder))
                if description["format"] != FORMAT:
                    raise InvalidInputError(
                        f"{path} has format {description['format']!r}; this release reads format {FORMAT}."
                    )
                loaded = _load_network(extracted, network, path)
                classifier = read_classifier(file)
            params = {name: _as_given(value) for name, value in description["params"].items()}
            return cls(params, loaded, classifier, arrays, description["facts"], tuple(description.get("lost", ())))
        except InvalidInputError:
            raise
        except Exception as error:  # of any kind, depending on where it is damaged
            raise damaged(path, error) from error


def damaged(path: str | os.PathLike[str], error: Exception) -> InvalidInputError:
    """Say that a file is none of ours, or not as it was."""
    return InvalidInputError(f"{path} is not a model saved by xsdc, or it is damaged ({str(error) or repr(error)}).")


def _load_network(extracted: Path, network: object | None, path: str | os.PathLike[str]) -> Network:
    """Load the network; what is wrong with it is told of the file and the parameter that the user knows."""
    try:
        return load_network(extracted, module=network)
    except InvalidInputError as error:
        told = str(error).replace(str(extracted), str(path)).replace("module=", "network=")
        raise InvalidInputError(told) from error


def plain_items(params: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what JSON can hold."""
    kept = {}
    for name, given in params.items():
        value = given.to_dict() if isinstance(given, NetworkConfig) else given
        if isinstance(value, Mapping) and not all(isinstance(key, str) for key in value):
            value = {PAIRS: [[key, each] for key, each in value.items()]}  # JSON would make words of numbers
        try:
            json.dumps(value, default=_plain)
        except TypeError:
            continue
        kept[name] = value
    return kept


def _as_given(value: Any) -> Any:
    return dict(value[PAIRS]) if isinstance(value, dict) and value.keys() == {PAIRS} else value


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
