"""What came of the trials of one part."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

REFUSED, RIGHT = "refused", "right"
MOST_NAMED = 20


@dataclass
class Outcomes:
    """Counts of one part of the campaign.

    Attributes
    ----------
    part : str
        What was tried.
    refused : int
        Trials that ended in a clear refusal: `InvalidInputError`, or the checks of scikit-learn.
    right : int
        Trials that ended in the right answer.
    defects : list of str
        What each of the others did.
    notes : list of str
        What else is to be said.
    seconds : float
        How long it took.
    """

    part: str
    refused: int = 0
    right: int = 0
    defects: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def tried(self) -> int:
        """Number of trials."""
        return self.refused + self.right + len(self.defects)

    def add(self, outcome: str, what: str) -> None:
        """Count one trial, of which ``what`` says what it was."""
        if outcome == REFUSED:
            self.refused += 1
        elif outcome == RIGHT:
            self.right += 1
        else:
            self.defects.append(f"{what}: {outcome}")

    def plain(self) -> dict[str, object]:
        """Plain data, with the first defects."""
        return {
            "part": self.part,
            "tried": self.tried,
            "refused": self.refused,
            "right": self.right,
            "defects": len(self.defects),
            "named": self.defects[:MOST_NAMED],
            "notes": self.notes,
            "seconds": round(self.seconds),
        }


def while_time(trials: Iterable[int], seconds: float) -> Iterator[int]:
    """Yield numbers of trials as long as there is time, one at least."""
    end = time.monotonic() + seconds
    for number in trials:
        yield number
        if time.monotonic() > end:
            return
