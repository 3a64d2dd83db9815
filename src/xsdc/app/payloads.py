"""What the page is told: plain data of a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from xsdc.app.audits import EVERY
from xsdc.app.replay import Clash, live_entries
from xsdc.app.session import AUDIT, AUDIT_AGAIN, Class, Session, Solution
from xsdc.app.store import Entry
from xsdc.queries import Question
from xsdc.runs.answers import DIFFERENT, NOTHING, ONE_THING, SAME

MOST_COLUMNS = 24  # of a row that are shown
MOST_LETTERS = 120  # of a cell
MOST_GESTURES = 50  # that are listed to be undone
MOST_NAMED = 3  # points that are named in a sentence


def state_of(session: Session) -> dict[str, Any]:
    """Everything but points and questions."""
    solution, dataset = session.solution, session.opened.dataset
    sizes = np.bincount(solution.codes, minlength=len(solution.classes)).tolist()
    measured = solution.estimate
    order = {name: place for place, name in enumerate(solution.known.classes)}
    return {
        "version": solution.version,
        "seq": solution.seq,
        "name": dataset.name,
        "kind": dataset.kind,
        "n": session.n,
        "pictures": 0 if dataset.pictures is None else max(dataset.pictures.shape[1:3]),  # pixels of the longer side
        "classes": [
            {**_class(each, size), "order": order.get(each.name, -1)}
            for each, size in zip(solution.classes, sizes, strict=True)
        ],
        "checked": sorted(solution.known.checked),
        "answers": len(solution.known.live) - len(solution.known.audits),
        "audits": {"right": measured.right, "n": measured.n, "interval": measured.interval, "every": EVERY},
        "doubtful": int((solution.probability < 0.5).sum()),
        "curve": session.curve,
        "clashes": [describe_clash(session, clash) for clash in solution.known.clashes],
        "gestures": _gestures(session),
        "seconds": solution.seconds,
    }


def _class(each: Class, size: int) -> dict[str, Any]:
    return {"name": each.name, "group": each.group, "named": each.named, "colour": each.colour, "size": size}


def _gestures(session: Session) -> list[dict[str, Any]]:
    """The last gestures that can be undone, the newest first; those that the solver has not seen yet among them."""
    found: dict[str, dict[str, Any]] = {}
    for entry in reversed(live_entries(session.entries())):
        if entry.gesture not in found:
            if len(found) >= MOST_GESTURES:
                break
            found[entry.gesture] = {"gesture": entry.gesture, "text": describe(session, entry), "at": entry.at}
    return list(found.values())


def describe(session: Session, entry: Entry) -> str:
    """Say what an entry says."""
    points = _named(session, entry.points)
    if entry.kind == "merge":
        first, second = (int(part) + 1 for part in entry.answer.split("|"))
        return f"group {second} was merged into group {first}"
    if entry.kind == "split":
        return f"{len(entry.points):,} points were split off"
    if entry.answer in NOTHING:
        return f"{points}: {'skipped' if entry.answer == 'skip' else 'not sure'}"
    if entry.kind == "pair":
        return f"{points} are {'the same' if entry.answer == SAME else 'different'}"
    if entry.kind == "group":
        struck = f", without {_named(session, entry.strays)}" if entry.strays else ""
        what = "are one thing" if entry.answer == ONE_THING else f"are {entry.answer}"
        return f"{points} {what}{struck}"
    return f"{points} is {entry.answer.replace('|', ' or ')}"


def _named(session: Session, points: Sequence[int]) -> str:
    ids = [str(session.opened.dataset.ids[i]) for i in points[:MOST_NAMED]]
    more = f" and {len(points) - MOST_NAMED:,} more" if len(points) > MOST_NAMED else ""
    return (" and ".join(ids) if len(points) == 2 else ", ".join(ids)) + more


def describe_clash(session: Session, clash: Clash) -> dict[str, Any]:
    """A chain of answers, each with what undoes it."""
    return {
        "entries": [
            {
                "gesture": entry.gesture,
                "text": describe(session, entry),
                "points": list(entry.points[:2]),
                "kind": entry.kind,
                "same": entry.answer != DIFFERENT,
            }
            for entry in clash.entries
        ]
    }


def questions_of(session: Session) -> dict[str, Any]:
    """The next questions; the guess in each is shown only once it is answered."""
    solution = session.solution
    return {"version": solution.version, "questions": [_question(solution, each) for each in solution.questions]}


def _question(solution: Solution, question: Question) -> dict[str, Any]:
    guess = [
        {"name": solution.classes[solution.codes[i]].name, "probability": round(float(solution.probability[i]), 4)}
        for i in question.points
    ]
    return {
        "kind": question.kind,
        "points": list(question.points),
        "choices": list(question.choices),
        "score": round(question.score, 4),
        "reason": question.reason,
        "audit": question.reason in (AUDIT, AUDIT_AGAIN),
        "again": question.reason == AUDIT_AGAIN,
        "guess": guess,
    }


def sheets_of(session: Session) -> list[dict[str, Any]]:
    """Groups and classes with the members that are shown of each."""
    solution = session.solution
    sizes = np.bincount(solution.codes, minlength=len(solution.classes))
    found = []
    for code, each in enumerate(solution.classes):
        if sizes[code]:
            members, strays = session.members(code)
            found.append({**_class(each, int(sizes[code])), "code": code, "members": members, "least": strays})
    return sorted(found, key=lambda sheet: (sheet["named"], -sheet["size"]))


def rows_of(session: Session, points: Sequence[int]) -> list[dict[str, Any]]:
    """What points are called, and their cells where they are rows of a table."""
    dataset = session.opened.dataset
    found = []
    for i in points:
        cells: list[tuple[str, str]] = []
        if isinstance(dataset.X, pd.DataFrame):
            row = dataset.X.iloc[i, :MOST_COLUMNS]
            cells = [(str(name), _cell(value)) for name, value in row.items()]
        elif dataset.pictures is None:
            cells = [(f"column {c}", _cell(value)) for c, value in enumerate(np.ravel(dataset.X[i])[:MOST_COLUMNS])]
        found.append({"row": i, "id": str(dataset.ids[i]), "cells": cells})
    return found


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return "missing"
    text = f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"
