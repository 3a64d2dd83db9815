"""What the page asks for and sends."""

from __future__ import annotations

import asyncio
import io
import json
import time

import numpy as np
import pandas as pd

from tests.app.conftest import said
from xsdc.app.opening import ANSWERS
from xsdc.app.routes import Events
from xsdc.app.store import NotSavedError
from xsdc.runs import Configuration, RunFolder, fit_run
from xsdc.runs.manifest import Manifest


def send(client, *entries):
    answered = client.post("/api/answers", json={"entries": list(entries)})
    assert answered.status_code == 200, answered.text
    return answered.json()


def test_state_points_places_and_rows(client, session):
    state = client.get("/api/state").json()
    assert state["n"] == 90
    assert state["pictures"] == 0
    assert [each["size"] for each in state["classes"]] == [30, 30, 30]
    points = client.get("/api/points").content
    assert len(points) == 90 * 4
    codes = np.frombuffer(points[:180], dtype="<u2")
    assert (codes == session.solution.codes).all()
    places = np.frombuffer(client.get("/api/places").content, dtype="<f4")
    assert places.shape == (180,)
    rows = client.get("/api/rows?at=3&at=5").json()
    assert [row["id"] for row in rows] == ["flower 3", "flower 5"]
    assert ["colour", "pink"] in rows[0]["cells"]
    assert client.get("/api/rows?at=90").status_code == 422


def test_an_answer_is_saved_and_a_solution_follows(client, session):
    sent = said("label", [0], "rose")
    assert send(client, sent) == {"saved": [sent["id"]]}
    assert send(client, sent) == {"saved": [sent["id"]]}  # as after a connection that broke
    session.wait()
    state = client.get("/api/state").json()
    assert state["answers"] == 1
    assert state["gestures"][0]["text"] == "flower 0 is rose"
    send(client, said("undo", [], sent["gesture"]))
    session.wait()
    assert client.get("/api/state").json()["answers"] == 0


def test_what_was_not_saved_is_said(client, session, monkeypatch):
    def full(_entries):
        raise NotSavedError("Not saved: database or disk is full.")

    monkeypatch.setattr(session.opened.store, "add", full)
    answered = client.post("/api/answers", json={"entries": [said("label", [0], "rose")]})
    assert answered.status_code == 507
    assert "disk is full" in answered.json()["error"]
    monkeypatch.undo()
    assert client.get("/api/state").json()["answers"] == 0


def test_questions_and_sheets(client, session):
    questions = client.get("/api/questions").json()["questions"]
    assert len(questions) >= 10
    assert {"kind", "points", "choices", "score", "reason", "audit", "guess"} <= set(questions[0])
    sheets = client.get("/api/sheets").json()
    assert len(sheets) == 3
    for sheet in sheets:
        assert len(sheet["members"]) == 12
        assert set(sheet["least"]) < set(sheet["members"])


def test_a_group_is_split(client, session):
    code = int(session.solution.codes[0])
    answered = client.post("/api/split", json={"code": code, "gesture": "gesture-split"})
    assert 0 < answered.json()["moved"] < 30
    assert len(session.wait().classes) == 4
    assert client.post("/api/split", json={"code": 99, "gesture": "gesture-split"}).status_code == 422


def test_a_contradiction_is_in_the_state(client, session):
    for pair, answer in (((0, 1), "same"), ((1, 2), "same"), ((0, 2), "different")):
        send(client, said("pair", pair, answer))
    session.wait()
    (clash,) = client.get("/api/state").json()["clashes"]
    assert [each["text"] for each in clash["entries"]] == [
        "flower 0 and flower 1 are the same",
        "flower 1 and flower 2 are the same",
        "flower 0 and flower 2 are different",
    ]
    send(client, said("undo", [], clash["entries"][1]["gesture"]))
    session.wait()
    assert client.get("/api/state").json()["clashes"] == []


def test_out_and_in(client, session):
    send(client, said("label", [0], "rose"), said("label", [40], "tulip"), said("set", [70], "daisy|tulip"))
    send(client, said("label", [80], "daisy", audit=True), said("label", [7], "unsure"))
    session.wait()
    labels = pd.read_csv(io.StringIO(client.get("/api/out/labels.csv").text))
    assert labels.shape == (90, 4)
    assert labels["label"][0] == "rose"
    answers = client.get("/api/out/answers.csv").text
    assert answers.splitlines()[0] == "kind,points,answer,who,when,strays"
    assert "flower 80" not in answers
    assert "flower 80" in client.get("/api/out/audits.csv").text
    tasks = client.get("/api/out/label-studio.json").json()
    assert len(tasks) == 90
    assert tasks[0]["annotations"][0]["result"][0]["value"]["choices"] == ["rose"]
    assert tasks[70]["annotations"][0]["result"][0]["value"]["choices"] == ["daisy", "tulip"]
    before = session.wait().codes
    for gesture in {each["gesture"] for each in client.get("/api/state").json()["gestures"]}:
        send(client, said("undo", [], gesture))
    assert session.wait().known.facts.labels == {}
    for text in (answers, json.dumps(tasks)):
        assert client.post("/api/in", json={"text": text}).json() == {"taken": 3}
        assert session.wait().known.facts.labels == {0: "rose", 40: "tulip"}
        assert session.solution.known.facts.allowed == {70: ["daisy", "tulip"]}
        assert (session.solution.codes == before).mean() > 0.95
        send(client, said("undo", [], client.get("/api/state").json()["gestures"][0]["gesture"]))
        session.wait()
    assert client.post("/api/in", json={"text": "id,label\nflower 999,rose\n"}).status_code == 422
    assert client.post("/api/in", json={"text": "[1]"}).status_code == 422
    assert client.get("/api/out/report.html").status_code == 404  # not trained yet


def wait_for(client, status, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        state = client.get("/api/state").json()["training"]
        if state["status"] == status:
            return state
        time.sleep(0.05)
    raise AssertionError(state)


def test_training_in_a_process_of_its_own(client, session, tmp_path):
    for row, name in ((0, "rose"), (30, "tulip"), (60, "daisy")):
        send(client, said("label", [row], name))
    model = session.opened.model
    assert client.post("/api/training", json={"action": "start"}).json()["status"] == "running"
    assert client.post("/api/training", json={"action": "start"}).status_code == 422
    client.post("/api/training", json={"action": "pause"})
    assert wait_for(client, "paused")
    send(client, said("label", [1], "rose"))  # answering goes on meanwhile
    assert session.wait().known.facts.labels[1] == "rose"
    assert session.opened.model is model
    client.post("/api/training", json={"action": "resume"})
    wait_for(client, "done")
    folder = session.opened.folder
    assert folder.finished
    assert not (folder.path / ".refit").exists()
    assert session.opened.model is not model
    assert set(session.opened.model.classes_) == {"rose", "tulip", "daisy"}
    assert b"<html" in client.get("/api/out/report.html").content
    assert session.wait().known.facts.labels[1] == "rose"
    assert Manifest.read(folder.manifest).foreign(folder.outputs()) == []  # a further run may replace them
    kept = Configuration.read(folder.configuration)
    assert [path.rsplit("/", 1)[1] for path in kept.data.corrections] == [ANSWERS]
    again = RunFolder(tmp_path / "again")  # what the three lines of Python do
    fit_run(kept, again, report=False)
    assert again.labels.read_bytes() == folder.labels.read_bytes()


def test_a_training_does_not_replace_what_somebody_else_has_changed(client, session):
    for row, name in ((0, "rose"), (30, "tulip"), (60, "daisy")):
        send(client, said("label", [row], name))
    path = session.opened.folder.labels
    path.write_text("mine\n")
    client.post("/api/training", json={"action": "start"})
    assert "labels.csv" in wait_for(client, "failed")["error"]
    assert path.read_text() == "mine\n"


def test_a_training_that_is_stopped_leaves_the_old_result(client, session):
    send(client, said("label", [0], "rose"))
    client.post("/api/training", json={"action": "start"})
    client.post("/api/training", json={"action": "stop"})
    wait_for(client, "stopped")
    assert not session.opened.folder.finished
    assert session.opened.folder.model.exists()
    assert not (session.opened.folder.path / ".refit").exists()


def test_training_by_itself_after_so_many_answers(client, session):
    client.post("/api/training", json={"action": "every", "every": 2})
    send(client, said("label", [0], "rose"))
    session.wait()
    assert client.get("/api/state").json()["training"]["status"] == "idle"
    send(client, said("label", [30], "tulip"))
    session.wait()
    send(client, said("label", [60], "daisy"))
    wait_for(client, "done")


def test_events_reach_a_page():
    class Connected:
        async def is_disconnected(self):
            return False

    async def follow():
        events = Events()
        stream = events.stream(Connected())
        assert (await anext(stream)).startswith("event: hello")
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.01)
        await asyncio.to_thread(events.tell, "solution", {"version": 7})
        assert await asyncio.wait_for(waiting, 5) == 'event: solution\ndata: {"version": 7}\n\n'
        await stream.aclose()
        assert events._queues == set()

    asyncio.run(follow())
