"""A person's answers: what each says, and files of them."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xsdc.data import Dataset
from xsdc.data.layout import read_rows
from xsdc.errors import InvalidInputError

Pairs = npt.NDArray[np.int64]
KINDS = ("label", "pair", "set", "group")
COLUMNS = ("kind", "points", "answer", "who", "when", "strays")
SAME, DIFFERENT = "same", "different"
NOTHING = ("", "?", "skip", "unsure")  # answers that say nothing
ONE_THING = "one thing"  # answer about a group that is one thing without a name
NOT_ONE = "no"
BETWEEN = "|"


@dataclass(frozen=True)
class Answer:
    """What a person has said.

    Attributes
    ----------
    kind : {"label", "pair", "set", "group"}
        What was asked.
    points : tuple of int
        Positions that the answer is about; of a group those that belong to it.
    answer : str
        A class; "same" or "different"; classes with | between them; of a group a class or "one thing"; "unsure" or
        "skip" where it says nothing.
    strays : tuple of int
        Points that were struck out of a group.
    """

    kind: str
    points: tuple[int, ...]
    answer: str
    strays: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidInputError(f"kind must be one of {', '.join(KINDS)}; it is {self.kind!r}.")
        wanted = {"pair": 2, "label": 1, "set": 1}.get(self.kind)
        if wanted is not None and len(set(self.points)) != wanted:
            raise InvalidInputError(f"A {self.kind} is about {wanted} point(s); it names {len(set(self.points))}.")
        if self.kind == "group" and not self.points:
            raise InvalidInputError("A group must keep at least one point.")
        if self.kind == "pair" and self.answer not in (SAME, DIFFERENT, *NOTHING):
            raise InvalidInputError(f"The answer about a pair must be same or different; it is {self.answer!r}.")

    @property
    def says_nothing(self) -> bool:
        """Whether it adds nothing to what is known."""
        return self.answer in NOTHING or (self.kind == "group" and self.answer == NOT_ONE)

    @property
    def key(self) -> tuple[str, tuple[int, ...]]:
        """The question that it answers, as `xsdc.queries.Question.key`."""
        return self.kind, self.points[:1] if self.kind in ("label", "set") else tuple(sorted(self.points))


@dataclass
class Facts:
    """What answers say together, by position; the last label of a point counts.

    Attributes
    ----------
    labels : dict from int to str
    allowed : dict from int to list of str
    must_link, cannot_link : list of pairs of int
    """

    labels: dict[int, str] = field(default_factory=dict)
    allowed: dict[int, list[str]] = field(default_factory=dict)
    must_link: list[tuple[int, int]] = field(default_factory=list)
    cannot_link: list[tuple[int, int]] = field(default_factory=list)

    def add(self, answer: Answer) -> None:
        """Take in what an answer says."""
        if answer.says_nothing:
            return
        first = answer.points[0]
        if answer.kind == "pair":
            (self.must_link if answer.answer == SAME else self.cannot_link).append((first, answer.points[1]))
            return
        if answer.kind == "set" and BETWEEN in answer.answer:
            self.allowed[first] = list(dict.fromkeys(name.strip() for name in answer.answer.split(BETWEEN)))
            self.labels.pop(first, None)
            return
        if answer.kind == "group" and answer.answer == ONE_THING:
            self.must_link += [(first, point) for point in answer.points[1:]]
        else:
            for point in answer.points:
                self.labels[point] = answer.answer
                self.allowed.pop(point, None)
        self.cannot_link += [(first, stray) for stray in answer.strays]


def gather(answers: Iterable[Answer]) -> Facts:
    """Gather what answers say, in the order in which they were given."""
    facts = Facts()
    for answer in answers:
        facts.add(answer)
    return facts


def join_points(points: Sequence[int], ids: Sequence[Any] | npt.NDArray[Any]) -> str:
    """Write points by their ids, with | between them; as a list of JSON where an id holds that sign."""
    names = [str(ids[i]) for i in points]
    if any(BETWEEN in name or name.startswith("[") for name in names):
        return json.dumps(names, ensure_ascii=False)
    return BETWEEN.join(names)


def write_rows(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Write a table as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read_answers(path: Path, dataset: Dataset) -> list[Answer]:
    """Read a file of answers or corrections.

    Parameters
    ----------
    path : Path
        CSV of one of three forms: ``kind,points,answer``, as `xsdc suggest` and the page write it, further columns
        being passed over; ``id,label``; or ``a,b,same`` and ``a,b,different``, with any names of these columns.
    dataset : Dataset
        The points; ids are compared as text.
    """
    if not path.is_file():
        raise InvalidInputError(f"There is no file {path} of corrections.")
    rows = read_rows(path)
    if not rows:
        raise InvalidInputError(f"{path} is empty.")
    lookup = _Lookup(dataset, path)
    header = [cell.lower() for cell in rows[0][1]]
    if {"kind", "points", "answer"} <= set(header):
        return _of_questions(rows[1:], header, lookup)
    widths = {len(cells) for _, cells in rows}
    if "id" in header and "label" in header:
        point, label = header.index("id"), header.index("label")
        return [
            Answer("label", (lookup.one(cells[point], line),), cells[label])
            for line, cells in rows[1:]
            if len(cells) > max(point, label) and cells[label] not in NOTHING
        ]
    if widths == {3}:
        words = {"same": SAME, "must": SAME, "different": DIFFERENT, "cannot": DIFFERENT}
        kept = rows if rows[0][1][2].lower() in words else rows[1:]
        wrong = [(line, cells[2]) for line, cells in kept if cells[2].lower() not in words]
        if wrong:
            line, cell = wrong[0]
            raise InvalidInputError(f"Line {line} of {path.name} must end in `same` or `different`, not in `{cell}`.")
        return [
            Answer("pair", (lookup.one(a, line), lookup.one(b, line)), words[word.lower()])
            for line, (a, b, word) in kept
        ]
    raise InvalidInputError(
        f"{path.name} must have the columns id and label, or kind, points and answer, or three columns the last of"
        f" which says same or different; it begins with `{','.join(rows[0][1])}`."
    )


def _of_questions(rows: list[tuple[int, list[str]]], header: list[str], lookup: _Lookup) -> list[Answer]:
    kind, points, answer = (header.index(name) for name in ("kind", "points", "answer"))
    strays = header.index("strays") if "strays" in header else None
    found = []
    for line, cells in rows:
        if len(cells) <= max(kind, points, answer) or cells[answer] in NOTHING:
            continue
        about = tuple(lookup.several(cells[points], line))
        struck = (
            tuple(lookup.several(cells[strays], line))
            if strays is not None and cells[strays:] and cells[strays]
            else ()
        )
        try:
            found.append(Answer(cells[kind], about, cells[answer], struck))
        except InvalidInputError as error:
            raise InvalidInputError(f"Line {line} of {lookup.path.name}: {error}") from error
    return found


class _Lookup:
    """Positions of points by what the user calls them."""

    def __init__(self, dataset: Dataset, path: Path) -> None:
        self.path, self._dataset = path, dataset
        ids = [str(point) for point in dataset.ids]
        self._positions = {point: i for i, point in enumerate(ids)}
        self._repeated = {point for point, count in Counter(ids).items() if count > 1}

    def one(self, cell: str, line: int) -> int:
        """Find one point."""
        where = f"line {line} of {self.path.name}"
        if cell in self._repeated:
            raise InvalidInputError(f"`{cell}` in {where} must name one point; several have this id.")
        if cell not in self._positions:
            raise InvalidInputError(
                f"`{cell}` in {where} is no point of {self._dataset.name}, whose points are named like"
                f" `{self._dataset.ids[0]}` ({self._dataset.id_name})."
            )
        return self._positions[cell]

    def several(self, cell: str, line: int) -> list[int]:
        """Find points that stand in one cell."""
        if cell in self._positions:
            return [self.one(cell, line)]
        names = cell.split(BETWEEN)
        if cell.startswith("["):
            try:
                names = [str(name) for name in json.loads(cell)]
            except ValueError as error:
                raise InvalidInputError(f"Line {line} of {self.path.name}: `{cell}` is no list of points.") from error
        return [self.one(name.strip(), line) for name in names]
