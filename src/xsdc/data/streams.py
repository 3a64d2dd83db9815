"""Files as torch datasets, which read rows and images as they are needed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api import types
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from xsdc.data.columns import as_numbers
from xsdc.data.image_blocks import ImageBlocks
from xsdc.data.images import ImageSize, Pixels, Source, attempt, bombs_are_errors, open_images, see
from xsdc.data.reading import open_table
from xsdc.data.roles import Roles, listed, near_miss
from xsdc.data.tables import LEAST
from xsdc.errors import InvalidInputError

Vector = npt.NDArray[np.float32]


class TableRows(IterableDataset[Vector]):
    """The numbers of a table, a vector for each row, in the order of the file; one block at a time is in memory.

    With several workers of a DataLoader, blocks are shared out among them: each row comes once, but in another order.

    Parameters
    ----------
    path : path
        CSV or its relatives, or Parquet.
    columns : sequence of str, optional
        Columns of numbers, in the order that is wanted; by default all.
    label_column, id_column : str, optional
        Columns of labels and of ids, which are read whole.

    Attributes
    ----------
    columns : list of str
        What the entries of a vector are; those of missing cells are NaN.
    labels : list or None
        Label of each row, None where it is unknown; None altogether without a column of labels.
    ids : array
        What each row is called: the cells of the id column, or row numbers.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        columns: Sequence[str] | None = None,
        *,
        label_column: str | None = None,
        id_column: str | None = None,
    ) -> None:
        self._blocks = open_table(path, Roles(label_column, None, id_column))
        known = self._blocks.look(most=LEAST)
        self.columns = _numeric(self._blocks.name, known.X.sample, columns)
        self.labels = None if label_column is None else known.labels.tolist()
        self.ids = known.ids

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Vector]:
        worker = get_worker_info()
        turn, turns = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for number, block in enumerate(self._blocks.read(self._blocks.rows())):
            if number % turns == turn:
                cells = [as_numbers(block.X[column]) for column in self.columns]
                yield from np.column_stack(cells).astype(np.float32)


def _numeric(name: str, frame: pd.DataFrame, wanted: Sequence[str] | None) -> list[str]:
    numeric = [
        column
        for column in frame.columns
        if types.is_numeric_dtype(frame[column]) and not types.is_bool_dtype(frame[column])
    ]
    for column in wanted or ():
        if column not in numeric:
            raise InvalidInputError(
                f"`{name}` has no column of numbers `{column}`{near_miss(column, numeric)}."
                f" Its columns of numbers are {listed(numeric)}."
            )
    if not numeric or (wanted is not None and not wanted):
        raise InvalidInputError(f"`{name}` has no columns of numbers to read, or none were asked for.")
    return numeric if wanted is None else list(wanted)


class ImageRows(Dataset[Pixels]):
    """The images of a folder or zip, brought to one size and decoded as they are needed.

    Making it takes a look at every image, to find those that are broken, which are passed over, whether any has
    colours, and from where to where those of more than 8 bits go.

    Parameters
    ----------
    path : path
        A folder, or a zip of one; sub-folders are labels.
    size : int or pair of int, optional
        Side in pixels, or height and width. By default the most common size, scaled down to a longer side of 64.

    Attributes
    ----------
    shape : tuple of int
        Height, width and number of colours, 1 if all images are gray and else 3.
    labels : list or None
        Label of each image, None where it is unknown; None altogether if no folder says anything.
    ids : array
        Path of each image within the folder.
    notes : list of str
        What was scaled or passed over.
    """

    def __init__(self, path: str | os.PathLike[str], *, size: ImageSize = None) -> None:
        self._path = Path(path).expanduser()
        if not self._path.exists():
            raise InvalidInputError(f"There is no folder or zip `{path}`.")
        blocks = ImageBlocks(self._path, Roles(), image_size=size)
        known = blocks.known()
        self._names = blocks.names
        self._use, self._levels = partial(see, size=blocks.size), blocks.levels
        self.shape = (blocks.size[1], blocks.size[0], 3 if blocks.coloured else 1)
        self.labels = known.labels.tolist() if any(label is not None for label in known.labels) else None
        self.ids, self.notes = known.ids, known.notes
        self._opened: tuple[int, ExitStack, Source] | None = None

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, index: int) -> Pixels:
        name = self._names[index]
        with bombs_are_errors():
            seen = attempt(self._source(), name, self._use)
        if seen is None:
            raise InvalidInputError(f"`{name}` of `{self._path.name}` cannot be read any more; it was whole before.")
        image = seen.as_bytes(self._levels)
        whole = image[..., None] if image.ndim == 2 else image
        return np.array(np.broadcast_to(whole, self.shape))

    def __getitems__(self, indices: Sequence[int]) -> list[Pixels]:
        """Return several images."""
        return [self[index] for index in indices]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_opened": None}

    def _source(self) -> Source:
        """Open the folder or zip once in each process: a file that processes share has but one place to read at."""
        if self._opened is None or self._opened[0] != os.getpid():
            stack = ExitStack()
            self._opened = os.getpid(), stack, stack.enter_context(open_images(self._path))
        return self._opened[2]
