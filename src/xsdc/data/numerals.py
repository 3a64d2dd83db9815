"""How a table in text writes its numbers: the decimal sign, and what stands between thousands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import pandas as pd

SPACES = "\u00a0\u202f"  # that do not break a line, as some countries have between thousands
OTHERS = "'’" + SPACES  # marks that separate thousands or nothing
MARKS = ",." + OTHERS
GROUPED = re.compile(rf"[-+]?[1-9][0-9]{{0,2}}([{MARKS}])[0-9]{{3}}(?:\1[0-9]{{3}})*(?:(?!\1)([.,])[0-9]*)?")
DECIMAL = re.compile(r"[-+]?(?:[0-9]+([.,])[0-9]*|([.,])[0-9]+)(?:[eE][-+]?[0-9]+)?")
WHOLE = re.compile(r"[-+]?[0-9]+(?:[eE][-+]?[0-9]+)?")
ODD = re.compile(rf"[-+]?[0-9]+(?:([{MARKS}])[0-9]+)+")  # a date, a list, an address
MARKED = re.compile(rf"[0-9][,{OTHERS}][0-9]|\x1f[-+]?,[0-9]")
POINTS = re.compile(r"\.[0-9]{3}\.[0-9]")
PLAIN = re.compile(r"\x1f\s*[-+]?[0-9]*\.[0-9]")


class Numerals(NamedTuple):
    """How numbers are written.

    Attributes
    ----------
    decimal : str
        The decimal sign, ``.`` or ``,``.
    thousands : str
        What stands between thousands; nothing where nothing does.
    """

    decimal: str = "."
    thousands: str = ""

    def plain(self, cell: str) -> str:
        """Write a number as programs do: 1004.5 for ``1,004.5`` or ``1.004,5``; leave what is no number."""
        cell = cell.strip()
        groups = GROUPED.fullmatch(cell)
        if groups and groups[1] == self.thousands:
            return cell.replace(self.thousands, "").replace(self.decimal, ".")
        return cell.replace(self.decimal, ".") if DECIMAL.fullmatch(cell) else cell

    def read(self, column: pd.Series, dtype: str | None = None) -> pd.Series:
        """Make numbers of a column of text if all of its cells are some; else write those that are as programs do.

        Parameters
        ----------
        column : series
            Its cells.
        dtype : str, optional
            What the column is as a whole, where this is a part of it; "str" if some cell of it is no number.
        """
        written = column.map(self.plain, na_action="ignore")
        if dtype == "str":
            return written
        try:
            numbers = pd.to_numeric(written)
        except (ValueError, TypeError):
            return written
        return numbers if dtype is None else numbers.astype(dtype)

    def said(self) -> str:
        """Say it in a few words, to follow "numbers with"."""
        sign = "a decimal comma" if self.decimal == "," else "a decimal point"
        if not self.thousands:
            return sign
        return f"{sign} and {_named(self.thousands)} between thousands"


AS_PROGRAMS_DO = Numerals()


@dataclass(frozen=True)
class Manner:
    """How a file writes its numbers, and what is to be said about it.

    Attributes
    ----------
    numerals : Numerals
        How.
    matters : bool
        Whether any cell depends on it.
    grouped : frozenset of int
        Positions of columns in which something stands between thousands.
    notes, doubts : list of str
        What was assumed, and what may be wrong about it.
    """

    numerals: Numerals = AS_PROGRAMS_DO
    matters: bool = False
    grouped: frozenset[int] = frozenset()
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)


class Glance:
    """A quick look at rows: whether any number in them may be written otherwise than programs do."""

    def __init__(self) -> None:
        self.telling = self.pointed = False

    def add(self, row: list[str]) -> None:
        """Look at a row."""
        if self.telling and self.pointed:
            return
        line = "\x1f" + "\x1f".join(row)
        self.telling = self.telling or _is_telling(line)
        self.pointed = self.pointed or PLAIN.search(line) is not None


def _is_telling(line: str) -> bool:
    if any(mark in line for mark in "," + OTHERS) and MARKED.search(line):  # most lines have none of them
        return True
    return POINTS.search(line) is not None


class Figures:
    """Numbers of a table, counted by the way they are written.

    Parameters
    ----------
    columns : iterable of int
        Positions of the columns to look at.
    """

    def __init__(self, columns: Iterable[int]) -> None:
        self._columns = {i: Column() for i in columns}

    def add(self, row: list[str]) -> None:
        """Look at a row."""
        for i, column in self._columns.items():
            column.add(row[i].strip())

    def judge(self, *, delimiter: str, usual: Numerals | None = None) -> Manner:
        """Decide how the numbers of the table are written.

        Parameters
        ----------
        delimiter : str
            What separates cells.
        usual : Numerals, optional
            How they are to be read where cells do not tell.
        """
        evidence = Evidence()
        for column in self._columns.values():
            evidence.add(column)
        manner = evidence.judge(delimiter=delimiter, usual=usual)
        mark = manner.numerals.thousands
        grouped = {i for i, column in self._columns.items() if mark and column.groups_by(mark)}
        return Manner(manner.numerals, manner.matters, frozenset(grouped), manner.notes, manner.doubts)


class Column:
    """Cells of one column, counted by the way their numbers are written.

    Attributes
    ----------
    decimal, grouped, either : Counter
        Cells by their mark: where it can only be a decimal sign, only stand between thousands, or be one or the other.
    examples : dict
        One cell of each.
    """

    def __init__(self) -> None:
        self.decimal: Counter[str] = Counter()
        self.grouped: Counter[str] = Counter()
        self.either: Counter[str] = Counter()
        self.examples: dict[tuple[str, str], str] = {}
        self._odd: set[str] = set()
        self._numbers = self._filled = 0

    def add(self, cell: str) -> None:
        """Look at a cell."""
        if not cell:
            return
        self._filled += 1
        if WHOLE.fullmatch(cell):
            self._numbers += 1
        elif groups := GROUPED.fullmatch(cell):
            self._add_groups(cell, mark=groups[1], sign=groups[2])
        elif fraction := DECIMAL.fullmatch(cell):
            self._count("decimal", fraction[1] or fraction[2], cell)
        elif odd := ODD.fullmatch(cell):
            self._odd.add(odd[1])

    def speaks_of(self, mark: str) -> bool:
        """Tell whether the column is one of numbers, and no cell has the mark in another sense: a date, a list."""
        return mark not in self._odd and 2 * self._numbers >= self._filled

    def groups_by(self, mark: str) -> bool:
        """Tell whether the mark stands between thousands here."""
        return self.speaks_of(mark) and bool(self.grouped[mark] or self.either[mark])

    def _add_groups(self, cell: str, *, mark: str, sign: str | None) -> None:
        sure = sign is not None or mark in OTHERS or cell.count(mark) > 1
        self._count("grouped" if sure else "either", mark, cell)
        if sign is not None:
            self.decimal[sign] += 1
            self.examples.setdefault(("decimal", sign), cell)

    def _count(self, kind: str, mark: str, cell: str) -> None:
        getattr(self, kind)[mark] += 1
        self.examples.setdefault((kind, mark), cell)
        self._numbers += 1


class Evidence:
    """What the columns of a table tell together."""

    def __init__(self) -> None:
        self.cells: dict[tuple[str, str], str] = {}

    def add(self, column: Column) -> None:
        """Take in a column."""
        for (kind, mark), cell in column.examples.items():
            if column.speaks_of(mark):
                self.cells.setdefault((kind, mark), cell)

    def judge(self, *, delimiter: str, usual: Numerals | None) -> Manner:
        """Decide."""
        comma, point = self.cells.get(("decimal", ",")), self.cells.get(("decimal", "."))
        other = next((mark for mark in OTHERS if ("grouped", mark) in self.cells), None)
        if other is not None:
            return self._grouped(Numerals("," if comma and not point else ".", other))
        for numerals, sign in ((Numerals(".", ","), comma), (Numerals(",", "."), point)):
            if ("grouped", numerals.thousands) in self.cells and not sign:
                return self._grouped(numerals)
        if comma:
            return self._with_comma(comma, point)
        return self._doubtful(delimiter=delimiter, usual=usual)

    def _with_comma(self, comma: str, point: str | None) -> Manner:
        """Read decimal commas, beside which a point may separate thousands, or be a decimal sign too."""
        if not point and ("either", ".") in self.cells:
            return self._grouped(Numerals(",", "."))
        if point:
            doubt = (
                f"Some cells have a decimal comma (`{comma}`), others a decimal point (`{point}`). Columns that have"
                " one of them were read as numbers; write all cells alike to be sure."
            )
            return Manner(Numerals(","), matters=True, doubts=[doubt])
        return Manner(
            Numerals(","), matters=True, notes=[f"Cells such as `{comma}` were read as numbers with a decimal comma."]
        )

    def _doubtful(self, *, delimiter: str, usual: Numerals | None) -> Manner:
        """Read cells whose one mark has three digits after it."""
        point = self.cells.get(("decimal", "."))
        comma, dotted = self.cells.get(("either", ",")), self.cells.get(("either", "."))
        if comma and (point or dotted):
            return self._grouped(Numerals(".", ","))
        if usual is not None and (comma or (dotted and not point)):
            return Manner(usual, matters=True)
        if not comma:
            return Manner(matters=point is not None)
        numerals = Numerals(".", ",") if delimiter == "," else Numerals(",")
        how = "with the comma between thousands" if numerals.thousands else "with a decimal comma"
        meant = Numerals(",") if numerals.thousands else Numerals(".", ",")
        doubt = (
            f"Cells such as `{comma}` were read {how}, as {numerals.plain(comma)}. Nothing in the file tells whether"
            f" {meant.plain(comma)} is meant; if so, write it like that."
        )
        return Manner(numerals, matters=True, doubts=[doubt])

    def _grouped(self, numerals: Numerals) -> Manner:
        mark = numerals.thousands
        cell = self.cells.get(("grouped", mark)) or self.cells[("either", mark)]
        note = (
            f"In cells such as `{cell}` the {_named(mark).removeprefix('a ').removeprefix('an ')} was read as standing"
            f" between thousands: {numerals.plain(cell)}."
        )
        return Manner(numerals, matters=True, notes=[note])


def _named(mark: str) -> str:
    return {",": "a comma", ".": "a point"}.get(mark, "a space" if mark in SPACES else "an apostrophe")
