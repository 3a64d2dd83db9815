"""From the entries of the table to what is known now: undone ones left out, groups merged and split, clashes found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from xsdc.app.store import Entry
from xsdc.core.constraints import close
from xsdc.errors import ContradictionError
from xsdc.runs.answers import KINDS, NOT_ONE, ONE_THING, Answer, Facts, gather

Ints = npt.NDArray[np.int64]
TOGETHER, APART, CHOICE, LABEL = (
    re.compile(rule) for rule in (r"(\d+)=(\d+)$", r"(\d+)≠(\d+)$", r"(\d+) is one of \{", r"(\d+) is ")
)


@dataclass(frozen=True)
class Clash:
    """Answers that contradict each other.

    Attributes
    ----------
    said : tuple of str
        The chain in words, with row numbers.
    entries : tuple of Entry
        The answers behind it, in the order of the chain; each can be undone.
    """

    said: tuple[str, ...]
    entries: tuple[Entry, ...]


@dataclass
class Known:
    """What entries say together.

    Attributes
    ----------
    live : list of Entry
        Answers that were not undone, in their order.
    audits : list of Entry
        Answers about points drawn at random; the model does not see them.
    facts : Facts
        What the others say, without those that clash.
    clashes : list of Clash
        Contradictions; the newest answer of each counts for nothing until one of them is undone.
    groups : array of int, shape (n,)
        Groups as merged and split.
    names : dict from int to str
        Class of each group that has a name.
    checked : set of int
        Groups that are one thing and have no name yet, or are not one thing: they were answered.
    """

    live: list[Entry]
    audits: list[Entry]
    facts: Facts
    clashes: list[Clash]
    groups: Ints
    names: dict[int, str] = field(default_factory=dict)
    checked: set[int] = field(default_factory=set)

    @property
    def classes(self) -> list[str]:
        """Names of classes in the order in which they came up."""
        named = [*self.facts.labels.values(), *(name for some in self.facts.allowed.values() for name in some)]
        return list(dict.fromkeys(named))

    @property
    def open_groups(self) -> list[int]:
        """Groups without a name."""
        return [int(g) for g in np.unique(self.groups) if int(g) not in self.names]


def live_entries(entries: Sequence[Entry]) -> list[Entry]:
    """Leave out what was undone; an undo can be undone itself."""
    undone: set[str] = set()
    kept = []
    for entry in reversed(entries):
        if entry.gesture in undone:
            continue
        if entry.kind == "undo":
            undone.add(entry.answer)
        else:
            kept.append(entry)
    return kept[::-1]


def as_answer(entry: Entry) -> Answer:
    """Take an entry for what it says."""
    return Answer(entry.kind, entry.points, entry.answer, entry.strays)


def replay(entries: Sequence[Entry], groups: Ints, given: Facts) -> Known:
    """Go through all entries.

    Parameters
    ----------
    entries : sequence of Entry
        The table.
    groups : array of int, shape (n,)
        Groups as they were found first.
    given : Facts
        What was known before any answer.
    """
    live = live_entries(entries)
    groups = groups.copy()
    for entry in live:
        if entry.kind == "merge":
            first, second = (int(part) for part in entry.answer.split("|"))
            groups[groups == second] = first
        elif entry.kind == "split":
            groups[list(entry.points)] = groups.max() + 1
    answers = [entry for entry in live if entry.kind in KINDS]
    audits = [entry for entry in answers if entry.extra.get("audit")]
    told = [entry for entry in answers if not entry.extra.get("audit")]
    facts, clashes = without_clashes(told, len(groups), given)
    names, checked = name_groups(told, groups, given)
    return Known(answers, audits, facts, clashes, groups, names, checked)


def name_groups(told: Sequence[Entry], groups: Ints, given: Facts) -> tuple[dict[int, str], set[int]]:
    """Find the class of each group: as it was named, else that of the first label in it which no other group has."""
    names: dict[int, str] = {}
    checked: set[int] = set()
    for point, name in given.labels.items():
        if int(groups[point]) not in names and name not in names.values():
            names[int(groups[point])] = name
    for entry in told:
        group = int(np.bincount(groups[list(entry.points)]).argmax())
        if entry.kind == "group" and entry.answer in (ONE_THING, NOT_ONE):
            checked.add(group)
        elif entry.kind == "group" and not entry.extra.get("lasso") and not as_answer(entry).says_nothing:
            names[group] = entry.answer
        elif entry.kind in ("label", "group") and not as_answer(entry).says_nothing:
            taken = group in names or entry.answer in names.values()
            names |= {} if taken else {group: entry.answer}
    return names, checked


def without_clashes(told: Sequence[Entry], n: int, given: Facts) -> tuple[Facts, list[Clash]]:
    """Gather facts; of a contradiction the newest answer is left out, and the chain kept."""
    used = list(told)
    clashes: list[Clash] = []
    while True:
        facts = gather(as_answer(entry) for entry in used)
        for point, name in given.labels.items():
            facts.labels.setdefault(point, name)
        for point, some in given.allowed.items():
            if point not in facts.labels:
                facts.allowed.setdefault(point, some)
        facts.must_link += given.must_link
        facts.cannot_link += given.cannot_link
        chain = find_clash(facts, n)
        if chain is None:
            return facts, clashes
        behind = [entry for text in chain if (entry := _behind(text, used)) is not None]
        behind = list({entry.id: entry for entry in behind}.values())
        if not behind:  # the data given contradicts itself, which the first fit would have refused
            return Facts(labels=dict(given.labels)), clashes
        clashes.append(Clash(chain, tuple(behind)))
        newest = max(behind, key=lambda entry: entry.seq)
        used.remove(newest)


def find_clash(facts: Facts, n: int) -> tuple[str, ...] | None:
    """Return the shortest chain of facts that contradict each other, where there is one."""
    names = list(dict.fromkeys([*facts.labels.values(), *(name for some in facts.allowed.values() for name in some)]))
    code = {name: c for c, name in enumerate(names)}
    labels = np.full(n, -1, dtype=np.int64)
    for point, name in facts.labels.items():
        labels[point] = code[name]
    try:
        close(
            n,
            labels=labels,
            must_link=facts.must_link or None,
            cannot_link=facts.cannot_link or None,
            allowed={point: [code[name] for name in some] for point, some in facts.allowed.items()},
            n_classes=max(len(names), 1),
            class_names=names or ["none"],
        )
    except ContradictionError as error:
        return tuple(error.chain)
    return None


def _behind(text: str, entries: Sequence[Entry]) -> Entry | None:
    """Find the newest answer that says a link of a chain."""
    for rule, kinds in ((TOGETHER, ("pair", "group")), (APART, ("pair", "group"))):
        if found := rule.match(text):
            a, b = int(found[1]), int(found[2])
            return next((e for e in reversed(entries) if e.kind in kinds and _joins(e, a, b)), None)
    found = CHOICE.match(text)
    told = ("set",) if found else ("label", "group", "set")
    found = found or LABEL.match(text)
    if found is None:
        return None
    point = int(found[1])
    said = (e for e in reversed(entries) if e.kind in told and point in e.points and not as_answer(e).says_nothing)
    return next(said, None)


def _joins(entry: Entry, a: int, b: int) -> bool:
    return {a, b} <= {*entry.points, *entry.strays} and not as_answer(entry).says_nothing
