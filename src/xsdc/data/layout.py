"""How a table in text is laid out: its columns, its decimal sign, and how many rows it has."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xsdc.data.labels import MISSING
from xsdc.data.roles import Roles, listed
from xsdc.data.text import Text, read_text
from xsdc.errors import InvalidInputError

DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+")
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
SAMPLE = 50


@dataclass(frozen=True)
class Layout:
    """A table in text, looked through once.

    Attributes
    ----------
    text : Text
        The file.
    names : list of str
        Its columns.
    headed : bool
        Whether its first line names them.
    decimal : str
        Its decimal sign.
    notes : list of str
        What was assumed.
    """

    text: Text
    names: list[str]
    headed: bool
    decimal: str
    notes: list[str]

    def options(self, roles: Roles) -> dict[str, Any]:
        """How pandas is to read it; columns of labels and ids as text."""
        return {
            "sep": self.text.delimiter,
            "header": 0 if self.headed else None,
            "names": self.names,
            "index_col": False,
            "dtype": {column: str for column in self.names if column in roles.verbatim},
            "keep_default_na": False,
            "na_values": {column: list(MISSING) for column in self.names if column not in (roles.id, *roles.text)},
            "skipinitialspace": True,
            "decimal": self.decimal,
            "low_memory": False,
        }


def find_layout(path: Path, roles: Roles) -> Layout:
    """Look through a table in text; refuse rows of uneven length, and roles of columns that are not there."""
    text = read_text(path)
    names, headed, notes = _header(text, name=path.name)
    roles.require_in(names, where=f"`{path.name}`")
    _require_even_rows(text, n_columns=len(names), headed=headed, name=path.name)
    decimal = _decimal(text)
    if decimal == ",":
        notes.append("Cells such as 1,5 were read as numbers with a decimal comma.")
    return Layout(text, names, headed, decimal, [*text.notes, *notes])


def _header(text: Text, *, name: str) -> tuple[list[str], bool, list[str]]:
    """Return names of the columns, whether the file gives them, and what to say about it."""
    _, cells = next(text.rows(), (0, []))
    if not cells:
        raise InvalidInputError(f"`{name}` is empty. A table needs a line of names and at least one row.")
    first = [cell.strip() for cell in cells]
    if not _are_names(first):
        names = [f"column {i}" for i in range(1, len(first) + 1)]
        return names, False, [f"`{name}` names no columns; they are called `{names[0]}` to `{names[-1]}`."]
    names = [cell or f"column {i}" for i, cell in enumerate(first, start=1)]
    refuse_duplicates(names, name=name)
    return names, True, []


def _are_names(cells: list[str]) -> bool:
    numbers = [cell for cell in cells if NUMBER.fullmatch(cell)]
    if not numbers:
        return True
    counting = all(cell.isdecimal() for cell in numbers) and len(numbers) > 1
    return counting and all(int(b) - int(a) == 1 for a, b in itertools.pairwise(numbers))


def _require_even_rows(text: Text, *, n_columns: int, headed: bool, name: str) -> None:
    n = 0
    for line, row in text.rows():
        n += 1
        if len(row) != n_columns:
            raise InvalidInputError(
                f"`{name}` must have {n_columns} cells in every row; line {line} has {len(row)}."
                ' Put cells that hold the delimiter between quotes ("a, b").'
            )
    if n == int(headed):
        raise InvalidInputError(f"`{name}` has a line of names but no rows. A table needs at least one row.")


def _decimal(text: Text) -> str:
    """Tell a decimal comma, which there is only where something else separates cells."""
    if text.delimiter == ",":
        return "."
    cells = [cell.strip() for (_, row), _ in zip(text.rows(), range(SAMPLE), strict=False) for cell in row]
    return "," if any(DECIMAL_COMMA.fullmatch(cell) for cell in cells) else "."


def refuse_duplicates(columns: Iterable[str], *, name: str) -> None:
    """Refuse names that stand for more than one column."""
    twice = [column for column, count in Counter(columns).items() if count > 1]
    if twice:
        raise InvalidInputError(f"`{name}` must name each column once; {listed(twice)} stand there more than once.")
