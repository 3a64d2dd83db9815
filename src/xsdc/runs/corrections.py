"""Corrections of a run: labels and pairs added to what it was given, and what changed by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from xsdc.data import Dataset
from xsdc.errors import InvalidInputError
from xsdc.runs.answers import Answer, Facts, Pairs, gather, read_answers
from xsdc.runs.configuration import Configuration

MOST_LISTED = 20  # changed rows that the terminal lists; a file has all


def read_corrections(paths: Sequence[str], dataset: Dataset) -> list[Answer]:
    """Read files of corrections, one after the other; of two labels of a point the last one counts."""
    return [answer for path in paths for answer in read_answers(Path(path), dataset)]


def correct(dataset: Dataset, answers: Sequence[Answer]) -> tuple[Dataset, Pairs, Pairs]:
    """Return the data with labels and choices as corrected, and pairs in the same and in different classes."""
    facts = gather(answers)
    whole = _are_whole(dataset, facts)
    labels, allowed = dataset.labels.copy(), dict(dataset.allowed)
    for point, name in facts.labels.items():
        labels[point] = int(name) if whole else name
        allowed.pop(point, None)
    for point, names in facts.allowed.items():
        labels[point] = None
        allowed[point] = [int(name) if whole else name for name in names]
    if not whole:  # words among numbers make words of all
        labels = np.array([None if x is None else str(x) for x in [*labels.tolist(), None]], dtype=object)[:-1]
        allowed = {point: [str(name) for name in some] for point, some in allowed.items()}
    pairs = [np.array(some, dtype=np.int64).reshape(-1, 2) for some in (facts.must_link, facts.cannot_link)]
    return replace(dataset, labels=labels, allowed=allowed), pairs[0], pairs[1]


def _are_whole(dataset: Dataset, facts: Facts) -> bool:
    """Whether all labels, given and corrected, are whole numbers."""
    named = [*facts.labels.values(), *(name for some in facts.allowed.values() for name in some)]
    given = [x for x in dataset.labels if x is not None] + [x for some in dataset.allowed.values() for x in some]
    return all(_is_whole(name) for name in named) and all(not isinstance(x, str) for x in given)


def _is_whole(name: str) -> bool:
    return name.isdecimal() and str(int(name)) == name


def with_corrections(configuration: Configuration, paths: Sequence[str]) -> Configuration:
    """Add files of corrections to a configuration."""
    for path in paths:
        if not Path(path).is_file():
            raise InvalidInputError(f"There is no file {path} of corrections.")
    added = tuple(str(Path(path).resolve()) for path in paths)
    data = replace(configuration.data, corrections=configuration.data.corrections + added)
    return replace(configuration, data=data)


@dataclass(frozen=True)
class Changes:
    """Labels that differ between two runs of the same data.

    Attributes
    ----------
    n_corrected : int
        Points whose label the corrections gave.
    table : data frame
        id, before, after and "corrected" or "followed" of each point whose class is another one now.
    """

    n_corrected: int
    table: pd.DataFrame

    def said(self) -> str:
        """Say it in a few words: "2 corrected, 11 rows changed"."""
        rows = "row" if len(self.table) == 1 else "rows"
        return f"{self.n_corrected:,} corrected, {len(self.table):,} {rows} changed"


def read_labels(path: Path) -> pd.DataFrame:
    """Read the labels that a run has written, as text."""
    try:
        return pd.read_csv(path, dtype={"id": str, "label": str}, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path} cannot be read as the labels of a run ({error}).") from error


def compare(before: pd.DataFrame, after: pd.DataFrame) -> Changes:
    """List the rows whose class changed, those that were corrected first.

    Clusters that no label names have other numbers in every run: they are matched first, so that most rows agree.
    """
    if before["id"].tolist() != after["id"].tolist():
        raise InvalidInputError("The two runs do not hold the same points in the same order; they cannot be compared.")
    before = before.assign(label=_renumbered(before, after))
    corrected = (after["source"] == "given") & ((before["source"] != "given") | (before["label"] != after["label"]))
    changed: Any = before["label"] != after["label"]
    table = pd.DataFrame(
        {
            "id": after["id"],
            "before": before["label"],
            "after": after["label"],
            "why": np.where(corrected, "corrected", "followed"),
        }
    )[changed]
    return Changes(int(corrected.sum()), table.sort_values("why", kind="stable").reset_index(drop=True))


def _renumbered(before: pd.DataFrame, after: pd.DataFrame) -> pd.Series:
    """Labels before, with clusters that had no name called as those after that hold most of their points."""
    clusters = [sorted(set(each["label"]) - set(each["label"][each["source"] == "given"])) for each in (before, after)]
    shared = pd.crosstab(before["label"], after["label"]).reindex(index=clusters[0], columns=clusters[1], fill_value=0)
    rows, columns = linear_sum_assignment(shared.to_numpy(), maximize=True)
    partner = {clusters[0][row]: clusters[1][column] for row, column in zip(rows, columns, strict=True)}
    return before["label"].map(lambda name: partner.get(name, name))
