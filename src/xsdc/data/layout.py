"""How a table in text is laid out: its columns, its numbers, and which lines are no rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from xsdc.data.header import Header, find_header
from xsdc.data.labels import MISSING
from xsdc.data.numerals import Figures, Glance, Manner, Numerals
from xsdc.data.roles import Roles
from xsdc.data.text import Text, is_empty, read_text
from xsdc.errors import InvalidInputError

AS_THEY_COME: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Layout:
    """A table in text, looked through once, or twice where its numbers are not written as programs do.

    Attributes
    ----------
    text : Text
        The file.
    names : list of str
        Its columns.
    headed : bool
        Whether its first line names them.
    numerals : Numerals
        How its numbers are written.
    matters : bool
        Whether any cell depends on it.
    grouped : list of str
        Columns in whose numbers something stands between thousands.
    notes : list of str
        What was assumed.
    doubts : list of str
        What looks like a mistake.
    """

    text: Text
    names: list[str]
    headed: bool
    numerals: Numerals
    matters: bool
    grouped: list[str]
    notes: list[str]
    doubts: list[str] = field(default_factory=list)

    def options(self, roles: Roles) -> dict[str, Any]:
        """How pandas is to read it; columns of labels and ids as text, and numbers that it cannot read too."""
        words = (*roles.verbatim, *self.grouped)
        as_they_are = (roles.label, roles.truth, roles.id, *roles.text)
        return {
            "sep": self.text.delimiter,
            "header": 0 if self.headed else None,
            "names": self.names,
            "index_col": False,
            "dtype": {column: str for column in self.names if column in words},
            "keep_default_na": False,
            "na_values": {column: list(MISSING) for column in self.names if column not in as_they_are},
            "skipinitialspace": True,
            "decimal": self.numerals.decimal,
            "low_memory": False,
        }

    def with_numbers(self, frame: pd.DataFrame, dtypes: Mapping[str, str] = AS_THEY_COME) -> pd.DataFrame:
        """Make numbers of columns that pandas has read as text, of the types that columns have as a whole."""
        for column in self.grouped:
            frame[column] = self.numerals.read(frame[column], dtypes.get(column))
        return frame


def find_layout(path: Path, roles: Roles) -> Layout:
    """Look through a table in text; refuse rows of uneven length, and roles of columns that are not there."""
    text = read_text(path)
    header = find_header(text, roles)
    try:
        roles.require_in(header.names, where=f"`{path.name}`")
    except InvalidInputError as error:
        raise InvalidInputError(f"{error}{header.hint}") from error
    empty, glance = _look_through(text, header)
    text = replace(text, left_out=text.left_out | frozenset(line for lines in empty for line in lines))
    manner = _find_manner(text, header, roles, glance)
    return Layout(
        text,
        header.names,
        header.headed,
        manner.numerals,
        manner.matters,
        [header.names[i] for i in sorted(manner.grouped)],
        [*text.notes, *header.notes, *_empty_note(empty), *manner.notes],
        [*header.doubts, *manner.doubts],
    )


def _look_through(text: Text, header: Header) -> tuple[list[range], Glance]:
    """Look at every row once: find the lines of empty ones, refuse those of uneven length."""
    n, name, n_columns = 0, text.path.name, len(header.names)
    empty, glance = [], Glance()
    for begin, end, row in text.records():
        if is_empty(row):
            if row:  # pandas passes over lines without any cell by itself
                empty.append(range(begin, end + 1))
            continue
        n += 1
        if len(row) != n_columns:
            where = f"line {end} has" if begin == end else f"the row in lines {begin} to {end} has"
            raise InvalidInputError(
                f"`{name}` must have {n_columns} cells in every row; {where} {len(row)}."
                f' Put cells that hold the delimiter between quotes ("a, b").{header.hint}'
            )
        if n > int(header.headed):
            glance.add(row)
    if n == int(header.headed):
        raise InvalidInputError(f"`{name}` has a line of names but no rows. A table needs at least one row.")
    return empty, glance


def _empty_note(empty: list[range]) -> list[str]:
    if not empty:
        return []
    what = "1 row with nothing in it was" if len(empty) == 1 else f"{len(empty):,} rows with nothing in them were"
    where = f"line {empty[0][0]}" if len(empty) == 1 else f"lines {empty[0][0]} to {empty[-1][-1]}"
    among = "" if len(empty) == 1 or empty[-1][-1] - empty[0][0] + 1 == len(empty) else "among "
    return [f"{what} passed over ({among}{where}) and not counted."]


def _find_manner(text: Text, header: Header, roles: Roles, glance: Glance) -> Manner:
    """Find out how numbers are written; where a glance has shown nothing unusual, they are not looked at again."""
    if not glance.telling and (roles.numerals is None or not roles.numerals.thousands):
        return Manner(matters=glance.pointed)
    passed_over = {*roles.verbatim, *roles.ignore}
    figures = Figures(i for i, column in enumerate(header.names) if column not in passed_over)
    rows = text.rows()
    if header.headed:
        next(rows)
    for _, row in rows:
        figures.add(row)
    return figures.judge(delimiter=text.delimiter, usual=roles.numerals)
