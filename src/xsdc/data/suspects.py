"""Cells that may not mean what they are taken for: labels for "unknown", numbers among words, ids among numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from xsdc.data.columns import MOSTLY, Role, as_numbers, as_words, judge, with_units

# Without points, spaces and dashes, in small letters.
NOT_KNOWN = frozenset(
    (
        *("nd", "na", "n/a", "nan", "none", "null", "nil", "unknown", "unlabeled", "unlabelled", "unclear", "unsure"),
        *("undefined", "undetermined", "unassigned", "unclassified", "missing", "empty", "blank", "tbd", "todo"),
        *("notknown", "notavailable", "notdetermined", "notassigned", "nolabel", "dontknow", "unbekannt"),
    )
)
ELEMENT = re.compile(r"[A-Z][a-z]")  # Na and Nd are elements
EITHER = re.compile(r"\s+or\s+|\s*[/,;]\s*", re.IGNORECASE)
CODES = frozenset(("id", "ids", "nr", "no", "code", "codes", "key", "uuid"))
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
MANY = 20  # rows from which on it tells something that all numbers are different
PARTLY = 0.8  # share of numbers from which on a column of words is suspicious


def find_unknown(labels: Collection[Any]) -> list[Any]:
    """Find labels that look like "unknown".

    Parameters
    ----------
    labels : collection
        Each label once.

    Returns
    -------
    list
        Labels such as ``-``, ``n.d.``, ``none``, and ``-1`` among words; not ``-`` beside ``+``, nor ``Na``.
    """
    given = {str(label) for label in labels}
    return [label for label in labels if _is_unknown(str(label)) and not _has_opposite(str(label), given)]


def _is_unknown(label: str) -> bool:
    if ELEMENT.fullmatch(label):
        return False
    if label == "-1" or not any(letter.isalnum() or letter == "+" for letter in label):
        return True
    return re.sub(r"[.\s_-]", "", label).casefold() in NOT_KNOWN


def _has_opposite(label: str, labels: Collection[str]) -> bool:
    return "-" in label and (label.replace("-", "+") in labels or label.replace("-", "") in labels)


def find_choices(labels: Collection[Any]) -> dict[Any, list[str]]:
    """Find labels that name several others: ``a or b`` beside ``a`` and ``b``."""
    given = {str(label) for label in labels}
    pieces = {label: EITHER.split(str(label)) for label in labels}
    return {label: some for label, some in pieces.items() if len(some) > 1 and set(some) <= given}


@dataclass(frozen=True)
class Partly:
    """A column some of whose cells are numbers, and others not.

    Attributes
    ----------
    numbers, filled : int
        Cells that are numbers, and cells that are not empty.
    others : list of str
        The most frequent cells that are none.
    role : {"number", "date", "category"} or None
        What the column is taken for; None if it is left out.
    """

    numbers: int
    filled: int
    others: list[str]
    role: Role | None


def find_partly(column: pd.Series) -> Partly | None:
    """Look for a column of numbers of which too many are written otherwise; None if it is no such column."""
    if types.is_numeric_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype):
        return None
    words = as_words(column)
    filled = words != ""
    numbers = np.isfinite(as_numbers(column))
    share = numbers.sum() / max(1, filled.sum())
    if share >= MOSTLY:
        return None
    role, _ = judge(column)
    enough = share >= PARTLY if role is not None else share >= 0.5 or with_units(words[filled])
    if role == "date" or not enough:
        return None
    others = Counter(words[filled & ~numbers]).most_common()
    return Partly(int(numbers.sum()), int(filled.sum()), [word for word, _ in others], role)


def looks_like_ids(column: pd.Series) -> bool:
    """Tell whether whole numbers look like names of rows: never the same twice, but not one after the other."""
    if column.dtype.kind not in "iu" or len(column) <= MANY or column.min() < 0:
        return False
    return bool(column.is_unique and (np.diff(column) != np.diff(column.index)).any())


def is_called_code(name: str, column: pd.Series) -> bool:
    """Tell whether a column of whole numbers is called an id, a number or a code."""
    words = [word.lower() for word in WORD.findall(name)]
    if not words or not {words[0], words[-1]} & CODES:
        return False
    present = column.dropna()
    if column.dtype.kind == "f":
        return bool(len(present) and (present == present.round()).all())
    return column.dtype.kind in "iu"
