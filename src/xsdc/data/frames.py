"""Tables in pieces, whose columns have the types that a reading of the whole table would give them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from xsdc.data.layout import Layout, find_layout
from xsdc.data.numerals import Numerals
from xsdc.data.roles import Roles
from xsdc.data.tables import ROW_NUMBERS, first_line, open_parquet, require_module
from xsdc.errors import InvalidInputError

SURVEYED = 2**20  # cells at a time


class Frames(Protocol):
    """A table that is read in pieces, as often as one likes."""

    @property
    def name(self) -> str:
        """The file."""

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""

    @property
    def notes(self) -> list[str]:
        """What reading assumed."""

    @property
    def doubts(self) -> list[str]:
        """What looks like a mistake."""

    @property
    def numerals(self) -> Numerals | None:
        """How numbers are written, where any cell depends on it."""

    def read(self, rows: int) -> Iterator[pd.DataFrame]:
        """Yield so many rows at a time, all columns."""


class Seen:
    """What a column was taken for in each piece, and what it is as a whole.

    It follows pandas: whole numbers if all are, with fractions if any has one or is missing, truth values if all are,
    else text.
    """

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.missing = self.negative = False

    def add(self, column: pd.Series) -> None:
        """Look at one piece."""
        missing = column.isna()
        self.missing |= bool(missing.any())
        if missing.all():
            return
        kind = column.dtype.kind if isinstance(column.dtype, np.dtype) else "O"
        if kind == "O" and isinstance(column[~missing].iloc[0], bool):
            kind = "b"
        self.kinds.add(kind)
        if kind in "if":
            self.negative |= bool(column.min() < 0)

    @property
    def dtype(self) -> str | None:
        """The type to read it as; None for truth values, which are found in each piece anew."""
        if self.kinds == {"b"}:
            return None
        if self.kinds <= {"i", "f"}:
            return "int64" if self.kinds == {"i"} and not self.missing else "float64"
        if self.kinds <= {"i", "u", "f"} and not (self.missing or self.negative):
            return "float64" if "f" in self.kinds else "uint64"
        return "str"


@dataclass(frozen=True)
class CsvFrames:
    """A table in text.

    Attributes
    ----------
    layout : Layout
        How it is laid out.
    roles : Roles
        What its columns are; those of labels and ids are text.
    n : int
        Number of rows.
    dtypes : dict from str to str
        Types of columns.
    mixed : list of str
        Columns of truth values of which some are missing.
    counted : bool
        Whether the first column has no name and counts the rows, and is left out.
    """

    layout: Layout
    roles: Roles
    n: int
    dtypes: dict[str, str]
    mixed: list[str]
    counted: bool

    @property
    def name(self) -> str:
        """The file."""
        return self.layout.text.path.name

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self.layout.names[1:] if self.counted else self.layout.names

    @property
    def notes(self) -> list[str]:
        """What reading assumed."""
        return [*self.layout.notes, *([ROW_NUMBERS] if self.counted else [])]

    @property
    def doubts(self) -> list[str]:
        """What looks like a mistake."""
        return self.layout.doubts

    @property
    def numerals(self) -> Numerals | None:
        """How numbers are written, where any cell depends on it."""
        return self.layout.numerals if self.layout.matters else None

    def read(self, rows: int) -> Iterator[pd.DataFrame]:
        """Yield so many rows at a time, all columns."""
        for frame in _pieces(self.layout, self.roles, rows, self.dtypes):
            for column in self.mixed:
                frame[column] = frame[column].astype(object)
            yield frame.drop(columns=self.layout.names[0]) if self.counted else frame


def look_at_csv(path: Path, roles: Roles) -> CsvFrames:
    """Look through a table in text, twice: for rows of uneven length, and for what each column is."""
    layout = find_layout(path, roles)
    first = layout.names[0]
    seen = {column: Seen() for column in layout.names if column not in roles.verbatim}
    counted = first == "column 1" and len(layout.names) > 1 and first not in roles.named
    n = 0
    for frame in _pieces(layout, roles, max(1, SURVEYED // len(layout.names)), {}):
        for column, kinds in seen.items():
            kinds.add(frame[column])
        counted = counted and np.array_equal(frame[first].to_numpy(), np.arange(n, n + len(frame)))
        n += len(frame)
    dtypes = {column: kinds.dtype for column, kinds in seen.items()}
    mixed = [column for column, dtype in dtypes.items() if dtype is None and seen[column].missing]
    return CsvFrames(layout, roles, n, {c: dtype for c, dtype in dtypes.items() if dtype is not None}, mixed, counted)


def _pieces(layout: Layout, roles: Roles, rows: int, dtypes: dict[str, str]) -> Iterator[pd.DataFrame]:
    options = layout.options(roles)
    options["dtype"] = {**dtypes, **options["dtype"]}
    try:
        with layout.text.opened() as file, pd.read_csv(file, chunksize=rows, **options) as reader:
            for frame in reader:
                yield layout.with_numbers(frame, dtypes)
    except InvalidInputError:
        raise
    except ValueError as error:
        raise InvalidInputError(f"`{layout.text.path.name}` cannot be read as a table: {first_line(error)}.") from error


@dataclass(frozen=True)
class ParquetFrames:
    """A table in Parquet.

    Attributes
    ----------
    path : Path
        The file.
    n : int
        Number of rows.
    columns : list of str
        Names of the columns.
    hollow : list of str
        Columns of whole numbers or truth values of which some are missing.
    counter : dict or None
        What pandas wrote of an index that only counts, but has a name.
    notes, doubts : list of str
        Nothing so far.
    numerals : None
        Numbers are numbers there.
    """

    path: Path
    n: int
    columns: list[str]
    hollow: list[str]
    counter: dict[str, Any] | None
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    numerals: Numerals | None = None

    @property
    def name(self) -> str:
        """The file."""
        return self.path.name

    def read(self, rows: int) -> Iterator[pd.DataFrame]:
        """Yield so many rows at a time, all columns."""
        done = 0
        with open_parquet(self.path) as file:
            for batch in file.iter_batches(batch_size=rows):
                frame = _as_frame(batch, self.counter, done)
                for column in self.hollow:
                    frame[column] = _with_gaps(frame[column])
                done += len(frame)
                yield frame


def look_at_parquet(path: Path) -> ParquetFrames:
    """Look at the columns of a Parquet file, and at those that may have gaps cell by cell."""
    arrow = require_module("pyarrow", extra="parquet", purpose="Reading Parquet")
    with open_parquet(path) as file:
        schema, n = file.schema_arrow, file.metadata.num_rows
        counter = _named_counter(schema, n)
        empty = _as_frame(schema.empty_table(), counter, 0)
        exact = [f.name for f in schema if arrow.types.is_integer(f.type) or arrow.types.is_boolean(f.type)]
        gaps: set[str] = set()
        for batch in file.iter_batches(batch_size=SURVEYED // max(1, len(exact)) + 1, columns=exact):
            gaps |= {name for name in exact if batch.column(batch.schema.get_field_index(name)).null_count}
    columns = [str(column) for column in empty.columns]
    return ParquetFrames(path, n, columns, [name for name in columns if name in gaps], counter)


def _named_counter(schema: Any, n: int) -> dict[str, Any] | None:
    for index in (schema.pandas_metadata or {}).get("index_columns", []):
        if isinstance(index, dict) and index.get("name") is not None:
            counts: dict[str, Any] = index
            return counts if len(range(counts["start"], counts["stop"], counts["step"])) == n else None
    return None


def _as_frame(batch: Any, counter: dict[str, Any] | None, done: int) -> pd.DataFrame:
    """Make a data frame of a batch; names of an index become columns, as in a reading of the whole."""
    batch.validate(full=True)  # what is wrong in a cell would show later, wherever it is looked at
    frame: pd.DataFrame = batch.to_pandas()
    if counter is not None:
        counts = counter["start"] + counter["step"] * np.arange(done, done + len(frame))
        frame = frame.reset_index(drop=True)
        frame.insert(0, counter["name"], counts)
    elif any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    return frame.set_axis([str(column) for column in frame.columns], axis="columns")


def _with_gaps(column: pd.Series) -> pd.Series:
    if not isinstance(column.dtype, np.dtype):  # pandas' own types have room for gaps
        return column
    if column.dtype.kind in "iu":
        return column.astype(np.float64)
    return column.astype(object) if column.dtype.kind == "b" else column
