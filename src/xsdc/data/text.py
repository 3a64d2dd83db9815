"""Tables in text: their letters, what separates their cells, and their rows."""

from __future__ import annotations

import atexit
import codecs
import csv
import gzip
import io
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, TextIO, cast

import numpy as np
import pandas as pd

from xsdc.errors import InvalidInputError

STDIN = "-"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
SCANNED = 2**20  # bytes at a time
REFUSED = (
    'Put cells that hold the delimiter between quotes ("a, b"); where the table begins further down, or other cells'
    " separate it, the option `skip_rows` or the option `delimiter` says so."
)


@dataclass
class TextTable:
    """A table in text, read as it is needed; every cell is text, an empty one where nothing stands.

    Attributes
    ----------
    path : Path
        The file, gzipped or not.
    encoding, delimiter : str
        Its letters, and what separates its cells.
    columns : list of str
        Names of the columns.
    first : int
        Number of lines before the first row that is data.
    notes, doubts : list of str
        What reading had to assume, and what looks like a mistake.
    hint : str
        What to say where a column is not found.
    """

    path: Path
    encoding: str
    delimiter: str
    columns: list[str]
    first: int
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    hint: str = ""
    passed_over: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The file."""
        return self.path.name

    def read(self, rows: int) -> Iterator[pd.DataFrame]:
        """Yield so many rows at a time."""
        block: list[list[str]] = []
        for cells in self._records():
            block.append(cells)
            if len(block) == rows:
                yield self._frame(block)
                block = []
        if block:
            yield self._frame(block)

    def _frame(self, block: list[list[str]]) -> pd.DataFrame:
        columns = {name: as_objects(cells) for name, cells in zip(self.columns, zip(*block, strict=True), strict=True)}
        return pd.DataFrame(columns, dtype=object)

    def _records(self) -> Iterator[list[str]]:
        """Yield the cells of each row that holds anything; refuse rows of uneven length."""
        n, empty, remarks = len(self.columns), 0, []
        with opened(self.path, self.encoding) as file:
            lines = Lines(file, self.first)
            for begin, end, cells in rows_of(lines, self.delimiter, name=self.name):
                if not any(cells):
                    empty += bool(cells)  # lines without any cell are no rows
                elif len(cells) == n:
                    yield cells
                elif len(cells) > n and not any(cells[n:]):
                    yield cells[:n]
                elif len(cells) < n > 2 and not any(cells[1:]):
                    remarks.append(cells[0])
                else:
                    self._refuse(begin, end, len(cells))
        self.passed_over = _passed_over(empty, remarks)

    def _refuse(self, begin: int, end: int, count: int) -> None:
        where = f"line {end} has" if begin == end else f"the row in lines {begin} to {end} has"
        raise InvalidInputError(
            f"`{self.name}` must have {len(self.columns)} cells in every row; {where} {count}. {REFUSED}{self.hint}"
        )


class Lines:
    """The lines of a file but for the first ones; it is known where they end.

    Parameters
    ----------
    file : TextIO
        All lines.
    skipped : int
        How many are left out at first.
    """

    def __init__(self, file: TextIO, skipped: int = 0) -> None:
        self._file, self.ended, self.skipped = file, False, skipped
        for _ in range(skipped):
            next(file, None)

    def __iter__(self) -> Iterator[str]:
        yield from self._file
        self.ended = True


def rows_of(lines: Lines, delimiter: str, *, name: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the cells of each row, also of empty ones, with the numbers of the lines it begins and ends in."""
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    begin = lines.skipped + 1
    try:
        for cells in reader:
            if lines.ended:  # within a row: only a quote goes on to the end of the file
                raise InvalidInputError(_open_quote(name, begin, "and is not closed"))
            yield begin, lines.skipped + reader.line_num, cells
            begin = lines.skipped + reader.line_num + 1
    except csv.Error as error:
        raise InvalidInputError(_open_quote(name, begin, f"and makes a cell too long ({error})")) from error


def _open_quote(name: str, begin: int, what: str) -> str:
    return (
        f'`{name}` has a quote (") in the row of line {begin} that opens a cell {what}: all that follows is'
        " taken for one cell. Remove the quote, or write a second one where the cell ends; a quote within a cell is"
        ' written twice ("").'
    )


def _passed_over(empty: int, remarks: list[str]) -> list[str]:
    notes = []
    if empty:
        what = "1 row with nothing in it was" if empty == 1 else f"{empty:,} rows with nothing in them were"
        notes.append(f"{what} passed over and not counted.")
    if remarks:
        more = f" and {len(remarks) - 1} more" if len(remarks) > 1 else ""
        notes.append(f"Lines with a single cell were passed over as remarks: `{remarks[0][:60]}`{more}.")
    return notes


def as_objects(cells: tuple[str, ...] | list[str]) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    """Make an array of cells of any type."""
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


@contextmanager
def opened(path: Path, encoding: str) -> Iterator[TextIO]:
    """Open a text file, with the ends of lines as they are."""
    with open_bytes(path) as file:
        yield cast("TextIO", io.TextIOWrapper(file, encoding=encoding, newline=""))


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, unpacked where it is gzipped; say what is wrong where it cannot be read."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            with gzip.GzipFile(fileobj=raw) if packed else raw as file:
                yield cast("IO[bytes]", file)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidInputError(f"`{path.name}` is a damaged gzip file: {error}.") from error
    except OSError as error:
        raise InvalidInputError(f"`{path}` cannot be read: {error.strerror or error}.") from error


def find_encoding(path: Path, asked: str | None = None) -> tuple[str, list[str]]:
    """Find the letters of a file: UTF-8, UTF-16 by its mark or its zeros, else Windows-1252; and say so.

    Parameters
    ----------
    path : Path
        A file, gzipped or not.
    asked : str, optional
        What the user says it is.
    """
    with open_bytes(path) as file:
        start = file.read(64)
    if asked is not None:
        return _asked_encoding(path, asked), []
    encoding = "utf-16" if start[:2] in UTF16 else "utf-8-sig"
    if start[1::2].count(0) > len(start) // 3 and start[:2] not in UTF16:
        encoding = "utf-16-le"
    if _decodes(path, encoding):
        return encoding, []
    encoding = "cp1252" if _decodes(path, "cp1252") else "latin-1"
    called = "Windows-1252" if encoding == "cp1252" else "Latin-1"
    _decodes(path, encoding)
    note = (
        f"`{path.name}` is not UTF-8 and was read as {called}; look at letters with accents, and give the option"
        " `encoding` if they are wrong."
    )
    return encoding, [note]


def _asked_encoding(path: Path, asked: str) -> str:
    try:
        codecs.lookup(asked)
    except LookupError as error:
        raise InvalidInputError(f"encoding must be one that Python knows, such as utf-8; it is {asked!r}.") from error
    if not _decodes(path, asked):
        raise InvalidInputError(
            f"`{path.name}` is not written in {asked}. Give another one with the option `encoding`."
        )
    return "utf-8-sig" if codecs.lookup(asked).name == "utf-8" else asked


def _decodes(path: Path, encoding: str) -> bool:
    """Decode a whole file, piece by piece; refuse what is no text, or has none in it."""
    decoder = codecs.getincrementaldecoder(encoding)()
    blank, foreign = True, False
    try:
        with open_bytes(path) as file:
            while piece := file.read(SCANNED):
                letters = decoder.decode(piece)
                foreign = foreign or "\x00" in letters
                blank = blank and not letters.strip()
            blank = blank and not decoder.decode(b"", final=True).strip()
    except UnicodeError:
        return False
    if foreign:
        raise InvalidInputError(f"`{path.name}` is not a table in text: it holds bytes that no text has.")
    if blank:
        raise InvalidInputError(f"`{path.name}` is empty. A table needs a line of names and at least one row.")
    return True


def unpacked_size(path: Path) -> int:
    """Count the bytes of a file, unpacked."""
    with open_bytes(path) as file:
        if not isinstance(file, gzip.GzipFile):
            return path.stat().st_size
        return sum(len(piece) for piece in iter(lambda: file.read(SCANNED), b""))


@cache
def stdin_file() -> Path:
    """Write what comes by standard input to a file, which can be read as often as needed until the program ends."""
    folder = Path(tempfile.mkdtemp(prefix="xsdc-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "stdin"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file, SCANNED)
    return path
