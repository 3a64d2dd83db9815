"""A session about flowers, and a client that is let in."""

from __future__ import annotations

import itertools

import pytest

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from tests.cli.conftest import make_table
from xsdc.app.opening import open_run
from xsdc.app.routes import Events
from xsdc.app.serve import guarded_app
from xsdc.app.session import Session
from xsdc.app.store import Entry
from xsdc.runs import Configuration, DataOptions, RunFolder

HOST, TOKEN = "127.0.0.1:8000", "token-of-this-launch"
NUMBERS = itertools.count()


def entry(kind, points=(), answer="", **extra) -> Entry:
    name = f"entry-{next(NUMBERS):08d}"
    strays = extra.pop("strays", ())
    return Entry(name, extra.pop("gesture", name), kind, tuple(points), answer, tuple(strays), "ada", extra=extra)


def said(kind, points=(), answer="x", **more):
    name = f"entry-{next(NUMBERS):08d}"
    return {
        "id": name,
        "gesture": more.pop("gesture", name),
        "kind": kind,
        "points": list(points),
        "answer": answer,
    } | more


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A folder with data that was opened once, so that opening it again is quick."""
    folder = tmp_path_factory.mktemp("flowers")
    make_table().to_csv(folder / "flowers.csv", index=False)
    return folder


@pytest.fixture
def folder(fitted, tmp_path):
    return RunFolder(tmp_path / "run")


@pytest.fixture
def asked(fitted):
    data = DataOptions(str(fitted / "flowers.csv"), id_column="name", truth_column="truth", ignore=("kind",))
    return Configuration.make(data, {"n_clusters": 3, "effort": "fast"})


@pytest.fixture
def session(asked, folder):
    session = Session(open_run(asked, folder))
    yield session
    session.stop()


@pytest.fixture
def client(session, monkeypatch):
    monkeypatch.setattr("xsdc.app.routes.neighbor_places", lambda Z: Z[:, :2].astype("f4"))
    app = guarded_app(session, Events(), token=TOKEN, hosts=[HOST])
    with TestClient(app, base_url=f"http://{HOST}", headers={"origin": f"http://{HOST}"}) as client:
        assert client.get(f"/?token={TOKEN}", follow_redirects=False).status_code == 303
        yield client
