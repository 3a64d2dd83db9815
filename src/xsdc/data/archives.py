"""Zip files from strangers: refused where they would unpack to far more than they are, or mean two things at once."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xsdc.errors import InvalidInputError

METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})  # zipfile unpacks others without bounds
ENCRYPTED = 1  # a bit of the flags of an entry
MOST_BYTES = 2**32  # unpacked, whatever the size of the file
MOST_TIMES = 20  # of its size, where that is more
# What zipfile raises where the data end too soon or make no sense.
BROKEN_ZIP = (
    *(OSError, ValueError, KeyError, EOFError, IndexError, NotImplementedError, RuntimeError),
    *(struct.error, zlib.error, zipfile.BadZipFile),
)


def most_bytes(size: int) -> int:
    """Bytes that a packed file of ``size`` bytes may unpack to, unless it is said otherwise."""
    return max(MOST_BYTES, MOST_TIMES * size)


@contextmanager
def open_zip(
    source: Path | io.BytesIO, *, name: str, what: str = "a whole zip file", most: float | None = None
) -> Iterator[zipfile.ZipFile]:
    """Open a zip file, having looked at its list of entries.

    Parameters
    ----------
    source : Path or BytesIO
        The file.
    name : str
        What to call it in messages.
    what : str
        What it should be.
    most : float, optional
        Bytes that all entries may have together, unpacked.

    Raises
    ------
    InvalidInputError
        If it is damaged, has a name twice, is encrypted, packed otherwise than by deflate, or too large.
    """
    size = source.stat().st_size if isinstance(source, Path) else len(source.getbuffer())
    try:
        file = zipfile.ZipFile(source)
    except BROKEN_ZIP as error:
        raise InvalidInputError(f"`{name}` is not {what}, or it is damaged: {error}.") from error
    with file:
        _check(file, name=name, most=most_bytes(size) if most is None else most)
        yield file


def _check(file: zipfile.ZipFile, *, name: str, most: float) -> None:
    entries = file.infolist()
    twice = [entry for entry, count in Counter(info.filename for info in entries).items() if count > 1]
    if twice:
        raise InvalidInputError(f"`{name}` has two entries called `{twice[0]}`. Pack it again, with each name once.")
    for info in entries:
        if info.flag_bits & ENCRYPTED:
            raise InvalidInputError(f"`{info.filename}` of `{name}` is encrypted. Pack it without a password.")
        if info.compress_type not in METHODS:
            method = zipfile.compressor_names.get(info.compress_type, "an unknown method")  # type: ignore[attr-defined]
            raise InvalidInputError(
                f"`{info.filename}` of `{name}` is packed by {method}. Pack it by deflate, as most zip programs do."
            )
    total = sum(info.file_size for info in entries)
    if total > most:
        raise InvalidInputError(
            f"`{name}` would unpack to {total / 2**30:.1f} GB; {most / 2**30:.1f} GB are allowed. If that is right,"
            " allow more bytes by the limits of reading."
        )


def read_arrays(packed: bytes, *, name: str) -> dict[str, npt.NDArray[Any]]:
    """Read all arrays of an npz file that is in memory; nothing in it is run."""
    arrays = {}
    with open_zip(io.BytesIO(packed), name=name) as file:
        for info in file.infolist():
            with file.open(info) as member:
                arrays[info.filename.removesuffix(".npy")] = _array(member.read(info.file_size), name=name)
    return arrays


def _array(content: bytes, *, name: str) -> npt.NDArray[Any]:
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_columns, dtype = read(stream)
    if dtype.hasobject:
        raise InvalidInputError(f"`{name}` holds Python objects, which are not read because reading them can run code.")
    body = stream.getbuffer()[stream.tell() :]
    if any(size < 0 for size in shape) or int(np.prod(shape, dtype=object)) * dtype.itemsize != len(body):
        raise InvalidInputError(f"`{name}` is damaged: an array is not as long as it says.")
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype=dtype)
    return np.frombuffer(body, dtype=dtype).reshape(shape, order="F" if by_columns else "C").copy()
