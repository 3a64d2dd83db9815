"""Cells to labels: known, one of several, or unknown.

========================================================  =================================================
a cell                                                    means
========================================================  =================================================
empty, NaN, ``?``, ``NA``, ``None``, ``unknown`` ...      no label (as `UNKNOWN` spells it, not ``Na``)
``-1`` where all labels are whole numbers                 no label
``4|9``                                                   one of these
anything else                                             a label
========================================================  =================================================

Labels are int where every one is a whole number as one writes it (``4``, also ``4.0``, not ``04``), else str. What
holds for given labels holds for true ones; both are of one type, so that they can be compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from xsdc.data.cells import MISSING, cell_text
from xsdc.data.dataset import Labels
from xsdc.errors import InvalidInputError

WORDS = ("unknown", "unlabeled", "unlabelled")
UNKNOWN = frozenset((*MISSING, *WORDS, *map(str.capitalize, WORDS), *map(str.upper, WORDS)))
TYPED = frozenset(("nan", "<NA>", "NaT", "None"))  # what is missing in columns that have types, as text
WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.0+)?")
MANY = 50
SHOWN = 5

Pieces = tuple[str, ...]


@dataclass(frozen=True)
class Known:
    """What is known of n points: see `Dataset` for the meaning of each."""

    labels: Labels
    allowed: dict[int, list[Any]]
    truth: Labels | None
    notes: list[str]


def read_known(
    labels: Iterable[object] | None,
    truth: Iterable[object] | None,
    *,
    n: int,
    label_name: str = "label",
    truth_name: str = "truth",
) -> Known:
    """Read the cells of a column of labels and of one of true labels.

    Parameters
    ----------
    labels, truth : iterables of n cells, or None
        Cells of any type; None where there is no such column.
    n : int
        Number of points.
    label_name, truth_name : str
        Names of the columns, for messages.

    Returns
    -------
    Known
    """
    unlabeled, untold = Unknown(label_name), Unknown(truth_name)
    given: list[Pieces] = [()] * n if labels is None else _pieces(labels, unlabeled)
    true = None if truth is None else _pieces(truth, untold)
    _refuse_measurements(given, column=label_name)
    _refuse_measurements(true or [], column=truth_name)
    if all(WHOLE.fullmatch(piece) for pieces in {*given, *(true or [])} for piece in pieces):
        given, true = _as_whole(given, unlabeled), None if true is None else _as_whole(true, untold)
    _refuse_ids(given, column=label_name)
    for i, pieces in enumerate(true or []):
        if len(pieces) > 1:
            raise InvalidInputError(
                f"Column `{truth_name}` holds the truth and must not leave a choice; row {i} does:"
                f" {'|'.join(map(str, pieces))}."
            )
    return Known(
        labels=_objects([pieces[0] if len(pieces) == 1 else None for pieces in given]),
        allowed={i: list(pieces) for i, pieces in enumerate(given) if len(pieces) > 1},
        truth=None if true is None else _objects([pieces[0] if pieces else None for pieces in true]),
        notes=[*([] if labels is None else [_summary(given, column=label_name)]), *unlabeled.said(), *untold.said()],
    )


class Unknown:
    """Counts cells that are written, and yet taken for unknown.

    Parameters
    ----------
    column : str
        Where they stand.
    """

    def __init__(self, column: str) -> None:
        self.column = column
        self._cells: Counter[str] = Counter()

    def add(self, text: str, count: int = 1) -> None:
        """Count a cell, or some."""
        self._cells[text] += count

    def said(self) -> list[str]:
        """Say which there are."""
        if not self._cells:
            return []
        marks = [f"`{text}` ({count:,} cell{'' if count == 1 else 's'})" for text, count in self._cells.most_common()]
        more = f" and {len(marks) - SHOWN} more" if len(marks) > SHOWN else ""
        return [f"`{self.column}`: taken for unknown, and for no class: {', '.join(marks[:SHOWN])}{more}."]


def _objects(values: list[Any]) -> Labels:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _pieces(cells: Iterable[object], unknown: Unknown) -> list[Pieces]:
    """Split each cell at ``|``; nothing is left of unknown ones. Equal texts are split once."""
    seen: dict[str, Pieces] = {"": ()}
    result = []
    for row, cell in enumerate(cells):
        text = cell_text(cell)
        if not isinstance(cell, str | bytes) and text in TYPED:
            text = ""
        if text not in seen:
            seen[text] = _split(text, where=f"row {row} of column `{unknown.column}`")
        if text and not seen[text]:
            unknown.add(text)
        result.append(seen[text])
    return result


def _split(text: str, *, where: str) -> Pieces:
    if text in UNKNOWN or text == "NaT":
        return ()
    pieces = tuple(dict.fromkeys(piece.strip() for piece in text.split("|")))
    if "|" in text:
        empty = [piece for piece in pieces if piece in UNKNOWN or piece in ("-1", "-1.0")]
        if empty:
            raise InvalidInputError(
                f"`{text}` in {where} must be labels with | between them; `{empty[0]}` is none."
                " Leave the cell empty if nothing is known."
            )
    return pieces


def _as_whole(rows: list[Pieces], unknown: Unknown) -> list[Any]:
    """Make whole numbers of the pieces; -1 is unknown."""
    values = {pieces: tuple(dict.fromkeys(int(piece.split(".")[0]) for piece in pieces)) for pieces in set(rows)}
    minus = [pieces for pieces in rows if values[pieces] == (-1,)]
    if minus:
        unknown.add("-1", len(minus))
    return [() if values[pieces] == (-1,) else values[pieces] for pieces in rows]


def _refuse_measurements(rows: list[Pieces], *, column: str) -> None:
    """Refuse numbers with fractions: they are measured, not named."""
    pieces = {piece for pieces in set(rows) for piece in pieces}
    try:
        fractions = [piece for piece in pieces if not float(piece).is_integer()]
    except ValueError:  # some are words, so all are labels
        return
    if fractions:
        raise InvalidInputError(
            f"Column `{column}` must hold labels (words or whole numbers); it holds numbers such as {min(fractions)},"
            " which look like measurements. Name another column, or round the numbers or put them into classes."
        )


def _refuse_ids(rows: list[Any], *, column: str) -> None:
    distinct = len({pieces[0] for pieces in rows if len(pieces) == 1})
    if distinct > MANY and distinct > len(rows) / 2:
        raise InvalidInputError(
            f"Column `{column}` must hold labels that rows share; it holds {distinct} different ones in"
            f" {len(rows)} rows and looks like ids. Name it as id_column, or name another column for the labels."
        )


def _summary(rows: list[Any], *, column: str) -> str:
    single = [pieces[0] for pieces in rows if len(pieces) == 1]
    choices = sum(len(pieces) > 1 for pieces in rows)
    choice = f", {choices} a choice of labels" if choices else ""
    return (
        f"`{column}`: {len(single)} of {len(rows)} points have a label ({len(set(single))} different){choice},"
        f" {len(rows) - len(single) - choices} have none."
    )
