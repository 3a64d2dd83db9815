"""Nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.app.conftest import entry
from xsdc.app.store import NotSavedError, Store
from xsdc.errors import InvalidInputError

BURST = """
import sys
from pathlib import Path
from xsdc.app.store import Entry, Store
store = Store(Path(sys.argv[1]))
for i in range(2000):
    store.add([Entry(f"entry-{i}", f"entry-{i}", "label", (i,), "cat")])
    print(i, flush=True)
"""


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "answers.sqlite")
    yield store
    store.close()


def test_entries_come_back_as_they_were(store):
    sent = [entry("label", [3], "é|'\"; DROP TABLE entries"), entry("group", [1, 2], "cat", strays=[7], audit=True)]
    kept = store.add(sent)
    assert store.entries() == kept
    assert [(e.kind, e.points, e.answer, e.strays, dict(e.extra)) for e in kept] == [
        (e.kind, e.points, e.answer, e.strays, dict(e.extra)) for e in sent
    ]
    assert [e.seq for e in kept] == [1, 2]
    assert all(e.at for e in kept)


def test_what_is_sent_twice_is_kept_once(store):
    first, second = entry("label", [0], "a"), entry("label", [1], "b")
    assert len(store.add([first])) == 1
    assert [e.id for e in store.add([first, second])] == [second.id]
    assert len(store.entries()) == 2


def test_entries_can_neither_be_changed_nor_removed(store):
    store.add([entry("label", [0], "a")])
    for change in ("DELETE FROM entries", "UPDATE entries SET answer = 'b'"):
        with pytest.raises(sqlite3.DatabaseError, match="entries are only added"):
            store._db.execute(change)
    assert store.entries()[0].answer == "a"


def test_it_is_written_to_disk_before_it_counts(store):
    assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store._db.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_second_writer_is_refused(store, tmp_path):
    store.add([entry("label", [0], "a")])
    with pytest.raises(InvalidInputError, match="Where another `xsdc label` runs"):
        Store(tmp_path / "answers.sqlite")


def test_another_file_is_refused(tmp_path):
    (tmp_path / "answers.sqlite").write_bytes(b"something else " * 100)
    with pytest.raises(InvalidInputError, match="is no file of answers"):
        Store(tmp_path / "answers.sqlite")


def test_a_full_disk_loses_nothing_and_is_told(store):
    store.add([entry("label", [0], "a")])
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(NotSavedError, match="full"):
        store.add([entry("group", list(range(20_000)), "b"), entry("label", [2], "c")])
    assert [e.answer for e in store.entries()] == ["a"]
    store._db.execute("PRAGMA max_page_count = 100000")
    store.add([entry("label", [1], "b")])
    assert [e.answer for e in store.entries()] == ["a", "b"]


@pytest.mark.parametrize("moment", [0.0, 0.05, 0.15])
def test_a_kill_loses_no_acknowledged_answer(tmp_path, moment):
    """``python -m benchmarks.questions kills`` does this at fifty moments."""
    path = tmp_path / "answers.sqlite"
    source = Path(__file__).parents[2] / "src"
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", BURST, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(source)},
    )
    first = process.stdout.readline()
    time.sleep(moment)
    process.send_signal(signal.SIGKILL)
    acknowledged = [int(line) for line in [first, *process.stdout] if line.endswith("\n")]
    process.stdout.close()
    process.wait()
    store = Store(path)
    kept = {e.points[0] for e in store.entries()}
    store.close()
    assert acknowledged
    assert set(acknowledged) <= kept
    assert len(kept) <= len(acknowledged) + 2
