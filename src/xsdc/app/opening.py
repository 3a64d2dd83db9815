"""From data or a run to what the page works on: points, their representation and first groups."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xsdc import XSDC
from xsdc.app.store import Store
from xsdc.data import Dataset, Preparation, Rows, prepare
from xsdc.errors import InvalidInputError
from xsdc.fitting.resolve import Resolver
from xsdc.queries import view_of
from xsdc.runs import Configuration, DataOptions, Given, RunFolder, make_estimator, read_given
from xsdc.runs.answers import Facts
from xsdc.runs.folder import write_json
from xsdc.runs.manifest import Manifest
from xsdc.runs.publishing import open_run as settled
from xsdc.runs.publishing import refuse_foreign

Ints = npt.NDArray[np.int64]
DATABASE, ANSWERS = "answers.sqlite", "answers.csv"


@dataclass
class Opened:
    """Everything that stays the same between two trainings.

    Attributes
    ----------
    configuration : Configuration
        What to read, and how to fit.
    folder : RunFolder
        Where the run is, and the answers.
    given : Given
        Points and what the data says of them.
    Z : array
        Prepared points.
    model : XSDC
        The last fitted model.
    resolver : Resolver
        Solves anew on its representation.
    groups : array of int, shape (n,)
        Groups as they were found first.
    store : Store
        The answers.
    """

    configuration: Configuration
    folder: RunFolder
    given: Given
    Z: Any
    model: XSDC
    resolver: Resolver
    groups: Ints
    store: Store

    @property
    def dataset(self) -> Dataset:
        """The points."""
        return self.given.dataset

    @property
    def facts(self) -> Facts:
        """What the data itself says, in text."""
        labels = {i: str(label) for i, label in enumerate(self.dataset.labels) if label is not None}
        allowed = {i: [str(name) for name in some] for i, some in self.dataset.allowed.items()}
        must, cannot = (
            [(int(a), int(b)) for a, b in pairs] for pairs in (self.given.must_link, self.given.cannot_link)
        )
        return Facts(labels, allowed, must, cannot)

    def renewed(self) -> Opened:
        """The same with the model that a training has left in the folder."""
        model = XSDC.load(self.folder.model)
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Opened(**(fields | {"model": model, "resolver": make_resolver(model, self.Z, self.groups)}))


def open_run(
    configuration: Configuration | None, folder: RunFolder, *, announce: Callable[[str], None] = lambda _: None
) -> Opened:
    """Open a folder that was labelled in or fitted before, or begin in a new one.

    Parameters
    ----------
    configuration : Configuration or None
        What to read; None for what the folder says.
    folder : RunFolder
        The folder; a model that is there is taken, else one is fitted.
    announce : callable
        Told what is being done.
    """
    if folder.path.exists():
        settled(folder.path)  # of a run that was cut off as it was moved to its place
    if folder.configuration.exists():
        kept = Configuration.read(folder.configuration)
        if configuration is not None and _source(configuration) != _source(kept):
            raise InvalidInputError(
                f"{folder.path} is about {kept.data.source}, not about {configuration.data.source}. Give another folder"
                " with --out."
            )
        configuration = kept
    if configuration is None:
        raise InvalidInputError(f"{folder.path} holds no run. Say what to read: xsdc label DATA --out {folder.path}.")
    announce("Reading")
    bare = Configuration(_without_answers(configuration), configuration.options, configuration.seed)
    given = read_given(bare.data, seed=bare.seed, in_memory=False)
    if isinstance(given.dataset.X, Rows):
        raise InvalidInputError("The data do not fit in memory. Label a part of them, and predict the others.")
    folder.path.mkdir(parents=True, exist_ok=True)
    if folder.model.exists() and folder.preparation.exists():
        Z = Preparation.load(folder.preparation).transform(given.dataset)
        model = XSDC.load(folder.model)
    else:
        refuse_foreign(folder)
        announce("Finding groups")
        prepared = prepare(given.dataset, bare.data.preparation().fit(given.dataset))
        preparation, Z = prepared.preparation, prepared.Z
        model = make_estimator(bare, given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(Z, given.y, **given.facts)
        preparation.save(folder.preparation)
        model.save(folder.model)
        write_json(folder.configuration, bare.as_dict())
        written = (folder.preparation, folder.model, folder.configuration)
        Manifest.read(folder.manifest).with_files(written).write(folder.manifest)
    store = Store(folder.path / DATABASE)
    groups = _first_groups(store, given.dataset, model)
    announce("Joining neighbors")
    return Opened(bare, folder, given, Z, model, make_resolver(model, Z, groups), groups, store)


def make_resolver(model: XSDC, Z: Any, groups: Ints) -> Resolver:
    """Make what solves anew."""
    return Resolver(view_of(model, Z), groups)


def fingerprint(dataset: Dataset) -> bytes:
    """Tell one data set from another by its points' names."""
    return hashlib.sha256("\n".join(map(str, dataset.ids)).encode()).hexdigest().encode()


def _first_groups(store: Store, dataset: Dataset, model: XSDC) -> Ints:
    """Groups as they were when the first answer was given; answers speak of them for ever."""
    mark = fingerprint(dataset)
    store.keep("fingerprint", mark)
    if store.about("fingerprint") != mark:
        raise InvalidInputError(
            f"{dataset.name} holds other points than those the answers in {store.path} are about. Give another --out."
        )
    position = {name: code for code, name in enumerate(model.classes_.tolist())}
    codes = np.array([position[label] for label in model.labels_.tolist()], dtype=np.int64)
    store.keep("groups", codes.astype("<i4").tobytes())
    kept = store.about("groups")
    return np.frombuffer(kept or b"", dtype="<i4").astype(np.int64)


def _without_answers(configuration: Configuration) -> DataOptions:
    """The data as they were given; answers come from the table."""
    others = tuple(name for name in configuration.data.corrections if Path(name).name != ANSWERS)
    return replace(configuration.data, corrections=others)


def _source(configuration: Configuration) -> str:
    return configuration.data.source
