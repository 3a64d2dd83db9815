"""The first lines of a table in text: names of columns, or already data; titles and units."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from xsdc.data.labels import MISSING
from xsdc.data.numerals import DECIMAL, GROUPED, WHOLE
from xsdc.data.roles import Roles, listed
from xsdc.data.text import REMARK, Text
from xsdc.errors import InvalidInputError

LOOKED_AT = 200  # rows
FEW = 10  # cells that are too few to say which words a column holds
SHOWN = 3
NAMELESS = re.compile(r"column [0-9]+")
LIMIT = re.compile(r"[<>≤≥~≈=]+\s*[0-9.,]+.*|[0-9.,]+\s*%")  # measured, though no number


@dataclass(frozen=True)
class Header:
    """What the first lines of a table are.

    Attributes
    ----------
    names : list of str
        Its columns.
    headed : bool
        Whether the first line names them.
    notes : list of str
        What was assumed.
    doubts : list of str
        What looks like a mistake: a title, a line of units.
    hint : str
        What to say where a column is not found, or rows are of uneven length.
    """

    names: list[str]
    headed: bool
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    hint: str = ""


def find_header(text: Text, roles: Roles) -> Header:
    """Find the names of columns.

    A first line without numbers names them. One with numbers does if it holds a column that the user has named, if the
    numbers count up by one, or if a word in it stands over numbers, or over words of which it is none; otherwise it is
    data.

    Parameters
    ----------
    text : Text
        The file.
    roles : Roles
        What the user said about columns.

    Returns
    -------
    Header
    """
    rows = [[cell.strip() for cell in cells] for _, cells in itertools.islice(text.rows(), LOOKED_AT)]
    name = text.path.name
    if not rows:
        raise InvalidInputError(f"`{name}` is empty. A table needs a line of names and at least one row.")
    first, below = rows[0], rows[1:]
    if first[0].startswith(REMARK) and len(first[0]) > 1:
        first[0] = first[0][1:].strip()
    sure = _are_surely_names(first, roles)
    nameless = bool(roles.expected) and all(NAMELESS.fullmatch(column) for column in roles.expected)
    if not sure and (nameless or not _seem_names(first, below)):
        return _unnamed(first, name=name)
    names = [cell or f"column {i}" for i, cell in enumerate(first, start=1)]
    refuse_duplicates(names, name=name)
    title = _title(first, below)
    if title:
        return Header(names, headed=True, doubts=[title], hint=f" {title}")
    guessed = f"The first line was taken for the names of columns: {listed(names, limit=SHOWN)}."
    return Header(names, headed=True, notes=[] if sure else [guessed], doubts=_units(names, below))


def _unnamed(first: list[str], *, name: str) -> Header:
    names = [f"column {i}" for i in range(1, len(first) + 1)]
    called = f"`{names[0]}` to `{names[-1]}`" if len(names) > 1 else f"`{names[0]}`"
    number = next(cell for cell in first if _is_number(cell))
    taken = (
        f"its first line ({listed(first, limit=SHOWN)}) was taken for data. If it names the columns, put a letter into"
        f" each name, as in `x{number}`."
    )
    note = f"`{name}` names no columns, and they are called {called}: {taken}"
    return Header(names, headed=False, notes=[note], hint=f" I{taken[1:]}")


def _are_surely_names(first: list[str], roles: Roles) -> bool:
    numbers = [cell for cell in first if _is_number(cell)]
    if not numbers or any(column in first for column in roles.named):
        return True
    if roles.expected and set(roles.expected) <= set(first):
        return True
    counting = all(cell.isdecimal() for cell in numbers) and len(numbers) > 1
    return counting and all(int(b) - int(a) == 1 for a, b in itertools.pairwise(numbers))


def _seem_names(first: list[str], below: list[list[str]]) -> bool:
    """Tell whether words stand in the first line over what they do not belong to."""
    if len(set(first)) < len(first):
        return False
    return any(cell[:1].isalpha() and _is_name_of(cell, _cells(below, i)) for i, cell in enumerate(first))


def _is_name_of(cell: str, cells: list[str]) -> bool:
    if len(cells) < 2 or cell in MISSING:
        return False
    if all(map(_is_number, cells)):
        return True
    recur = len(cells) >= FEW and 2 * len(set(cells)) <= len(cells)
    return recur and cell not in cells and not any(map(_is_number, cells))


def _cells(rows: list[list[str]], column: int) -> list[str]:
    """Take the cells of a column that say something."""
    return [row[column] for row in rows if len(row) > column and row[column] not in MISSING]


def _is_number(cell: str) -> bool:
    return bool(WHOLE.fullmatch(cell) or DECIMAL.fullmatch(cell) or GROUPED.fullmatch(cell))


def _title(first: list[str], below: list[list[str]]) -> str:
    """Say so if the first line looks like a title, and the second one like names."""
    if not first[0] or any(first[1:]) or not below:
        return ""
    second = below[0]
    if len(second) < 2 or not all(second) or any(map(_is_number, second)):
        return ""
    return (
        f"The first line (`{first[0]}`) looks like a title, and the next one ({listed(second, limit=SHOWN)}) like the"
        " names of the columns. Delete the first line."
    )


def _units(names: list[str], below: list[list[str]]) -> list[str]:
    """Say so if words stand in the first row over columns of numbers."""
    rows, first = below[1:], below[0] if below else []
    over = [
        cell
        for i, cell in enumerate(first[: len(names)])
        if len(cells := _cells(rows, i)) > SHOWN and all(map(_is_number, cells))
    ]
    words = [cell for cell in over if cell not in MISSING]
    if not words or any(_is_number(cell) or LIMIT.fullmatch(cell) for cell in words):
        return []
    doubt = (
        f"The line below the names holds words ({listed(words, limit=SHOWN)}) over columns of numbers, as units do. It"
        " was read as a row, whose cells there count as missing; delete it if it is none."
    )
    return [doubt]


def refuse_duplicates(columns: Iterable[str], *, name: str) -> None:
    """Refuse names that stand for more than one column."""
    twice = [column for column, count in Counter(columns).items() if count > 1]
    if twice:
        verb = "stands" if len(twice) == 1 else "stand"
        raise InvalidInputError(f"`{name}` must name each column once; {listed(twice)} {verb} there more than once.")
