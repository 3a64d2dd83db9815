"""Text files of rows: their letters, what separates their cells, and where a row is broken."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TextIO, cast

from xsdc.errors import InvalidInputError

# In this order where several fit: a comma may be a decimal sign, and | stands between labels of a choice.
DELIMITERS = "\t;,|"
SAMPLE = 50
UTF16 = (b"\xff\xfe", b"\xfe\xff")
COPIES = 3  # bytes, text, and what is made of it
SCANNED = 2**20  # bytes at a time
SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # a first line that Excel understands
REMARK = "#"
FIGURE = re.compile(r"[-+]?[0-9.,]*[0-9]([eE][-+]?[0-9]+)?")


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
    left_out : frozenset of int
        Numbers of lines, from 1, that are no rows.
    """

    path: Path
    encoding: str
    delimiter: str
    size: int
    notes: list[str]
    left_out: frozenset[int] = frozenset()

    @contextmanager
    def opened(self) -> Iterator[TextIO]:
        """Open it without the lines that are no rows, with the ends of lines as they are."""
        with self._whole() as file:
            yield cast("TextIO", Kept(file, self.left_out)) if self.left_out else file

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of each row that is not empty, with the number of the line it ends in."""
        for _, end, cells in self.records():
            if not is_empty(cells):
                yield end, cells

    def records(self) -> Iterator[tuple[int, int, list[str]]]:
        """Yield the cells of each row, also of empty ones, with the numbers of the lines it begins and ends in."""
        with self._whole() as file:
            lines = RowLines(file, self.left_out)
            try:
                for row in csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True):
                    if lines.ended:  # within a row: only a quote goes on to the end of the file
                        raise InvalidInputError(self._open_quote(lines, "and is not closed"))
                    yield lines.begin, lines.number, row
                    lines.end_row()
            except csv.Error as error:
                if lines.number > lines.begin:
                    raise InvalidInputError(self._open_quote(lines, f"and makes a cell too long ({error})")) from error
                raise InvalidInputError(
                    f"Line {lines.number} of `{self.path.name}` cannot be read as cells: {error}."
                ) from error

    def _open_quote(self, lines: RowLines, what: str) -> str:
        return (
            f'`{self.path.name}` has a quote (") in line {lines.find_open_quote()} that begins a cell {what}: all that'
            " follows is taken for one cell. Remove the quote, or write a second one where the cell ends; a quote"
            ' within a cell is written twice ("").'
        )

    @contextmanager
    def _whole(self) -> Iterator[TextIO]:
        with _opened(self.path) as file:
            yield cast("TextIO", io.TextIOWrapper(file, encoding=self.encoding, newline=""))


class RowLines:
    """The lines of a file without some of them; those of the present row are kept.

    Parameters
    ----------
    file : iterable of str
        All lines.
    left_out : frozenset of int
        Numbers of those that are left out, from 1.
    """

    def __init__(self, file: Iterable[str], left_out: frozenset[int]) -> None:
        self._file, self._left_out = iter(file), left_out
        self._row: list[tuple[int, str]] = []
        self.number = 0
        self.ended = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        for line in self._file:
            self.number += 1
            if self.number not in self._left_out:
                self._row.append((self.number, line))
                return line
        self.ended = True
        raise StopIteration

    @property
    def begin(self) -> int:
        """Number of the line in which the present row begins."""
        return self._row[0][0]

    def end_row(self) -> None:
        """Take what comes next for another row."""
        self._row.clear()

    def find_open_quote(self) -> int:
        """Return the number of the line that has the last opening quote of the present row."""
        inside, found = False, self.begin
        for number, line in self._row:
            for _ in range(line.count('"')):
                inside = not inside
                found = number if inside else found
        return found


class Kept:
    """The lines of a file without some of them, as pandas reads a file.

    Parameters
    ----------
    file : iterable of str
        All lines.
    left_out : frozenset of int
        Numbers of those that are left out, from 1.
    """

    def __init__(self, file: Iterable[str], left_out: frozenset[int]) -> None:
        self._lines = (line for number, line in enumerate(file, start=1) if number not in left_out)

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def read(self, size: int = -1) -> str:
        """Return whole lines: so many letters or a few more, or all that is left."""
        lines, length = [], 0
        for line in self._lines:
            lines.append(line)
            length += len(line)
            if 0 <= size <= length:
                break
        return "".join(lines)


def is_empty(cells: list[str]) -> bool:
    """Tell whether nothing stands in a row."""
    return not any(cell and not cell.isspace() for cell in cells)


def read_text(path: Path) -> Text:
    """Look through a file of rows, gzipped or not, in UTF-8, UTF-16 (with its mark) or else Latin-1.

    Leading lines that begin with ``#``, and a first line such as ``sep=;``, are no rows.

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
    with Text(path, encoding, ",", size, notes).opened() as opened:
        preface, lines = _after_preface(opened)
    delimiter = preface.delimiter or _delimiter(lines)
    return Text(path, encoding, delimiter, size, [*notes, *preface.notes(delimiter)], frozenset(preface.left_out))


@dataclass
class Preface:
    """Lines before the table: what they say of the delimiter, and which are remarks."""

    delimiter: str = ""
    left_out: list[int] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def notes(self, delimiter: str) -> list[str]:
        """Say what was passed over."""
        notes = []
        if self.delimiter:
            notes.append(f"The first line says what separates cells (`{delimiter}`) and is no row.")
        if self.remarks:
            first, more = self.remarks[0].strip(), len(self.remarks) - 1
            also = f" and {more} more that begin with {REMARK}" if more else ""
            notes.append(f"Lines before the table were passed over as remarks: `{first}`{also}.")
        return notes


def _after_preface(file: Iterable[str]) -> tuple[Preface, list[str]]:
    """Set apart the lines before a table, and return the first ones of the table."""
    preface = Preface()
    lines: list[str] = []
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        said = SEPARATOR.fullmatch(line)
        if said and not lines and not preface.left_out:
            preface.delimiter = said[1]
            preface.left_out.append(number)
        elif line.lstrip().startswith(REMARK) and not lines:
            preface.left_out.append(number)
            preface.remarks.append(line)
        else:
            lines.append(line)
            if len(lines) == SAMPLE:
                break
    return _without_names(preface, lines), lines


def _without_names(preface: Preface, lines: list[str]) -> Preface:
    """Leave the last remark in the table where it names the columns: it has as many cells as the line below."""
    if not preface.remarks:
        return preface
    if not lines:  # a file of nothing but such lines has them for rows
        return Preface(preface.delimiter, preface.left_out[: bool(preface.delimiter)])
    delimiter = preface.delimiter or _delimiter(lines)
    last = preface.remarks[-1].strip()
    names, below = (next(csv.reader([line], delimiter=delimiter)) for line in (last, lines[0]))
    measured = any(FIGURE.fullmatch(cell.strip()) for cell in below)
    if len(names) == len(below) > 1 and (measured or last[1:2] != " "):
        return Preface(preface.delimiter, preface.left_out[:-1], preface.remarks[:-1])
    return preface


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
        blank = not decoder.decode(b"", final=True).strip() and blank  # raises where a letter is cut off
    if foreign:
        raise InvalidInputError(f"`{path.name}` is not a table in text: it holds bytes that no text has.")
    if blank:
        raise InvalidInputError(f"`{path.name}` is empty. A table needs a line of names and at least one row.")
    return size


def _delimiter(lines: list[str]) -> str:
    """Find what separates cells: what cuts most of the first lines into as many cells as the first, two or more.

    Where nothing cuts the first line, which may be a title, the second one is asked.
    """

    def regularity(delimiter: str, lines: list[str]) -> float:
        try:
            counts = [len(row) for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True)]
        except csv.Error:  # a cell longer than any should be, for one
            return 0.0
        return sum(count == counts[0] for count in counts) / len(counts) if counts and counts[0] > 1 else 0.0

    for some in (lines, lines[1:]):
        scores = {delimiter: regularity(delimiter, some) for delimiter in DELIMITERS}
        best = max(scores, key=scores.__getitem__)
        if scores[best] > 0:
            return best
    return ","
