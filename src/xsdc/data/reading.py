"""The one door to data: a path or the name of a data set comes in, a `Dataset` goes out."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from xsdc.data.archives import open_zip
from xsdc.data.array_blocks import H5adBlocks, npy_blocks, npz_blocks
from xsdc.data.arrays import read_npy, read_npz
from xsdc.data.blocks import Blocks, Held
from xsdc.data.dataset import Dataset
from xsdc.data.forms import Forms
from xsdc.data.h5ad import read_h5ad
from xsdc.data.image_blocks import ImageBlocks
from xsdc.data.images import ImageSize, read_images
from xsdc.data.limits import Limits
from xsdc.data.memory import is_large, require_memory
from xsdc.data.named import DATASETS, load_dataset
from xsdc.data.roles import Reading, Roles, listed, near_miss
from xsdc.data.scientific import Levels
from xsdc.data.sizes import estimated_size
from xsdc.data.sparse import MEMBERS, open_sparse
from xsdc.data.tables import COPIES, TableBlocks, open_table_file
from xsdc.data.text import STDIN, open_bytes, stdin_file
from xsdc.data.text_folders import holds_texts
from xsdc.errors import InvalidInputError

KINDS = {
    "table": "a table in text (csv, tsv, also gzipped)",
    "sheet": "an Excel workbook (xlsx)",
    "json": "JSON Lines (jsonl)",
    "parquet": "a Parquet file",
    "npz": "NumPy arrays (npz)",
    "sparse": "a sparse matrix of SciPy (npz)",
    "npy": "a NumPy array (npy)",
    "h5ad": "an AnnData file (h5ad)",
    "images": "images in a folder or zip",
    "texts": "texts in a folder or zip",
}
BY_SUFFIX = {
    ".csv": "table",
    ".tsv": "table",
    ".txt": "table",
    ".data": "table",
    ".gz": "table",
    ".xlsx": "sheet",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".npy": "npy",
    ".h5ad": "h5ad",
    ".zip": "images",
}
TABLES = ("table", "sheet", "json", "parquet", "texts")
ALIKE = {"sparse": "npz", "texts": "images"}  # of one ending
BY_MAGIC = {b"PAR1": "parquet", b"\x89HDF": "h5ad", b"\x93NUMPY": "npy"}
JSON = re.compile(rb"(\xef\xbb\xbf)?\s*(\[\s*)?\{\s*(\"|\})")
STRANGERS = {
    b"\x89PNG": "a PNG image; give the folder that holds the images",
    b"\xff\xd8\xff": "a JPEG image; give the folder that holds the images",
    b"GIF8": "a GIF image; give the folder that holds the images",
    b"%PDF": "a PDF document",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word document; save the sheet as xlsx or CSV",
    b"BZh": "a bzip2 file; unpack it",
    b"\xfd7zXZ": "an xz file; unpack it",
    b"7z\xbc\xaf": "a 7-Zip file; unpack it",
    b"Rar!": "a RAR file; unpack it",
    b"\x80\x04": "a pickle, which is not read because reading it can run code",
}


def read_data(
    source: str | os.PathLike[str],
    *,
    label_column: str | None = None,
    truth_column: str | None = None,
    id_column: str | None = None,
    ignore: Sequence[str] = (),
    reading: Reading | None = None,
    image_size: ImageSize = None,
    in_memory: bool = True,
    limits: Limits | None = None,
) -> Dataset:
    """Read points and what is known of them from a file, a folder or a named data set.

    Parameters
    ----------
    source : path or str
        A table (csv, tsv, csv.gz, xlsx, JSON Lines, Parquet), arrays (npz, npy), a sparse matrix (npz), AnnData (h5ad),
        a folder or zip of images or of texts, ``-`` for standard input, or the name of a data set (see `DATASETS`).
        A path that exists is taken before a name. What a file is, its content says.
    label_column : str, optional
        Column of given labels: of a table, an array of an npz, a column of `obs`. Tables have labels only if this is
        given; arrays called `y` or the like, sub-folders of images and texts and the labels of named data sets (their
        column is `label`, that of sub-folders `folder`) are labels unless they are named as the truth.
    truth_column : str, optional
        Column of true labels, to measure by.
    id_column : str, optional
        Column of ids.
    ignore : sequence of str
        Columns of a table to leave out.
    reading : Reading, optional
        How a table is written, where it is not to be guessed.
    image_size : int or pair of int, optional
        Side in pixels, or height and width, to which images of a folder or zip are brought.
    in_memory : bool
        Whether points must be in memory. If not, those that would take more than half of what is free are left where
        they are, and X is `Rows`, which are read as they are needed.
    limits : Limits, optional
        Bytes, rows, columns and seconds that the source may have and take.

    Returns
    -------
    Dataset

    Raises
    ------
    InvalidInputError
        If the source is unknown, unreadable or not what it says.
    """
    left_out = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    roles = Roles(label_column, truth_column, id_column, left_out, reading=reading or Reading())
    path = _path(source)
    if path is None:
        _refuse_image_size(image_size, str(source))
        return _with_roles(load_dataset(str(source)), roles)
    kind, notes = _kind(path)
    if kind != "images":
        _refuse_image_size(image_size, path.name)
    limits = limits or Limits()
    with limits.timed(path):
        limits.check(path, kind)
        dataset = _read(path, kind, roles, image_size=image_size, in_memory=in_memory)
    return replace(dataset, notes=[*notes, *dataset.notes])


def _read(path: Path, kind: str, roles: Roles, *, image_size: ImageSize, in_memory: bool) -> Dataset:
    """Read a source of which it is known what it is."""
    needed = estimated_size(path, kind, image_size)
    if not in_memory and is_large(needed):
        return _opened(path, kind, roles, image_size=image_size).known()
    if kind == "images":
        return read_images(path, roles, image_size=image_size)
    if kind not in TABLES:
        return READERS[kind](path, roles)
    packed = ", unpacked," if path.is_file() and needed > COPIES * path.stat().st_size else ""
    require_memory(needed, what=f"Reading `{path.name}`{packed}")
    return open_table_file(path, kind, roles).whole()


def open_blocks(
    source: str | os.PathLike[str],
    *,
    id_column: str | None = None,
    text: Sequence[str] = (),
    expected: Sequence[str] = (),
    forms: Forms | None = None,
    reading: Reading | None = None,
    image_size: tuple[int, int] | None = None,
    thorough: bool = True,
    levels: Levels | None = None,
    limits: Limits | None = None,
) -> Blocks:
    """Open points to be read block by block, whatever their number; nothing is looked at but points and ids.

    Parameters
    ----------
    source : path or str
        As in `read_data`.
    id_column : str, optional
        Array, or column of AnnData's ``obs``, that names the points. A column of a table is read as text and stays
        among the others; it need not be there.
    text : sequence of str
        Further columns of a table that are read as text.
    expected : sequence of str
        Columns that a table must have, by which its line of names is known also where they are numbers.
    forms : dict from str to Form
        How numbers of a table are read where its cells do not tell how they are written.
    reading : Reading, optional
        How a table is written, where it is not to be guessed.
    image_size : pair of int, optional
        Height and width to which images of a folder or zip are brought.
    thorough : bool
        Whether images are all decoded beforehand, so that all blocks are gray, or coloured, alike.
    levels : Levels, optional
        What becomes black and white in images of more than 8 bits, which are refused without, unless it is found by a
        thorough look.
    limits : Limits, optional
        Bytes, rows and columns that the source may have, and seconds that opening may take.

    Returns
    -------
    Blocks
    """
    path = _path(source)
    if path is None:
        return Held(read_data(source, image_size=image_size))
    kind, notes = _kind(path)
    if kind != "images":
        _refuse_image_size(image_size, path.name)
    roles = Roles(id=None if kind == "images" else id_column)
    if kind in TABLES:
        named = () if id_column is None else (id_column,)
        options = reading or Reading()
        roles = Roles(text=(*text, *named), expected=tuple(expected), forms=forms or {}, reading=options)
    limits = limits or Limits()
    with limits.timed(path):
        limits.check(path, kind)
        blocks = _opened(path, kind, roles, image_size=image_size, thorough=thorough, levels=levels)
    blocks.also = notes
    return blocks


def open_table(source: str | os.PathLike[str], roles: Roles) -> TableBlocks:
    """Open a table (text, xlsx, JSON Lines or Parquet) to be read block by block."""
    path = _path(source)
    kind = None if path is None or path.is_dir() else _kind(path)[0]
    if path is None or kind is None:
        raise InvalidInputError(f"There is no file `{source}`; it must be a table.")
    if kind not in TABLES:
        raise InvalidInputError(f"`{path.name}` must be a table; it is {KINDS[kind]}.")
    return open_table_file(path, kind, roles)


def _opened(
    path: Path,
    kind: str,
    roles: Roles,
    *,
    image_size: ImageSize = None,
    thorough: bool = True,
    levels: Levels | None = None,
) -> Blocks:
    if kind == "images":
        return ImageBlocks(path, roles, image_size=image_size, thorough=thorough, levels=levels)
    if kind in TABLES:
        return open_table_file(path, kind, roles)
    return BLOCKS[kind](path, roles)


def holds_image_files(source: str | os.PathLike[str]) -> bool:
    """Tell whether a source is a folder or zip of images, whose size is a matter of choice."""
    path = _path(source)
    return path is not None and _kind(path)[0] == "images"


def _path(source: str | os.PathLike[str]) -> Path | None:
    """Return where a source lies; None where it is the name of a data set."""
    if source == STDIN:
        return stdin_file()
    path = Path(source).expanduser()
    if _exists(path):
        return path
    if str(source) not in DATASETS:
        raise InvalidInputError(_unknown(str(source)))
    return None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise InvalidInputError(f"`{path}` cannot be read: {error.strerror or error}.") from error


def _kind(path: Path) -> tuple[str, list[str]]:
    """Tell what a file is: by its first bytes where they are a format's, else by its name, else text is a table."""
    if path.is_dir():
        return ("texts" if holds_texts(path) else "images"), []
    if not path.is_file():
        raise InvalidInputError(f"`{path}` must be a file or a folder; it is something else (a device, a pipe).")
    head = _head(path)
    if not head:
        raise InvalidInputError(f"`{path.name}` is empty.")
    promised = BY_SUFFIX.get(path.suffix.lower())
    found = _kind_of_zip(path) if head.startswith(b"PK") else _lookup(head, BY_MAGIC)
    if found is None and JSON.match(head):
        found = "json"
    if found is not None:
        lies = promised not in (None, found, ALIKE.get(found)) and path.suffix.lower() not in (".gz", ".txt")
        return found, [f"`{path.name}` is {KINDS[found]} by its content and was read as one."] if lies else []
    stranger = _lookup(head, STRANGERS)
    if stranger is not None:
        raise InvalidInputError(f"`{path.name}` is {stranger}. What can be read: {_kinds()}.")
    if promised not in (None, "table"):
        raise InvalidInputError(
            f"`{path.name}` is not {KINDS[promised]}: it begins with {_shown(head)}. Give it the name of what it is."
        )
    return "table", []


def _head(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked where it is gzipped."""
    with open_bytes(path) as file:
        return file.read(64)


def _lookup(head: bytes, table: Mapping[bytes, str]) -> str | None:
    return next((kind for magic, kind in table.items() if head.startswith(magic)), None)


def _kind_of_zip(path: Path) -> str:
    with open_zip(path, name=path.name, most=math.inf) as file:  # its bytes are counted where they are unpacked
        names = file.namelist()
    if "xl/workbook.xml" in names:
        return "sheet"
    if "[Content_Types].xml" in names or "mimetype" in names:
        raise InvalidInputError(f"`{path.name}` is a document of an office program; save the sheet as xlsx or CSV.")
    if names and all(name.endswith(".npy") for name in names):
        return "sparse" if set(names) >= MEMBERS else "npz"
    return "texts" if holds_texts(path) else "images"


def _shown(head: bytes) -> str:
    start = head[:12]
    return f"the text {start.decode()!r}" if start.isascii() and b"\x00" not in start else f"the bytes {start.hex(' ')}"


def _kinds() -> str:
    return ", ".join(KINDS.values())


def _refuse_image_size(image_size: ImageSize, name: str) -> None:
    if image_size is not None:
        raise InvalidInputError(f"image_size is for a folder or zip of images; `{name}` is none. Leave it out.")


def _unknown(source: str) -> str:
    folder = Path(source).parent
    neighbours = [str(path) for path in folder.iterdir()] if folder.is_dir() else []
    miss = near_miss(source, [*DATASETS, *neighbours])
    return (
        f"There is no file or folder `{source}`, nor a data set of this name{miss}."
        f" What can be read: {_kinds()}; or a data set: {listed(list(DATASETS))}."
    )


def _with_roles(dataset: Dataset, roles: Roles) -> Dataset:
    """Give the one column of a named data set, ``label``, the role it is asked to play."""
    roles.require_in(["label"], where=f"The data set `{dataset.name}`")
    if roles.id is not None or roles.ignore:
        raise InvalidInputError(
            f"The column `label` of the data set `{dataset.name}` can be the label or the truth only."
        )
    if roles.truth is None:
        return dataset
    return replace(dataset, labels=np.full(dataset.n, None, dtype=object), truth=dataset.labels)


READERS: Mapping[str, Callable[[Path, Roles], Dataset]] = {
    "npz": read_npz,
    "npy": read_npy,
    "h5ad": read_h5ad,
    "sparse": lambda path, roles: open_sparse(path, roles).dataset,
}
BLOCKS: Mapping[str, Callable[[Path, Roles], Blocks]] = {
    "npz": npz_blocks,
    "npy": npy_blocks,
    "h5ad": H5adBlocks,
    "sparse": open_sparse,
}
