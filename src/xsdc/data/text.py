"""Text files of rows: their letters, what separates their cells, and where a row is broken."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from xsdc.data.memory import available_memory, require_memory
from xsdc.errors import InvalidInputError

# In this order where several fit: a comma may be a decimal sign, and | stands between labels of a choice.
DELIMITERS = "\t;,|"
SAMPLE = 50
UTF16 = (b"\xff\xfe", b"\xfe\xff")
COPIES = 3  # bytes, text, and what is made of it


@dataclass(frozen=True)
class Text:
    """A text file in memory: what it says, what separates its cells, and what reading had to assume."""

    content: str
    delimiter: str
    notes: list[str]

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of each row that is not empty, with the number of the line it ends in."""
        reader = csv.reader(io.StringIO(self.content, newline=""), delimiter=self.delimiter, skipinitialspace=True)
        try:
            for row in reader:
                if len(row) > 1 or (row and row[0].strip()):
                    yield reader.line_num, row
        except csv.Error as error:
            raise InvalidInputError(f"Line {reader.line_num} cannot be read as cells: {error}.") from error


def read_text(path: Path) -> Text:
    """Read a file of rows, gzipped or not, in UTF-8, UTF-16 (with its mark) or else Latin-1.

    Parameters
    ----------
    path : Path
        A file.

    Returns
    -------
    Text
    """
    raw = read_bytes(path)
    content, notes = _decoded(raw, name=path.name)
    if "\x00" in content:
        raise InvalidInputError(f"`{path.name}` is not a table in text: it holds bytes that no text has.")
    if not content.strip():
        raise InvalidInputError(f"`{path.name}` is empty. A table needs a line of names and at least one row.")
    return Text(content, _delimiter(content), notes)


def read_bytes(path: Path) -> bytes:
    """Read a whole file, unpacked where it is gzipped."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        if not packed:
            require_memory(COPIES * path.stat().st_size, what=f"Reading `{path.name}`")
            return path.read_bytes()
        limit = (available_memory() or 2**62) // COPIES
        with gzip.open(path) as file:
            raw: bytes = file.read(limit)
            if file.read(1):
                require_memory(COPIES * (limit + 1), what=f"Reading `{path.name}`, unpacked,")
        return raw
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidInputError(f"`{path.name}` is a damaged gzip file: {error}.") from error
    except OSError as error:
        raise InvalidInputError(f"`{path}` cannot be read: {error.strerror or error}.") from error


def _decoded(raw: bytes, *, name: str) -> tuple[str, list[str]]:
    try:
        return raw.decode("utf-16" if raw.startswith(UTF16) else "utf-8-sig"), []
    except UnicodeDecodeError:
        return raw.decode("latin-1"), [f"`{name}` is not UTF-8 and was read as Latin-1; look at letters with accents."]


def _delimiter(content: str) -> str:
    """Find what separates cells: what cuts most of the first lines into as many cells as the first, two or more."""
    lines = [line for line in itertools.islice(io.StringIO(content, newline=""), SAMPLE) if line.strip()]

    def regularity(delimiter: str) -> float:
        try:
            counts = [len(row) for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True)]
        except csv.Error:  # a cell longer than any should be, for one
            return 0.0
        return sum(count == counts[0] for count in counts) / len(counts) if counts[0] > 1 else 0.0

    scores = {delimiter: regularity(delimiter) for delimiter in DELIMITERS}
    best = max(scores, key=scores.__getitem__)
    return best if scores[best] > 0 else ","
