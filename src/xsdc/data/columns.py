"""Columns of a table: what each one is, and its cells as numbers or as words."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api import types

from xsdc.data.labels import MISSING, cell_text

Role = Literal["number", "date", "category"]
Numbers = npt.NDArray[np.float64]

MOSTLY = 0.95  # share of cells that must be numbers (or dates) for the others to count as missing
FEW = 10  # so many different words are categories however few rows there are
HUGE = 1e37  # nearly the largest number of float32: as good as infinite
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")
DOTTED_DATE = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})((?: .*)?)")  # day, month, year
MEASURED = re.compile(r"([<>≤≥~≈=$€£]*)\s*[-+]?[0-9]+(?:[.,][0-9]+)*\s*([^\d\s.,:/-]\S{0,7})?")
FEW_UNITS = 3
MINUS = "\u2212"  # the sign that is set in print
NESTED = (list, tuple, dict, set, np.ndarray)
NONE = frozenset((*MISSING, "NaT"))


def judge(column: pd.Series) -> tuple[Role | None, str]:
    """Decide what a column is.

    Parameters
    ----------
    column : series
        Its cells.

    Returns
    -------
    role : {"number", "date", "category"} or None
        None if the column is of no use.
    reason : str
        Why it is of no use, to follow "left out because"; empty otherwise.
    """
    if types.is_complex_dtype(column) or (column.dtype == object and any(isinstance(x, NESTED) for x in column)):
        return None, "a cell holds more than one value"
    if types.is_numeric_dtype(column) and column.isna().all():
        return None, "they are empty"
    if types.is_numeric_dtype(column) and not types.is_bool_dtype(column):
        return _judge_values(
            "number", as_numbers(column), rows=_rows(column) if types.is_integer_dtype(column) else None
        )
    if types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column):
        return _judge_values("date", as_days(column))
    return _judge_words(column)


def _rows(column: pd.Series) -> npt.NDArray[np.int64]:
    """Return the row of each cell: those of a sample are not one after the other."""
    return column.index.to_numpy() if types.is_integer_dtype(column.index) else np.arange(len(column))


def _judge_values(role: Role, values: Numbers, *, rows: npt.NDArray[np.int64] | None = None) -> tuple[Role | None, str]:
    present = values[np.isfinite(values)]
    if not present.size:
        return None, "no number in them can be used"
    if (present == present[0]).all():
        return None, "they are constant"
    if rows is not None and present.size == len(values) > FEW and (np.diff(values) == np.diff(rows)).all():
        return None, "they only count the rows"
    return role, ""


def _judge_words(column: pd.Series) -> tuple[Role | None, str]:
    words = as_words(column)
    present = words[words != ""]
    different = len(set(present))
    if different < 2:
        return None, "they are constant" if different else "they are empty"
    if isinstance(column.dtype, pd.CategoricalDtype) or types.is_bool_dtype(column):
        return "category", ""
    enough = MOSTLY * len(present)
    if np.isfinite(numbers := as_numbers(column)).sum() >= enough:
        return _judge_values("number", numbers)
    if np.isfinite(days := as_days(column)).sum() >= enough:
        return _judge_values("date", days)
    if different > max(FEW, len(present) / 2):
        return None, _why_no_numbers(present, numbers[words != ""])
    return "category", ""


def _why_no_numbers(present: npt.NDArray[np.object_], numbers: Numbers) -> str:
    """Say why a column that has another text in nearly every row is of no use."""
    found = np.isfinite(numbers)
    if 2 * found.sum() >= len(present):
        return f"only {found.sum():,} of {len(present):,} cells are numbers (`{present[~found][0]}` is none)"
    if with_units(present):
        return f"something stands beside their numbers (`{present[0]}`)"
    return "nearly every row has another text (ids or free text)"


def with_units(words: npt.NDArray[np.object_]) -> bool:
    """Tell whether words are numbers with the same few things beside them: ``45%``, ``30.2 mm``, ``<500``."""
    matches = [match for match in map(MEASURED.fullmatch, words) if match]
    beside = {(match[1], match[2]) for match in matches}
    return len(matches) >= MOSTLY * len(words) > 0 and ("", None) not in beside and len(beside) <= FEW_UNITS


def as_numbers(column: pd.Series) -> Numbers:
    """Read cells as numbers; NaN for what is missing, infinite or no number."""
    if not types.is_numeric_dtype(column):
        words = [word.replace(MINUS, "-") for word in as_words(column)]
        column = pd.to_numeric(pd.Series(words, dtype=object), errors="coerce")
    numbers = np.array(column.to_numpy(dtype=np.float64, na_value=np.nan))
    numbers[~(np.abs(numbers) <= HUGE)] = np.nan
    return numbers


def as_days(column: pd.Series) -> Numbers:
    """Read cells as dates, in days since 1970; durations in days. NaN for others.

    Text is read as 2016-01-20 (ISO 8601) or 20.01.2016; with slashes it could mean two days, and is not read.
    """
    if types.is_timedelta64_dtype(column):
        return np.asarray(column.dt.total_seconds() / 86400, dtype=np.float64)
    if types.is_datetime64_any_dtype(column):
        dates = column
    else:
        words = [_as_iso(word) for word in as_words(column)]
        dates = pd.to_datetime(pd.Series(words, dtype=object), format="ISO8601", errors="coerce", utc=True)
    moments = dates.to_numpy(dtype="datetime64[us]")  # nanoseconds begin in 1677
    days: Numbers = (moments - np.datetime64(0, "us")) / np.timedelta64(1, "D")
    return days


def _as_iso(word: str) -> str | None:
    dotted = DOTTED_DATE.fullmatch(word)
    if dotted:
        day, month, year, rest = dotted.groups()
        return f"{year}-{month:0>2}-{day:0>2}{rest}"
    return word if ISO_DATE.fullmatch(word) else None


def as_words(column: pd.Series) -> npt.NDArray[np.object_]:
    """Read cells as text; nothing for what is missing."""
    texts = [cell_text(cell) for cell in column.astype(object)]
    return np.array(["" if text in NONE else text for text in texts], dtype=object)


def count_lost(column: pd.Series, role: Role) -> tuple[int, int]:
    """Count the cells that are missing, and those that are there but no number (or date) or infinite."""
    typed = types.is_numeric_dtype(column) or types.is_datetime64_any_dtype(column)
    empty = np.asarray(column.isna()) if typed else as_words(column) == ""
    if role == "category":
        return int(empty.sum()), 0
    values = as_numbers(column) if role == "number" else as_days(column)
    return int(empty.sum()), int((np.isnan(values) & ~empty).sum())


def as_finite(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Copy X as floating point, with NaN for what is not finite."""
    values = np.array(X, dtype=X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
    values[~(np.abs(values) <= HUGE)] = np.nan
    return values
