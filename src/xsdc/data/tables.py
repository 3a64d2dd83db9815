"""Tables: columns set apart by their roles, in blocks or as a whole."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from xsdc.data.blocks import SAMPLE, SAMPLE_CELLS, Blocks, Rows, unlabeled
from xsdc.data.cells import MISSING, cell_text
from xsdc.data.dataset import Dataset
from xsdc.data.forms import TRUTH, Form, Forms, Guess, is_text, means_unknown
from xsdc.data.labels import read_known
from xsdc.data.layout import UNNAMED, find_layout
from xsdc.data.memory import spare_memory
from xsdc.data.roles import Roles, listed, looks_like_labels
from xsdc.data.sheets import JsonTable, ParquetTable, SheetTable
from xsdc.data.text import as_objects
from xsdc.data.text_folders import TextFolder, roles_of_texts
from xsdc.errors import InvalidInputError

FIRST = 2**13  # rows by which it is told how numbers are written, where only one pass is made
ROW_NUMBERS = "The first column has no name and counts the rows; it is left out."
COPIES = 6  # bytes, text, and what is made of it
BYTES = 1000  # of free memory for each cell of a sample, of which a cell in text takes a tenth
NO_ROWS = "`{}` has columns but no rows. A table needs at least one row."
LEAST = 2000  # rows of a sample, however little memory there is


class Table(Protocol):
    """A file that holds a table, read in pieces as often as one likes; cells are text, or of the types of the file."""

    notes: list[str]
    doubts: list[str]

    @property
    def name(self) -> str:
        """The file."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""

    def read(self, rows: int) -> Iterator[pd.DataFrame]:
        """Yield so many rows at a time, all columns."""


class TableBlocks(Blocks):
    """A table that is read block by block.

    Parameters
    ----------
    table : Table
        The file.
    roles : Roles
        What its columns are.
    """

    kind = "table"
    weight = 8  # a cell of text takes as much memory as so many numbers

    def __init__(self, table: Table, roles: Roles) -> None:
        self.table, self.roles, self.name = table, roles, table.name
        _require_columns(table.columns, roles, name=table.name)
        self.forms: Forms | None = None
        self._counted: str | None = None
        self._strays: dict[str, Counter[str]] = defaultdict(Counter)
        self._guessed: list[str] = []
        self._missing = frozenset((*MISSING, *roles.reading.missing))

    @property
    def notes(self) -> list[str]:  # type: ignore[override]
        """What reading did, as far as it went."""
        passed_over = getattr(self.table, "passed_over", [])
        counted = [] if self._counted is None else [ROW_NUMBERS]
        return [*self.table.notes, *passed_over, *counted, *self._guessed, *_stray_notes(self._strays)]

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.table.columns)

    def read(self, rows: int) -> Iterator[Dataset]:
        """Yield so many rows at a time, with their ids and without labels."""
        if self.forms is None:
            self._learn(next(iter(self.table.read(FIRST)), pd.DataFrame(columns=self.table.columns)))
        self._strays.clear()
        done, column = 0, self.roles.id
        for frame in self.table.read(rows):
            places = np.arange(done, done + len(frame))
            yield Dataset(
                name=self.name,
                kind="table",
                X=self._typed(frame).reset_index(drop=True),
                ids=places if column is None else column_ids(frame[column], column=column, begin=done),
                id_name=column or "row",
                labels=unlabeled(len(frame)),
            )
            done += len(frame)
        if not done:
            raise InvalidInputError(NO_ROWS.format(self.name))

    def known(self) -> Dataset:
        """Return ids, labels and truth of all rows; the columns are read later, but for a sample of the rows."""
        cells = min(SAMPLE_CELLS, spare_memory() // BYTES)
        return self.look(most=max(LEAST, min(SAMPLE, cells // max(1, self.width))))

    def whole(self) -> Dataset:
        """Read all of it: one block, from which is learned how numbers are written."""
        return self.look(most=None)

    def look(self, *, most: int | None) -> Dataset:
        """Go through the table once; keep cells of labels and ids, and of so many rows all that they hold."""
        wanted = [column for column in (self.roles.label, self.roles.truth, self.roles.id) if column is not None]
        cells: list[pd.DataFrame] = []
        seen: dict[str, str] = {}  # equal cells are kept once
        sample = _Sample(most)
        for frame in self.table.read(self.rows()):
            cells.append(frame[wanted].map(lambda cell: seen.setdefault(cell, cell) if isinstance(cell, str) else cell))
            sample.add(frame)
        if not sample.n:
            raise InvalidInputError(NO_ROWS.format(self.name))
        raw = sample.frame()
        self._learn(raw)
        self._strays.clear()
        X = self._typed(raw)
        points: Any = X.reset_index(drop=True) if most is None else Rows(self, sample.n, sample=X)
        columns = [column for column in self.table.columns if column not in self.roles.named]
        dataset = with_cells(points, pd.concat(cells, ignore_index=True), self.roles, name=self.name, columns=columns)
        notes, doubts = [*self.notes, *dataset.notes], list(self.doubts)
        return replace(dataset, notes=notes, doubts=doubts, forms=dict(self.forms or {}))

    def _learn(self, frame: pd.DataFrame) -> None:
        """Find out how the columns of the table write their numbers."""
        first, reading = self.table.columns[0], self.roles.reading
        if first == UNNAMED and frame.shape[1] > 1 and first not in (*self.roles.named, *self.roles.expected):
            self._counted = first if _counts_rows(frame[first]) else None
        guess = Guess(decimal=reading.decimal, delimiter=getattr(self.table, "delimiter", None), usual=self.roles.forms)
        words = {*self.roles.verbatim, *self.roles.ignore, self._counted}
        some = frame.drop(columns=[column for column in frame.columns if column in words])
        self.forms = guess.forms(some.where(~some.isin(self._missing), None) if reading.missing else some)
        for name, form in self.forms.items():
            if form[:3] == (".", "", "") and _are_whole(frame[name]):
                self.forms[name] = form._replace(whole=True)
        self._guessed, self.doubts = guess.notes, [*self.table.doubts, *guess.doubts]

    def _typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Take the columns that are features; those of numbers as numbers, with NaN for what is missing or none."""
        forms = self.forms or {}
        columns = {}
        for name in frame.columns:
            if name in self.roles.named or name == self._counted:
                continue
            column = frame[name]
            if name in forms and is_text(column):
                column = self._numbers(column, forms[name])
            elif is_text(column) and name not in self.roles.text:
                column = pd.Series(as_objects([self._word(cell) for cell in column]), frame.index, dtype=object)
            columns[name] = column
        return pd.DataFrame(columns, index=frame.index)

    def _numbers(self, column: pd.Series, form: Form) -> pd.Series:
        cells = [cell_text(cell) for cell in column]
        said = ["" if cell in self._missing else cell for cell in cells]
        numbers: npt.NDArray[Any] = form.read(said)
        if np.isnan(numbers).any():
            strays = Counter(cell for cell, number in zip(said, numbers, strict=True) if cell and np.isnan(number))
            self._strays[str(column.name)].update(strays)
        elif form.whole:
            whole = _as_whole(said)
            numbers = numbers if whole is None else whole
        return pd.Series(numbers, index=column.index, name=column.name)

    def _word(self, cell: Any) -> Any:
        if not isinstance(cell, str):
            return cell
        if cell in self._missing:
            return None
        return cell.capitalize() if cell.casefold() in TRUTH else cell


class _Sample:
    """Rows of a table drawn evenly in one pass, however many come: each that a doubled step still hits.

    Parameters
    ----------
    most : int or None
        How many are kept, at least half of that; None for all.
    """

    def __init__(self, most: int | None) -> None:
        self._most, self._step, self.n = most, 1, 0
        self._parts: list[pd.DataFrame] = []
        self._kept = 0

    def add(self, frame: pd.DataFrame) -> None:
        """Look at further rows."""
        places = np.arange(self.n, self.n + len(frame))
        self.n += len(frame)
        self._keep(frame.set_axis(places))
        while self._most is not None and self._kept > self._most:
            self._step *= 2
            parts, self._parts, self._kept = self._parts, [], 0
            for part in parts:
                self._keep(part)

    def _keep(self, frame: pd.DataFrame) -> None:
        kept = frame if self._step == 1 else frame[frame.index.to_numpy() % self._step == 0]
        self._parts.append(kept)
        self._kept += len(kept)

    def frame(self) -> pd.DataFrame:
        """Return the rows that were kept; their positions are the index."""
        return pd.concat(self._parts) if len(self._parts) > 1 else self._parts[0]


def _counts_rows(column: pd.Series) -> bool:
    """Tell whether a column counts the rows, from 0 or, as R does, from 1."""
    cells = [cell_text(cell) for cell in column]
    if not all(cell.isdecimal() and cell.isascii() and len(cell) < 18 for cell in cells):
        return False
    offsets = {int(cell) - place for cell, place in zip(cells, column.index.tolist(), strict=True)}
    return offsets in ({0}, {1})


def _are_whole(column: pd.Series) -> bool:
    return is_text(column) and _as_whole([cell_text(cell) for cell in column]) is not None


def _as_whole(cells: list[str]) -> npt.NDArray[np.int64] | None:
    try:
        return np.array(as_objects(cells), dtype=object).astype(np.int64)
    except (ValueError, OverflowError):
        return None


def _stray_notes(strays: dict[str, Counter[str]]) -> list[str]:
    """Say which cells among numbers are none."""
    notes = []
    for name, cells in strays.items():
        odd = [cell for cell, _ in cells.most_common() if cell]
        if odd:
            shown = ", ".join(f"`{cell}`" for cell in odd[:3]) + (", …" if len(odd) > 3 else "")
            unknown = all(map(means_unknown, odd))
            why = "say that nothing is known" if unknown else "are no numbers"
            notes.append(f"`{name}`: {cells.total():,} cells {why} ({shown}) and count as missing.")
    return notes


def open_table_file(path: Path, kind: str, roles: Roles) -> TableBlocks:
    """Open a table of any kind."""
    if kind == "parquet":
        table: Table = ParquetTable(path)
    elif kind == "sheet":
        table = SheetTable(path, roles)
    elif kind == "json":
        table = JsonTable(path)
    elif kind == "texts":
        return TableBlocks(TextFolder(path), roles_of_texts(roles))
    else:
        table = find_layout(path, roles)
    return TableBlocks(table, roles)


def _require_columns(columns: list[str], roles: Roles, *, name: str) -> None:
    """Refuse names that stand there twice, roles of columns that are not there, and tables with nothing in them."""
    twice = [column for column, count in Counter(columns).items() if count > 1]
    if twice:
        raise InvalidInputError(f"`{name}` must name each column once; {listed(twice)} stands there more than once.")
    roles.require_in(columns, where=f"`{name}`")
    if set(columns) <= set(roles.named):
        raise InvalidInputError(
            f"`{name}` has nothing to learn from: each of its columns ({listed(columns)}) is a label, an id or ignored."
        )


def with_cells(X: Any, cells: pd.DataFrame, roles: Roles, *, name: str, columns: list[str]) -> Dataset:
    """Put points together with what columns say of them; points may be such as are read later."""
    known = read_known(
        None if roles.label is None else _known_cells(cells[roles.label], roles),
        None if roles.truth is None else _known_cells(cells[roles.truth], roles),
        n=len(X),
        label_name=roles.label or "",
        truth_name=roles.truth or "",
    )
    hint = looks_like_labels(columns) if roles.label is None and roles.truth is None else None
    return Dataset(
        name=name,
        kind="table",
        X=X,
        ids=np.arange(len(X)) if roles.id is None else column_ids(cells[roles.id], column=roles.id),
        id_name="row" if roles.id is None else roles.id,
        labels=known.labels,
        allowed=known.allowed,
        truth=known.truth,
        notes=[*known.notes, *([] if hint is None else [_hint(hint)])],
    )


def _known_cells(cells: pd.Series, roles: Roles) -> Any:
    missing = roles.reading.missing
    return cells.where(~cells.isin(missing), None) if missing else cells


def _hint(column: str) -> str:
    return (
        f"Column `{column}` is used as a feature like every other; if it holds labels, name it as the label column"
        " (or as the truth, or ignore it)."
    )


def column_ids(cells: Any, *, column: str, begin: int = 0) -> npt.NDArray[np.object_]:
    """Make ids of cells, the first of which stands in row ``begin``: text, none of it empty."""
    series = pd.Series(cells, dtype=object)
    ids = as_objects([cell_text(cell) for cell in series.where(series.notna(), None)])
    empty = np.flatnonzero(ids == "")
    if empty.size:
        raise InvalidInputError(
            f"Column `{column}` must name every point; {empty.size} cells are empty, the first in row"
            f" {begin + empty[0]}."
        )
    return ids
