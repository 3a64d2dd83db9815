"""Files of pairs: which points are the same, which are different."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from xsdc.data.dataset import Dataset
from xsdc.data.layout import read_rows
from xsdc.errors import InvalidInputError

Pairs = npt.NDArray[np.int64]
# First lines that name columns, whatever comes below.
HEADER = re.compile(
    r"(a|b|i|j|from|to|source|target|left|right|first|second|one|two"
    r"|(id|ids|point|row|file|index|name|item|node|image)[ _-]?(a|b|i|j|1|2|left|right)?)",
    re.IGNORECASE,
)
SAME, DIFFERENT = ("same", "must"), ("different", "cannot")


def read_pairs(path: str | os.PathLike[str], dataset: Dataset, *, name: str = "pairs") -> Pairs:
    """Read pairs of points from a file of two columns.

    Parameters
    ----------
    path : path
        Text with two cells in a row, with a header (``a,b``, ``Sample ID 1,Sample ID 2`` ...) or without. Cells are
        ids of the data set, compared as text: row numbers from 0 where it has no others. Rows with nothing in them
        are passed over.
    dataset : Dataset
        The points.
    name : str
        What to call the pairs in messages.

    Returns
    -------
    array, shape (m, 2)
        Positions of the points.
    """
    rows = _rows(path, dataset, n_columns=2, name=name)
    return _as_array([pair for _, pair, _ in rows])


def read_links(path: str | os.PathLike[str], dataset: Dataset) -> tuple[Pairs, Pairs]:
    """Read pairs of both kinds from a file of three columns, the third of which says "same" or "different".

    Parameters
    ----------
    path : path
        As for `read_pairs`, with a third cell: ``same`` (or ``must``), ``different`` (or ``cannot``).
    dataset : Dataset
        The points.

    Returns
    -------
    same, different : arrays, shape (m, 2)
        Positions of the points.
    """
    kinds: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    for line, pair, rest in _rows(path, dataset, n_columns=3, name="links"):
        word = rest[0].lower()
        if word not in SAME + DIFFERENT:
            raise InvalidInputError(
                f"Line {line} of `{Path(path).name}` must end in `same` or `different`; it ends in `{rest[0]}`."
            )
        kinds[word in SAME].append(pair)
    return _as_array(kinds[True]), _as_array(kinds[False])


def _as_array(pairs: list[tuple[int, int]]) -> Pairs:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _rows(
    path: str | os.PathLike[str], dataset: Dataset, *, n_columns: int, name: str
) -> list[tuple[int, tuple[int, int], list[str]]]:
    """Read rows as (line, positions of the two points, other cells)."""
    file = Path(path).expanduser()
    if not file.is_file():
        raise InvalidInputError(f"There is no file `{path}` of {name}.")
    ids = [str(point) for point in dataset.ids]
    positions = {point: i for i, point in enumerate(ids)}
    repeated = {point for point, count in Counter(ids).items() if count > 1}
    rows = read_rows(file)
    for line, row in rows:
        if len(row) != n_columns:
            raise InvalidInputError(
                f"Line {line} of `{file.name}` must have {n_columns} cells ({name}); it has {len(row)}."
            )
    result = []
    for line, row in rows[int(_begin_with_names([row[:2] for _, row in rows], positions)) :]:
        for cell in row[:2]:
            _require_one(cell, positions, repeated, dataset=dataset, where=f"line {line} of `{file.name}`")
        result.append((line, (positions[row[0]], positions[row[1]]), row[2:]))
    return result


def _begin_with_names(rows: list[list[str]], positions: Mapping[str, int]) -> bool:
    """Tell whether the first row names columns: no cell of it is a point or a misspelt one, all cells below are."""
    if not rows or any(cell in positions for cell in rows[0]):
        return False
    if all(HEADER.fullmatch(cell) for cell in rows[0]):
        return True
    below = {cell for row in rows[1:] for cell in row}
    if not below or not below <= positions.keys():
        return False
    forms = {_form(cell) for cell in below}
    return all(any(map(str.isalpha, cell)) and _form(cell) not in forms for cell in rows[0])


def _form(cell: str) -> str:
    """Return what ids made alike have in common, ``a0`` for P017 and P18; words have nothing in common but letters."""
    form = re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", cell))
    return form if "0" in form else cell


def _require_one(cell: str, positions: dict[str, int], repeated: set[str], *, dataset: Dataset, where: str) -> None:
    if cell in repeated:
        raise InvalidInputError(
            f"`{cell}` in {where} must name one point; `{dataset.id_name}` of `{dataset.name}` has it more than once."
        )
    if cell not in positions:
        kind = f"row numbers from 0 to {dataset.n - 1}" if dataset.id_name == "row" else f"`{dataset.id_name}`"
        raise InvalidInputError(
            f"`{cell}` in {where} is no point of `{dataset.name}`, whose points are named by {kind}"
            f" (such as `{dataset.ids[0]}`)."
        )
