"""What is passed over or filled in when data are prepared, counted over any number of blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from xsdc.data.columns import HUGE, Role, as_words, count_lost
from xsdc.data.dataset import Dataset
from xsdc.data.roles import listed

if TYPE_CHECKING:
    from xsdc.data.preparation import Preparation


class Remarks:
    """Gathers what a preparation passes over or fills in.

    Parameters
    ----------
    preparation : Preparation
        What prepares the data.
    """

    def __init__(self, preparation: Preparation) -> None:
        self._preparation = preparation
        self._extra: list[str] = []
        self.lost = Lost()
        self._unseen: Counter[str] = Counter()

    def add(self, dataset: Dataset) -> None:
        """Look at a data set, or at a block of one."""
        fitted = self._preparation
        if fitted.kind == "vectors":
            self.lost.numbers += int(np.count_nonzero(~(np.abs(dataset.X) <= HUGE)))
        elif fitted.kind == "table":
            self._extra = [column for column in dataset.X.columns if column not in (*fitted.roles, *fitted.dropped)]
            self.lost.add(dataset.X, fitted.roles)
            self._count_unseen(dataset.X)

    def said(self) -> list[str]:
        """Say it, a sentence each."""
        if self._preparation.kind == "vectors":
            lost = self.lost.numbers
            return [f"{lost} missing or infinite numbers are replaced by medians."] if lost else []
        said = [f"Columns that the fit did not have are passed over: {listed(self._extra)}."] if self._extra else []
        unseen = {column: count for column, count in self._unseen.items() if count}
        if unseen:
            said.append(
                f"{sum(unseen.values())} cells in {listed(list(unseen))} hold words that the fit did not have; they"
                " count as rare ones where there were any, else as none of the categories."
            )
        return [*said, *self.lost.said()]

    def _count_unseen(self, frame: pd.DataFrame) -> None:
        named = [column for column, role in self._preparation.roles.items() if role == "category"]
        for i, column in enumerate(named):
            words = pd.Series(as_words(frame[column]), dtype=object)
            seen = words.isin([*self._preparation.encoder.categories_[i].tolist(), ""])
            self._unseen[column] += int((~seen).sum())


class Lost:
    """Counts cells that are missing or make no sense in their column.

    Attributes
    ----------
    numbers : int
        Those of vectors.
    empty, strange : Counter
        Those of a table that are missing, and those that are no number (or date) or infinite, by column.
    """

    def __init__(self) -> None:
        self.numbers = 0
        self.empty: Counter[str] = Counter()
        self.strange: Counter[str] = Counter()

    def add(self, frame: pd.DataFrame, roles: Mapping[str, Role]) -> None:
        """Count those of a table, or of a block of one."""
        for column, role in roles.items():
            missing, strays = count_lost(frame[column], role)
            self.empty[column] += missing
            self.strange[column] += strays

    def said(self) -> list[str]:
        """Say which cells of a table are missing or make no sense."""
        empty, strange = +self.empty, +self.strange  # without those of which there are none
        notes = []
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
