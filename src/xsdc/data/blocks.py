"""Data sets that are read block by block, so that they need not fit into memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from xsdc.data.dataset import Dataset, Kind

MOST_ROWS = 2**14  # of a block
MOST_CELLS = 2**21
SAMPLE = 200_000  # rows by which is learned what large data are, or fewer:
SAMPLE_CELLS = 50_000_000

Ints = npt.NDArray[np.int64]


class Blocks(ABC):
    """A data set in blocks.

    Attributes
    ----------
    name : str
        What to call it.
    kind : {"table", "vectors", "images"}
        What it holds.
    notes : list of str
        What reading did, as far as it is known.
    doubts : sequence of str
        What looks like a mistake in the file.
    also : sequence of str
        What is to be said besides.
    weight : int
        Memory of a cell while it is read, in numbers.
    """

    name: str
    kind: Kind
    notes: list[str]
    doubts: Sequence[str] = ()
    also: Sequence[str] = ()
    weight: int = 1

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of cells (numbers, pixels) of one point."""

    @abstractmethod
    def read(self, rows: int) -> Iterator[Dataset]:
        """Yield so many points at a time, in order, with their ids and without labels."""

    @abstractmethod
    def known(self) -> Dataset:
        """Return ids, labels and truth of all points; its X is read as it is needed (`Rows`)."""

    def whole(self) -> Dataset:
        """Read all of it into memory: one block."""
        known = self.known()
        return known.taken(np.arange(known.n)) if isinstance(known.X, Rows) else known

    def rows(self) -> int:
        """Return the number of points in a block that takes little memory."""
        return max(1, min(MOST_ROWS, MOST_CELLS // max(1, self.weight * self.width)))

    def take(self, points: Ints) -> Any:
        """Return some points, in ascending order, in one pass; rows of a table keep their position as index."""
        parts, begin = [], 0
        for block in self.read(self.rows()):
            end = begin + block.n
            here = points[np.searchsorted(points, begin) : np.searchsorted(points, end)]
            if len(here):
                frame = isinstance(block.X, pd.DataFrame)
                parts.append(block.X.iloc[here - begin].set_axis(here) if frame else block.X[here - begin])
            begin = end
            if begin > points[-1]:
                break
        return pd.concat(parts) if isinstance(parts[0], pd.DataFrame) else np.concatenate(parts)


class Rows:
    """Points that stay where they are until they are asked for.

    Attributes
    ----------
    blocks : Blocks
        Where they are.
    n : int
        How many there are.
    sample : data frame or None
        Some of them, spread evenly, with their positions as index, where a look at all has kept some.
    """

    def __init__(self, blocks: Blocks, n: int, *, sample: pd.DataFrame | None = None) -> None:
        self.blocks, self.n, self.sample = blocks, n, sample

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[Dataset]:
        return self.blocks.read(self.blocks.rows())

    def take(self, points: Ints) -> Any:
        """Return some points, in any order."""
        wanted, place = np.unique(points, return_inverse=True)
        found = self.blocks.take(wanted)
        if np.array_equal(wanted, points):
            return found
        return found.iloc[place] if isinstance(found, pd.DataFrame) else found[place]


class Held(Blocks):
    """A data set that is in memory already."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.name, self.kind, self.notes = dataset.name, dataset.kind, dataset.notes

    @property
    def width(self) -> int:
        """Number of cells of one point."""
        return int(np.prod(self.dataset.X.shape[1:]))

    def read(self, rows: int) -> Iterator[Dataset]:
        """Yield so many points at a time."""
        for begin in range(0, self.dataset.n, rows):
            yield self.dataset.taken(np.arange(begin, min(begin + rows, self.dataset.n)))

    def known(self) -> Dataset:
        """Return the data set."""
        return self.dataset


def spread(n: int, most: int = SAMPLE) -> Ints:
    """Return positions of at most so many of n points, evenly spread."""
    if n <= most:
        return np.arange(n)
    return np.linspace(0, n - 1, most).astype(np.int64)


def unlabeled(n: int) -> npt.NDArray[np.object_]:
    """Return the labels of n points of which nothing is known."""
    return np.full(n, None, dtype=object)
