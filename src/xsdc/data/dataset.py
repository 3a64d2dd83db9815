"""What every reader returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from xsdc.data.forms import Form
from xsdc.data.scientific import Levels

Labels = npt.NDArray[np.object_]
Kind = Literal["table", "vectors", "images"]


@dataclass(frozen=True)
class Dataset:
    """Points, what is known of them, and what reading did to them.

    Attributes
    ----------
    name : str
        What to call it: the file's name, or that of a named data set.
    kind : {"table", "vectors", "images"}
        What X holds: columns of any type, numbers, or pixels.
    X : data frame or array
        A table as it was read, without the columns of labels and ids; vectors (n, d); or images of uint8, (n, H, W) or
        (n, H, W, 3). Of data too large for memory it is `Rows`, which are read as they are needed.
    ids : array, shape (n,)
        What the user calls each point: cells of an id column, paths of files, or row numbers from 0.
    id_name : str
        What an id is: the name of the column, "file" or "row".
    labels : array of object, shape (n,)
        Given labels, all str or all int; None where there is none.
    allowed : dict from int to list
        Labels that a point may have, by position, where they are given short of a label.
    truth : array of object, shape (n,), or None
        True labels to measure by, which no fit may see; None where unknown.
    pictures : array of uint8, shape (n, h, w) or (n, h, w, 3), or None
        How to draw the points, where they are images of some kind.
    notes : list of str
        What reading did that the user should know, a sentence each.
    doubts : list of str
        What looks like a mistake in the file, a sentence each.
    forms : dict from str to Form
        How columns of a table write their numbers, where they were text.
    levels : Levels or None
        What became black and white in images of more than 8 bits.
    """

    name: str
    kind: Kind
    X: Any
    ids: npt.NDArray[Any]
    id_name: str
    labels: Labels
    allowed: dict[int, list[Any]] = field(default_factory=dict)
    truth: Labels | None = None
    pictures: npt.NDArray[np.uint8] | None = None
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    forms: dict[str, Form] = field(default_factory=dict)
    levels: Levels | None = None

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.ids)

    def taken(self, points: Sequence[int] | npt.NDArray[np.int64]) -> Dataset:
        """Take some of the points, into memory."""
        points = np.asarray(points, dtype=np.int64)
        X = _taken(self.X, points)
        return Dataset(
            self.name,
            self.kind,
            X,
            self.ids[points],
            self.id_name,
            self.labels[points],
            {new: self.allowed[old] for new, old in enumerate(points.tolist()) if old in self.allowed},
            None if self.truth is None else self.truth[points],
            X if self.pictures is self.X else None if self.pictures is None else self.pictures[points],
            self.notes,
            self.doubts,
            self.forms,
            self.levels,
        )


def _taken(X: Any, points: npt.NDArray[np.int64]) -> Any:
    if isinstance(X, pd.DataFrame):
        return X.iloc[points].reset_index(drop=True)
    return X.take(points) if hasattr(X, "blocks") else X[points]
