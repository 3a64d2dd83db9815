"""Texts in a folder or a zip, a file each; sub-folders are labels, as with images."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import pandas as pd

from xsdc.data.images import SUFFIXES, Source, folder_labels, outer_folder
from xsdc.data.roles import Roles
from xsdc.errors import InvalidInputError

TEXTS = frozenset({".txt", ".md"})
FILE, FOLDER, TEXT = "file", "folder", "text"
LARGEST = 2**24  # letters of a text


class TextFolder:
    """The files of a folder or zip as a table of three columns: the file, its folder, and its text.

    Parameters
    ----------
    path : Path
        A folder, or a zip of one.
    """

    columns = [FILE, FOLDER, TEXT]  # noqa: RUF012  as every table has it

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name
        self.doubts: list[str] = []
        with open_texts(path) as source:
            self._names = source.names
        self.notes = [f"{len(self._names):,} texts were read, a file each; their folders are the column `folder`."]

    def read(self, rows: int) -> Iterator[pd.DataFrame]:
        """Yield so many texts at a time."""
        folders = folder_labels(self._names)
        with open_texts(self.path) as source:
            for begin in range(0, len(self._names), rows):
                names = self._names[begin : begin + rows]
                texts = [_decoded(source.read(name), name) for name in names]
                columns = {FILE: names, FOLDER: folders[begin : begin + rows], TEXT: texts}
                yield pd.DataFrame(columns, dtype=object)


def roles_of_texts(roles: Roles) -> Roles:
    """Take folders for labels, unless they are named as the truth or ignored, and files for ids."""
    free = FOLDER not in (roles.truth, roles.id, *roles.ignore)
    return Roles(
        label=roles.label or (FOLDER if free else None),
        truth=roles.truth,
        id=roles.id or FILE,
        ignore=roles.ignore,
        text=(*roles.text, TEXT),
        expected=roles.expected,
        reading=roles.reading,
    )


def holds_texts(path: Path) -> bool:
    """Tell whether a folder or zip holds texts, and no images."""
    suffixes = {PurePosixPath(name).suffix.lower() for name in _all_names(path)}
    return bool(suffixes & TEXTS) and not suffixes & SUFFIXES


def _all_names(path: Path) -> list[str]:
    if path.is_dir():
        return [file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()]
    with zipfile.ZipFile(path) as file:
        return [name for name in file.namelist() if not name.endswith("/")]


@contextmanager
def open_texts(path: Path) -> Iterator[Source]:
    """Find the texts of a folder or zip."""
    names = sorted(
        name
        for name in _all_names(path)
        if PurePosixPath(name).suffix.lower() in TEXTS
        and not any(part.startswith(".") or part == "__MACOSX" for part in PurePosixPath(name).parts)
    )
    if path.is_dir():
        yield Source(names, lambda name: (path / name).read_bytes())
        return
    outer = outer_folder(names)
    with zipfile.ZipFile(path) as file:
        large = [info.filename for info in file.infolist() if info.file_size > LARGEST]
        if large:
            raise InvalidInputError(f"`{large[0]}` of `{path.name}` is larger than any text should be (16 MB).")
        yield Source([name.removeprefix(outer) for name in names], lambda name: file.read(outer + name))


def _decoded(content: bytes, name: str) -> str:
    if len(content) > LARGEST or b"\x00" in content[:1000]:
        raise InvalidInputError(f"`{name}` is no text, or larger than any should be (16 MB). Remove it.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")
