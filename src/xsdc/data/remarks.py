"""What is done with columns, filled in or passed over, in sentences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from xsdc.data.columns import HUGE, as_words, count_lost
from xsdc.data.dataset import Dataset
from xsdc.data.roles import listed

if TYPE_CHECKING:
    from xsdc.data.preparation import Preparation

MAX_NOTES = 10
NAMED = 4  # columns of numbers


class Remarks:
    """Gathers what a preparation passes over or fills in, over any number of blocks.

    Parameters
    ----------
    preparation : Preparation
        What prepares the data.
    """

    def __init__(self, preparation: Preparation) -> None:
        self._preparation = preparation
        self._extra: list[str] = []
        self._numbers = 0
        self._empty: Counter[str] = Counter()
        self._strange: Counter[str] = Counter()
        self._unseen: Counter[str] = Counter()

    def add(self, dataset: Dataset) -> None:
        """Look at a data set, or at a block of one."""
        fitted = self._preparation
        if fitted.kind_ == "vectors":
            values = dataset.X.data if sparse.issparse(dataset.X) else dataset.X
            self._numbers += int(np.count_nonzero(~(np.abs(values) <= HUGE)))
        elif fitted.kind_ == "table":
            frame: pd.DataFrame = dataset.X
            self._extra = [column for column in frame.columns if column not in (*fitted.roles_, *fitted.dropped_)]
            for column in fitted.roles_:
                empty, strange = count_lost(frame[column], fitted.measured(frame[column].rename(column)))
                self._empty[column] += empty
                self._strange[column] += strange
            self._count_unseen(frame)

    def _count_unseen(self, frame: pd.DataFrame) -> None:
        named = [column for column, role in self._preparation.roles_.items() if role == "category"]
        for i, column in enumerate(named):
            words = pd.Series(as_words(frame[column]), dtype=object)
            seen = words.isin([*self._preparation.encoder_.categories_[i].tolist(), ""])
            self._unseen[column] += int((~seen).sum())

    def lost(self) -> list[str]:
        """Say which cells are missing or make no sense."""
        empty, strange = +self._empty, +self._strange  # without those of which there are none
        notes = []
        if self._numbers:
            notes.append(f"{self._numbers} missing or infinite numbers were replaced by the median of their column.")
        if empty:
            notes.append(
                f"{sum(empty.values())} cells are missing in {listed(list(empty))}: numbers are filled in by the median"
                " of their column, words are a category of their own."
            )
        if strange:
            notes.append(
                f"{sum(strange.values())} cells are infinite, too large or no number in {listed(list(strange))} and"
                " count as missing."
            )
        return notes

    def said(self) -> list[str]:
        """Say it of further data, a sentence each."""
        said = [f"Columns that the fit did not have are passed over: {listed(self._extra)}."] if self._extra else []
        unseen = +self._unseen
        if unseen:
            said.append(
                f"{sum(unseen.values())} cells in {listed(list(unseen))} hold words that the fit did not have; they"
                " count as rare ones where there were any, else as none of the categories."
            )
        return [*said, *self.lost()]


def number_notes(columns: Sequence[str], *, scaled: bool) -> list[str]:
    """Say what became of numbers."""
    some = "1 column of numbers was" if len(columns) == 1 else f"{len(columns)} columns of numbers were"
    return [f"{some} {_scaled(scaled)}: {listed(columns, limit=NAMED)}."] if columns else []


def date_notes(
    columns: Sequence[str], ambiguous: Sequence[str], formats: Mapping[str, str], *, scaled: bool
) -> list[str]:
    """Say what became of dates, and which could mean two days."""
    notes = [f"Dates became numbers of days, {_scaled(scaled)}: {listed(columns)}."] if columns else []
    for column in ambiguous:
        first = "day" if formats[column].startswith("%d") else "month"
        notes.append(
            f"`{column}`: nothing tells day and month apart; the {first} was read first. Write 2016-01-20 to be sure."
        )
    return notes


def _scaled(scaled: bool) -> str:
    return "scaled to mean 0 and deviation 1" if scaled else "taken as they are"


def category_notes(features: Mapping[str, list[str]]) -> list[str]:
    """Say what became of categories."""
    notes = []
    for column, words in list(features.items())[:MAX_NOTES]:
        rare = ", one of them for all rare ones" if "(rare)" in words else ""
        notes.append(f"`{column}`: its categories became {len(words)} columns of 0 and 1{rare}.")
    more = len(features) - len(notes)
    return [*notes, f"So did those of {more} more columns."] if more > 0 else notes


def text_notes(widths: Mapping[str, int], encoder: str | None) -> list[str]:
    """Say what became of free text."""
    how = "tf-idf of words and parts of words" if encoder is None else f"the sentence encoder {encoder}"
    return [f"`{column}`: its text became {width} columns, by {how}." for column, width in widths.items()]


def dropped_notes(dropped: Mapping[str, str]) -> list[str]:
    """Say which columns are left out, and why."""
    by_reason: dict[str, Any] = defaultdict(list)
    for column, reason in dropped.items():
        by_reason[reason].append(column)
    return [f"Left out because {reason}: {listed(columns)}." for reason, columns in by_reason.items()]
