"""Columns whose spreads differ so much that distances see only some of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

# A column with a thousandth of the spread of another adds a millionth of what that adds to squared distances. Raw
# tables with units of their own go beyond this (wine: 2,300); pixels of 8 bits, counts and principal components that
# are worth keeping do not.
UNLIKE = 1000.0
NOTHING = 1e-10  # of the largest spread: rounding, which no unit explains
MEASURED = 2000  # rows by which spreads are found, spread evenly over the data
SHOWN = 3  # columns named at each end


def warn_of_spreads(X: npt.NDArray[Any], names: Sequence[Any] | None = None, *, stacklevel: int) -> None:
    """Warn where columns that vary differ a thousandfold in spread.

    The spread is the distance from the 5 % to the 95 % quantile: neither single values nor columns that are nearly
    always the same count.

    Parameters
    ----------
    X : array, shape (n, d)
        Vectors.
    names : sequence, optional
        What the columns are called; by default they are named by position.
    stacklevel : int
        Whose line the warning shows, as for `warnings.warn`; 1 is the caller.
    """
    rows = X[:: max(1, len(X) // MEASURED)]
    low, high = np.quantile(rows, [0.05, 0.95], axis=0)
    spreads = high - low
    varied = np.flatnonzero(spreads > NOTHING * spreads.max())
    order = varied[np.argsort(spreads[varied], kind="stable")]
    if not len(order) or spreads[order[-1]] <= UNLIKE * spreads[order[0]]:
        return
    few = min(SHOWN, len(order) // 2)
    smallest, largest = (", ".join(_named(i, spreads, names) for i in some[:few]) for some in (order, order[::-1]))
    warnings.warn(
        f"The columns of X differ {spreads[order[-1]] / spreads[order[0]]:,.0f}-fold in spread, from the 5 % to the"
        f" 95 % quantile: {largest} against {smallest}. Distances hardly see the columns of small spread. If units"
        " differ, scale the columns first: make_pipeline(StandardScaler(), XSDC()), for example.",
        UserWarning,
        stacklevel=stacklevel + 1,
    )


def _named(column: int, spreads: npt.NDArray[np.float64], names: Sequence[Any] | None) -> str:
    """Name a column with its spread."""
    return f"{f'column {column}' if names is None else repr(str(names[column]))} {spreads[column]:.3g}"
