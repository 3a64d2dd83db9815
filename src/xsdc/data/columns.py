"""Columns of a table: what each one is, and its cells as numbers, days or words."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api import types

from xsdc.data.cells import MISSING, cell_text
from xsdc.data.forms import BESIDE, MOSTLY, TRUTH, Form, Numbers

Role = Literal["number", "date", "category", "text"]

FEW = 10  # so many different words are categories however few rows there are
MANY = 40  # different words from which on a column of phrases is free text
PHRASE = 2.5  # words in a cell, on average, from which on they are phrases
HUGE = 1e37  # nearly the largest number of float32: as good as infinite
ISO = "ISO8601"
DATE = re.compile(
    r"(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}|[A-Za-z]{3,9} \d{1,2}, \d{4})(?:[ T].*)?"
)
DAYS = (
    *(f"{a}{sep}{b}{sep}{y}" for y in ("%Y", "%y") for sep in ".-" for a, b in (("%d", "%m"), ("%m", "%d"))),
    *(f"{a}/{b}/{y}" for y in ("%Y", "%y") for a, b in (("%m", "%d"), ("%d", "%m"))),
    *("%Y/%m/%d", "%Y.%m.%d", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
)
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
TRIED = 50  # cells by which formats of dates are ruled out
FEW_UNITS = 3
NESTED = (list, tuple, dict, set, np.ndarray)
NONE = frozenset((*MISSING, "NaT"))

Words = npt.NDArray[np.object_]


class Judgement(NamedTuple):
    """What a column is.

    Attributes
    ----------
    role : {"number", "date", "category", "text"} or None
        None if the column is of no use.
    reason : str
        Why it is of no use, to follow "left out because".
    format : str
        How its dates are written.
    """

    role: Role | None
    reason: str = ""
    format: str = ""


def judge(column: pd.Series, form: Form | None = None) -> Judgement:
    """Decide what a column is.

    Parameters
    ----------
    column : series
        Its cells.
    form : Form, optional
        How its cells are read as numbers, if they are text and some.
    """
    if types.is_complex_dtype(column) or (column.dtype == object and any(isinstance(x, NESTED) for x in column)):
        return Judgement(None, "a cell holds more than one value")
    if types.is_numeric_dtype(column) and column.isna().all():
        return Judgement(None, "they are empty")
    if form is not None or (types.is_numeric_dtype(column) and not types.is_bool_dtype(column)):
        numbers = as_numbers(column, form)
        return _judge_values("number", numbers, rows=_rows(column) if _are_whole(numbers) else None)
    if types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column):
        return _judge_values("date", as_days(column, ""))
    return _judge_words(column)


def _are_whole(numbers: Numbers) -> bool:
    return bool(np.isfinite(numbers).all() and (numbers == np.rint(numbers)).all())


def _rows(column: pd.Series) -> npt.NDArray[np.int64]:
    """Return the row of each cell: those of a sample are not one after the other."""
    return column.index.to_numpy() if types.is_integer_dtype(column.index) else np.arange(len(column))


def _judge_values(role: Role, values: Numbers, *, rows: npt.NDArray[np.int64] | None = None) -> Judgement:
    present = values[np.isfinite(values)]
    if not present.size:
        return Judgement(None, "no number in them can be used")
    if (present == present[0]).all():
        return Judgement(None, "they are constant")
    if rows is not None and present.size == len(values) > FEW and (np.diff(values) == np.diff(rows)).all():
        return Judgement(None, "they only count the rows")
    return Judgement(role)


def _judge_words(column: pd.Series) -> Judgement:
    words = as_words(column)
    present = words[words != ""]
    different = len(set(present))
    if different < 2:
        return Judgement(None, "they are constant" if different else "they are empty")
    if isinstance(column.dtype, pd.CategoricalDtype) or types.is_bool_dtype(column):
        return Judgement("category")
    format_ = find_date_format(present)
    if format_:
        return _judge_values("date", as_days(column, format_))._replace(format=format_)
    if different > FEW and (different > MANY or different > len(present) / 2) and _are_phrases(present):
        return Judgement("text")
    if different > max(FEW, len(present) / 2):
        return Judgement(None, _why_no_use(present))
    return Judgement("category")


def _are_phrases(words: Words) -> bool:
    some = words[:: 1 + len(words) // 2000]
    return bool(np.mean([len(word.split()) for word in some]) >= PHRASE)


def _why_no_use(present: Words) -> str:
    """Say why a column that has another word in nearly every row is of no use."""
    if with_units(present):
        return f"different things stand beside their numbers (`{present[0]}`)"
    return "nearly every row has another word (ids or names)"


def with_units(words: Words) -> bool:
    """Tell whether words are numbers with a few different things beside them: ``45%``, ``30.2 mm``, ``<500``."""
    matches = [match for match in map(BESIDE.fullmatch, words) if match]
    beside = {(match[1], match[3]) for match in matches}
    return len(matches) >= MOSTLY * len(words) > 0 and ("", None) not in beside and len(beside) <= FEW_UNITS


def find_date_format(words: Words) -> str:
    """Find how dates are written; nothing if fewer than 19 of 20 words are dates.

    Where day and month could be either, a month comes first between slashes, as Americans write it, else a day.
    """
    some = np.array(sorted(set(words[:: 1 + len(words) // 2000])), dtype=object)
    if np.mean([DATE.fullmatch(word) is not None for word in some[:TRIED]]) < 0.5:
        return ""
    formats = [ISO, *(day + time for day in DAYS for time in TIMES)]
    for cells in (some[:: 1 + len(some) // TRIED], some):
        formats = [form for form in formats if np.isfinite(_parsed(cells, form)).mean() >= MOSTLY]
    return max(formats, key=lambda form: np.isfinite(_parsed(some, form)).sum(), default="")


def is_ambiguous(words: Words, format_: str) -> bool:
    """Tell whether day and month could be exchanged in all dates."""
    if format_[:2] not in ("%d", "%m") or format_[3:5] not in ("%d", "%m"):
        return False
    swapped = f"{format_[3:5]}{format_[2]}{format_[:2]}{format_[5:]}"
    return bool(np.isfinite(_parsed(words[:: 1 + len(words) // 2000], swapped)).mean() >= MOSTLY)


def _parsed(words: Words, format_: str) -> Numbers:
    if format_ == ISO:
        words = np.array([word if DATE.fullmatch(word) else None for word in words], dtype=object)
    dates = pd.to_datetime(pd.Series(words, dtype=object), format=format_, errors="coerce", utc=True)
    return np.asarray((dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1), dtype=np.float64)


def as_numbers(column: pd.Series, form: Form | None = None) -> Numbers:
    """Read cells as numbers; NaN for what is missing, infinite or no number."""
    if types.is_numeric_dtype(column):
        numbers = np.array(column.to_numpy(dtype=np.float64, na_value=np.nan))
    else:
        numbers = (form or Form()).read(list(as_words(column)))
    numbers[~(np.abs(numbers) <= HUGE)] = np.nan
    return numbers


def as_days(column: pd.Series, format_: str) -> Numbers:
    """Read cells as dates, in days since 1970; durations in days. NaN for others."""
    if types.is_timedelta64_dtype(column):
        return np.asarray(column.dt.total_seconds() / 86400, dtype=np.float64)
    if types.is_datetime64_any_dtype(column):
        dates = pd.to_datetime(column, utc=True)
        return np.asarray((dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1), dtype=np.float64)
    words = as_words(column)
    return _parsed(words, format_ or ISO) if len(words) else np.empty(0)


def as_words(column: pd.Series) -> Words:
    """Read cells as text; nothing for what is missing, and one spelling of true and false."""
    words = np.empty(len(column), dtype=object)
    words[:] = [_word(cell_text(cell)) for cell in column.astype(object)]
    return words


def _word(text: str) -> str:
    return "" if text in NONE else text.capitalize() if text.casefold() in TRUTH else text


def count_lost(column: pd.Series, values: Numbers | None) -> tuple[int, int]:
    """Count the cells that are missing, and those that are there but no number (or date) or infinite."""
    typed = types.is_numeric_dtype(column) or types.is_datetime64_any_dtype(column)
    empty = np.asarray(column.isna()) if typed else as_words(column) == ""
    return int(empty.sum()), 0 if values is None else int((np.isnan(values) & ~empty).sum())


def as_finite(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Copy X as floating point, with NaN for what is not finite."""
    values = np.array(X, dtype=X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
    values[~(np.abs(values) <= HUGE)] = np.nan
    return values
