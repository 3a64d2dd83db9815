"""Limits of reading: how many bytes, rows and columns a source may have, and how long it may take."""

from __future__ import annotations

import gzip
import math
import signal
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from xsdc.data.archives import most_bytes, open_zip
from xsdc.data.h5ad import open_h5ad
from xsdc.data.images import open_images
from xsdc.data.layout import DELIMITERS
from xsdc.data.sheets import open_parquet, parquet_size
from xsdc.data.stored import StoredArray, open_npy, open_npz
from xsdc.errors import InvalidInputError

TABLE_COLUMNS = 50_000  # each is looked at for what it holds, which takes a millisecond or more
ARRAY_COLUMNS = 10_000_000
ROWS = 10**9
DEFLATED = 1032  # times that deflate shrinks anything at most
PATIENCE, SPEED = 60.0, 100_000  # seconds for any source, and bytes a second beyond
PIECE = 2**20


@dataclass(frozen=True)
class Limits:
    """What a source may take at most; None for a limit that depends on the source.

    Attributes
    ----------
    bytes : float or None
        Bytes, unpacked. By default 4 GB or twenty times the size of the file, whichever is more; of files that are not
        packed as many as they have.
    rows : float or None
        Rows, or images. By default a billion.
    columns : float or None
        Columns, or numbers of a row. By default 50,000 of a table and ten million of an array.
    seconds : float or None
        Time that reading takes. By default a minute, and a second more for every 100 kB.
    """

    bytes: float | None = None
    rows: float | None = None
    columns: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and not (
                isinstance(value, int | float) and not isinstance(value, bool) and value > 0 and not math.isnan(value)
            ):
                raise InvalidInputError(f"The limit {each.name} must be a number above 0; it is {value!r}.")

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> Limits:
        """Make limits of names and values."""
        names = [each.name for each in fields(cls)]
        strange = sorted(set(given or ()) - set(names))
        if strange:
            raise InvalidInputError(f"There is no limit {strange[0]!r}; there are {', '.join(names)}.")
        return cls(**(given or {}))

    def check(self, path: Path, kind: str) -> None:
        """Refuse a source that is beyond the limits, without reading it."""
        if kind in ("table", "json"):
            self._check_text(path, columns=kind == "table")
            return
        if kind in ("sheet", "sparse", "texts"):
            self._check_parts(path)
            return
        n, width, size = measure(path, kind, most=self.bytes)
        columns = TABLE_COLUMNS if kind == "parquet" else ARRAY_COLUMNS
        self._require(path, "rows", n, ROWS)
        self._require(path, "columns", width, columns)
        self._require(path, "bytes", size, math.inf if kind in ("npy", "images") else most_bytes(path.stat().st_size))

    @contextmanager
    def timed(self, path: Path) -> Iterator[None]:
        """Stop reading a source after the time that it may take, where the system has an alarm."""
        size = path.stat().st_size if path.is_file() else 0
        usual = math.inf if path.is_dir() else PATIENCE + size / SPEED
        seconds = usual if self.seconds is None else self.seconds
        usable = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
        if not usable or math.isinf(seconds) or signal.getitimer(signal.ITIMER_REAL)[0]:
            yield
            return

        def stop(*_: object) -> None:
            raise InvalidInputError(
                f"Reading `{path.name}` takes more than {seconds:.0f} seconds. If that is right, allow more seconds by"
                " the limits of reading."
            )

        former = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, former)

    def _check_parts(self, path: Path) -> None:
        """Look at the entries of a zip, or at the files of a folder."""
        if path.is_dir():
            sizes = [file.stat().st_size for file in path.rglob("*") if file.is_file()]
            self._require(path, "bytes", sum(sizes), math.inf)
            self._require(path, "rows", len(sizes), ROWS)
            return
        with open_zip(path, name=path.name, most=self.bytes):
            pass  # opening looks at its list of entries

    def _check_text(self, path: Path, *, columns: bool) -> None:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        size: float = path.stat().st_size
        if packed:
            size = _unpacked(path, self.bytes if self.bytes is not None else most_bytes(path.stat().st_size))
        self._require(path, "bytes", size, most_bytes(path.stat().st_size) if packed else math.inf)
        if columns:
            self._require(path, "columns", _cells(path, packed=packed), TABLE_COLUMNS)
        rows = ROWS if self.rows is None else self.rows
        if size > rows:  # else there cannot be as many
            self._require(path, "rows", _lines(path, packed=packed), ROWS)

    def _require(self, path: Path, name: str, count: float, usual: float) -> None:
        given = getattr(self, name)
        most = usual if given is None else given
        if count > most:
            raise InvalidInputError(
                f"`{path.name}` has {'more than ' if count == most + 1 else ''}{count:,.0f} {name}; {most:,.0f} are"
                f" allowed. If that is right, allow more {name} by the limits of reading."
            )


def measure(path: Path, kind: str, *, most: float | None = None) -> tuple[int, int, int]:
    """Tell the rows, columns and unpacked bytes of a source that says so itself."""
    if kind == "images":
        with open_images(path, most=most) as source:
            return len(source.names), 0, 0  # its bytes were looked at as it was opened
    if kind == "parquet":
        with open_parquet(path) as file:
            return file.metadata.num_rows, file.metadata.num_columns, parquet_size(path)
    if kind == "h5ad":
        with open_h5ad(path) as stored:
            return stored.shape[0], stored.shape[1], stored.size
    arrays = [open_npy(path)] if kind == "npy" else list(open_npz(path, most=most).values())
    return max(map(_rows, arrays), default=0), max(map(_width, arrays), default=0), sum(a.nbytes for a in arrays)


def _rows(array: StoredArray) -> int:
    return array.shape[0] if array.shape else 1


def _width(array: StoredArray) -> int:
    return int(np.prod(array.shape[1:], dtype=object))


def _unpacked(path: Path, most: float) -> float:
    """Bytes of a gzipped file; counting ends a little beyond the most that is allowed."""
    size = path.stat().st_size
    if DEFLATED * size <= most:
        return DEFLATED * size
    total = 0
    try:
        with gzip.open(path) as file:
            while total <= most and (piece := file.read(PIECE)):
                total += len(piece)
    except (OSError, EOFError, zlib.error):
        return 0  # the reader says what is wrong with it
    return total


def _cells(path: Path, *, packed: bool) -> int:
    """Count the cells of the first line, as the delimiter that is most frequent in it would have them."""
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            counts = dict.fromkeys(DELIMITERS, 0)
            while piece := file.readline(PIECE):
                for delimiter in DELIMITERS:
                    counts[delimiter] += piece.count(delimiter.encode())
                if piece.endswith(b"\n") and any(counts.values()):
                    break
            return max(counts.values()) + 1
    except (OSError, EOFError, zlib.error):
        return 0


def _lines(path: Path, *, packed: bool) -> int:
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            return sum(piece.count(b"\n") for piece in iter(lambda: file.read(PIECE), b""))
    except (OSError, EOFError, zlib.error):
        return 0
