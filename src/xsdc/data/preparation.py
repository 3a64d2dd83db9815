"""From what was read to what a network takes: numbers, none missing, of like size."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from xsdc.data.columns import Numbers, Role, as_days, as_finite, as_numbers, as_words
from xsdc.data.dataset import Dataset
from xsdc.data.numerals import Numerals
from xsdc.data.pixels import as_coloured
from xsdc.data.remarks import Remarks
from xsdc.data.roles import listed, near_miss
from xsdc.data.scientific import Levels
from xsdc.data.storage import read_parts, write_parts
from xsdc.errors import InvalidInputError

FACTS = ("kind", "shape", "roles", "dropped", "feature_names", "notes", "factor", "numerals", "levels")
TRUTH = frozenset(("True", "False", ""))
TRANSFORMERS = {"imputer": "SimpleImputer", "scaler": "StandardScaler", "encoder": "OneHotEncoder"}


@dataclass(frozen=True)
class Preparation:
    """What was learned from the data of a fit, to be done to any further data in the same way.

    Attributes
    ----------
    kind : {"table", "vectors", "images"}
        What it prepares.
    shape : tuple of int
        Shape of one point, for vectors and images.
    roles : dict from str to {"number", "date", "category"}
        The columns that are used, for tables, numbers and dates first.
    dropped : list of str
        The columns that are of no use, for tables.
    feature_names : list of str
        What each column of the result is; empty for images.
    notes : list of str
        What is done, a sentence each.
    factor : float
        What vectors are divided by.
    numerals : Numerals or None
        How the table of the fit wrote its numbers, where any cell of it depended on that.
    levels : Levels or None
        What becomes black and white in images of more than 8 bits, where the fit had such.
    imputer, scaler, encoder : transformers of scikit-learn, or None
        Medians for missing numbers, means and deviations, and categories.
    """

    kind: Literal["table", "vectors", "images"]
    shape: tuple[int, ...] = ()
    roles: dict[str, Role] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    feature_names: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    factor: float = 1.0
    numerals: Numerals | None = None
    levels: Levels | None = None
    imputer: Any = None
    scaler: Any = None
    encoder: Any = None

    def transform(self, dataset: Dataset) -> npt.NDArray[Any]:
        """Prepare a data set like the one of the fit.

        Parameters
        ----------
        dataset : Dataset
            Of the same kind, with the same columns (in any order; others are passed over) or of the same shape. Gray
            images become coloured, and coloured ones gray, as those of the fit were.

        Returns
        -------
        array
            Numbers (n, d), or images.
        """
        if dataset.kind != self.kind:
            raise InvalidInputError(
                f"`{dataset.name}` must be of the kind that was fitted, {self.kind}; it is {dataset.kind}."
            )
        if self.kind == "table":
            return self._transform_table(dataset)
        X = dataset.X if self.kind == "vectors" else as_coloured(dataset.X, coloured=len(self.shape) == 3)
        if X.shape[1:] != self.shape:
            hint = " Read it with the image_size of the fit." if self.kind == "images" else ""
            raise InvalidInputError(
                f"Points of `{dataset.name}` must have shape {self.shape} as in the fit; they have {X.shape[1:]}.{hint}"
            )
        return self._transform_vectors(X) if self.kind == "vectors" else X

    @property
    def words(self) -> list[str]:
        """Columns whose categories are words; truth values are none."""
        columns = [column for column, role in self.roles.items() if role == "category"]
        categories = [] if self.encoder is None else self.encoder.categories_
        return [column for column, some in zip(columns, categories, strict=True) if not set(some) <= TRUTH]

    def remarks(self, dataset: Dataset) -> list[str]:
        """Say what of a further data set is passed over or filled in."""
        remarks = Remarks(self)
        remarks.add(dataset)
        return remarks.said()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `load` reads."""
        facts = {name: getattr(self, name) for name in FACTS}
        write_parts(path, facts, {name: getattr(self, name) for name in TRANSFORMERS})

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Preparation:
        """Read a file that `save` wrote; nothing in it is run."""
        facts, transformers = read_parts(path)
        for name, kind in TRANSFORMERS.items():
            found = type(transformers.get(name)).__name__
            if found not in (kind, "NoneType"):
                raise InvalidInputError(f"`{path}` is not a preparation: its {name} must be {kind}; it is {found}.")
        try:
            facts["shape"] = tuple(facts["shape"])
            facts["numerals"] = Numerals(*facts["numerals"]) if facts.get("numerals") else None
            facts["levels"] = Levels(*facts["levels"]) if facts.get("levels") else None
            return Preparation(**facts, **transformers)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"`{path}` is not a whole preparation: {error}. Save it again.") from error

    def _transform_table(self, dataset: Dataset) -> Numbers:
        frame: pd.DataFrame = dataset.X
        absent = [column for column in self.roles if column not in frame.columns]
        if absent:
            raise InvalidInputError(
                f"`{dataset.name}` must have the columns of the fit; {listed(absent)} are not there"
                f"{near_miss(absent[0], list(frame.columns))}."
            )
        numbers, words = measured_columns(frame, self.roles), named_columns(frame, self.roles)
        parts = []
        if self.imputer is not None:
            filled = self.imputer.transform(numbers)
            parts.append(filled if self.scaler is None else self.scaler.transform(filled))
        if self.encoder is not None:
            parts.append(self.encoder.transform(words))
        return np.hstack(parts)

    def _transform_vectors(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        filled = self.imputer.transform(as_finite(X))
        scaled: npt.NDArray[Any] = filled / self.factor if self.scaler is None else self.scaler.transform(filled)
        return scaled


def measured_columns(frame: pd.DataFrame, roles: dict[str, Role]) -> Numbers:
    """Columns of numbers and dates, (n, p)."""
    read = {"number": as_numbers, "date": as_days}
    columns = [read[role](frame[column]) for column, role in roles.items() if role != "category"]
    return np.column_stack(columns) if columns else np.empty((len(frame), 0))


def named_columns(frame: pd.DataFrame, roles: dict[str, Role]) -> npt.NDArray[np.object_]:
    """Columns of categories, (n, q)."""
    columns = [as_words(frame[column]) for column, role in roles.items() if role == "category"]
    return np.column_stack(columns) if columns else np.empty((len(frame), 0), dtype=object)
