"""Which columns of a table set a class apart from the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MOST = 5  # columns that are shown of a class
MISSING = "missing"


@dataclass(frozen=True)
class Apart:
    """A column that sets a class apart.

    Attributes
    ----------
    column : str
    here : str
        Its mean in the class, or its most telling value with its share there.
    all : str
        The same among all points.
    """

    column: str
    here: str
    all: str


def columns_apart(cells: list[dict[str, str]], codes: npt.NDArray[np.int64], code: int) -> list[Apart]:
    """Find the columns in which a class differs most from all points, by deviations or by shares of a value."""
    mine = codes == code
    if not mine.any() or mine.all():
        return []
    scored: list[tuple[float, Apart]] = []
    for column in cells[0]:
        values = [row.get(column, MISSING) for row in cells]
        numbers = as_numbers(values)
        scored += [_of_words(column, values, mine)] if numbers is None else _of_numbers(column, numbers, mine)
    scored.sort(key=lambda pair: -pair[0])
    return [apart for score, apart in scored[:MOST] if score > 0]


def as_numbers(values: list[str]) -> npt.NDArray[np.float64] | None:
    """Read numbers, not-a-number where they are missing; None where some cell is a word or none is there."""
    known = [value for value in values if value != MISSING]
    try:
        return np.array([np.nan if value == MISSING else float(value) for value in values]) if known else None
    except ValueError:
        return None


def _of_numbers(
    column: str, numbers: npt.NDArray[np.float64], mine: npt.NDArray[np.bool_]
) -> list[tuple[float, Apart]]:
    known = np.isfinite(numbers)
    if not (known & mine).any() or np.std(numbers[known]) == 0:
        return []
    here, overall = float(numbers[known & mine].mean()), float(numbers[known].mean())
    score = abs(here - overall) / float(np.std(numbers[known]))
    return [(score, Apart(column, f"mean {here:.3g}", f"{overall:.3g}"))]


def _of_words(column: str, values: list[str], mine: npt.NDArray[np.bool_]) -> tuple[float, Apart]:
    overall, here = Counter(values), Counter(value for value, own in zip(values, mine.tolist(), strict=True) if own)
    n, m = len(values), int(mine.sum())
    value, score = "", -np.inf
    for each, count in here.items():
        share, usual = count / m, overall[each] / n
        if usual < 1 and (share - usual) / np.sqrt(usual * (1 - usual)) > score:
            value, score = each, (share - usual) / np.sqrt(usual * (1 - usual))
    if not np.isfinite(score):
        return 0.0, Apart(column, "", "")
    shares = [f"{100 * some[value] / total:.0f}\N{NO-BREAK SPACE}%" for some, total in ((here, m), (overall, n))]
    return float(score), Apart(column, f"{value}: {shares[0]}", shares[1])
