"""How a table in text is laid out: what separates its cells, where it begins, and which line names its columns.

Each guess is overruled by an option of `Reading`.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

from xsdc.data.cells import MISSING
from xsdc.data.forms import is_measured, is_number
from xsdc.data.roles import Roles, listed
from xsdc.data.text import Lines, TextTable, find_encoding, opened, rows_of
from xsdc.errors import InvalidInputError

# In this order where several fit: a comma may be a decimal sign, and | stands between labels of a choice.
DELIMITERS = "\t;,|"
LOOKED_AT = 200  # lines
LONGEST = 2**20  # letters of them
FEW = 10  # cells that are too few to say which words a column holds
SHOWN = 3
SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # a first line that Excel understands
REMARK = "#"
UNNAMED = "column 1"


class Row(NamedTuple):
    """Cells of a row that is not empty, and the number of the line it ends in."""

    line: int
    cells: list[str]


class Names(NamedTuple):
    """Names of columns, how many lines stand before the first row of data, and what is to be said of both."""

    columns: list[str]
    first: int
    notes: list[str]
    hint: str = ""


def find_layout(path: Path, roles: Roles) -> TextTable:
    """Look at the first lines of a table in text; refuse roles of columns that are not there.

    A first line without numbers names the columns. One with numbers does if it holds a column that the user has named,
    if the numbers count up by one, or if a word in it stands over numbers, or over words of which it is none; otherwise
    it is data.

    Parameters
    ----------
    path : Path
        A file, gzipped or not.
    roles : Roles
        What the user said about columns, and how the file is written.
    """
    reading = roles.reading
    encoding, notes = find_encoding(path, reading.encoding)
    with opened(path, encoding) as file:
        lines = _head(file)
    start, delimiter, said = _after_preface(lines, skip=reading.skip_rows, delimiter=reading.delimiter)
    notes += said
    rows = _rows(lines, start, delimiter, name=path.name)
    if not rows:
        raise InvalidInputError(f"`{path.name}` is empty. A table needs a line of names and at least one row.")
    names = find_names(rows, roles, name=path.name)
    try:
        roles.require_in(names.columns, where=f"`{path.name}`")
    except InvalidInputError as error:
        raise InvalidInputError(f"{error}{names.hint}") from error
    return TextTable(
        path, encoding, delimiter, names.columns, names.first, notes=[*notes, *names.notes], hint=names.hint
    )


def read_rows(path: Path) -> list[tuple[int, list[str]]]:
    """Read the cells of each row that is not empty, with the number of the line it ends in."""
    encoding, _ = find_encoding(path)
    with opened(path, encoding) as file:
        start, delimiter, _ = _after_preface(_head(file), skip=None, delimiter=None)
    with opened(path, encoding) as file:
        rows = rows_of(Lines(file, start), delimiter, name=path.name)
        return [(end, [cell.strip() for cell in cells]) for _, end, cells in rows if any(cells)]


def _head(file: TextIO) -> list[str]:
    lines: list[str] = []
    length = 0
    while len(lines) < LOOKED_AT and length < LONGEST and (line := file.readline(LONGEST)):
        lines.append(line)
        length += len(line)
    return lines


def _rows(lines: Sequence[str], start: int, delimiter: str, *, name: str) -> list[Row]:
    """Read the cells of the first lines; a row that goes beyond them is left out."""
    source = Lines(io.StringIO("".join(lines), newline=""), start)
    rows: list[Row] = []
    try:
        for _, end, cells in rows_of(source, delimiter, name=name):
            if any(cells):
                rows.append(Row(end, [cell.strip() for cell in cells]))
    except InvalidInputError:
        if len(lines) < LOOKED_AT or not rows:
            raise
    return rows


def _after_preface(lines: Sequence[str], *, skip: int | None, delimiter: str | None) -> tuple[int, str, list[str]]:
    """Return how many lines stand before the table, what separates its cells, and what is to be said of both."""
    notes, remarks, start = [], [], skip or 0
    said = SEPARATOR.fullmatch(lines[0]) if lines and not start else None
    if said:
        start, delimiter = 1, delimiter or said[1]
        notes.append(f"The first line says what separates cells (`{said[1]}`) and is no row.")
    if skip is None:
        while start < len(lines) and (not lines[start].strip() or lines[start].lstrip().startswith(REMARK)):
            if lines[start].strip():
                remarks.append(start)
            start += 1
    table = [line for line in lines[start:] if line.strip()]
    found = delimiter or _delimiter(table)
    if remarks and (not table or _holds_names(lines[remarks[-1]], table[0], found)):
        start = remarks.pop(0) if not table else remarks.pop()
        remarks = [] if not table else remarks
    if remarks:
        more = f" and {len(remarks) - 1} more that begin with {REMARK}" if len(remarks) > 1 else ""
        notes.append(f"Lines before the table were passed over as remarks: `{lines[remarks[0]].strip()}`{more}.")
    return start, found, notes


def _holds_names(remark: str, below: str, delimiter: str) -> bool:
    """Tell whether a remark names the columns: it has as many cells as the line below."""
    names, cells = (next(csv.reader([line.strip()], delimiter=delimiter)) for line in (remark, below))
    measured = any(is_number(cell.strip()) for cell in cells)
    return len(names) == len(cells) > 1 and (measured or names[0][1:2] != " ")


def _delimiter(lines: Sequence[str]) -> str:
    """Find what separates cells: what cuts most of the first lines into as many cells, two or more."""

    def regularity(delimiter: str) -> float:
        try:
            counts = [len(row) for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True)]
        except csv.Error:  # a cell longer than any should be, for one
            return 0.0
        (usual, times), *_ = Counter(counts).most_common(1) or [(0, 0)]
        return times / len(counts) if usual > 1 else 0.0

    best = max(DELIMITERS, key=regularity)
    return best if regularity(best) > 0 else ","


def _without_title(rows: list[Row]) -> tuple[list[Row], list[str]]:
    """Leave out lines above the table that have too few cells to belong to it."""
    usual = Counter(len(row.cells) for row in rows).most_common(1)[0][0]

    def is_title(row: Row) -> bool:
        filled = sum(map(bool, row.cells))
        return usual > 1 and (filled == 1 or len(row.cells) < usual - 1) and bool(row.cells[0])

    title = list(itertools.takewhile(is_title, rows))
    if not title or len(title) == len(rows):
        return rows, []
    more = f" and {len(title) - 1} more" if len(title) > 1 else ""
    note = (
        f"Lines above the table were passed over: `{title[0].cells[0]}`{more}. The option `skip_rows` overrules this."
    )
    return rows[len(title) :], [note]


def find_names(rows: list[Row], roles: Roles, *, name: str) -> Names:
    """Find the names of columns, and the first line below them.

    Parameters
    ----------
    rows : list of Row
        The first rows that are not empty.
    roles : Roles
        What the user said about columns, and of the line of names.
    name : str
        The file.
    """
    notes: list[str] = []
    if roles.reading.skip_rows is None:
        rows, notes = _without_title(rows)
    first, below = rows[0].cells, [row.cells for row in rows[1:]]
    short = bool(below) and len(below[0]) == len(first) + 1 > 2  # R leaves out the name of its row numbers
    names = ["", *first] if short else list(first)
    if names[0][:1] == REMARK and names[0].strip(REMARK):
        names[0] = names[0].lstrip(REMARK).strip()
    sure = _are_surely_names(names, roles)
    headed = roles.reading.header
    if headed is None:
        headed = sure or (UNNAMED not in roles.expected and _seem_names(names, below))
    if not headed:
        hint, note = _unnamed(first, name, asked=roles.reading.header is not None)
        columns = [f"column {i}" for i in range(1, len(first) + 1)]
        return Names(columns, rows[0].line - 1 - "".join(first).count("\n"), [*notes, *note], hint)
    if roles.reading.header is None and not sure:
        notes.append(f"The first line was taken for the names of columns: {listed(names, limit=SHOWN)}.")
    columns, said = _distinct(names)
    start, units = rows[0].line, _units(below, len(names)) if below else ""
    if units:
        start = rows[1].line
        notes.append(f"The line below the names holds units (`{units}`) and was passed over.")
    return Names(columns, start, [*notes, *said])


def _unnamed(first: Sequence[str], name: str, *, asked: bool) -> tuple[str, list[str]]:
    """Say that the first line is data: as a hint where something fails, and as a note."""
    if asked:
        return "", []
    number = next((cell for cell in first if is_number(cell)), first[0])
    taken = (
        f"its first line ({listed(first, limit=SHOWN)}) was taken for data. If it names the columns, say so with the"
        f" option `header`, or put a letter into each name, as in `x{number}`."
    )
    called = "`column 1`" + (f" to `column {len(first)}`" if len(first) > 1 else "")
    return f" I{taken[1:]}", [f"`{name}` names no columns, and they are called {called}: {taken}"]


def _distinct(names: list[str]) -> tuple[list[str], list[str]]:
    """Give columns without a name one, and those of one name a number."""
    seen: Counter[str] = Counter()
    distinct = []
    for i, name in enumerate(names, start=1):
        seen[name] += 1
        distinct.append(f"column {i}" if not name else name if seen[name] == 1 else f"{name} ({seen[name]})")
    twice = [name for name in seen if name and seen[name] > 1]
    said = f"Columns of one name were numbered: {listed(twice)} and `{twice[0]} (2)`." if twice else ""
    return distinct, [said] if said else []


def _are_surely_names(first: Sequence[str], roles: Roles) -> bool:
    numbers = [cell for cell in first if is_number(cell)]
    if not numbers or any(column in first for column in roles.named):
        return True
    if roles.expected and set(roles.expected) <= set(first):
        return True
    counting = all(cell.isdecimal() for cell in numbers) and len(numbers) > 1
    return counting and all(int(b) - int(a) == 1 for a, b in itertools.pairwise(numbers))


def _seem_names(first: Sequence[str], below: list[list[str]]) -> bool:
    """Tell whether words stand in the first line over what they do not belong to."""
    if len(set(first)) < len(first):
        return False
    return any(cell[:1].isalpha() and _is_name_of(cell, _cells(below, i)) for i, cell in enumerate(first))


def _is_name_of(cell: str, cells: Sequence[str]) -> bool:
    if len(cells) < 2 or cell in MISSING:
        return False
    if all(map(is_number, cells)):
        return True
    recur = len(cells) >= FEW and 2 * len(set(cells)) <= len(cells)
    return recur and cell not in cells and not any(map(is_number, cells))


def _cells(rows: list[list[str]], column: int) -> list[str]:
    """Take the cells of a column that say something."""
    return [row[column] for row in rows if len(row) > column and row[column] not in MISSING]


def _units(below: list[list[str]], n_columns: int) -> str:
    """Return the words of a row that stand over columns of numbers, where there are no numbers among them."""
    first, rows = below[0], below[1:]
    over = [
        cell
        for i, cell in enumerate(first[:n_columns])
        if len(cells := _cells(rows, i)) > SHOWN and all(map(is_number, cells))
    ]
    words = [cell for cell in over if cell not in MISSING]
    if not words or any(is_number(cell) or is_measured(cell) for cell in words):
        return ""
    return "`, `".join(words[:SHOWN])
