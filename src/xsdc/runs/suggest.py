"""The most useful questions about the data of a run, as a table to be filled in."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from xsdc import XSDC
from xsdc.data import Preparation, Rows
from xsdc.errors import InvalidInputError
from xsdc.queries import Kind, Question, suggest
from xsdc.runs.answers import Answer, join_points, write_rows
from xsdc.runs.configuration import Configuration
from xsdc.runs.corrections import read_corrections
from xsdc.runs.folder import RunFolder
from xsdc.runs.given import Given, read_given

COLUMNS = ("kind", "points", "question", "score", "reason", "answer")
HOW = {
    "label": "What is this? Write its class.",
    "pair": "Are these two the same or different? Write same or different.",
    "set": "Which of these could it be: {choices}? Write one, or several with | between them.",
    "group": "Is this group one thing? Write its class, after taking out of points what does not belong to it;"
    " 'one thing' if it has no name; 'no' if it is not one.",
}


def suggest_run(
    folder: RunFolder,
    n: int,
    *,
    kinds: Sequence[Kind],
    strategy: str = "useful",
    seed: int = 0,
) -> tuple[list[Question], Given]:
    """Find the most useful questions about the data of a finished run.

    Parameters
    ----------
    folder : RunFolder
        The run; its data must still be where it was.
    n : int
        How many questions.
    kinds : sequence of str
        Kinds of questions that may be asked.
    strategy : str
        Which points to ask about.
    seed : int
        Source of randomness.
    """
    folder.require(folder.model, folder.preparation, folder.configuration, folder.labels)
    configuration = Configuration.read(folder.configuration)
    given = read_given(configuration.data, seed=configuration.seed)
    if isinstance(given.dataset.X, Rows):
        raise InvalidInputError("The data do not fit in memory. Suggest questions about a part of them.")
    model = XSDC.load(folder.model)
    Z = Preparation.load(folder.preparation).transform(given.dataset)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit has said it
        questions = suggest(
            model,
            Z,
            given.y,
            n=n,
            kinds=kinds,
            strategy=strategy,
            asked=[_as_question(answer) for answer in read_corrections(configuration.data.corrections, given.dataset)],
            must_link=given.must_link if len(given.must_link) else None,
            random_state=seed,
        )
    return questions, given


def _as_question(answer: Answer) -> Question:
    return Question(answer.kind, answer.points, (), 0.0, "asked before")  # type: ignore[arg-type]  # checked by Answer


def write_questions(questions: Sequence[Question], given: Given, path: Path) -> None:
    """Write questions as a table with an empty column for the answers."""
    rows = [
        {
            "kind": question.kind,
            "points": join_points(question.points, given.dataset.ids),
            "question": HOW[question.kind].format(choices=", ".join(question.choices)),
            "score": float(np.round(question.score, 3)),
            "reason": question.reason,
            "answer": "",
        }
        for question in questions
    ]
    path.write_text(write_rows(rows, COLUMNS), encoding="utf-8")
