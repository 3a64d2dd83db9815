"""AnnData files, as single-cell data come in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xsdc.data.dataset import Dataset
from xsdc.data.labels import read_known
from xsdc.data.memory import require_memory
from xsdc.data.roles import Roles
from xsdc.data.tables import column_ids, first_line, require_module
from xsdc.errors import InvalidInputError


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
    anndata = require_module("anndata", extra="h5ad", purpose="Reading h5ad")
    try:
        file = anndata.read_h5ad(path, backed="r")
    except Exception as error:  # of many kinds, some of them private, depending on where the file breaks
        raise InvalidInputError(f"`{path.name}` cannot be read as AnnData: {first_line(error)}.") from error
    try:
        return _read(file, roles, name=path.name)
    finally:
        file.file.close()


def _read(file: Any, roles: Roles, *, name: str) -> Dataset:
    columns = [str(column) for column in file.obs.columns]
    roles.require_in(columns, where=f"The table `obs` of `{name}`")
    X = _matrix(file, name=name)
    known = read_known(
        None if roles.label is None else file.obs[roles.label],
        None if roles.truth is None else file.obs[roles.truth],
        n=len(X),
        label_name=roles.label or "",
        truth_name=roles.truth or "",
    )
    return Dataset(
        name=name,
        kind="vectors",
        X=X,
        ids=column_ids(file.obs_names if roles.id is None else file.obs[roles.id], column=roles.id or "obs_names"),
        id_name=roles.id or "obs_names",
        labels=known.labels,
        allowed=known.allowed,
        truth=known.truth,
        notes=["X is used as it is, without normalising or choosing genes.", *known.notes],
    )


def _matrix(file: Any, *, name: str) -> npt.NDArray[np.float32]:
    n, d = file.shape
    try:
        stored = file.X
    except KeyError:
        stored = None
    if stored is None or n == 0 or d == 0:
        raise InvalidInputError(f"`{name}` must have a matrix X with rows and columns; it has none, or an empty one.")
    require_memory(4 * n * d, what=f"The matrix X of `{name}`, {n} × {d}, dense,")
    return np.asarray(stored.to_memory().toarray() if hasattr(stored, "to_memory") else stored[:], dtype=np.float32)
