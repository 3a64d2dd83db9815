"""Arrays in blocks: NumPy's files, AnnData."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xsdc.data.arrays import SPLIT, choose_arrays, refuse_roles, require_alike, require_points, split_note, with_known
from xsdc.data.blocks import Blocks, Rows, unlabeled
from xsdc.data.dataset import Dataset, Kind
from xsdc.data.h5ad import NOTE, open_h5ad, take_ids, with_obs
from xsdc.data.pixels import Shades, as_bytes, channels_last
from xsdc.data.roles import Roles
from xsdc.data.stored import JoinedArrays, StoredArray, open_npy, open_npz
from xsdc.data.tables import column_ids
from xsdc.errors import InvalidInputError

Array = npt.NDArray[Any]


class ArrayBlocks(Blocks):
    """Arrays of points, labels and ids that are read block by block.

    Parameters
    ----------
    arrays : mapping from name to array
        What there is.
    roles : Roles
        Which arrays are labels, truth and ids.
    name : str
        The file.
    notes : sequence of str
        What is to be said of it already.
    """

    def __init__(
        self, arrays: Mapping[str, StoredArray | JoinedArrays], roles: Roles, *, name: str, notes: Sequence[str] = ()
    ) -> None:
        self.arrays, self.roles, self.name = arrays, roles, name
        key, self.label, self.id_name = choose_arrays(arrays, roles, name=name)
        self.points, self._called = arrays[key], f"`{key}` of `{name}`"
        require_points(self.points, name=self._called)
        self.kind: Kind = "vectors" if self.points.ndim == 2 else "images"
        self._shades = Shades()
        self.notes = [*notes, *(self._survey() if self.kind == "images" else [])]

    @property
    def width(self) -> int:
        """Number of cells of one point."""
        return int(np.prod(self.points.shape[1:]))

    def read(self, rows: int) -> Iterator[Dataset]:
        """Yield so many points at a time, with their ids and without labels."""
        done = 0
        ids = None if self.id_name is None else self._ids(rows)
        for block in self.points.blocks(rows):
            X = block
            if self.kind == "images":
                X = as_bytes(channels_last(block, name=self._called), self._shades.high)
            yield Dataset(
                name=self.name,
                kind=self.kind,
                X=X,
                ids=np.arange(done, done + len(X)) if ids is None else next(ids),
                id_name=self.id_name or "row",
                labels=unlabeled(len(X)),
                pictures=X if self.kind == "images" else None,
            )
            done += len(X)

    def known(self) -> Dataset:
        """Return ids, labels and truth of all points; the points are read later."""
        wanted = {key for key in (self.label, self.id_name, self.roles.truth) if key is not None}
        return with_known(
            Rows(self, self.points.shape[0]),
            {key: self.arrays[key].read() for key in wanted},
            self.roles,
            kind=self.kind,
            label=self.label,
            id_name=self.id_name,
            name=self.name,
            notes=self.notes,
        )

    def _ids(self, rows: int) -> Iterator[Array]:
        assert self.id_name is not None  # noqa: S101  where it is None nobody asks
        array, done = self.arrays[self.id_name], 0
        n = self.points.shape[0]
        if array.shape not in ((n,), (n, 1)):
            raise InvalidInputError(
                f"`{self.id_name}` of `{self.name}` must hold one entry per point, shape ({n},); it has shape"
                f" {array.shape}."
            )
        for block in array.blocks(rows):
            yield column_ids(block.reshape(-1).tolist(), column=self.id_name, begin=done)
            done += len(block)

    def _survey(self) -> list[str]:
        """Look from where to where pixels go; bytes need no look."""
        if 0 in self.points.shape:
            raise InvalidInputError(f"{self._called} must hold images; it is empty, of shape {self.points.shape}.")
        channels_last(np.empty((1, *self.points.shape[1:])), name=self._called)
        if self.points.dtype != np.uint8:
            for block in self.points.blocks(self.rows()):
                self._shades.add(block)
        return self._shades.check(self.points.dtype, name=self._called)


def npy_blocks(path: Path, roles: Roles) -> ArrayBlocks:
    """Open one array without labels."""
    refuse_roles(roles, name=path.name)
    return ArrayBlocks({"X": open_npy(path)}, roles, name=path.name)


def npz_blocks(path: Path, roles: Roles) -> ArrayBlocks:
    """Open arrays: points, and labels and ids where there are any."""
    arrays: dict[str, StoredArray | JoinedArrays] = dict(open_npz(path))
    notes = []
    if set(SPLIT) <= set(arrays):
        x_train, y_train, x_test, y_test = (arrays.pop(name) for name in SPLIT)
        for key, first, second in (("X", x_train, x_test), ("y", y_train, y_test)):
            require_alike(first, second, what=f"{key.lower()}_train and {key.lower()}_test", where=path.name)
            arrays[key] = JoinedArrays([part for part in (first, second) if isinstance(part, StoredArray)])
        notes.append(split_note(x_train.shape[0], x_test.shape[0]))
    return ArrayBlocks(arrays, roles, name=path.name, notes=notes)


class H5adBlocks(Blocks):
    """The matrix X of an AnnData file, in blocks of rows; a matrix stored by columns is held sparse.

    Parameters
    ----------
    path : Path
        A file.
    roles : Roles
        Which columns of ``obs`` are labels, truth and ids.
    """

    kind = "vectors"

    def __init__(self, path: Path, roles: Roles) -> None:
        self.path, self.roles, self.name, self.notes = path, roles, path.name, [NOTE]
        with open_h5ad(path) as file:
            self._ids = take_ids(file, roles)
            self.n, self._width = file.shape

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self._width)

    def read(self, rows: int) -> Iterator[Dataset]:
        """Yield so many rows at a time, dense."""
        with open_h5ad(self.path) as file:
            for number, X in enumerate(file.blocks(rows)):
                ids = self._ids[number * rows : number * rows + len(X)]
                yield Dataset(self.name, "vectors", X, ids, self.roles.id or "obs_names", unlabeled(len(X)))

    def known(self) -> Dataset:
        """Return ids, labels and truth of all rows; the matrix is read later."""
        with open_h5ad(self.path) as file:
            return with_obs(Rows(self, self.n), file.obs, self._ids, self.roles, name=self.name)
