"""Cells and columns that may not mean what they seem to: "unknown", typing errors, absurd values, ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from xsdc.data.columns import Role, as_numbers, as_words, judge, with_units
from xsdc.data.forms import Guess, Numbers, means_unknown

ELEMENT = re.compile(r"[A-Z][a-z]")  # Na and Nd are elements
EITHER = re.compile(r"\s+or\s+|\s*[/,;]\s*", re.IGNORECASE)
CODES = frozenset(("id", "ids", "nr", "no", "code", "codes", "key", "uuid"))
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
MANY = 20  # rows from which on it tells something that all numbers are different
PARTLY = 0.8  # share of numbers from which on a column of words is suspicious
SHORT, LONG = 4, 9  # letters below which words are not compared, and from which on two may differ
TIMES = 3  # as often as a typing error must stand the word that is meant
MOST_WORDS = 300  # of a column, that are compared with each other
USUAL_SHARE, UNUSUAL = 0.9, 20.0  # as those values that do not count for the scale of a column
MOST_ODD = 5  # values of a column that are called absurd; more are a tail


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
    return means_unknown(label)


def _has_opposite(label: str, labels: Collection[str]) -> bool:
    return "-" in label and (label.replace("-", "+") in labels or label.replace("-", "") in labels)


def find_choices(labels: Collection[Any]) -> dict[Any, list[str]]:
    """Find labels that name several others: ``a or b`` beside ``a`` and ``b``."""
    given = {str(label) for label in labels}
    pieces = {label: EITHER.split(str(label)) for label in labels}
    return {label: some for label, some in pieces.items() if len(some) > 1 and set(some) <= given}


def find_typos(counts: Mapping[Any, int]) -> dict[str, str]:
    """Find rare words that differ from a frequent one by a letter, or two in long ones: ``Grignolno``, ``Grignolino``.

    Parameters
    ----------
    counts : mapping from word to int
        How often each stands there.

    Returns
    -------
    dict from str to str
        What is probably meant, by the word that stands there.
    """
    words = [(str(word), n) for word, n in counts.items() if len(str(word)) >= SHORT and not _is_number(str(word))]
    if len(words) > MOST_WORDS:
        return {}
    frequent = sorted(words, key=lambda pair: -pair[1])
    found = {}
    for word, n in words:
        most = 2 if len(word) >= LONG else 1
        meant = next((other for other, m in frequent if m >= TIMES * n and _is_slip(word, other, most)), None)
        if meant is not None:
            found[word] = meant
    return found


def _is_number(word: str) -> bool:
    return not any(letter.isalpha() for letter in word)


def _is_slip(word: str, other: str, most: int) -> bool:
    """Tell whether words differ by a few letters; those that differ in digits or case are names of their own."""
    if word.casefold() == other.casefold() or re.findall(r"\d+", word) != re.findall(r"\d+", other):
        return False
    return abs(len(word) - len(other)) <= most and edit_distance(word, other) <= most


def edit_distance(a: str, b: str) -> int:
    """Count the letters to add, drop, change, or exchange with the next, to make one word of another."""
    rows = [list(range(len(b) + 1))]
    for i, letter in enumerate(a, start=1):
        row = [i]
        for j, other in enumerate(b, start=1):
            cost = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, rows[-2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]


def find_absurd(numbers: Numbers) -> list[int]:
    """Find positions of numbers twenty times as far from the median as nine tenths of the others; none if many are."""
    present = np.flatnonzero(np.isfinite(numbers))
    distance = np.abs(numbers[present] - np.median(numbers[present])) if len(present) else np.empty(0)
    apart = distance[distance > 0]
    if len(apart) < MANY:
        return []
    odd = present[distance > UNUSUAL * np.quantile(apart, USUAL_SHARE)]
    return odd.tolist() if len(odd) <= MOST_ODD else []


def names_rows(name: str, column: pd.Series) -> bool:
    """Tell whether a column has another cell in each row, and looks like the name of it: whole numbers, or one word."""
    if types.is_numeric_dtype(column):
        numbers = as_numbers(column)
        whole = bool(np.isfinite(numbers).all() and (numbers == np.rint(numbers)).all())
        return whole and len(column) > MANY and column.is_unique and (is_called_code(name, column) or _counts(numbers))
    words = as_words(column)
    unique = len(column) > MANY and len(set(words)) == len(words) and "" not in words
    return unique and judge(column).role is None and not with_units(words)


def _counts(numbers: Numbers) -> bool:
    return bool((np.abs(np.diff(numbers)) == 1).all())


@dataclass(frozen=True)
class Partly:
    """A column some of whose cells are numbers, and others not.

    Attributes
    ----------
    numbers, filled : int
        Cells that are numbers, and cells that are not empty.
    others : list of str
        The most frequent cells that are none.
    role : {"number", "date", "category", "text"} or None
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
    if Guess().forms(pd.DataFrame({"x": column})):
        return None
    numbers = np.isfinite(as_numbers(column))
    share = numbers.sum() / max(1, filled.sum())
    role = judge(column).role
    enough = share >= PARTLY if role is not None else share >= 0.5 or with_units(words[filled])
    if role in ("date", "text") or not enough:
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
