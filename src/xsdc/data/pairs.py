"""Files of pairs: which points are the same, which are different."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from xsdc.data.dataset import Dataset
from xsdc.data.text import read_text
from xsdc.errors import InvalidInputError

Pairs = npt.NDArray[np.int64]
# First lines that name columns. Others would be taken for pairs: a misspelt id must not pass for a header.
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
        Text with two cells in a row, with a header (``a,b``, ``id1,id2`` ...) or without. Cells are ids of the data
        set, compared as text: row numbers from 0 where it has no others.
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
    result = []
    for count, (line, cells) in enumerate(read_text(file).rows()):
        row = [cell.strip() for cell in cells]
        if len(row) != n_columns:
            raise InvalidInputError(
                f"Line {line} of `{file.name}` must have {n_columns} cells ({name}); it has {len(row)}."
            )
        if count == 0 and all(cell not in positions and HEADER.fullmatch(cell) for cell in row[:2]):
            continue
        for cell in row[:2]:
            _require_one(cell, positions, repeated, dataset=dataset, where=f"line {line} of `{file.name}`")
        result.append((line, (positions[row[0]], positions[row[1]]), row[2:]))
    return result


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
