"""Data of any size: arrays on disk, torch datasets and streams, of which only some rows are in memory at a time."""

from __future__ import annotations

import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_matrix
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset

from xsdc.errors import InvalidInputError
from xsdc.networks import Network
from xsdc.validation import named

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
BLOCK = 8192  # rows that are read at a time
LOOKED_AT = 20_000  # rows by which a network is made
LARGE = 1 << 27  # numbers of an array from which on it is not copied as a whole


class Source(ABC):
    """Rows as the user has them, by position.

    Attributes
    ----------
    shape : tuple of int
        Number of rows, then the shape of each.
    """

    shape: tuple[int, ...]

    @property
    def labels(self) -> list[Any] | None:
        """Labels that came with the rows, where there were any."""
        return None

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Number of axes, that of the rows among them."""
        return len(self.shape)

    @abstractmethod
    def _read(self, rows: Ints) -> Array:
        """Read rows in ascending order of position."""

    def take(self, rows: Ints) -> Array:
        """Read some rows, in the order asked for; positions may come twice."""
        distinct, place = np.unique(rows, return_inverse=True)  # a file is read from its beginning to its end
        found = self._read(distinct)
        if found.dtype.kind not in "biuf":
            raise InvalidInputError(f"X must hold numbers; row {distinct[0]} holds {found.dtype}.")
        if found.shape[1:] != self.shape[1:]:
            raise InvalidInputError(
                f"All rows of X must have the shape of the first, {self.shape[1:]}; among rows"
                f" {named(distinct.tolist())} some have {found.shape[1:]}."
            )
        if found.dtype.kind == "f":
            wrong = ~np.isfinite(found.reshape(len(found), -1)).all(1)
            if wrong.any():
                raise InvalidInputError(
                    f"X must be finite; NaN or infinity in row(s) {named(distinct[wrong].tolist())}."
                )
        return found[place]

    def blocks(self) -> Iterator[Array]:
        """Read all rows, some at a time."""
        for start in range(0, len(self), BLOCK):
            yield self.take(np.arange(start, min(start + BLOCK, len(self))))


class ArraySource(Source):
    """An array in memory or mapped from a file."""

    def __init__(self, array: Array, *, labels: list[Any] | None = None) -> None:
        self.array, self.shape, self._labels = array, array.shape, labels

    @property
    def labels(self) -> list[Any] | None:
        """Labels that came with the rows."""
        return self._labels

    def check(self) -> None:
        """Look through all rows once: what is wrong with the last one should not be found after training."""
        for _ in self.blocks():
            pass

    def _read(self, rows: Ints) -> Array:
        first, last = int(rows[0]), int(rows[-1])
        together = last - first + 1 == len(rows)
        return np.array(self.array[first : last + 1] if together else self.array[rows])


class SparseSource(Source):
    """A sparse matrix, whose rows are made dense as they are asked for."""

    def __init__(self, matrix: csr_matrix) -> None:
        self.matrix, self.shape = matrix, matrix.shape

    def _read(self, rows: Ints) -> Array:
        dense: Array = self.matrix[rows].toarray()
        return dense


class DatasetSource(Source):
    """A torch dataset with random access; an item is a row, or begins with one and goes on with its label."""

    def __init__(self, dataset: Dataset[Any]) -> None:
        self.dataset = dataset
        n = len(dataset)  # type: ignore[arg-type]
        if not n:
            raise InvalidInputError("X must hold at least one row; the dataset is empty.")
        self.shape = (n, *_as_row(dataset[0]).shape)

    @cached_property
    def labels(self) -> list[Any] | None:
        """Labels that the dataset lists, or that its items hold, for which all are read."""
        given = _listed_labels(self.dataset)
        if given is None and _has_label(self.dataset[0]):
            given = [_label_of(self.dataset[i]) for i in range(len(self))]
        return given

    def _read(self, rows: Ints) -> Array:
        several = getattr(self.dataset, "__getitems__", None)
        items = several(rows.tolist()) if several else [self.dataset[int(i)] for i in rows]
        return _stacked(items)


def from_sparse(X: Any) -> Array | Source:
    """Make a sparse matrix dense if it is small, else take its rows as they are needed."""
    matrix = X.tocsr()
    if matrix.dtype.kind not in "biuf":
        raise InvalidInputError(f"X must hold numbers; the sparse matrix holds {matrix.dtype}.")
    small = matrix.shape[0] * matrix.shape[1] <= LARGE
    return np.asarray(matrix.toarray()) if small else SparseSource(matrix)


def as_source(X: object) -> Source | None:
    """Take data that should not be copied into memory as a whole; None for all else."""
    if isinstance(X, Source):
        return X
    if isinstance(X, IterableDataset):
        return spool(X)
    if isinstance(X, Dataset):
        return DatasetSource(X)
    if isinstance(X, np.memmap) or (isinstance(X, np.ndarray) and X.size > LARGE):
        if X.ndim < 2:
            raise InvalidInputError(f"X must be vectors (n, d) or images; the array has shape {X.shape}.")
        return ArraySource(X)
    return None


def first_look(X: Any) -> Any:
    """Rows by which a network is made: all, or some spread over the data."""
    n = len(X)
    if n <= LOOKED_AT:
        return X.take(np.arange(n)) if isinstance(X, Source) else X
    spread = np.linspace(0, n - 1, LOOKED_AT).round().astype(np.int64)
    return X.take(spread) if isinstance(X, Source) else X[spread]


def prepare(network: Network, X: Any, *, channels: str | None) -> Tensor | PreparedRows:
    """Bring data into the form that a network takes; rows of a source when they are asked for."""
    return PreparedRows(X, network, channels) if isinstance(X, Source) else network.prepare(X, channels=channels)


def read_blocks(X: Any) -> Iterator[Any]:
    """Read data some rows at a time."""
    if isinstance(X, Source):
        yield from X.blocks()
        return
    for start in range(0, max(len(X), 1), BLOCK):
        yield X[start : start + BLOCK]


def stream_blocks(X: Iterable[Any]) -> Iterator[Array]:
    """Gather the rows of a stream in blocks."""
    empty = True
    for items in _several(X):
        empty = False
        yield _stacked(items)
    if empty:
        raise InvalidInputError("X must hold at least one row; the stream is empty.")


def _several(X: Iterable[Any]) -> Iterator[list[Any]]:
    items: list[Any] = []
    for item in X:
        items.append(item)
        if len(items) == BLOCK:
            yield items
            items = []
    if items:
        yield items


def spool(X: Iterable[Any]) -> ArraySource:
    """Write a stream to a file, block by block, and map it; the file goes when nobody holds the source any more."""
    folder = tempfile.TemporaryDirectory(prefix="xsdc-")
    try:
        mapped, labels = _written(X, Path(folder.name) / "rows")
    except BaseException:
        folder.cleanup()
        raise
    held = labels if any(x is not None for x in labels) else None
    listed = _listed_labels(X)
    source = ArraySource(mapped, labels=held if listed is None else listed)
    weakref.finalize(source, folder.cleanup)
    return source


def _written(X: Iterable[Any], path: Path) -> tuple[Array, list[Any]]:
    shape: tuple[int, ...] = ()
    dtype: np.dtype[Any] | None = None
    labels: list[Any] = []
    with path.open("wb") as file:
        for items in _several(X):
            block = _stacked(items)
            if dtype is None:
                dtype, shape = block.dtype, block.shape[1:]
            if block.shape[1:] != shape:
                raise InvalidInputError(f"All rows of X must have one shape; after {shape} came {block.shape[1:]}.")
            if not (block.dtype.kind == dtype.kind == "f" or np.can_cast(block.dtype, dtype)):
                raise InvalidInputError(
                    f"All rows of X must hold one type of number; after {dtype} came {block.dtype}."
                )
            block.astype(dtype, copy=False).tofile(file)
            labels += [_label_of(item) if _has_label(item) else None for item in items]
    if dtype is None:
        raise InvalidInputError("X must hold at least one row; the stream is empty.")
    return np.memmap(path, dtype=dtype, mode="r", shape=(len(labels), *shape)), labels


@dataclass(frozen=True)
class PreparedRows:
    """Rows of a source in the form that a network takes, made when they are asked for.

    Attributes
    ----------
    source : Source
        Rows as they are.
    network : Network
        Knows the form.
    channels : {None, "first", "last"}
        The channel axis of images, where it cannot be told from the shape.
    """

    source: Source
    network: Network
    channels: str | None

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: Tensor | slice) -> Tensor:
        if isinstance(index, Tensor) and index.dtype == torch.bool:
            index = index.nonzero().flatten()
        rows = np.arange(*index.indices(len(self))) if isinstance(index, slice) else index.cpu().numpy()
        if not len(rows):
            return torch.empty(0, *self.network.input_shape, dtype=self.network.dtype, device=self.network.device)
        return self.network.prepare(self.source.take(rows), channels=self.channels)


def _stacked(items: Sequence[Any]) -> Array:
    rows = [_as_row(item) for item in items]
    try:
        return np.stack(rows)
    except ValueError as error:
        shapes = sorted({row.shape for row in rows})
        raise InvalidInputError(f"All rows of X must have one shape; there are {shapes[0]} and {shapes[1]}.") from error


def _as_row(item: Any) -> Array:
    """Take the row of an item: the item itself, or the first of a pair, or the only one of a tuple."""
    row = item[0] if _begins_with_row(item) and len(item) <= 2 else item
    try:
        array = row.detach().cpu().numpy() if isinstance(row, Tensor) else np.asarray(row)
    except ValueError:  # parts of different shapes
        array = np.empty(())
    if array.ndim == 0 or array.dtype == object:
        what = f"{type(item).__name__} of {len(item)}" if isinstance(item, tuple | list) else type(item).__name__
        raise InvalidInputError(
            f"An item of a dataset must be a row of numbers, or a pair of a row and its label; it is a {what}."
        )
    return array


def _has_label(item: Any) -> bool:
    return _begins_with_row(item) and len(item) == 2


def _begins_with_row(item: Any) -> bool:
    if not isinstance(item, tuple | list) or not item:
        return False
    ndim = getattr(item[0], "ndim", None)
    return bool((np.ndim(item[0]) if ndim is None else ndim) > 0) and not (isinstance(item, list) and _is_grid(item))


def _is_grid(item: list[Any]) -> bool:
    """Whether a list is an image or the like in nested lists, and not a row with its label."""
    return all(isinstance(part, list | tuple) for part in item)


def _listed_labels(dataset: Any) -> list[Any] | None:
    given = getattr(dataset, "labels", getattr(dataset, "targets", None))
    return None if given is None else _as_list(given)


def _label_of(item: Any) -> Any:
    label = item[1]
    return label.item() if isinstance(label, Tensor | np.generic) else label


def _as_list(labels: Any) -> list[Any]:
    if isinstance(labels, Tensor | np.ndarray):
        return list(labels.tolist())
    return list(labels)
