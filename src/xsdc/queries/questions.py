"""Questions of four kinds: what is this, same or different, which of these, is this group one thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from xsdc.queries.situation import Situation
from xsdc.queries.strategies import Picks, Strategy, central, useful

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Kind = Literal["label", "pair", "set", "group"]
KINDS: tuple[Kind, ...] = ("group", "pair", "set", "label")
SHEET = 12  # members of a group that are shown
LEAST_SURE = 3  # of them, those that belong to it least
MOST_LOOKED = 20  # points that are looked at for each question
RESOLVED = 0.9  # share of a point's doubt that another kind of question must resolve to be asked instead of a label
MOST_CHOICES = 3  # classes that are offered for a point
WORTH_OFFERING = 0.1  # probability of a class that is offered


@dataclass(frozen=True)
class Question:
    """A question for a person.

    Attributes
    ----------
    kind : {"label", "pair", "set", "group"}
        "What is this?", "same or different?", "which of these could it be?", "is this group one thing?".
    points : tuple of int
        Positions of what is asked about: one point; two; one; typical members of a group.
    choices : tuple of str
        Classes that are offered, for a set.
    score : float
        How useful the answer is: of a group without a name one plus its share of all points, else the share of doubts
        it reaches, from 0 to 1, times the share of them that this kind of question resolves.
    reason : str
        Why it is asked.
    strays : tuple of int
        Of a group: members that belong to it least.
    """

    kind: Kind
    points: tuple[int, ...]
    choices: tuple[str, ...]
    score: float
    reason: str
    strays: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[str, tuple[int, ...]]:
        """By what it is known again, so that it is not repeated."""
        return self.kind, self.points[:1] if self.kind in ("label", "set") else tuple(sorted(self.points))

    @property
    def text(self) -> str:
        """The question in words."""
        return {
            "label": "What is this?",
            "pair": "Are these two the same or different?",
            "set": f"Which of these could it be: {', '.join(self.choices)}?",
            "group": "Is this group one thing?",
        }[self.kind]


def choose_questions(
    situation: Situation,
    n: int,
    *,
    kinds: tuple[Kind, ...] = KINDS,
    strategy: Strategy = useful,
    rng: np.random.RandomState,
) -> list[Question]:
    """Choose the most useful questions.

    Groups without a name come first. Then come the points that the strategy picks. A point is asked about by a label,
    or by a pair or a set where that resolves nearly all doubt about it; the kinds take turns.

    Parameters
    ----------
    situation : Situation
        What is known and found.
    n : int
        How many; fewer where no more can be asked.
    kinds : tuple of str
        Kinds that may be asked.
    strategy : function
        Which points to ask about.
    rng : RandomState
        Source of randomness.
    """
    found = group_questions(situation)[:n] if "group" in kinds else []
    if kinds == ("group",) or len(found) >= n:
        return found
    shown = {question.points[0] for question in found}
    looked = n
    while True:
        more = _of_points(situation, strategy(situation, looked, rng), n - len(found), kinds, shown)
        if len(found) + len(more) >= n or looked >= MOST_LOOKED * n or looked >= len(situation.open):
            return found + more
        looked *= 4  # pairs of the first points were asked before


def _of_points(situation: Situation, picks: Picks, n: int, kinds: tuple[Kind, ...], shown: set[int]) -> list[Question]:
    """Ask about the points that were picked, as far as there is something new to ask."""
    found: list[Question] = []
    used: dict[Kind, int] = {kind: 0 for kind in kinds if kind != "group"}
    for point, score, reason in zip(picks.points.tolist(), picks.scores.tolist(), picks.reasons, strict=True):
        if point in shown or len(found) >= n:
            continue
        ways = _ways(situation, point, score, reason, list(used))
        if ways:
            question = min(ways, key=lambda way: used[way.kind])
            used[question.kind] += 1
            found.append(question)
    return found


def group_questions(situation: Situation) -> list[Question]:
    """Ask about each group without a name, the largest first, by its typical members and those least sure."""
    found = []
    sizes = np.bincount(situation.codes, minlength=len(situation.named))
    for group in np.argsort(-sizes, kind="stable").tolist():
        if situation.named[group] or not sizes[group]:
            continue
        members, strays = sheet(situation, group)
        why = f"a group of {sizes[group]:,} that has no name yet"
        share = sizes[group] / situation.n
        question = Question("group", tuple(members), (), 1.0 + float(share), why, tuple(strays))
        if question.key not in situation.asked:
            found.append(question)
    return found


def sheet(situation: Situation, group: int) -> tuple[list[int], list[int]]:
    """Members of a group to be shown: typical ones that are spread over it, then those that belong to it least."""
    here = np.flatnonzero(situation.codes == group)
    typical = central(situation, group)
    order = here[np.argsort(-typical[here], kind="stable")]
    if len(order) <= SHEET:
        return order.tolist(), []
    least = order[-LEAST_SURE:][::-1]
    half = order[: min(max(SHEET, len(order) // 2), len(order) - LEAST_SURE)]
    places, far = [0], np.full(len(half), np.inf)
    for _ in range(SHEET - LEAST_SURE - 1):  # each the farthest from those before
        far = np.minimum(far, np.linalg.norm(situation.Z[half] - situation.Z[half[places[-1]]], axis=1))
        far[places] = -1.0
        places.append(int(np.argmax(far)))
    return half[places].tolist() + least.tolist(), least.tolist()


def _ways(situation: Situation, point: int, score: float, reason: str, kinds: list[Kind]) -> list[Question]:
    """Ask about a point by the kinds that resolve nearly all doubt about it; where none does, by the best of them."""
    p = situation.probabilities[point].astype(np.float64)
    whole, first = _entropy(p), int(np.argmax(p))
    ways = [(1.0, Question("label", (point,), (), score, reason))] if "label" in kinds else []
    partner = _partner(situation, point, first)
    if "pair" in kinds and partner is not None and (situation.named[first] or not ways):
        share = _entropy(np.array([p[first], 1 - p[first]])) / whole if whole > 0 else 1.0
        why = f"{reason}; the other one is {'known to be' if situation.known[partner] else 'typical of'}"
        why = f"{why} {situation.names[first]}"
        ways.append((share, Question("pair", (point, partner), (), score * share, why)))
    offered = np.argsort(-p, kind="stable")[:MOST_CHOICES]
    offered = offered[p[offered] > WORTH_OFFERING]
    if "set" in kinds and 2 <= len(offered) < len(p) and situation.named[offered].all():
        share = _entropy(np.append(p[offered], max(1 - p[offered].sum(), 0))) / whole if whole > 0 else 1.0
        choices = tuple(situation.names[c] for c in offered.tolist())
        ways.append((share, Question("set", (point,), choices, score * share, reason)))
    fresh = [(share, question) for share, question in ways if question.key not in situation.asked]
    best = [question for share, question in fresh if share >= RESOLVED]
    return best or [question for _, question in sorted(fresh, key=lambda way: -way[0])[:1]]


def _partner(situation: Situation, point: int, code: int) -> int | None:
    """The point to compare with: the nearest one that is known to be of a class, else a typical one."""
    known = np.flatnonzero(situation.known & (situation.codes == code))
    known = known[known != point]
    if len(known):
        distances = np.linalg.norm(situation.Z[known] - situation.Z[point], axis=1)
        return int(known[np.argmin(distances)])
    others = central(situation, code) * (np.arange(situation.n) != point)
    return int(np.argmax(others)) if others.max(initial=0.0) > 0 else None


def _entropy(p: Floats) -> float:
    """Entropy of probabilities."""
    positive = p[p > 0]
    return float(-(positive * np.log(positive)).sum())
