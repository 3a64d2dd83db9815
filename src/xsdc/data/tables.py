"""Tables: CSV and its relatives, and Parquet."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from xsdc.data.dataset import Dataset
from xsdc.data.header import refuse_duplicates
from xsdc.data.labels import cell_text, read_known
from xsdc.data.layout import Layout, find_layout
from xsdc.data.memory import require_memory
from xsdc.data.roles import Roles, listed, looks_like_labels
from xsdc.data.text import COPIES
from xsdc.errors import InvalidInputError

BUFFER = 2**20  # bytes of a Parquet column that are read ahead
ROW_NUMBERS = "The first column has no name and counts the rows; it is left out."


def read_csv(path: Path, roles: Roles) -> Dataset:
    """Read a table in text: cells between commas, semicolons, tabs or ``|``, found by looking.

    What its first line is, `find_header` says. Rows with nothing in them are passed over. Columns of labels and ids are
    read as text, so that ``007`` stays as it is.

    Parameters
    ----------
    path : Path
        A file, gzipped or not.
    roles : Roles
        What its columns are.

    Returns
    -------
    Dataset
    """
    layout = find_layout(path, roles)
    unpacked = ", unpacked," if layout.text.size != path.stat().st_size else ""
    require_memory(COPIES * layout.text.size, what=f"Reading `{path.name}`{unpacked}")
    frame, dropped = _without_row_numbers(_parsed(layout, roles), roles)
    dataset = from_frame(frame, roles, name=path.name, notes=[*layout.notes, *dropped])
    return replace(dataset, doubts=layout.doubts, numerals=layout.numerals if layout.matters else None)


def read_parquet(path: Path, roles: Roles) -> Dataset:
    """Read a table in Parquet, by way of pyarrow.

    Parameters
    ----------
    path : Path
        A file.
    roles : Roles
        What its columns are.

    Returns
    -------
    Dataset
    """
    require_memory(2 * parquet_size(path), what=f"Reading `{path.name}`")
    with open_parquet(path) as file:
        table = file.read()
        table.validate(full=True)  # what is wrong in a cell would show later, wherever it is looked at
        frame = table.to_pandas()
        if any(name is not None for name in frame.index.names):
            frame = frame.reset_index()
    return from_frame(frame, roles, name=path.name, notes=[])


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


def from_frame(frame: pd.DataFrame, roles: Roles, *, name: str, notes: list[str]) -> Dataset:
    """Set the columns of a data frame apart by their roles.

    Parameters
    ----------
    frame : data frame
        A table; it is not modified.
    roles : Roles
        What its columns are.
    name : str
        What to call the table.
    notes : list of str
        What is to be said of it already.

    Returns
    -------
    Dataset
        Of kind "table".
    """
    frame = frame.set_axis([str(column) for column in frame.columns], axis="columns")
    require_columns(list(frame.columns), roles, n=len(frame), name=name)
    X = frame.drop(columns=list(roles.named)).reset_index(drop=True)
    return with_cells(X, frame, roles, name=name, columns=list(X.columns), notes=notes)


def require_columns(columns: list[str], roles: Roles, *, n: int, name: str) -> None:
    """Refuse names that stand there twice, roles of columns that are not there, and tables with nothing in them."""
    refuse_duplicates(columns, name=name)
    roles.require_in(columns, where=f"`{name}`")
    if n == 0 or not columns:
        raise InvalidInputError(f"`{name}` has columns but no rows. A table needs at least one row.")
    if set(columns) <= set(roles.named):
        raise InvalidInputError(
            f"`{name}` has nothing to learn from: each of its columns ({listed(columns)}) is a label, an id or ignored."
        )


def with_cells(
    X: Any, cells: pd.DataFrame, roles: Roles, *, name: str, columns: list[str], notes: list[str]
) -> Dataset:
    """Put points together with what columns say of them; points may be such as are read later."""
    known = read_known(
        None if roles.label is None else cells[roles.label],
        None if roles.truth is None else cells[roles.truth],
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
        notes=[*notes, *known.notes, *([] if hint is None else [_hint(hint)])],
    )


def _hint(column: str) -> str:
    return (
        f"Column `{column}` is used as a feature like every other; if it holds labels, name it as the label column"
        " (or as the truth, or ignore it)."
    )


def column_ids(cells: Any, *, column: str, begin: int = 0) -> np.ndarray[tuple[int, ...], np.dtype[np.object_]]:
    """Make ids of cells, the first of which stands in row ``begin``: text, none of it empty."""
    series = pd.Series(cells, dtype=object)
    ids = np.array([cell_text(cell) for cell in series.where(series.notna(), None)], dtype=object)
    empty = np.flatnonzero(ids == "")
    if empty.size:
        raise InvalidInputError(
            f"Column `{column}` must name every point; {empty.size} cells are empty, the first in row"
            f" {begin + empty[0]}."
        )
    return ids


def require_module(module: str, *, extra: str, purpose: str) -> Any:
    """Import a module of an optional extra, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InvalidInputError(
            f'{purpose} needs {module.partition(".")[0]}, which is not installed: pip install "xsdc[{extra}]".'
        ) from error


def _parsed(layout: Layout, roles: Roles) -> pd.DataFrame:
    try:
        with layout.text.opened() as file:
            return layout.with_numbers(pd.read_csv(file, **layout.options(roles)))
    except InvalidInputError:
        raise
    except ValueError as error:  # pandas' own errors are of this kind: an open quote, for one
        raise InvalidInputError(f"`{layout.text.path.name}` cannot be read as a table: {first_line(error)}.") from error


def _without_row_numbers(frame: pd.DataFrame, roles: Roles) -> tuple[pd.DataFrame, list[str]]:
    """Leave out the nameless first column of row numbers that pandas writes."""
    first = frame.columns[0]
    if first != "column 1" or frame.shape[1] == 1 or first in roles.named:
        return frame, []
    if not np.array_equal(frame[first].to_numpy(), np.arange(len(frame))):
        return frame, []
    return frame.drop(columns=first), [ROW_NUMBERS]


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, without a full stop, or its type if it has none."""
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
