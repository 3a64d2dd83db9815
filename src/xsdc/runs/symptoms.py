"""What is suspicious about labels, rows and columns, before any training."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api import types
from scipy import sparse

from xsdc.data.checks import (
    find_absurd,
    find_choices,
    find_partly,
    find_typos,
    find_unknown,
    is_called_code,
    looks_like_ids,
    names_rows,
)
from xsdc.data.columns import as_words
from xsdc.data.roles import looks_like_labels
from xsdc.runs.given import Given

Level = Literal["error", "warning", "note"]
FEW_LABELS = "classes with few labels"
FEW = 3  # labels of a class
UNEVEN = 20  # times as many labels of one class as of another
MOSTLY = 0.995  # of a column one value
SHOWN = 5
MOST_CLASSES = 20  # of a column that may hold labels
ADVICE = {
    "constant columns": "they say nothing and are left out.",
    "nearly constant columns": f"one value in more than {MOSTLY:.1%} of the rows.",
    "hollow columns": "more than half of the cells are missing.",
    "columns that only count": "they look like row numbers or ids, and are left out.",
    "columns that look like ids": "whole numbers that are all different. They are used as measurements; if they only"
    " name the rows, give --id-column or --ignore.",
    "columns of codes": "whole numbers that by their name stand for something. They are used as measurements; if their"
    " size means nothing, give --id-column or --ignore, or write words.",
}
WARNED = ("hollow columns", "columns that look like ids", "columns of codes")


@dataclass(frozen=True)
class Symptom:
    """Something that the user should know.

    Attributes
    ----------
    level : {"error", "warning", "note"}
        Whether a fit would refuse it, may suffer from it, or merely what was seen.
    what : str
        In a few words.
    detail : str
        Which points or columns, and what to do.
    """

    level: Level
    what: str
    detail: str


def find_symptoms(given: Given) -> list[Symptom]:
    """Look for what a fit may suffer from."""
    doubts = [Symptom("warning", "reading", text) for text in given.dataset.doubts]
    return [*doubts, *_labels(given), *_ids(given), *_duplicates(given), *_columns(given)]


def _labels(given: Given) -> Iterator[Symptom]:
    dataset = given.dataset
    counts = Counter(label for label in dataset.labels if label is not None)
    if not counts:
        return
    named = {*counts, *(label for some in dataset.allowed.values() for label in some)}
    rare = sorted((label for label in named if counts[label] < FEW), key=str)
    if rare:
        shown = ", ".join(f"{label} ({counts[label]})" for label in rare[:SHOWN])
        yield Symptom(
            "warning",
            FEW_LABELS,
            f"{shown}{_more(rare)}: fewer than {FEW} labels. A handful more would steady them.",
        )
    most, least = max(counts.values()), min(counts.values())
    if most > UNEVEN * least:
        yield Symptom(
            "warning",
            "uneven labels",
            f"The most frequent class has {most:,} labels, the rarest {least:,}. That is fine if the classes are as"
            " uneven; otherwise give --cluster-size.",
        )
    alike = defaultdict(set)
    for label in named:
        alike["".join(str(label).casefold().split()).strip("._-")].add(str(label))
    for group in alike.values():
        if len(group) > 1:
            yield Symptom(
                "warning", "labels that look alike", f"{' and '.join(sorted(map(repr, group)))}: one class or two?"
            )
    yield from _misread_labels(counts, named)
    yield from _typos("labels", counts)
    if len(counts) == 1:
        yield Symptom(
            "warning", "a single class", f"All labels say {next(iter(counts))}. Set --n-clusters if there are more."
        )


def _typos(where: str, counts: Counter[Any]) -> Iterator[Symptom]:
    """Words that differ from frequent ones by a letter."""
    typos = find_typos(counts)
    if typos:
        pairs = [f"`{word}` ({counts[word]:,}) beside `{meant}` ({counts[meant]:,})" for word, meant in typos.items()]
        shown = ", ".join(pairs[:SHOWN])
        yield Symptom(
            "warning", "typing errors", f"{where}: {shown}{_more(pairs)}. Correct them if they mean the same."
        )


def _misread_labels(counts: Counter[Any], named: set[Any]) -> Iterator[Symptom]:
    """Classes that look like "unknown", or like one of several."""
    unknown = find_unknown(sorted(named, key=str))
    if unknown:
        shown = ", ".join(f"`{label}` ({_counted(counts[label])})" for label in unknown[:SHOWN])
        yield Symptom(
            "warning",
            "classes that look like unknown",
            f"{shown}{_more(unknown)}: taken for a class of its own. Empty these cells if they mean that the class is"
            " not known.",
        )
    choices = find_choices(sorted(named, key=str))
    if choices:
        label, pieces = next(iter(choices.items()))
        shown = ", ".join(f"`{label}` ({_counted(counts[label])})" for label in list(choices)[:SHOWN])
        yield Symptom(
            "warning",
            "classes that look like a choice",
            f"{shown}{_more(list(choices))}: taken for a class of its own. Write `{'|'.join(pieces)}` instead of"
            f" `{label}` if it means one of these.",
        )


def _ids(given: Given) -> Iterator[Symptom]:
    repeated = [str(name) for name, count in Counter(given.dataset.ids.tolist()).items() if count > 1]
    if repeated:
        shown = ", ".join(repeated[:SHOWN])
        yield Symptom(
            "warning", "ids that repeat", f"{shown}{_more(repeated)}: rows with the same id cannot be told apart later."
        )


def _duplicates(given: Given) -> Iterator[Symptom]:
    dataset = given.at_hand
    place = _same_rows(dataset.X)
    rows: dict[int, list[int]] = defaultdict(list)
    for i, key in enumerate(place.tolist()):
        rows[key].append(i)
    repeated = [members for members in rows.values() if len(members) > 1]
    clashing = []
    for members in repeated:
        labels = {str(dataset.labels[i]): i for i in members if dataset.labels[i] is not None}
        if len(labels) > 1:
            clashing.append([f"{dataset.ids[i]} is {label}" for label, i in labels.items()])
    if clashing:
        shown = "; ".join(", ".join(group[:3]) for group in clashing[:SHOWN])
        yield Symptom(
            "warning",
            "same row, different labels",
            f"{shown}{_more(clashing)}. No feature can tell these apart; correct or drop one of the labels.",
        )
    copies = sum(len(members) - 1 for members in repeated)
    if copies:
        yield Symptom(
            "note", "duplicates", f"{copies:,} of {dataset.n:,} points{_sampled(given)} repeat another one exactly."
        )


def _sampled(given: Given) -> str:
    return "" if given.sample is None else f" (drawn from {given.dataset.n:,})"


def _same_rows(X: Any) -> npt.NDArray[np.int64]:
    """Give equal rows equal numbers."""
    if isinstance(X, pd.DataFrame):
        keys = pd.util.hash_pandas_object(X.astype(str), index=False).to_numpy()
    else:
        rows = _sparse_rows(X) if sparse.issparse(X) else np.ascontiguousarray(np.asarray(X).reshape(len(X), -1))
        keys = np.array([hash(row.tobytes()) for row in rows])
    return np.unique(keys, return_inverse=True)[1].astype(np.int64)


def _sparse_rows(X: Any) -> Iterator[npt.NDArray[Any]]:
    for begin, end in pairwise(X.indptr):
        yield np.concatenate([X.indices[begin:end].astype(np.float64), X.data[begin:end].astype(np.float64)])


def _columns(given: Given) -> Iterator[Symptom]:
    X = given.at_hand.X
    if not isinstance(X, pd.DataFrame):
        if given.at_hand.kind == "vectors":
            ends = X.max(axis=0), X.min(axis=0)
            high, low = (end.toarray().ravel() if sparse.issparse(end) else end for end in ends)
            constant = int((high == low).sum())
            if constant:
                yield Symptom("note", "constant columns", f"{constant} of {X.shape[1]} columns say nothing.")
        return
    suspects: dict[str, list[str]] = defaultdict(list)
    for name in X.columns:
        for what in _suspicions(X[name]):
            suspects[what].append(str(name))
        yield from _partly_numbers(str(name), X[name])
        yield from _cells(given, str(name), X[name])
    yield from _suggestions(given, X)
    for what, advice in ADVICE.items():
        names = suspects[what]
        if names:
            level: Level = "warning" if what in WARNED else "note"
            yield Symptom(level, what, f"{', '.join(names[:SHOWN])}{_more(names)}: {advice}")
    yield from _telltales(given, X)


def _cells(given: Given, name: str, column: pd.Series) -> Iterator[Symptom]:
    """Single cells that look like mistakes."""
    if types.is_numeric_dtype(column) and not types.is_bool_dtype(column):
        odd = find_absurd(column.to_numpy(dtype=np.float64, na_value=np.nan))
        if odd:
            rows = given.at_hand.ids
            shown = ", ".join(f"{column.iloc[i]:g} in {_row_name(given)} {rows[i]}" for i in odd)
            median = float(column.median())
            yield Symptom(
                "warning",
                "absurd values",
                f"`{name}`: {shown}, where the median is {median:g}. They count as they are.",
            )
    elif not isinstance(column.dtype, pd.CategoricalDtype):
        words = Counter(word for word in as_words(column) if word)
        if len(words) <= len(column) / 2:
            yield from _typos(f"`{name}`", words)


def _row_name(given: Given) -> str:
    return "row" if given.dataset.id_name == "row" else f"the row of {given.dataset.id_name}"


def _suggestions(given: Given, X: pd.DataFrame) -> Iterator[Symptom]:
    """Columns that may be ids or labels, where nobody has named any."""
    if given.dataset.id_name == "row":
        names = [str(name) for name in X.columns if names_rows(str(name), X[name])]
        if names:
            yield Symptom(
                "note", "columns that may name the rows", f"{_listed(names)}: --id-column {names[0]} says so."
            )
    if given.names_classes or given.dataset.truth is not None:
        return
    by_name = looks_like_labels([str(name) for name in X.columns])
    if by_name is not None:
        return  # reading has said so
    words = {str(name): as_words(X[name]) for name in X.columns if not types.is_numeric_dtype(X[name])}
    names = [name for name, cells in words.items() if "" in cells and 2 <= len(set(cells) - {""}) <= MOST_CLASSES]
    if names:
        yield Symptom(
            "note",
            "columns that may hold labels",
            f"{_listed(names)}: a few words, and empty cells. If one holds labels, --label-column {names[0]} says so.",
        )


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:SHOWN])}{_more(names)}"


def _suspicions(column: pd.Series) -> Iterator[str]:
    """Name what is suspicious about a column, by the keys of ADVICE."""
    present = column.dropna()
    share = present.value_counts(normalize=True).iloc[0] if len(present) else 1.0
    if share == 1.0:
        yield "constant columns"
    elif share > MOSTLY:
        yield "nearly constant columns"
    if column.isna().mean() > 0.5:
        yield "hollow columns"
    if len(present) > 20 and _counts_up(present):
        yield "columns that only count"
    elif looks_like_ids(present):
        yield "columns that look like ids"
    elif share < 1.0 and is_called_code(str(column.name), column):
        yield "columns of codes"


def _partly_numbers(name: str, column: pd.Series) -> Iterator[Symptom]:
    """A column of numbers of which too many cells are written otherwise."""
    partly = find_partly(column)
    if partly is None:
        return
    others = ", ".join(f"`{word}`" for word in partly.others[:3]) + (", …" if len(partly.others) > 3 else "")
    taken = "left out" if partly.role is None else "taken for words"
    yield Symptom(
        "warning",
        "columns of numbers and other cells",
        f"{partly.numbers:,} of {partly.filled:,} cells of `{name}` are numbers; {others}"
        f" {'is' if len(partly.others) == 1 else 'are'} not, and the column is {taken}. Write a number alone in each"
        " cell, or leave it empty.",
    )


def _counts_up(column: pd.Series) -> bool:
    """Whether a column of whole numbers goes up by one from row to row."""
    if column.dtype.kind not in "iu":
        return False
    return bool((np.diff(column) == np.diff(column.index)).all())  # rows of a sample are not one after the other


def _telltales(given: Given, X: pd.DataFrame) -> Iterator[Symptom]:
    """Columns that give the label away."""
    labels = given.at_hand.labels
    known = np.flatnonzero([label is not None for label in labels])
    classes = pd.Series([str(labels[i]) for i in known])
    if len(known) < 10 or classes.nunique() < 2:
        return
    told = []
    for name in X.columns:
        column = X[name].iloc[known].astype(str).reset_index(drop=True)
        if 2 <= column.nunique() <= 2 * classes.nunique() and (classes.groupby(column).nunique() == 1).all():
            told.append(name)
    if told:
        shown = ", ".join(map(str, told[:SHOWN]))
        yield Symptom(
            "warning",
            "columns that tell the label",
            f"{shown}{_more(told)}: each value goes with one label only. If it is the label in other words, leave it"
            " out with --ignore.",
        )


def _counted(n: int) -> str:
    return f"{n:,} label{'' if n == 1 else 's'}"


def _more(items: list[Any]) -> str:
    return f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
