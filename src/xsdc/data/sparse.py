"""Sparse matrices as SciPy writes them (npz)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from xsdc.data.blocks import Held, unlabeled
from xsdc.data.dataset import Dataset
from xsdc.data.roles import Roles
from xsdc.data.stored import DAMAGED, reason
from xsdc.errors import InvalidInputError

MEMBERS = frozenset(("format.npy", "shape.npy", "data.npy"))


def open_sparse(path: Path, roles: Roles) -> Held:
    """Read a sparse matrix, which stays sparse; its rows are points without labels.

    Parameters
    ----------
    path : Path
        A file that `scipy.sparse.save_npz` has written.
    roles : Roles
        Must be empty: there are no columns to name.
    """
    if roles.named:
        raise InvalidInputError(
            f"`{path.name}` holds one sparse matrix and no `{roles.named[0]}`. Give labels from Python, as y of"
            " XSDC.fit."
        )
    try:
        X = sparse.csr_matrix(sparse.load_npz(path))
        X.check_format()
    except DAMAGED as error:
        raise InvalidInputError(f"`{path.name}` {reason(error)}") from error
    if X.dtype.kind not in "biuf" or 0 in X.shape:
        raise InvalidInputError(
            f"`{path.name}` must hold numbers in rows and columns; it holds {X.dtype}, {X.shape[0]} × {X.shape[1]}."
        )
    n = X.shape[0]
    note = f"A sparse matrix of {n:,} × {X.shape[1]:,}, {X.nnz / n:,.0f} numbers a row."
    return Held(Dataset(path.name, "vectors", X, np.arange(n), "row", unlabeled(n), notes=[note]))
