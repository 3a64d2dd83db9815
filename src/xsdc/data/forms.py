"""How numbers are written: the decimal sign, what stands between thousands, and what stands beside them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from xsdc.data.cells import MISSING, cell_text

SPACES = "\u00a0\u202f"  # that do not break a line, as some countries have between thousands
THOUSANDS = (",", ".", "'", "’", *SPACES, " ")
MOSTLY = 0.95  # share of cells that must be numbers for the others to count as missing
PARTLY, FEW_OTHERS = 0.8, 3  # or this share, if all others are the same few words
LOOKED_AT = 20_000  # different cells of a column
NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:[.,'’\u00a0\u202f][0-9]+)*[.,]?|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?")
BESIDE = re.compile(
    r"([^\w\s.,+-]{0,3})\s*([-+]?[0-9.,'’\u00a0\u202f]*[0-9](?:[eE][-+]?[0-9]+)?)\s*([^\d\s.,:/-]\S{0,7})?"
)
LIMIT = re.compile(r"[<>≤≥~≈=]+\s*[0-9.,]+.*|[0-9.,]+\s*%")  # measured, though no number
TRUTH = frozenset(("true", "false"))
# Without points, spaces and dashes, in small letters: what is written where a number is not known.
NOT_KNOWN = frozenset(
    (
        *("nd", "na", "n/a", "nan", "none", "null", "nil", "unknown", "unlabeled", "unlabelled", "unclear", "unsure"),
        *("undefined", "undetermined", "unassigned", "unclassified", "missing", "empty", "blank", "tbd", "todo"),
        *("notknown", "notavailable", "notdetermined", "notassigned", "nolabel", "dontknow", "unbekannt"),
    )
)

Numbers = npt.NDArray[np.float64]


class Form(NamedTuple):
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal : str
        The decimal sign, ``.`` or ``,``.
    thousands : str
        What stands between thousands; nothing where nothing does.
    unit : str
        What stands beside every number, before or after it; nothing where nothing does.
    whole : bool
        Whether all of them are whole numbers, and none is missing.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    whole: bool = False

    def plain(self, cell: str) -> str:
        """Write a number as programs do: 1004.5 for ``1,004.5`` or ``1.004,5``; nothing for what is no number."""
        cell = cell.strip()
        if self.unit:
            cell = cell.removesuffix(self.unit).removeprefix(self.unit).strip()
        if not _pattern(self.decimal, self.thousands).fullmatch(cell):
            return ""
        return (cell.replace(self.thousands, "") if self.thousands else cell).replace(self.decimal, ".")

    def read(self, cells: Sequence[str]) -> Numbers:
        """Read cells as numbers; NaN for what is none."""
        if self[:3] == (".", "", ""):
            try:
                return np.array([cell or None for cell in cells], dtype=object).astype(np.float64)
            except ValueError:  # not all are numbers as programs write them
                pass
        return np.array([float(plain) if (plain := self.plain(cell)) else np.nan for cell in cells], dtype=np.float64)

    def said(self) -> str:
        """Say it in a few words, to follow "numbers with"."""
        sign = "a decimal comma" if self.decimal == "," else "a decimal point"
        between = f" and {_called(self.thousands)} between thousands" if self.thousands else ""
        return f"{sign}{between}"


Forms = Mapping[str, Form]


@cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    d, t = re.escape(decimal), re.escape(thousands)
    whole = rf"(?:[1-9][0-9]{{0,2}}(?:{t}[0-9]{{3}})+|[0-9]+)" if thousands else "[0-9]+"
    fraction = rf"[-+]?(?:{whole}(?:{d}[0-9]*)?|{d}[0-9]+)(?:E[-+]?[0-9]+)?"
    return re.compile(rf"{fraction}|[-+]?inf(?:inity)?", re.IGNORECASE)


def _called(mark: str) -> str:
    return {",": "a comma", ".": "a point"}.get(mark, "a space" if mark in (*SPACES, " ") else "an apostrophe")


def is_number(cell: str) -> bool:
    """Tell whether a cell is a number, however it is written."""
    return bool(NUMBER.fullmatch(cell))


def is_measured(cell: str) -> bool:
    """Tell whether a cell is a limit or a share: measured, though no number."""
    return bool(LIMIT.fullmatch(cell))


def means_unknown(word: str) -> bool:
    """Tell whether a word says that something is not known: ``n.d.``, ``-``, ``none``."""
    if word == "-1" or not any(letter.isalnum() or letter == "+" for letter in word):
        return True
    return re.sub(r"[.\s_-]", "", word).casefold() in NOT_KNOWN


class Guess:
    """How a table writes its numbers, guessed from its columns together.

    Parameters
    ----------
    decimal : str, optional
        The decimal sign, where the user has said it.
    delimiter : str, optional
        What separates cells: where it is a comma, one within a cell stands between thousands.
    usual : mapping from column to Form
        How they were written in the table of a fit; it counts where cells do not tell.

    Attributes
    ----------
    notes, doubts : list of str
        What was assumed, and what may be wrong about it.
    """

    def __init__(self, *, decimal: str | None = None, delimiter: str | None = None, usual: Forms | None = None) -> None:
        self._decimal, self._delimiter, self._usual = decimal, delimiter, dict(usual or {})
        self.notes: list[str] = []
        self.doubts: list[str] = []

    def forms(self, frame: pd.DataFrame, *, words: Iterable[str] = ()) -> dict[str, Form]:
        """Find the columns of numbers, and how each is written.

        Parameters
        ----------
        frame : data frame
            Only columns of text are looked at.
        words : iterable of str
            Columns that are not to be read as numbers.
        """
        skipped = set(words)
        cells = {str(name): _some_cells(frame[name]) for name in frame.columns if name not in skipped}
        columns = {name: Counter(some) for name, some in cells.items() if some}
        fitting = {name: found for name, counts in columns.items() if (found := _fitting(counts, self._decimal))}
        sign, doubtful = self._sign(columns, fitting)
        forms = {name: self._best(name, found, sign) for name, found in fitting.items()}
        self._say(forms, columns, doubtful=doubtful)
        return forms

    def _best(self, name: str, found: Mapping[Form, int], sign: str) -> Form:
        usual = self._usual.get(name)
        return max(
            found,
            key=lambda form: (
                found[form],
                form.decimal == sign,
                usual is not None and form[:3] == usual[:3],
                not form.thousands,
            ),
        )

    def _sign(self, columns: Mapping[str, Counter[str]], fitting: Mapping[str, Mapping[Form, int]]) -> tuple[str, bool]:
        """Return the decimal sign of the file, and whether nothing tells it."""
        votes: Counter[str] = Counter()
        undecided = ""
        for name, found in fitting.items():
            signs = {form.decimal for form, count in found.items() if count == max(found.values())}
            votes.update(signs if len(signs) == 1 else ())
            undecided += "" if len(signs) == 1 else "".join(columns[name])
        usual = Counter(form.decimal for form in self._usual.values())
        if self._decimal or votes or usual:
            return self._decimal or (votes or usual).most_common(1)[0][0], False
        if "." in undecided or "," not in undecided:
            return ".", False
        return ("." if self._delimiter == "," else ","), True

    def _say(self, forms: Forms, columns: Mapping[str, Counter[str]], *, doubtful: bool) -> None:
        said: set[tuple[str, str]] = set()
        signs: dict[str, str] = {}
        for name, form in forms.items():
            if form.unit:
                self.notes.append(f"`{name}`: numbers with `{form.unit}` beside them, which is left out.")
            fraction = next((cell for cell in columns[name] if form.decimal in cell and form.plain(cell)), None)
            if fraction is not None:
                signs.setdefault(form.decimal, fraction)
            cell = fraction
            if form.thousands:
                cell = next((cell for cell in columns[name] if form.thousands in cell and form.plain(cell)), None)
            if cell is not None and form[:2] not in said and form[:2] != (".", ""):
                said.add((form.decimal, form.thousands))
                self._say_form(form, cell, doubtful=doubtful)
        if len(signs) > 1:
            self.doubts.append(
                f"Some columns have a decimal comma (`{signs[',']}`), others a decimal point (`{signs['.']}`); each was"
                " read by its own cells. Write all cells alike to be sure, or give the option `decimal`."
            )

    def _say_form(self, form: Form, cell: str, *, doubtful: bool) -> None:
        if doubtful and "," in cell:
            how = "with the comma between thousands" if form.thousands else "with a decimal comma"
            other = Form(",") if form.thousands else Form(".", ",")
            self.doubts.append(
                f"Cells such as `{cell}` were read {how}, as {form.plain(cell)}. Nothing in the file tells whether"
                f" {other.plain(cell)} is meant; if so, say it with the option `decimal`."
            )
        elif form.thousands:
            mark = _called(form.thousands).split(" ", 1)[1]
            self.notes.append(
                f"In cells such as `{cell}` the {mark} was read as standing between thousands: {form.plain(cell)}."
            )
        else:
            self.notes.append(f"Cells such as `{cell}` were read as numbers with a decimal comma.")


def is_text(column: pd.Series) -> bool:
    """Tell whether a column may hold text."""
    return bool(column.dtype == object or isinstance(column.dtype, pd.StringDtype))


def _some_cells(column: pd.Series) -> list[str]:
    """Take the first cells of a column of text that say something; none of columns of another type."""
    if not is_text(column):
        return []
    cells = [
        cell_text(cell) for cell in column.iloc[:: 1 + len(column) // LOOKED_AT] if isinstance(cell, str | int | float)
    ]
    return [cell for cell in cells if cell not in MISSING]


def _fitting(counts: Counter[str], decimal: str | None) -> dict[Form, int]:
    """Return the forms in which a column is one of numbers, with the count of its cells that are."""
    total, unit = counts.total(), _unit(counts)
    marks = {mark for cell in counts for mark in THOUSANDS if mark in cell}
    found = {}
    for sign in ".,":
        for group in ("", *(mark for mark in THOUSANDS if mark in marks and mark != sign)):
            form = Form(sign, group, unit)
            if decimal not in (None, sign):
                continue
            others = Counter({cell: n for cell, n in counts.items() if not form.plain(cell)})
            unknown = sum(n for cell, n in others.items() if means_unknown(cell))
            words = [cell for cell in others if not means_unknown(cell)]
            numbers = total - others.total()
            sure = numbers >= MOSTLY * (total - unknown)
            nearly = numbers >= PARTLY * total and len(words) <= FEW_OTHERS and len(counts) > 10 * len(words)
            if numbers and (sure or nearly) and 2 * numbers >= total:
                found[form] = numbers
    return found


def _unit(counts: Counter[str]) -> str:
    """Return what stands beside the numbers of a column, if it is the same everywhere."""
    beside: Counter[str] = Counter()
    for cell, n in counts.items():
        match = BESIDE.fullmatch(cell)
        if match and not is_number(cell) and not (match[1] and match[3]) and not set("<>≤≥~≈=") & set(match[1]):
            beside[match[1] or match[3]] += n
    if len(beside) != 1 or beside.total() < MOSTLY * counts.total():
        return ""
    return next(iter(beside))
