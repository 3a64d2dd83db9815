"""The session: answers come in and are on disk at once; a thread solves anew after them and says so."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from xsdc.app.audits import EVERY, Estimate, audit_again, draw_audit, estimate
from xsdc.app.opening import Opened
from xsdc.app.replay import Known, as_answer, live_entries, replay
from xsdc.app.store import Entry
from xsdc.errors import InvalidInputError
from xsdc.fitting.knowledge import Knowledge, read_knowledge
from xsdc.queries import Kind, Question, Situation, choose_questions, sheet
from xsdc.runs.answers import KINDS

Ints = npt.NDArray[np.int64]
AUDIT, AUDIT_AGAIN = "audit", "audit again"  # reasons of questions that only measure
PREFETCHED = 12  # questions that are chosen after each solution


@dataclass(frozen=True)
class Class:
    """A class with a name, or a group without.

    Attributes
    ----------
    name : str
        What it is called; "group 3" where it has no name.
    group : int
        Number of the group that it was, -1 where it was none.
    named : bool
        Whether a person named it.
    colour : int
        Number of its colour, which stays.
    """

    name: str
    group: int
    named: bool
    colour: int


@dataclass(frozen=True)
class Solution:
    """What was found from the answers so far.

    Attributes
    ----------
    version : int
        Number of the solution.
    seq : int
        Last entry that it knows of.
    known : Known
        What was known.
    classes : tuple of Class
        Classes.
    codes : array of int, shape (n,)
        Class of each point.
    probability : array of float32, shape (n,)
        Of that class.
    situation : Situation
        What questions are chosen by.
    questions : tuple of Question
        The next ones; audits are labels with the reason "audit".
    estimate : Estimate
        Accuracy by audits.
    seconds : float
        How long it took.
    """

    version: int
    seq: int
    known: Known
    classes: tuple[Class, ...]
    codes: Ints
    probability: npt.NDArray[np.float32]
    situation: Situation
    questions: tuple[Question, ...]
    estimate: Estimate
    seconds: float


class Session:
    """What the page shows and what it is told.

    Parameters
    ----------
    opened : Opened
        Data, model and answers.
    tell : callable
        Called with the name of an event and its content, from any thread.
    """

    def __init__(self, opened: Opened, tell: Callable[[str, dict[str, Any]], None] = lambda _event, _content: None):
        self.opened, self._tell = opened, tell
        self._given = opened.facts
        self._entries = opened.store.entries()
        self._lock = threading.Lock()
        self._wake, self._stopped = threading.Event(), False
        self._version = 0
        self._shaped: tuple[int, ...] = ()  # merges and splits that the solver knows of
        self._rng = np.random.RandomState(len(self._entries))
        self.curve: list[tuple[int, int, int]] = []  # answers, right audits, audits
        self.solution = self._solve()
        self._thread = threading.Thread(target=self._work, name="solver", daemon=True)
        self._thread.start()

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.opened.groups)

    def add(self, entries: Sequence[Entry]) -> list[Entry]:
        """Keep entries; they are on disk when this returns, and the solver is woken."""
        for entry in entries:
            self._check(entry)
        new = self.opened.store.add(entries)
        with self._lock:
            self._entries += new
        self._wake.set()
        return new

    def entries(self) -> list[Entry]:
        """All entries so far."""
        with self._lock:
            return list(self._entries)

    def renew(self) -> None:
        """Take the model that a training has left."""
        opened = self.opened.renewed()
        with self._lock:
            self.opened, self._shaped = opened, ()
        self._wake.set()

    def stop(self) -> None:
        """End the thread and close the table."""
        self._stopped = True
        self._wake.set()
        self._thread.join(timeout=30)
        self.opened.store.close()

    def wait(self, seconds: float = 30.0) -> Solution:
        """Wait until the solution knows all entries."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with self._lock:
                last = self._entries[-1].seq if self._entries else 0
            if self.solution.seq >= last:
                return self.solution
            time.sleep(0.005)
        raise TimeoutError("The solution did not follow in time.")

    def _check(self, entry: Entry) -> None:
        """Refuse what cannot be an answer about these points."""
        wrong = [point for point in (*entry.points, *entry.strays) if not 0 <= point < self.n]
        if wrong:
            raise InvalidInputError(f"There is no point {wrong[0]}; the points are 0 to {self.n - 1}.")
        if entry.kind in KINDS:
            if not as_answer(entry).answer.strip():
                raise InvalidInputError("An answer must say something.")
        elif entry.kind == "merge":
            parts = entry.answer.split("|")
            if len(parts) != 2 or not all(part.isdecimal() for part in parts):
                raise InvalidInputError("merge must name two groups, as in 3|5.")
        elif entry.kind not in ("undo", "split"):
            raise InvalidInputError(f"There is no kind {entry.kind!r}.")

    def _work(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._stopped:
                return
            self.solution = self._solve()
            self._tell("solution", {"version": self.solution.version, "seq": self.solution.seq})

    def _solve(self) -> Solution:
        """Solve for the entries so far."""
        begun = time.perf_counter()
        entries, opened = self.entries(), self.opened
        known = replay(entries, opened.groups, self._given)
        shaped = tuple(entry.seq for entry in live_entries(entries) if entry.kind in ("merge", "split"))
        if shaped != self._shaped:
            opened.resolver.restart(known.groups)
            self._shaped = shaped
        knowledge = self._knowledge(known)
        found = opened.resolver.solve(knowledge)
        classes = self._classes(knowledge, known, found.codes)
        rows = np.arange(self.n)
        self._version += 1
        situation = Situation(
            Z=opened.resolver.view.Z.numpy(),
            graph=opened.resolver.graph,
            probabilities=found.probabilities,
            codes=found.codes,
            names=[each.name for each in classes],
            named=np.array([each.named for each in classes]),
            known=knowledge.constraints.classes >= 0,
            asked=frozenset(as_answer(entry).key for entry in known.live),
        )
        measured = estimate(known.audits, situation.names, found.codes)
        told = len(known.live) - len(known.audits)
        point = (told, measured.right, measured.n)
        if not self.curve or self.curve[-1] != point:
            self.curve.append(point)
        return Solution(
            version=self._version,
            seq=entries[-1].seq if entries else 0,
            known=known,
            classes=classes,
            codes=found.codes,
            probability=found.probabilities[rows, found.codes],
            situation=situation,
            questions=self._questions(situation, known),
            estimate=measured,
            seconds=time.perf_counter() - begun,
        )

    def _knowledge(self, known: Known) -> Knowledge:
        """Labels, pairs and choices as the solver takes them, with as many classes as names and open groups."""
        y = np.full(self.n, None, dtype=object)
        for point, name in known.facts.labels.items():
            y[point] = name
        count = len(known.classes) + len(known.open_groups)
        return read_knowledge(
            self.n,
            y=y,
            must_link=known.facts.must_link or None,
            cannot_link=known.facts.cannot_link or None,
            allowed_labels=known.facts.allowed or None,
            n_clusters=max(count, 1),
        )

    def _classes(self, knowledge: Knowledge, known: Known, codes: Ints) -> tuple[Class, ...]:
        """Name the classes of a solution: by their labels, or after the open groups they hold most of."""
        names, k = [str(name) for name in knowledge.names], len(knowledge.names)
        group_of = {name: group for group, name in sorted(known.names.items(), reverse=True)}
        colour = {name: group_of.get(name, -1) for name in names[: knowledge.n_named]}
        free = self.opened.groups.max() + 1 + known.groups.max()
        for place, name in enumerate(known.classes):
            if colour.get(name, 0) < 0:
                colour[name] = int(free) + place
        open_ = known.open_groups
        table = np.array([[np.sum((codes == c) & (known.groups == g)) for g in open_] for c in range(k)], dtype=float)
        rest = np.arange(knowledge.n_named, k)
        found: dict[int, int] = {}
        if len(rest) and open_:
            rows, columns = linear_sum_assignment(table[rest], maximize=True)
            found = {int(rest[r]): open_[c] for r, c in zip(rows, columns, strict=True)}
        classes = [Class(name, group_of.get(name, -1), True, colour[name]) for name in names[: knowledge.n_named]]
        for c in rest.tolist():
            group = found.get(c, -1)
            name = f"group {group + 1}" if group >= 0 else f"group {c + 1}"
            classes.append(Class(name, group, False, group if group >= 0 else c))
        return tuple(classes)

    def _questions(self, situation: Situation, known: Known) -> tuple[Question, ...]:
        """Choose the next questions about points; in every tenth place stands an audit."""
        kinds: tuple[Kind, ...] = ("label", "pair", "set")
        chosen = choose_questions(situation, PREFETCHED, kinds=kinds, rng=self._rng)
        asked = sum(entry.kind in kinds and not entry.extra.get("lasso") for entry in known.live)
        audited = {entry.points[0] for entry in known.audits}
        mixed: list[Question] = []
        for question in chosen:
            if (asked + len(mixed)) % EVERY == EVERY - 1:
                again = audit_again(known.audits, situation.names, situation.codes)
                if again is not None and all(other.points[0] != again for other in mixed):
                    mixed.append(Question("label", (again,), (), 0.0, AUDIT_AGAIN))
                else:
                    mixed += self._audit(situation, audited | {other.points[0] for other in mixed})
            if not any(question.points[0] == other.points[0] for other in mixed):
                mixed.append(question)
        return tuple(mixed)

    def _audit(self, situation: Situation, audited: set[int]) -> list[Question]:
        """Draw a point that was not audited, where one is left."""
        point = draw_audit(situation.known | situation.skipped, audited, self._rng)
        return [] if point is None else [Question("label", (point,), (), 0.0, AUDIT)]

    def members(self, code: int) -> tuple[list[int], list[int]]:
        """Members of a class to be shown, and those of them that belong to it least."""
        return sheet(self.solution.situation, code)
