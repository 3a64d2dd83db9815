"""How good the answer is, by random audits alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xsdc.app.store import Entry
from xsdc.core.agreement import wilson_interval
from xsdc.runs.answers import NOTHING

EVERY = 10  # one question in so many is an audit


@dataclass(frozen=True)
class Estimate:
    """Accuracy among points without an answer.

    Attributes
    ----------
    right, n : int
        Audits whose answer the model agrees with, and all.
    interval : pair of float or None
        In which the accuracy is with a probability of 95 %.
    """

    right: int
    n: int
    interval: tuple[float, float] | None

    @property
    def accuracy(self) -> float | None:
        """Share of audits that agree."""
        return self.right / self.n if self.n else None


def estimate(audits: Sequence[Entry], names: Sequence[str], codes: npt.NDArray[np.int64]) -> Estimate:
    """Compare audits with the present classes.

    Audits are drawn by chance from all points without an answer, and the model does not see them: what it says of them
    is what it says of any other point.

    Parameters
    ----------
    audits : sequence of Entry
        Answers to audits; of two about a point the last one counts.
    names : sequence of str
        Names of the classes.
    codes : array of int, shape (n,)
        Class of each point.
    """
    said = {entry.points[0]: entry.answer for entry in audits if entry.answer not in NOTHING}
    right = sum(names[codes[point]] == answer for point, answer in said.items())
    return Estimate(right, len(said), wilson_interval(right, len(said)) if said else None)


def audit_again(audits: Sequence[Entry], names: Sequence[str], codes: npt.NDArray[np.int64]) -> int | None:
    """Find an audit that disagrees and was answered once: a person errs too, and is asked a second time.

    The last audit is left alone, so that the question does not come right after its answer.
    """
    times = Counter(entry.points[0] for entry in audits)
    for entry in audits[:-1]:
        point = entry.points[0]
        if times[point] == 1 and entry.answer not in NOTHING and names[codes[point]] != entry.answer:
            return point
    return None


def draw_audit(known: npt.NDArray[np.bool_], audited: set[int], rng: np.random.RandomState) -> int | None:
    """Draw a point without an answer by chance."""
    left = np.setdiff1d(np.flatnonzero(~known), np.array(sorted(audited), dtype=np.int64))
    return int(left[rng.randint(len(left))]) if len(left) else None
