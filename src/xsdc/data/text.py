"""Text files of rows: their letters, what separates their cells, and where a row is broken."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO, cast

from xsdc.errors import InvalidInputError

# In this order where several fit: a comma may be a decimal sign, and | stands between labels of a choice.
DELIMITERS = "\t;,|"
SAMPLE = 50
UTF16 = (b"\xff\xfe", b"\xfe\xff")
COPIES = 3  # bytes, text, and what is made of it
SCANNED = 2**20  # bytes at a time


@dataclass(frozen=True)
class Text:
    """A text file, read as it is needed: its letters, what separates its cells, and what reading had to assume.

    Attributes
    ----------
    path : Path
        The file, gzipped or not.
    encoding : str
        Its letters.
    delimiter : str
        What separates its cells.
    size : int
        Its bytes, unpacked.
    notes : list of str
        What reading had to assume.
    """

    path: Path
    encoding: str
    delimiter: str
    size: int
    notes: list[str]

    @contextmanager
    def opened(self) -> Iterator[TextIO]:
        """Open it, with the ends of lines as they are."""
        with _opened(self.path) as file:
            yield cast("TextIO", io.TextIOWrapper(file, encoding=self.encoding, newline=""))

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of each row that is not empty, with the number of the line it ends in."""
        with self.opened() as file:
            reader = csv.reader(file, delimiter=self.delimiter, skipinitialspace=True)
            try:
                for row in reader:
                    if len(row) > 1 or (row and row[0].strip()):
                        yield reader.line_num, row
            except csv.Error as error:
                raise InvalidInputError(f"Line {reader.line_num} cannot be read as cells: {error}.") from error


def read_text(path: Path) -> Text:
    """Look through a file of rows, gzipped or not, in UTF-8, UTF-16 (with its mark) or else Latin-1.

    Parameters
    ----------
    path : Path
        A file.

    Returns
    -------
    Text
    """
    with _opened(path) as file:
        encoding = "utf-16" if file.read(2) in UTF16 else "utf-8-sig"
    notes = []
    try:
        size = _scan(path, encoding)
    except UnicodeDecodeError:
        encoding, notes = (
            "latin-1",
            [f"`{path.name}` is not UTF-8 and was read as Latin-1; look at letters with accents."],
        )
        size = _scan(path, encoding)
    text = Text(path, encoding, ",", size, notes)
    with text.opened() as opened:
        lines = [line for line in itertools.islice(opened, SAMPLE) if line.strip()]
    return Text(path, encoding, _delimiter(lines), size, notes)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
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


def _scan(path: Path, encoding: str) -> int:
    """Decode a whole file, piece by piece, and count its bytes; refuse what is no text, or has none in it."""
    decoder = codecs.getincrementaldecoder(encoding)()
    size, blank, foreign = 0, True, False
    with _opened(path) as file:
        while piece := file.read(SCANNED):
            size += len(piece)
            letters = decoder.decode(piece)
            foreign = foreign or "\x00" in letters
            blank = blank and not letters.strip()
        blank = blank and not decoder.decode(b"", final=True).strip()
    if foreign:
        raise InvalidInputError(f"`{path.name}` is not a table in text: it holds bytes that no text has.")
    if blank:
        raise InvalidInputError(f"`{path.name}` is empty. A table needs a line of names and at least one row.")
    return size


def _delimiter(lines: list[str]) -> str:
    """Find what separates cells: what cuts most of the first lines into as many cells as the first, two or more."""

    def regularity(delimiter: str) -> float:
        try:
            counts = [len(row) for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True)]
        except csv.Error:  # a cell longer than any should be, for one
            return 0.0
        return sum(count == counts[0] for count in counts) / len(counts) if counts and counts[0] > 1 else 0.0

    scores = {delimiter: regularity(delimiter) for delimiter in DELIMITERS}
    best = max(scores, key=scores.__getitem__)
    return best if scores[best] > 0 else ","
