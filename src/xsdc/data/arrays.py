"""NumPy's files: npz and npy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xsdc.data.dataset import Dataset, Kind
from xsdc.data.labels import read_known
from xsdc.data.memory import require_memory
from xsdc.data.pixels import as_pixels
from xsdc.data.roles import Roles, listed
from xsdc.data.stored import JoinedArrays, StoredArray, open_npy, open_npz
from xsdc.data.tables import column_ids
from xsdc.errors import InvalidInputError

Array = npt.NDArray[Any]
DATA_NAMES = ("X", "x", "data", "images", "features", "embeddings")
LABEL_NAMES = ("y", "labels", "label", "target", "targets")
ID_NAMES = ("ids", "id", "names")
SPLIT = ("x_train", "y_train", "x_test", "y_test")


def read_npy(path: Path, roles: Roles) -> Dataset:
    """Read one array without labels.

    Parameters
    ----------
    path : Path
        A file.
    roles : Roles
        Must be empty: there are no columns to name.

    Returns
    -------
    Dataset
    """
    refuse_roles(roles, name=path.name)
    require_memory(path.stat().st_size, what=f"Reading `{path.name}`")
    return from_arrays({"X": open_npy(path).read()}, roles, name=path.name)


def refuse_roles(roles: Roles, *, name: str) -> None:
    """Refuse roles of arrays in a file that holds but one."""
    if roles.named:
        raise InvalidInputError(
            f"`{name}` holds one array and no `{roles.named[0]}`. Save it together with labels by"
            " numpy.savez(file, X=X, y=y)."
        )


def read_npz(path: Path, roles: Roles) -> Dataset:
    """Read arrays: points, and labels and ids where there are any.

    The points are the array `X`, `x`, `data`, `images`, `features` or `embeddings`, or the only one with two to four
    axes. Labels are the array that `roles` names, else `y`, `labels`, `label`, `target` or `targets`; ids likewise,
    else `ids`, `id` or `names`. Of `x_train, y_train, x_test, y_test` all points are taken, those of training first.

    Parameters
    ----------
    path : Path
        A file.
    roles : Roles
        Which arrays are labels, truth and ids.

    Returns
    -------
    Dataset
    """
    stored = open_npz(path)
    require_memory(sum(array.nbytes for array in stored.values()), what=f"Reading `{path.name}`")
    arrays = {name: array.read() for name, array in stored.items()}
    notes = []
    if set(SPLIT) <= set(arrays):
        arrays = dict(arrays)
        x_train, y_train, x_test, y_test = (arrays.pop(name) for name in SPLIT)
        arrays |= {
            "X": _joined(x_train, x_test, what="x_train and x_test", where=path.name),
            "y": _joined(y_train, y_test, what="y_train and y_test", where=path.name),
        }
        notes.append(split_note(len(x_train), len(x_test)))
    return from_arrays(arrays, roles, name=path.name, notes=notes)


def from_arrays(arrays: Mapping[str, Array], roles: Roles, *, name: str, notes: Sequence[str] = ()) -> Dataset:
    """Put arrays of points, labels and ids together.

    Parameters
    ----------
    arrays : mapping from name to array
        They are not modified.
    roles : Roles
        Which arrays are labels, truth and ids.
    name : str
        What to call the data.
    notes : sequence of str
        What is to be said of it already.

    Returns
    -------
    Dataset
        Of kind "vectors" or "images".
    """
    X_name, label, id_name = choose_arrays(arrays, roles, name=name)
    require_points(arrays[X_name], name=f"`{X_name}` of `{name}`")
    X = arrays[X_name]
    said: list[str] = []
    if X.ndim > 2:
        X, said = as_pixels(X, name=f"`{X_name}` of `{name}`")
    kind: Kind = "vectors" if X.ndim == 2 else "images"
    return with_known(X, arrays, roles, kind=kind, label=label, id_name=id_name, name=name, notes=[*notes, *said])


def with_known(
    X: Any,
    arrays: Mapping[str, Array],
    roles: Roles,
    *,
    kind: Kind,
    label: str | None,
    id_name: str | None,
    name: str,
    notes: Sequence[str],
) -> Dataset:
    """Put points together with what arrays say of them; points may be such as are read later."""
    n = len(X)
    known = read_known(
        None if label is None else _column(arrays[label], n=n, key=label, where=name),
        None if roles.truth is None else _column(arrays[roles.truth], n=n, key=roles.truth, where=name),
        n=n,
        label_name=label or "",
        truth_name=roles.truth or "",
    )
    return Dataset(
        name=name,
        kind=kind,
        X=X,
        ids=np.arange(n)
        if id_name is None
        else column_ids(_column(arrays[id_name], n=n, key=id_name, where=name), column=id_name),
        id_name=id_name or "row",
        labels=known.labels,
        allowed=known.allowed,
        truth=known.truth,
        pictures=X if kind == "images" else None,
        notes=[*notes, *known.notes],
    )


def split_note(n_train: int, n_test: int) -> str:
    """Say where points for training end."""
    return f"Rows 0 to {n_train - 1} are `x_train`, the {n_test} after them `x_test`."


def require_alike(first: Any, second: Any, *, what: str, where: str) -> None:
    """Refuse arrays that cannot follow each other."""
    if first.shape[1:] != second.shape[1:] or 0 in (first.ndim, second.ndim):
        raise InvalidInputError(
            f"{what} of `{where}` must agree in all axes but the first; they have shapes {first.shape} and"
            f" {second.shape}."
        )


def _joined(first: Array, second: Array, *, what: str, where: str) -> Array:
    require_alike(first, second, what=what, where=where)
    return np.concatenate([first, second])


def _points(arrays: Mapping[str, Array], *, name: str) -> str:
    for key in DATA_NAMES:
        if key in arrays:
            return key
    fitting = [key for key, array in arrays.items() if 2 <= array.ndim <= 4]
    if len(fitting) == 1:
        return fitting[0]
    shapes = {key: array.shape for key, array in arrays.items()}
    raise InvalidInputError(
        f"`{name}` must have an array `X` of points, or only one array of two to four axes; it has"
        f" {listed([f'{key} {shape}' for key, shape in shapes.items()]) or 'none'}."
    )


def choose_arrays(arrays: Mapping[str, Any], roles: Roles, *, name: str) -> tuple[str, str | None, str | None]:
    """Return which array holds the points, which labels and which ids, by their names and shapes."""
    roles.require_in(list(arrays), where=f"`{name}`", thing="array")
    free = {key: array for key, array in arrays.items() if key not in roles.named}
    label = roles.label or next((key for key in LABEL_NAMES if key in free), None)
    id_name = roles.id or next((key for key in ID_NAMES if key in free), None)
    points = _points({key: array for key, array in free.items() if key not in (label, id_name)}, name=name)
    return points, label, id_name


def require_points(array: Array | StoredArray | JoinedArrays, *, name: str) -> None:
    """Refuse what are no numbers, and what has neither rows nor images."""
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} must hold numbers; it holds {array.dtype}.")
    if array.ndim in (3, 4):
        return
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidInputError(
            f"{name} must have a row for each point (n, d), or be images (n, H, W) or (n, H, W, 3); it has shape"
            f" {array.shape}."
        )


def _column(array: Array, *, n: int, key: str, where: str) -> list[Any]:
    flat = array.reshape(-1) if array.shape == (n, 1) else array
    if flat.shape != (n,):
        hint = " Use its argmax if it is one-hot." if array.ndim == 2 and len(array) == n else ""
        raise InvalidInputError(
            f"`{key}` of `{where}` must hold one entry per point, shape ({n},); it has shape {array.shape}.{hint}"
        )
    cells: list[Any] = flat.tolist()
    return cells
