"""AnnData files, as single-cell data come in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xsdc.data.dataset import Dataset
from xsdc.data.labels import read_known
from xsdc.data.memory import require_memory
from xsdc.data.roles import Roles
from xsdc.data.sheets import first_line, require_module
from xsdc.data.tables import column_ids
from xsdc.errors import InvalidInputError

NOTE = "X is used as it is, without normalising or choosing genes."


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
        roles.require_in([str(column) for column in file.obs.columns], where=f"The table `obs` of `{path.name}`")
        X = _matrix(file, name=path.name)
        ids = column_ids(file.obs_names if roles.id is None else file.obs[roles.id], column=roles.id or "obs_names")
        return with_obs(X, file.obs, ids, roles, name=path.name)


@contextmanager
def open_h5ad(path: Path) -> Iterator[Any]:
    """Open a file and leave its matrix where it is."""
    anndata = require_module("anndata", extra="h5ad", purpose="Reading h5ad")
    try:
        file = anndata.read_h5ad(path, backed="r")
    except Exception as error:  # of many kinds, some of them private, depending on where the file breaks
        raise InvalidInputError(f"`{path.name}` cannot be read as AnnData: {first_line(error)}.") from error
    try:
        yield file
    finally:
        file.file.close()


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


def require_matrix(file: Any, *, name: str) -> Any:
    """Return the matrix as it is stored; refuse a file that has none."""
    n, d = file.shape
    try:
        stored = file.X
    except KeyError:
        stored = None
    if stored is None or n == 0 or d == 0:
        raise InvalidInputError(f"`{name}` must have a matrix X with rows and columns; it has none, or an empty one.")
    return stored


def _matrix(file: Any, *, name: str) -> npt.NDArray[np.float32]:
    stored = require_matrix(file, name=name)
    n, d = file.shape
    require_memory(4 * n * d, what=f"The matrix X of `{name}`, {n} × {d}, dense,")
    return np.asarray(stored.to_memory().toarray() if hasattr(stored, "to_memory") else stored[:], dtype=np.float32)
