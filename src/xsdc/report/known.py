"""The paper's Figure 2: which entries of M are known, as a picture."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xsdc.errors import InvalidInputError

COLOURS = {1: "#1b6ca8", 0: "#f2b263", -1: "#e9e9e9"}
NAMES = {1: "together", 0: "apart", -1: "not known"}
LARGEST = 500  # points; beyond, cells would be smaller than a dot


def draw_known(matrix: npt.ArrayLike, *, width: int = 400) -> str:
    """Draw which entries of M are known.

    Parameters
    ----------
    matrix : array of int, shape (n, n)
        1 where an entry is known to be one, 0 where it is known to be zero, -1 where it is open; see
        :func:`xsdc.core.family.known_matrix`.
    width : int
        Width of the matrix in the picture.

    Returns
    -------
    str
        An SVG image.
    """
    known = np.asarray(matrix)
    if known.ndim != 2 or known.shape[0] != known.shape[1] or not np.isin(known, list(COLOURS)).all():
        raise InvalidInputError(f"matrix must be square and hold 1, 0 and -1; it has shape {known.shape}.")
    n = len(known)
    if not 0 < n <= LARGEST:
        raise InvalidInputError(
            f"matrix must hold 1 to {LARGEST} points to be drawn; it holds {n}. Choose some of them."
        )
    cell = width / n
    label = "Known entries of M"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{width + 30}" aria-label="{label}">',
        f'<rect width="{width}" height="{width}" fill="{COLOURS[-1]}"/>',
    ]
    parts += [
        f'<rect x="{start * cell:.2f}" y="{i * cell:.2f}" width="{length * cell:.2f}" height="{cell:.2f}"'
        f' fill="{COLOURS[value]}"/>'
        for i, row in enumerate(known)
        for start, length, value in _runs(row)
        if value >= 0
    ]
    for place, (value, name) in enumerate(NAMES.items()):
        x = place * width / len(NAMES)
        parts.append(f'<rect x="{x:.0f}" y="{width + 10}" width="12" height="12" fill="{COLOURS[value]}"/>')
        parts.append(f'<text x="{x + 18:.0f}" y="{width + 20}" font-family="sans-serif" font-size="12">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _runs(row: npt.NDArray[np.int8]) -> list[tuple[int, int, int]]:
    """Start, length and value of each stretch of equal entries: one rectangle for each, instead of one per entry."""
    edges = np.flatnonzero(np.diff(row)) + 1
    starts = np.concatenate([[0], edges])
    lengths = np.diff(np.concatenate([starts, [len(row)]]))
    return [(int(s), int(length), int(row[s])) for s, length in zip(starts, lengths, strict=True)]
