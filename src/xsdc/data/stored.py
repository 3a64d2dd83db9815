"""NumPy's arrays in files (npy, members of npz), read in blocks of their first axis."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from xsdc.data.archives import open_zip
from xsdc.errors import InvalidInputError

Array = npt.NDArray[Any]
# What numpy and zipfile raise at a file that is not whole, depending on where it breaks.
DAMAGED = (
    *(OSError, ValueError, KeyError, EOFError, SyntaxError, MemoryError, NotImplementedError, RuntimeError),
    *(tokenize.TokenError, zlib.error, zipfile.BadZipFile),
)


@dataclass(frozen=True)
class StoredArray:
    """One array in a file.

    Attributes
    ----------
    path : Path
        The file.
    member : str or None
        Which array of an npz, with its ending; None for npy.
    shape : tuple of int
        Its shape.
    dtype : dtype
        Its type.
    by_columns : bool
        Whether the first axis runs fastest (Fortran's order), so that rows lie scattered.
    """

    path: Path
    member: str | None
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_columns: bool

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Its size."""
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield so many entries of the first axis at a time."""
        with telling(self.path, self.member):
            yield from self._scattered(rows) if self.by_columns else self._in_order(rows)

    def read(self) -> Array:
        """Read all of it."""
        parts = list(self.blocks(max(1, len_or_one(self.shape))))
        return parts[0] if parts else np.empty(self.shape, dtype=self.dtype)

    def _in_order(self, rows: int) -> Iterator[Array]:
        size = int(np.prod(self.shape[1:], dtype=object)) * self.dtype.itemsize
        with _opened(self.path, self.member) as file:
            _header(file)
            if not self.shape:
                yield _parsed(_exactly(file, self.dtype.itemsize), self.dtype, ())
                return
            for begin in range(0, self.shape[0], rows):
                count = min(rows, self.shape[0] - begin)
                yield _parsed(_exactly(file, count * size), self.dtype, (count, *self.shape[1:]))
            file.read(1)  # zipfile compares checksums at the end

    def _scattered(self, rows: int) -> Iterator[Array]:
        """Read rows that lie scattered: by a map of the file, unpacked to disk first where it is in an npz."""
        with tempfile.TemporaryDirectory(prefix="xsdc-") as folder:
            path = self.path
            if self.member is not None:
                path = Path(folder) / "array.npy"
                with _opened(self.path, self.member) as packed, path.open("wb") as unpacked:
                    shutil.copyfileobj(packed, unpacked, 2**20)
            for begin in range(0, self.shape[0], rows):
                mapped = np.load(path, mmap_mode="r", allow_pickle=False)  # anew: pages that were read are let go
                yield np.array(mapped[begin : begin + rows])
                del mapped


@dataclass(frozen=True)
class JoinedArrays:
    """Arrays one after the other, as if they were one."""

    parts: Sequence[StoredArray]

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return (sum(part.shape[0] for part in self.parts), *self.parts[0].shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type that holds them all."""
        return np.result_type(*(part.dtype for part in self.parts))

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Its size."""
        return sum(part.nbytes for part in self.parts)

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield so many entries of the first axis at a time."""
        rest = np.empty((0, *self.shape[1:]), dtype=self.dtype)
        for block in itertools.chain(*(part.blocks(rows) for part in self.parts)):
            rest = np.concatenate([rest, block])
            if len(rest) >= rows:
                yield rest[:rows]
                rest = rest[rows:]
        if len(rest):
            yield rest

    def read(self) -> Array:
        """Read all of it."""
        return np.concatenate([part.read() for part in self.parts])


def open_npy(path: Path) -> StoredArray:
    """Look at the array of an npy file."""
    return _described(path, None)


def open_npz(path: Path, *, most: float | None = None) -> dict[str, StoredArray]:
    """Look at the arrays of an npz file, by name; refuse one of more bytes than it may have."""
    with open_zip(path, name=path.name, most=most) as file:
        members = file.namelist()
    return {member.removesuffix(".npy"): _described(path, member) for member in members}


def _described(path: Path, member: str | None) -> StoredArray:
    with telling(path, member), _opened(path, member) as file:
        shape, by_columns, dtype = _header(file)
        if dtype.hasobject:
            raise ValueError("Object arrays cannot be loaded when allow_pickle=False")
        if any(size < 0 for size in shape):
            raise ValueError(f"its shape is {shape}")
    return StoredArray(path, member, shape, dtype, by_columns and len(shape) > 1)


@contextmanager
def telling(path: Path, member: str | None) -> Iterator[None]:
    """Say in a sentence what is wrong with a file."""
    try:
        yield
    except InvalidInputError:
        raise
    except DAMAGED as error:
        inside = "" if member is None else f"`{member.removesuffix('.npy')}` of "
        raise InvalidInputError(f"{inside}`{path.name}` {reason(error)}") from error


def reason(error: Exception) -> str:
    """Say why an array cannot be read."""
    if "allow_pickle" in str(error):
        return (
            "holds Python objects, which are not read because reading them can run code."
            " Save arrays of numbers or text (astype(str))."
        )
    text = str(error).strip()
    return f"is damaged: {text.splitlines()[0].rstrip('.') if text else type(error).__name__}."


def len_or_one(shape: tuple[int, ...]) -> int:
    """Length of the first axis, or 1 where there is none."""
    return shape[0] if shape else 1


@contextmanager
def _opened(path: Path, member: str | None) -> Iterator[IO[bytes]]:
    if member is None:
        with path.open("rb") as file:
            yield file
        return
    with zipfile.ZipFile(path) as archive, archive.open(member) as file:
        yield file


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(file)


def _exactly(file: IO[bytes], size: int) -> bytearray:
    """Read so many bytes, in pieces, since a zip gives what it has at hand."""
    data = bytearray()
    while len(data) < size:
        piece = file.read(min(size - len(data), 2**20))
        if not piece:
            raise EOFError(f"it ends {size - len(data)} bytes too early")
        data += piece
    return data


def _parsed(data: bytearray, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    if dtype.itemsize == 0 or 0 in shape:
        return np.zeros(shape, dtype=dtype)
    return np.frombuffer(data, dtype=dtype).reshape(shape)
