"""The one table of everything a person has said: append-only, written to disk before it counts as saved."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from xsdc.errors import InvalidInputError

VERSION = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    gesture TEXT NOT NULL,
    kind TEXT NOT NULL,
    points TEXT NOT NULL,
    answer TEXT NOT NULL,
    strays TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    extra TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TRIGGER IF NOT EXISTS no_update BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries are only added'); END;
CREATE TRIGGER IF NOT EXISTS no_delete BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries are only added'); END;
"""


class NotSavedError(Exception):
    """An entry could not be written; the message says why."""


@dataclass(frozen=True)
class Entry:
    """A line of the table.

    Attributes
    ----------
    id : str
        Chosen by the page, so that an entry that is sent twice is kept once.
    gesture : str
        Entries with the same gesture are undone together.
    kind : str
        "label", "pair", "set", "group"; "undo", "merge" or "split".
    points : tuple of int
        Row numbers.
    answer : str
        What was said; of "undo" the gesture that is taken back.
    strays : tuple of int
        Row numbers struck out of a group.
    who : str
        Whom the person says to be.
    at : str
        When it was saved, UTC.
    extra : mapping
        Further facts: whether the question was an audit, and which group was named.
    seq : int
        Place in the table, 0 before it is saved.
    """

    id: str
    gesture: str
    kind: str
    points: tuple[int, ...] = ()
    answer: str = ""
    strays: tuple[int, ...] = ()
    who: str = ""
    at: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    seq: int = 0


class Store:
    """Entries in a SQLite file, with one writer.

    Parameters
    ----------
    path : Path
        The file; made where it is not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            self._db = sqlite3.connect(path, timeout=0.5, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA locking_mode=EXCLUSIVE")  # a second writer is refused, not interleaved
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.executescript(SCHEMA)
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("INSERT OR IGNORE INTO about VALUES ('version', ?)", (str(VERSION).encode(),))
            self._db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise InvalidInputError(
                f"{path} cannot be opened ({error}). Where another `xsdc label` runs on this folder, use its page."
            ) from error
        except sqlite3.DatabaseError as error:
            raise InvalidInputError(f"{path} is no file of answers, or is damaged ({error}).") from error
        version = self.about("version")
        if version != str(VERSION).encode():
            raise InvalidInputError(f"{path} was written by another release of xsdc.")

    def add(self, entries: Sequence[Entry]) -> list[Entry]:
        """Write entries, all or none, and return those that were new once they are on disk.

        Raises
        ------
        NotSavedError
            Where they could not be written; nothing of them is kept.
        """
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                new = []
                for entry in entries:
                    columns = (
                        entry.id,
                        entry.gesture,
                        entry.kind,
                        json.dumps(entry.points),
                        entry.answer,
                        json.dumps(entry.strays),
                        entry.who,
                        at,
                        json.dumps(dict(entry.extra), ensure_ascii=False),
                    )
                    cursor = self._db.execute(
                        "INSERT OR IGNORE INTO entries (id, gesture, kind, points, answer, strays, who, at, extra)"
                        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        columns,
                    )
                    if cursor.rowcount:
                        new.append(_entry((cursor.lastrowid, *columns)))
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise NotSavedError(f"Not saved: {error}.") from error
        return new

    def entries(self) -> list[Entry]:
        """All entries in their order."""
        with self._lock:
            rows = self._db.execute(
                "SELECT seq, id, gesture, kind, points, answer, strays, who, at, extra FROM entries ORDER BY seq"
            ).fetchall()
        return [_entry(row) for row in rows]

    def about(self, key: str) -> bytes | None:
        """Read a fact about the session."""
        with self._lock:
            row = self._db.execute("SELECT value FROM about WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def keep(self, key: str, value: bytes) -> None:
        """Write a fact about the session, once."""
        with self._lock:
            self._db.execute("INSERT OR IGNORE INTO about VALUES (?, ?)", (key, value))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()


def _entry(row: Sequence[Any]) -> Entry:
    seq, id_, gesture, kind, points, answer, strays, who, at, extra = row
    return Entry(
        id=id_,
        gesture=gesture,
        kind=kind,
        points=tuple(json.loads(points)),
        answer=answer,
        strays=tuple(json.loads(strays)),
        who=who,
        at=at,
        extra=json.loads(extra),
        seq=seq,
    )
