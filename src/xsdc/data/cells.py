"""Cells of any type as text."""

from __future__ import annotations

import numpy as np

MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "null", "NULL", "None")


def cell_text(cell: object) -> str:
    """Write a cell of any type as text: nothing for what is missing, ``4`` for 4.0."""
    if cell is None or isinstance(cell, str):
        return (cell or "").strip()
    if isinstance(cell, bytes):
        return cell.decode("utf-8", errors="replace").strip()
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell))
    if isinstance(cell, float | np.floating):
        return str(int(cell)) if float(cell).is_integer() else str(float(cell))  # NaN becomes "nan"
    return str(cell).strip()  # also pandas' NA and NaT: "<NA>" and "NaT"
