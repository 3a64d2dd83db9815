"""Answers and labels in and out: CSV, Label Studio's JSON, and the lines of Python that make the model again."""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from xsdc.app.opening import ANSWERS, Opened
from xsdc.app.session import Session
from xsdc.app.store import Entry
from xsdc.errors import InvalidInputError
from xsdc.runs import Configuration
from xsdc.runs.answers import BETWEEN, COLUMNS, join_points, read_answers, write_rows
from xsdc.runs.corrections import with_corrections

FROM, TO = "label", "item"  # names of control and object in Label Studio's configuration


def labels_csv(session: Session) -> str:
    """The class of each point as it is now."""
    solution, dataset = session.solution, session.opened.dataset
    names = np.array([each.name for each in solution.classes])
    given = np.zeros(session.n, dtype=bool)
    given[list(solution.known.facts.labels)] = True
    table = pd.DataFrame(
        {
            "id": dataset.ids,
            "label": names[solution.codes],
            "probability": np.round(solution.probability, 6),
            "source": np.where(given, "given", "inferred"),
        }
    )
    return str(table.to_csv(index=False, lineterminator="\n"))


def answers_csv(opened: Opened, entries: Sequence[Entry]) -> str:
    """Answers as a file that `xsdc fit --corrections` takes."""
    ids = opened.dataset.ids
    rows = [
        {
            "kind": entry.kind,
            "points": join_points(entry.points, ids),
            "answer": entry.answer,
            "who": entry.who,
            "when": entry.at,
            "strays": join_points(entry.strays, ids) if entry.strays else "",
        }
        for entry in entries
    ]
    return write_rows(rows, COLUMNS)


def told(session: Session) -> list[Entry]:
    """Answers that the model is told: all but audits and those that clash."""
    known = session.solution.known
    clashing = {max(clash.entries, key=lambda entry: entry.seq).id for clash in known.clashes}
    return [entry for entry in known.live if not entry.extra.get("audit") and entry.id not in clashing]


def write_answers(session: Session) -> Configuration:
    """Write the answers beside the run, and return the configuration that fits with them."""
    opened = session.opened
    path = opened.folder.path / ANSWERS
    path.write_text(answers_csv(opened, told(session)), encoding="utf-8")
    known = session.solution.known
    count = len(known.classes) + len(known.open_groups)
    options = opened.configuration.options | {"n_clusters": count}
    configuration = Configuration(opened.configuration.data, options, opened.configuration.seed)
    return with_corrections(configuration, [str(path)])


def python_lines(opened: Opened) -> str:
    """Lines of Python that make the same model again from the same answers."""
    path = str(opened.folder.configuration.resolve())
    return (
        "from pathlib import Path\n"
        "from xsdc.runs import Configuration, RunFolder, fit_run\n"
        f'fit_run(Configuration.read(Path({path!r})), RunFolder(Path("again")))\n'
    )


def label_studio(session: Session) -> str:
    """All points as tasks of Label Studio, with answers as annotations and classes found as predictions."""
    solution, dataset = session.solution, session.opened.dataset
    facts = solution.known.facts
    tasks = []
    for i, (code, probability) in enumerate(zip(solution.codes.tolist(), solution.probability.tolist(), strict=True)):
        said = [facts.labels[i]] if i in facts.labels else facts.allowed.get(i)
        data = {"id": str(dataset.ids[i])}
        if isinstance(dataset.X, pd.DataFrame):
            data |= {str(name): str(value) for name, value in dataset.X.iloc[i].items()}
        task: dict[str, Any] = {"id": i, "data": data, "annotations": [], "predictions": []}
        if said:
            task["annotations"].append({"result": [_choice(said)]})
        guess = {"result": [_choice([solution.classes[code].name])], "score": round(probability, 6)}
        task["predictions"].append({**guess, "model_version": f"xsdc {solution.version}"})
        tasks.append(task)
    return json.dumps(tasks, ensure_ascii=False, indent=1)


def _choice(names: Sequence[str]) -> dict[str, Any]:
    return {"from_name": FROM, "to_name": TO, "type": "choices", "value": {"choices": list(names)}}


def read_in(session: Session, text: str, who: str) -> list[Entry]:
    """Take answers from the text of a file: CSV as `read_answers` takes it, or Label Studio's JSON."""
    gesture = uuid.uuid4().hex
    if text.lstrip().startswith("["):
        said = _from_label_studio(session, text)
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "answers.csv"
            path.write_text(text, encoding="utf-8")
            answers = read_answers(path, session.opened.dataset)
        said = [(answer.kind, answer.points, answer.answer, answer.strays) for answer in answers]
    if not said:
        raise InvalidInputError("The file holds no answer.")
    return [
        Entry(uuid.uuid4().hex, gesture, kind, points, answer, strays, who, extra={"lasso": True, "from": "file"})
        for kind, points, answer, strays in said
    ]


def _from_label_studio(session: Session, text: str) -> list[tuple[str, tuple[int, ...], str, tuple[int, ...]]]:
    try:
        tasks = json.loads(text)
        place = {str(name): i for i, name in enumerate(session.opened.dataset.ids)}
        said: list[tuple[str, tuple[int, ...], str, tuple[int, ...]]] = []
        for task in tasks:
            name = str(task["data"].get("id", task.get("id")))
            for annotation in task.get("annotations", [])[-1:]:
                chosen = [
                    str(choice)
                    for result in annotation.get("result", [])
                    if result.get("type") == "choices"
                    for choice in result["value"]["choices"]
                ]
                if chosen and name not in place:
                    raise InvalidInputError(f"{name!r} is no point of {session.opened.dataset.name}.")
                if chosen:
                    kind = "label" if len(chosen) == 1 else "set"
                    said.append((kind, (place[name],), BETWEEN.join(chosen), ()))
        return said
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"This is not a list of tasks as Label Studio exports them ({error}).") from error
