"""AnnData files, as single-cell data come in.

Only ``X`` and ``obs`` are read, straight from HDF5, and the places of a sparse ``X`` are checked before they are used:
SciPy does not look at them, and a file that has them wrong would make it read and write outside of its arrays.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from xsdc.data.dataset import Dataset
from xsdc.data.labels import read_known
from xsdc.data.memory import require_memory
from xsdc.data.roles import Roles
from xsdc.data.sheets import first_line, require_module
from xsdc.data.tables import column_ids
from xsdc.errors import InvalidInputError

NOTE = "X is used as it is, without normalising or choosing genes."
SPARSE = {"csr_matrix": "csr", "csc_matrix": "csc", "csr": "csr", "csc": "csc"}
WORD = 16  # bytes that a cell of text takes at least
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class StoredMatrix:
    """The matrix X of an open file, and the table that describes its rows.

    Attributes
    ----------
    X : h5py.Dataset or h5py.Group
        The matrix, dense or sparse.
    form : {"dense", "csr", "csc"}
        How it is stored.
    shape : pair of int
        Its shape.
    obs : DataFrame
        A row for each row of the matrix.
    name : str
        The file, for messages.
    """

    X: Any
    form: str
    shape: tuple[int, int]
    obs: Any
    name: str

    @property
    def size(self) -> int:
        """Bytes of the matrix as it is stored, unpacked."""
        parts = [self.X] if self.form == "dense" else [self.X[part] for part in ("data", "indices", "indptr")]
        return sum(int(part.size) * part.dtype.itemsize for part in parts)

    def blocks(self, rows: int) -> Iterator[npt.NDArray[np.float32]]:
        """Yield so many rows at a time, dense; a matrix stored by columns is held sparse."""
        n = self.shape[0]
        whole = self._whole() if self.form == "csc" else None
        for begin in range(0, n, rows):
            end = min(begin + rows, n)
            if whole is not None:
                part = whole[begin:end].toarray()
            elif self.form == "csr":
                part = self._sparse_rows(begin, end).toarray()
            else:
                part = self.X[begin:end]
            with np.errstate(over="ignore"):  # what float32 cannot hold counts as missing, as infinite numbers do
                yield np.asarray(part, dtype=np.float32)

    def _whole(self) -> sparse.csr_matrix:
        require_memory(3 * self.size, what=f"The matrix X of `{self.name}`, which is stored by columns,")
        places = np.asarray(self.X["indptr"][:], dtype=np.int64)
        values, indices = self._entries(places, n_places=self.shape[1], end=self.shape[0])
        return sparse.csc_matrix((values, indices, places), shape=self.shape).tocsr()

    def _sparse_rows(self, begin: int, end: int) -> sparse.csr_matrix:
        places = np.asarray(self.X["indptr"][begin : end + 1], dtype=np.int64)
        values, indices = self._entries(places, n_places=end - begin, end=self.shape[1])
        return sparse.csr_matrix((values, indices, places - places[0]), shape=(end - begin, self.shape[1]))

    def _entries(self, places: npt.NDArray[np.int64], *, n_places: int, end: int) -> tuple[Array, Array]:
        """Read the entries of some rows (or columns), whose places were checked."""
        length = len(self.X["data"])
        fits = len(places) == n_places + 1 and places[0] >= 0 and places[-1] <= length
        if not fits or (np.diff(places) < 0).any():
            raise self._damaged("`indptr` does not go up from 0 to the number of entries")
        first, last = int(places[0]), int(places[-1])
        values, indices = self.X["data"][first:last], np.asarray(self.X["indices"][first:last], dtype=np.int64)
        if len(indices) and not (indices.min() >= 0 and indices.max() < end):
            raise self._damaged(
                f"`indices` must be from 0 to {end - 1}; they go from {indices.min()} to {indices.max()}"
            )
        return values, indices

    def _damaged(self, how: str) -> InvalidInputError:
        return InvalidInputError(f"The sparse matrix X of `{self.name}` is damaged: {how}.")


def read_h5ad(path: Path, roles: Roles) -> Dataset:
    """Read the matrix X of an AnnData file as vectors, and columns of ``obs`` as labels, truth and ids.

    X is used as it is: neither normalised nor reduced to the genes that vary. A sparse X is made dense.

    Parameters
    ----------
    path : Path
        A file.
    roles : Roles
        Which columns of ``obs`` are labels, truth and ids; ids are the names of the observations otherwise.

    Returns
    -------
    Dataset
        Of kind "vectors".
    """
    with open_h5ad(path) as file:
        n, d = file.shape
        ids = take_ids(file, roles)
        require_memory(4 * n * d, what=f"The matrix X of `{path.name}`, {n} × {d}, dense,")
        (X,) = file.blocks(n)
        return with_obs(X, file.obs, ids, roles, name=path.name)


def take_ids(file: StoredMatrix, roles: Roles) -> npt.NDArray[np.object_]:
    """Return the ids of the rows; refuse roles that ``obs`` has no columns for."""
    roles.require_in([str(column) for column in file.obs.columns], where=f"The table `obs` of `{file.name}`")
    return column_ids(file.obs.index if roles.id is None else file.obs[roles.id], column=roles.id or "obs_names")


@contextmanager
def open_h5ad(path: Path) -> Iterator[StoredMatrix]:
    """Open a file and leave its matrix where it is; what is wrong with the file is told in a sentence."""
    h5py = require_module("h5py", extra="h5ad", purpose="Reading h5ad")
    require_module("anndata", extra="h5ad", purpose="Reading h5ad")
    try:
        file = h5py.File(path, "r")
        with file:
            yield _described(file, path.name)
    except InvalidInputError:
        raise
    except Exception as error:  # of many kinds, some of them private, depending on where the file breaks
        raise InvalidInputError(f"`{path.name}` cannot be read as AnnData: {first_line(error)}.") from error


def _described(file: Any, name: str) -> StoredMatrix:
    read_elem = require_module("anndata.io", extra="h5ad", purpose="Reading h5ad").read_elem

    for key in ("X", "obs"):
        if key not in file:
            raise InvalidInputError(f"`{name}` must have a matrix X and a table obs; it has no `{key}`.")
        _refuse_elsewhere(file, key, name=name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of old forms that are still read
        require_memory(_size(file["obs"]), what=f"The table `obs` of `{name}`")
        obs = read_elem(file["obs"])
    form, shape = _form(file["X"], name=name)
    if len(shape) != 2 or 0 in shape:
        raise InvalidInputError(f"`{name}` must have a matrix X with rows and columns; it has shape {tuple(shape)}.")
    if len(obs) != shape[0]:
        raise InvalidInputError(
            f"`{name}` must have a row of `obs` for each row of X; it has {len(obs)} and {shape[0]}. It is damaged."
        )
    return StoredMatrix(file["X"], form, (int(shape[0]), int(shape[1])), obs, name)


def _form(X: Any, *, name: str) -> tuple[str, tuple[int, ...]]:
    """Tell how the matrix is stored, and its shape."""
    if hasattr(X, "dtype"):
        if X.dtype.kind not in "biuf":
            raise InvalidInputError(f"The matrix X of `{name}` must hold numbers; it holds {X.dtype}.")
        return "dense", X.shape
    form = SPARSE.get(str(X.attrs.get("encoding-type", X.attrs.get("h5sparse_format"))))
    shape = np.asarray(X.attrs.get("shape", X.attrs.get("h5sparse_shape", ())))
    parts = [X.get(part) for part in ("data", "indices", "indptr")]
    if form is None or shape.dtype.kind not in "iu" or not all(len(getattr(part, "shape", ())) == 1 for part in parts):
        raise InvalidInputError(f"The matrix X of `{name}` must be dense, or sparse by rows or columns; it is neither.")
    values, indices, places = parts
    if values.dtype.kind not in "biuf" or indices.dtype.kind not in "iu" or places.dtype.kind not in "iu":
        raise InvalidInputError(f"The sparse matrix X of `{name}` must hold numbers, at whole-numbered places.")
    if len(values) != len(indices) or (shape < 0).any():
        raise InvalidInputError(f"The sparse matrix X of `{name}` is damaged: its parts differ in length.")
    return form, tuple(int(size) for size in shape)


def _refuse_elsewhere(group: Any, key: str, *, name: str) -> None:
    """Refuse what lies in other files, which a file from a stranger could make us read."""
    h5py = require_module("h5py", extra="h5ad", purpose="Reading h5ad")
    link, found = group.get(key, getlink=True), None
    if not isinstance(link, h5py.ExternalLink):
        found = group[key]
    elsewhere = found is None or found.file.filename != group.file.filename
    if isinstance(found, h5py.Dataset):
        elsewhere = elsewhere or found.is_virtual or bool(found.external)
    if elsewhere:
        raise InvalidInputError(f"`{key}` of `{name}` points to another file, which is not followed.")
    if isinstance(found, h5py.Group):
        for inner in found:
            _refuse_elsewhere(found, inner, name=name)


def _size(stored: Any) -> int:
    """Bytes of a table, unpacked."""
    if hasattr(stored, "dtype"):
        return int(stored.size) * max(WORD, int(stored.dtype.itemsize))
    return sum((_size(stored[key]) for key in stored), 0)


def with_obs(X: Any, obs: Any, ids: npt.NDArray[np.object_], roles: Roles, *, name: str) -> Dataset:
    """Put points together with what columns of ``obs`` say of them; points may be such as are read later."""
    known = read_known(
        None if roles.label is None else obs[roles.label],
        None if roles.truth is None else obs[roles.truth],
        n=len(X),
        label_name=roles.label or "",
        truth_name=roles.truth or "",
    )
    return Dataset(
        name=name,
        kind="vectors",
        X=X,
        ids=ids,
        id_name=roles.id or "obs_names",
        labels=known.labels,
        allowed=known.allowed,
        truth=known.truth,
        notes=[NOTE, *known.notes],
    )
