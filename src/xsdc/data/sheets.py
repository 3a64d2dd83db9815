"""Tables that know their types: Parquet, workbooks of Excel, JSON Lines."""

from __future__ import annotations

import importlib
import json
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pandas as pd

from xsdc.data.layout import Row, find_names
from xsdc.data.roles import Roles, listed
from xsdc.data.text import find_encoding, opened
from xsdc.errors import InvalidInputError

BUFFER = 2**20  # bytes of a Parquet column that are read ahead
MOST_KEYS = 2000  # of JSON objects


class ParquetTable:
    """A table in Parquet, by way of pyarrow.

    Parameters
    ----------
    path : Path
        A file.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name
        self.notes: list[str] = []
        self.doubts: list[str] = []
        with open_parquet(path) as file:
            schema = file.schema_arrow
            self._counter = _named_counter(schema, file.metadata.num_rows)
            self.columns = [str(name) for name in self._as_frame(schema.empty_table(), 0).columns]

    def read(self, rows: int) -> Iterator[pd.DataFrame]:
        """Yield so many rows at a time; whole numbers and truth values with gaps keep them as None."""
        done = 0
        with open_parquet(self.path) as file:
            for batch in file.iter_batches(batch_size=rows):
                frame = self._as_frame(batch, done)
                done += len(frame)
                yield frame

    def _as_frame(self, batch: Any, done: int) -> pd.DataFrame:
        """Make a data frame of a batch; names of an index become columns."""
        frame: pd.DataFrame = batch.to_pandas()
        if self._counter is not None:
            counts = [self._counter["start"] + self._counter["step"] * (done + i) for i in range(len(frame))]
            frame = frame.reset_index(drop=True)
            frame.insert(0, self._counter["name"], counts)
        elif any(name is not None for name in frame.index.names):
            frame = frame.reset_index()
        return frame.set_axis([str(column) for column in frame.columns], axis="columns")


def _named_counter(schema: Any, n: int) -> dict[str, Any] | None:
    for index in (schema.pandas_metadata or {}).get("index_columns", []):
        if isinstance(index, dict) and index.get("name") is not None:
            counts: dict[str, Any] = index
            return counts if len(range(counts["start"], counts["stop"], counts["step"])) == n else None
    return None


def parquet_size(path: Path) -> int:
    """Bytes of a Parquet file, unpacked."""
    with open_parquet(path) as file:
        return sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file; say what is wrong where it cannot be read."""
    arrow = require_module("pyarrow", extra="parquet", purpose="Reading Parquet")
    parquet = require_module("pyarrow.parquet", extra="parquet", purpose="Reading Parquet")
    try:
        with parquet.ParquetFile(path, buffer_size=BUFFER) as file:
            yield file
    except InvalidInputError:
        raise
    except (arrow.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise InvalidInputError(f"`{path.name}` is not a whole Parquet file: {first_line(error)}.") from error


class SheetTable:
    """A sheet of a workbook (xlsx), by way of openpyxl; values, not formulas, are read.

    Parameters
    ----------
    path : Path
        A file.
    roles : Roles
        What its columns are, and which sheet it is.
    """

    def __init__(self, path: Path, roles: Roles) -> None:
        self.path, self.name, self._asked = path, path.name, roles.reading.sheet
        self.notes: list[str] = []
        self.doubts: list[str] = []
        with self._opened() as sheets:
            sheet = self._choose(sheets)
            head = [list(row) for row in _some(sheet.iter_rows(values_only=True), 400)]
        self.columns, self._first, notes, _ = find_names(self._rows(head, roles), roles, name=self.name)
        self.notes += notes
        roles.require_in(self.columns, where=f"`{self.name}`")

    def _rows(self, head: list[list[Any]], roles: Roles) -> list[Row]:
        """Write the first rows as text, all as long as the longest."""
        written = [[_cell_as_text(cell) for cell in row] for row in head]
        filled = [max((i + 1 for i, cell in enumerate(cells) if cell), default=0) for cells in written]
        skip, width = roles.reading.skip_rows or 0, max(filled, default=0)
        rows = [Row(i, (cells + [""] * width)[:width]) for i, cells in enumerate(written, start=1) if any(cells)]
        rows = [row for row in rows if row.line > skip]
        if not rows:
            raise InvalidInputError(f"`{self.name}` is empty. A table needs a line of names and at least one row.")
        return rows

    def read(self, rows: int) -> Iterator[pd.DataFrame]:
        """Yield so many rows at a time."""
        block: list[list[Any]] = []
        n = len(self.columns)
        with self._opened() as sheets:
            for i, row in enumerate(self._choose(sheets).iter_rows(values_only=True)):
                if i < self._first:
                    continue
                cells = [*row[:n], *[None] * (n - len(row))]
                if all(cell is None or cell == "" for cell in cells):
                    continue
                block.append(cells)
                if len(block) == rows:
                    yield self._frame(block)
                    block = []
        if block:
            yield self._frame(block)

    def _frame(self, block: list[list[Any]]) -> pd.DataFrame:
        columns = {}
        for name, cells in zip(self.columns, zip(*block, strict=True), strict=True):
            column = pd.Series([_plain(cell) for cell in cells], dtype=object)
            kinds = {type(cell) for cell in cells if cell is not None}
            if kinds and kinds <= {int, float}:
                column = column.astype("float64" if float in kinds or column.isna().any() else "int64")
            columns[name] = column
        return pd.DataFrame(columns)

    def _choose(self, sheets: Any) -> Any:
        names = list(sheets.sheetnames)
        if self._asked is not None and self._asked not in names:
            raise InvalidInputError(f"`{self.name}` has no sheet `{self._asked}`; it has {listed(names)}.")
        chosen = self._asked or names[0]
        if self._asked is None and len(names) > 1 and not self.notes:
            self.notes.append(
                f"The first sheet, `{chosen}`, was read; the option `sheet` names another: {listed(names[1:])}."
            )
        return sheets[chosen]

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        openpyxl = require_module("openpyxl", extra="excel", purpose="Reading Excel files")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of formats and drawings that it leaves out
                sheets = openpyxl.load_workbook(self.path, read_only=True, data_only=True)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, SyntaxError) as error:
            raise InvalidInputError(f"`{self.path.name}` cannot be read as a workbook: {first_line(error)}.") from error
        try:
            yield sheets
        finally:
            sheets.close()


def _some(rows: Iterator[Any], most: int) -> Iterator[Any]:
    yield from (row for _, row in zip(range(most), rows, strict=False))


def _cell_as_text(cell: Any) -> str:
    plain = _plain(cell)
    return "" if plain is None else str(plain).strip()


def _plain(cell: Any) -> Any:
    """Write dates as ISO 8601 has them, by which they are known again."""
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat()
    return cell.isoformat() if isinstance(cell, date | time) else cell


class JsonTable:
    """JSON Lines: an object in each line, whose keys are columns; or one list of such objects.

    Parameters
    ----------
    path : Path
        A file, gzipped or not.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name
        self._encoding, self.notes = find_encoding(path)
        self.doubts: list[str] = []
        with opened(path, self._encoding) as file:
            self._listed = file.read(64).lstrip()[:1] == "["
        columns: dict[str, None] = {}
        for item in self._items():
            columns |= dict.fromkeys(item)
            if len(columns) > MOST_KEYS:
                raise InvalidInputError(f"`{self.name}` has more than {MOST_KEYS:,} keys; it is no table.")
        self.columns = list(columns)

    def read(self, rows: int) -> Iterator[pd.DataFrame]:
        """Yield so many objects at a time."""
        block: list[dict[str, Any]] = []
        for item in self._items():
            block.append(item)
            if len(block) == rows:
                yield self._frame(block)
                block = []
        if block:
            yield self._frame(block)

    def _frame(self, block: list[dict[str, Any]]) -> pd.DataFrame:
        return pd.DataFrame(
            {name: pd.Series([item.get(name) for item in block], dtype=object) for name in self.columns}
        )

    def _items(self) -> Iterator[dict[str, Any]]:
        try:
            with opened(self.path, self._encoding) as file:
                if self._listed:
                    yield from (self._require(item, i) for i, item in enumerate(json.load(file)))
                    return
                for i, line in enumerate(file, start=1):
                    if line.strip():
                        yield self._require(json.loads(line), i)
        except (json.JSONDecodeError, RecursionError) as error:
            raise InvalidInputError(
                f"`{self.name}` cannot be read as JSON: {first_line(error)}. It needs an object in each line"
                ' ({"x": 1.5, "kind": "a"}), or one list of such objects.'
            ) from error

    def _require(self, item: Any, place: int) -> dict[str, Any]:
        if not isinstance(item, dict):
            raise InvalidInputError(
                f'`{self.name}` must hold objects, such as {{"x": 1.5}}, in each line or in one list; number {place} is'
                f" {type(item).__name__}."
            )
        return {str(key): value for key, value in item.items()}


def require_module(module: str, *, extra: str, purpose: str) -> Any:
    """Import a module of an optional extra, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InvalidInputError(
            f'{purpose} needs {module.partition(".")[0]}, which is not installed: pip install "xsdc[{extra}]".'
        ) from error


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, without a full stop, or its type if it has none."""
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
