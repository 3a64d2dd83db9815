"""From a run and a file to a class for each of its points, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from xsdc import XSDC
from xsdc.data import Blocks, Dataset, Limits, Preparation, Reading, Remarks, holds_image_files, open_blocks
from xsdc.data.forms import Form
from xsdc.data.tables import column_ids
from xsdc.errors import InvalidInputError
from xsdc.runs.folder import RunFolder, read_json
from xsdc.runs.publishing import open_run
from xsdc.runs.tables import TableWriter


class Prediction:
    """What a run says of further points.

    Parameters
    ----------
    where : Path
        The folder of a run, or a model file; then the data is taken as it comes.
    source : str
        A file, a folder of images, or the name of a data set. Labels in it are not looked at.
    id_column : str, optional
        Column that names the rows; by default that of the run, where the file has it.
    all_classes : bool
        Whether to give the probability of every class.
    network : object, optional
        The user's own network, where the model was fitted with one.
    reading : mapping, optional
        How the file is written, as far as it is said, by the names of `Reading`; else as that of the run.
    limits : Limits, optional
        Bytes, rows and columns that the source may have, and seconds that opening it may take.
    """

    def __init__(
        self,
        where: Path,
        source: str,
        *,
        id_column: str | None = None,
        all_classes: bool = False,
        network: Any = None,
        reading: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._model, self._preparation, self._roles = read_run(where, network=network)
        self._id_column, self._all_classes, self._source = id_column, all_classes, Path(source)
        self._read = [path.resolve() for path in (RunFolder(where).written() if where.is_dir() else [where])]
        usual = self._roles.get("id_column")
        self._blocks = open_like(
            self._preparation,
            source,
            asked=id_column,
            usual=usual,
            reading=reading_of({**self._roles, **(reading or {})}),
            limits=limits,
        )
        if self._preparation is None and self._blocks.kind == "table":
            raise InvalidInputError(
                f"A model file takes arrays of numbers or images; for a table like {source}, give the run."
            )
        self._remarks = None if self._preparation is None else Remarks(self._preparation)

    def tables(self) -> Iterator[pd.DataFrame]:
        """Yield id, label and probability of a block of points at a time; with all classes, a column for each."""
        done = 0
        for block in self._blocks.read(self._blocks.rows()):
            ids = find_ids(block, self._id_column, self._roles.get("id_column"), begin=done)
            done += block.n
            Z = block.X if self._preparation is None else _prepared(self._preparation, block)
            if self._remarks is not None:
                self._remarks.add(self._without_roles(block))
            yield self._tabled(ids, self._model.predict_proba(Z))

    def notes(self) -> list[str]:
        """Say what reading assumed, and what was passed over or filled in, once all blocks were read."""
        read, fitted = self._blocks, {} if self._preparation is None else self._preparation.forms_
        other = differing(fitted, getattr(read, "forms", None) or {}, name=read.name)
        remarks = [] if self._remarks is None else self._remarks.said()
        return [*read.also, *read.notes, *read.doubts, *other, *remarks]

    def write(self, out: Path) -> int:
        """Write all of it to a CSV or Parquet file, which appears under its name once it is whole.

        Returns
        -------
        int
            Number of points.
        """
        self._refuse_to_replace(out)
        with TableWriter(out) as writer:
            for table in self.tables():
                writer.add(table)
        return writer.n

    def _refuse_to_replace(self, out: Path) -> None:
        """Refuse to write over what the predictions are made from."""
        whole = out.resolve()
        if whole == self._source.expanduser().resolve() or whole in self._read:
            raise InvalidInputError(f"{out} is read to make the predictions. Give another name with --out.")

    def _without_roles(self, dataset: Dataset) -> Dataset:
        """Leave out columns that the fit has used otherwise than as features, or that are no more than ids here."""
        if self._preparation is None or not isinstance(dataset.X, pd.DataFrame):
            return dataset
        roles = self._roles
        names = {self._id_column, *(roles.get(name) for name in ("label_column", "truth_column", "id_column"))}
        names = (names | set(roles.get("ignore", ()))) - set(self._preparation.roles_)
        return replace(dataset, X=dataset.X[[column for column in dataset.X.columns if column not in names]])

    def _tabled(self, ids: Any, probabilities: Any) -> pd.DataFrame:
        best = probabilities.argmax(1)
        classes = self._model.classes_
        columns = {
            "id": ids,
            "label": classes[best],
            "probability": np.round(probabilities[np.arange(len(best)), best], 6),
        }
        if self._all_classes:
            columns |= {f"probability of {name}": np.round(probabilities[:, c], 6) for c, name in enumerate(classes)}
        return pd.DataFrame(columns)


def read_run(where: Path, *, network: Any = None) -> tuple[XSDC, Preparation | None, dict[str, Any]]:
    """Read model, preparation and roles of columns of a run; of a model file, the model alone."""
    if not where.is_dir():
        return XSDC.load(where, network=network), None, {}
    folder = open_run(where)
    folder.require(folder.model, folder.preparation, folder.configuration)
    roles = read_json(folder.configuration)["data"]
    return XSDC.load(folder.model, network=network), Preparation.load(folder.preparation), roles


def _prepared(preparation: Preparation, block: Dataset) -> npt.NDArray[Any]:
    """Make numbers of some points; a preparation that was tampered with fails in any way."""
    try:
        return preparation.transform(block)
    except (InvalidInputError, MemoryError, OSError):
        raise
    except Exception as error:
        raise InvalidInputError(
            f"The preparation of the run does not fit `{block.name}`, or is damaged ({error!r}). Fit again."
        ) from error


def open_like(
    preparation: Preparation | None,
    source: str,
    *,
    asked: str | None = None,
    usual: str | None = None,
    reading: Reading | None = None,
    limits: Limits | None = None,
) -> Blocks:
    """Open points as those of the fit were: images in their size and shades, words as words, with the ids asked for."""
    size, used = None, () if preparation is None else preparation.roles_
    if preparation is not None and preparation.kind_ == "images" and holds_image_files(source):
        size = preparation.shape_[0], preparation.shape_[1]
    opened = partial(
        open_blocks,
        source,
        text=[] if preparation is None else preparation.words,
        expected=list(used),
        forms=None if preparation is None else preparation.forms_,
        reading=reading,
        image_size=size,
        thorough=preparation is None,
        levels=None if preparation is None else preparation.levels_,
        limits=limits,
    )
    column = asked or usual
    try:
        return opened(id_column=None if column in used else column)  # a number is read as one where it is a feature
    except InvalidInputError:
        if asked is not None or usual is None:
            raise
        return opened()  # it is that of the run, and need not be there


def differing(fitted: Mapping[str, Form], read: Mapping[str, Form], *, name: str) -> list[str]:
    """Say so if a table writes its numbers otherwise than that of the fit did."""
    for column in fitted.keys() & read.keys():
        old, new = fitted[column], read[column]
        if old.decimal != new.decimal or len({old.thousands, new.thousands} - {""}) == 2:
            said = (
                f"The table of the fit had numbers with {old.said()}; `{name}` has {new.said()} and was read like that."
                " Look at a few cells if that is a surprise."
            )
            return [said]
    return []


def reading_of(roles: Mapping[str, Any]) -> Reading:
    """Return how the table of the fit was written, as far as it was said: others are taken to be written alike."""
    names = [each.name for each in fields(Reading)]
    said = {name: roles[name] for name in names if roles.get(name) is not None}
    return Reading(**(said | {"missing": tuple(said.get("missing", ()))}))


def find_ids(dataset: Dataset, asked: str | None, usual: str | None, *, begin: int = 0) -> Any:
    """Take ids from a column that was asked for, or from that of the run where the table has it."""
    columns = list(dataset.X.columns) if isinstance(dataset.X, pd.DataFrame) else []
    if asked is not None and asked not in (*columns, dataset.id_name):
        raise InvalidInputError(f"{dataset.name} has no column {asked!r}.")
    column = asked or usual
    if column is None or column not in columns:
        return dataset.ids
    return column_ids(dataset.X[column], column=column, begin=begin)
