"""Data sets by name: at hand, in a folder, in the cache, or from OpenML.

A data set is looked for in the folder that the environment variable XSDC_DATA names, then in the cache; else it is
fetched from OpenML, where scikit-learn checks it against OpenML's MD5, and kept in the cache as one npz file. Its
number of points and features is checked wherever it comes from.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from xsdc.data.catalogue import CATALOGUE, NamedData, Raw
from xsdc.data.dataset import Dataset
from xsdc.data.labels import read_known
from xsdc.data.roles import listed, near_miss
from xsdc.errors import InvalidInputError

DATASETS: Mapping[str, NamedData] = MappingProxyType({entry.name: entry for entry in CATALOGUE})


def load_dataset(name: str) -> Dataset:
    """Load a data set by name, with all its labels.

    Parameters
    ----------
    name : str
        A key of `DATASETS`.

    Returns
    -------
    Dataset
        Where there is a usual split, the points for training come first.
    """
    entry = _entry(name)
    raw = _raw(entry)
    n = len(raw.y)
    known = read_known(raw.y.tolist(), None, n=n)
    return Dataset(
        name=name,
        kind="table" if isinstance(raw.X, pd.DataFrame) else "vectors" if raw.X.ndim == 2 else "images",
        X=raw.X,
        ids=np.arange(n),
        id_name="row",
        labels=known.labels,
        pictures=raw.X if getattr(raw.X, "ndim", 2) > 2 else entry.pictures(raw.X),
        notes=[],
    )


def load_split(name: str) -> tuple[Dataset, Dataset]:
    """Load a data set in its usual parts, for training and for testing.

    Parameters
    ----------
    name : str
        A key of `DATASETS` whose entry has ``n_train``.

    Returns
    -------
    train, test : Dataset
    """
    entry = _entry(name)
    if entry.n_train is None:
        usual = listed([key for key, other in DATASETS.items() if other.n_train is not None])
        raise InvalidInputError(f"The data set `{name}` has no usual split; {usual} have one. Split it yourself.")
    dataset = load_dataset(name)
    train, test = np.arange(entry.n_train), np.arange(entry.n_train, dataset.n)
    if entry.test_per_class is not None and set(Counter(dataset.labels[test]).values()) != {entry.test_per_class}:
        raise InvalidInputError(
            f"The points of `{name}` are not in the order of its usual split: its last {len(test)} must have"
            f" {entry.test_per_class} of each class. Put {' and '.join(entry.files)} from {entry.source} in its place."
        )
    return replace(dataset.taken(train), name=f"{name} train"), replace(dataset.taken(test), name=f"{name} test")


def available(name: str) -> Path | None:
    """Tell where a data set lies: a folder, or None where it would have to be fetched."""
    entry = _entry(name)
    if not entry.files:  # it comes with scikit-learn
        import sklearn  # noqa: PLC0415

        return Path(sklearn.__file__).parent / "datasets"
    found = _found(entry)
    return None if found is None else found[0]


def cache_folder() -> Path:
    """Where fetched data sets are kept: the system's place for such files."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return Path(base or Path.home() / "AppData" / "Local") / "xsdc"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "xsdc"


def _entry(name: str) -> NamedData:
    if name not in DATASETS:
        raise InvalidInputError(
            f"There is no data set `{name}`{near_miss(name, DATASETS)}. There are {listed(list(DATASETS))}."
        )
    return DATASETS[name]


def _kept(entry: NamedData) -> str:
    """Name the file in which a fetched data set is kept."""
    return f"{entry.name}-openml.npz"


def _found(entry: NamedData) -> tuple[Path, tuple[str, ...], Callable[[Path], Raw]] | None:
    """Find the folder that has all files of an entry, in one of its forms, and what reads them."""
    given = os.environ.get("XSDC_DATA")
    folders = [*([Path(given)] if given else []), cache_folder()]
    kept = (_kept(entry),), lambda folder: Raw.load(folder / _kept(entry))
    for folder in folders:
        for form, read in ((entry.files, entry.read), *entry.other_forms, kept):
            if all((folder / file).is_file() for file in form):
                return folder, form, read
    return None


def _raw(entry: NamedData) -> Raw:
    if not entry.files:
        return entry.read(Path())
    found = _found(entry)
    if found is None:
        raw = entry.from_openml(_fetched(entry))
        raw.require_size(entry, where="OpenML")
        raw.write(cache_folder() / _kept(entry))
        return raw
    folder, form, read = found
    try:
        raw = read(folder)
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise InvalidInputError(
            f"The files of `{entry.name}` ({', '.join(form)}) in {folder} cannot be read: {error}. Remove or replace"
            " them."
        ) from error
    raw.require_size(entry, where=str(folder))
    return raw


def _fetched(entry: NamedData) -> Any:
    from rich.console import Console  # noqa: PLC0415
    from sklearn.datasets import fetch_openml  # noqa: PLC0415

    size = f"about {entry.megabytes} MB"
    try:
        with Console(stderr=True).status(
            f"Fetching {entry.name} from OpenML ({size}); it is kept in {cache_folder()} ..."
        ):
            return fetch_openml(data_id=entry.openml_id, data_home=cache_folder() / "openml", as_frame=False)
    except (OSError, ValueError) as error:  # no connection (URLError), no such data, or a wrong checksum
        raise InvalidInputError(
            f"The data set `{entry.name}` is not here and cannot be fetched from OpenML ({error}). Put"
            f" {' and '.join(entry.files)} from {entry.source} into {cache_folder()}, or into a folder that the"
            " environment variable XSDC_DATA names."
        ) from error
