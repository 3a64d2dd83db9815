"""What a report is made from: plain data, with nothing left to compute but the drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Equivalence:
    """Estimated M among a few points.

    Attributes
    ----------
    points : array of int, shape (q,)
        Which points, ordered by class.
    M : array, shape (q, q)
        Who is with whom, from 0 to 1.
    """

    points: Ints
    M: Floats


@dataclass(frozen=True)
class Findings:
    """A finished run.

    Attributes
    ----------
    title : str
        What was fitted.
    metrics, history, configuration : dict
        As they stand in the files of the run.
    classes : list of str, length k
        Names of the classes.
    ids : list of str, length n
        What the user calls each point.
    codes : array of int, shape (n,)
        Class of each point, a position in ``classes``.
    probability : array, shape (n,)
        Probability of that class.
    given : array of int, shape (n,)
        Class that was given, -1 where none was.
    truth : array of int, shape (n,), or None
        True class where it is known, else -1; a position in ``classes``, clusters without names being matched first.
    points : array of int, shape (m,)
        Points that are drawn, a sample of all.
    features_before, features_after : array, shape (m, D)
        Their features before and after training.
    pictures : array of uint8, shape (m, h, w) or (m, h, w, 3), or None
        How they look, where they are images.
    cells : list of dict from str to str, length m, or None
        A few columns of each, where they are rows of a table.
    equivalence : Equivalence or None
        M among some of them.
    folder : str
        Where the run is.
    """

    title: str
    metrics: dict[str, Any]
    history: dict[str, Any]
    configuration: dict[str, Any]
    classes: list[str]
    ids: list[str]
    codes: Ints
    probability: Floats
    given: Ints
    truth: Ints | None
    points: Ints
    features_before: Floats
    features_after: Floats
    pictures: npt.NDArray[np.uint8] | None = None
    cells: list[dict[str, str]] | None = None
    equivalence: Equivalence | None = None
    folder: str = "run"
