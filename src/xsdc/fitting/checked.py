"""Given labels beside what the classifiers say of their points without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xsdc.core.label_errors import find_label_errors
from xsdc.fitting.knowledge import Knowledge

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Names = npt.NDArray[Any]


@dataclass(frozen=True)
class CheckedLabels:
    """What the classifiers say of labeled points when they are fitted without their labels, before any training.

    Attributes
    ----------
    points : array of int, shape (l,)
        Positions of labeled points. Two kinds are not among them: those whose class has no other label, since nothing
        could name it, and those with a must-link, since other points carry their label.
    probabilities : array, shape (l, k)
        Of each class.
    """

    points: Ints
    probabilities: Floats


@dataclass(frozen=True)
class SuspiciousLabels:
    """Given labels that are probably wrong, the most improbable first.

    Attributes
    ----------
    points : array of int, shape (m,)
        Positions.
    labels : array, shape (m,)
        The labels given.
    probabilities : array, shape (m,)
        Of these labels, by classifiers that are fitted without them.
    likelier : array, shape (m,)
        The most probable class of each point.
    likelier_probabilities : array, shape (m,)
        Of these classes.
    """

    points: Ints
    labels: Names
    probabilities: Floats
    likelier: Names
    likelier_probabilities: Floats

    def __len__(self) -> int:
        return len(self.points)


def check_labels(knowledge: Knowledge, points: Ints, probabilities: Floats) -> CheckedLabels | None:
    """Take, of points whose class was left out, those whose label was given and is seen through nothing else.

    Parameters
    ----------
    knowledge : Knowledge
        What is known.
    points : array of int, shape (m,)
        Points whose class was left out of the classifiers.
    probabilities : array, shape (m, k)
        Of each class, without it.
    """
    kept = (knowledge.codes >= 0)[points] & ~knowledge.linked[points]
    if not kept.any():
        return None
    points = points[kept]
    return CheckedLabels(points, probabilities[kept])


def suspect(knowledge: Knowledge, checked: CheckedLabels) -> SuspiciousLabels:
    """List the labels that are probably wrong."""
    given = knowledge.codes[checked.points]
    places = find_label_errors(checked.probabilities, given)
    p, codes = checked.probabilities[places], given[places]
    best, rows = p.argmax(axis=1), np.arange(len(p))
    return SuspiciousLabels(
        checked.points[places], knowledge.names[codes], p[rows, codes], knowledge.names[best], p[rows, best]
    )
