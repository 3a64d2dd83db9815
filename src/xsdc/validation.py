"""Checks of single values that users give; each function returns what the caller goes on with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from sklearn.utils import column_or_1d
from torch import Tensor

from xsdc.errors import InvalidInputError


def named(items: Sequence[int], *, limit: int = 5) -> str:
    """Format a list of indices for an error message: ``3, 8, 12 and 40 more``."""
    shown = ", ".join(str(int(i)) for i in items[:limit])
    return shown if len(items) <= limit else f"{shown} and {len(items) - limit} more"


def as_features(Phi: object, *, name: str = "Phi", min_rows: int = 2) -> Tensor:
    """Check a feature matrix: 2-D, floating point, finite, with at least ``min_rows`` rows."""
    X = _as_float_tensor(Phi, name=name)
    if X.ndim != 2:
        raise InvalidInputError(f"{name} must be a matrix (n, D); it has shape {tuple(X.shape)}.")
    if X.shape[0] < min_rows:
        raise InvalidInputError(f"{name} must have at least {min_rows} rows (points); it has {X.shape[0]}.")
    if X.shape[1] == 0:
        raise InvalidInputError(f"{name} must have at least one column (feature); it has none.")
    require_finite(X, name=name)
    return X


def as_square(A: object, *, name: str = "A") -> Tensor:
    """Check a square matrix of finite numbers with at least two rows."""
    X = _as_float_tensor(A, name=name)
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise InvalidInputError(f"{name} must be square (n, n); it has shape {tuple(X.shape)}.")
    if X.shape[0] < 2:
        raise InvalidInputError(f"{name} must hold at least 2 points; it has {X.shape[0]}.")
    require_finite(X, name=name)
    return X


def as_codes(y: object, *, n: int, name: str = "y", unknown_allowed: bool = False) -> Tensor:
    """Check integer codes, one per point: 0, 1, ... and, where allowed, -1 for unknown."""
    codes = _as_integer_tensor(y, name=name)
    if codes.shape != (n,):
        raise InvalidInputError(
            f"{name} must hold one integer per point, shape ({n},); it has shape {tuple(codes.shape)}."
        )
    lowest = -1 if unknown_allowed else 0
    if n > 0 and int(codes.min()) < lowest:
        bad = (codes < lowest).nonzero().flatten().tolist()
        hint = "-1 means unknown; " if unknown_allowed else ""
        raise InvalidInputError(f"{name} must be at least {lowest} ({hint}points {named(bad)} are below).")
    return codes


def is_unknown(y: object) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Tell which labels are unknown: -1 among numbers, None, NaN (what differs from itself) and empty text anywhere."""
    labels = np.asarray(_words_apart(y))
    if labels.ndim != 1:
        raise InvalidInputError(f"y must be a flat list of labels; it has shape {labels.shape}.")
    if labels.dtype.kind in "iufb":
        return np.asarray((labels == -1) | np.isnan(labels), dtype=bool)
    if labels.dtype.kind in "US":
        return np.asarray(np.char.strip(labels) == labels.dtype.type(), dtype=bool)
    return np.array([is_missing(x) for x in labels], dtype=bool)


def is_missing(x: object) -> bool:
    """Tell whether a label says that there is none: -1, None, NaN or empty text."""
    if isinstance(x, str):
        return not x.strip()
    try:
        return x is None or bool(x != x) or (isinstance(x, int | float | np.number) and bool(x == -1))  # noqa: PLR0124
    except TypeError:  # pandas' NA is neither true nor false
        return True


def as_labels(y: object, *, n: int) -> np.ndarray[tuple[int, ...], np.dtype[Any]]:
    """Check labels, one per point: numbers, strings, or a mixture with missing values."""
    given = y.detach().cpu().numpy() if isinstance(y, Tensor) else y
    labels: np.ndarray[tuple[int, ...], np.dtype[Any]] = column_or_1d(_words_apart(given), warn=True)
    if len(labels) != n:
        raise InvalidInputError(
            f"y must hold one label per point, {n}; it holds {len(labels)}. Write -1 where unknown."
        )
    if labels.dtype.kind not in "iufbUO":
        raise InvalidInputError(f"y must hold whole numbers or strings; it holds {labels.dtype}.")
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise InvalidInputError(
            f"Input y contains infinity or a value too large for {labels.dtype!r}. Write -1, None or NaN where unknown."
        )
    if labels.dtype.kind == "O":
        known = [x for x in labels if not is_missing(x)]
        if all(isinstance(x, bool | int | float | np.number) for x in known) and known:
            return np.array([-1 if is_missing(x) else x for x in labels])
    return labels


def _words_apart(y: object) -> object:
    """Keep what is missing in a list of words as it is; NumPy would make words of it."""
    if isinstance(y, list | tuple) and any(isinstance(x, str) for x in y):
        return np.array([*y, None], dtype=object)[:-1]
    return y


def as_pairs(pairs: object, *, n: int, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Check pairs of point indices: an (m, 2) array of integers in [0, n)."""
    if pairs is None:
        return np.empty((0, 2), dtype=np.int64)
    try:
        array = pairs.detach().cpu().numpy() if isinstance(pairs, Tensor) else np.asarray(pairs)
    except ValueError as error:
        raise InvalidInputError(f"{name} must be pairs of indices, two each; they differ in length.") from error
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidInputError(f"{name} must be pairs of indices, shape (m, 2); it has shape {array.shape}.")
    if array.dtype.kind not in "iu":
        raise InvalidInputError(f"{name} must hold integers (positions of points); it holds {array.dtype}.")
    outside = np.flatnonzero(((array < 0) | (array >= n)).any(axis=1))
    if outside.size:
        raise InvalidInputError(
            f"{name} must hold indices from 0 to {n - 1}; pair {tuple(array[outside[0]].tolist())} does not"
            f" ({outside.size} such pairs)."
        )
    return array.astype(np.int64, copy=False)


def as_positive(value: float, *, name: str, allow_zero: bool = False) -> float:
    """Check a finite number above zero (or at zero, where allowed)."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number < 0 or (number == 0 and not allow_zero):
        bound = "zero or more" if allow_zero else "above zero"
        raise InvalidInputError(f"{name} must be a finite number {bound}; it is {value!r}.")
    return number


def as_count(value: int, *, name: str, minimum: int = 1, maximum: int | None = None) -> int:
    """Check a whole number within bounds."""
    try:
        whole = not isinstance(value, bool) and math.isfinite(value) and int(value) == value
    except (TypeError, ValueError):
        whole = False
    if not whole or value < minimum:
        raise InvalidInputError(f"{name} must be a whole number of at least {minimum}; it is {value!r}.")
    if maximum is not None and value > maximum:
        raise InvalidInputError(f"{name} must be at most {maximum}; it is {value}.")
    return int(value)


def require_finite(X: Tensor, *, name: str) -> None:
    """Refuse NaN and infinities, naming where the first one stands."""
    # The sum of finite numbers may overflow, but a finite sum proves that every number is finite:
    # one pass over the memory, without a mask, in the case that matters.
    if bool(torch.isfinite(X.sum())):
        return
    bad = (~torch.isfinite(X)).nonzero()
    if len(bad):
        rows = torch.unique(bad[:, 0]).tolist()
        raise InvalidInputError(f"{name} must be finite; NaN or infinity in {len(rows)} row(s): {named(rows)}.")


def _as_float_tensor(value: object, *, name: str) -> Tensor:
    X = value if isinstance(value, Tensor) else _from_numpy(value, name=name)
    if X.is_complex():
        raise InvalidInputError(f"{name} must hold real numbers; it holds complex ones.")
    if X.dtype in (torch.float32, torch.float64):
        return X
    # Half precision is exact in float32, integers up to 2^53 in float64.
    return X.to(torch.float32 if X.is_floating_point() else torch.float64)


def _as_integer_tensor(value: object, *, name: str) -> Tensor:
    X = value if isinstance(value, Tensor) else _from_numpy(value, name=name)
    if X.is_floating_point():
        whole = X.round()
        if not bool((whole == X).all()):
            raise InvalidInputError(f"{name} must hold whole numbers; it holds {X.dtype} with fractions or NaN.")
        X = whole
    if X.is_complex():
        raise InvalidInputError(f"{name} must hold whole numbers; it holds complex ones.")
    return X.to(torch.int64)


def _from_numpy(value: object, *, name: str) -> Tensor:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"dtype {array.dtype}")
        # torch shares the memory of an array that it can read in place; others are copied.
        shared = array.flags.writeable and array.dtype.isnative and all(step >= 0 for step in array.strides)
        return torch.from_numpy(array if shared else array.astype(array.dtype.newbyteorder("=")))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{name} must hold numbers; it could not be read as an array of them ({error})."
        ) from error
