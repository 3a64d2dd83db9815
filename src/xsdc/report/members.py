"""Class cards: how large a class is, which members are typical and which are doubtful."""

from __future__ import annotations

from typing import Any

import numpy as np

from xsdc.report.apart import columns_apart
from xsdc.report.findings import Findings, Ints
from xsdc.report.first import points_to_ask
from xsdc.report.pictures import Sheet
from xsdc.report.wording import percent

PICTURES, ROWS = 8, 4  # members of each kind that are shown as thumbnails, as rows
COLUMNS, LETTERS = 4, 80  # cells of a row and letters of a cell


def class_cards(findings: Findings, sheet: Sheet | None) -> list[dict[str, Any]]:
    """Describe each class, in the order of ``findings.classes``."""
    found, given = findings.metrics["found"], findings.metrics["data"]["labels_per_class"] or {}
    drawn = findings.codes[findings.points]
    cards = []
    for code, name in enumerate(findings.classes):
        mine = findings.probability[findings.codes == code]
        typical, doubtful = _choose(findings, np.flatnonzero(drawn == code), PICTURES if sheet else ROWS)
        apart = columns_apart(findings.cells, drawn, code) if findings.cells else []
        columns = [each.column for each in apart] or None
        cards.append(
            {
                "code": code,
                "name": name,
                "size": found["sizes"].get(name, 0),
                "share": found["share"].get(name, 0.0),
                "n_given": given.get(name, 0),
                "probability": float(mine.mean()) if len(mine) else None,
                "apart": apart,
                "typical": [_member(findings, sheet, place, columns) for place in typical],
                "doubtful": [_member(findings, sheet, place, columns) for place in doubtful],
            }
        )
    return cards


def suspicious_labels(findings: Findings, sheet: Sheet | None) -> list[dict[str, Any]]:
    """Describe given labels that are probably wrong, with the picture or the cells of those points that are drawn."""
    place = {point: i for i, point in enumerate(findings.points.tolist())}
    rows = []
    for each in findings.metrics["found"]["suspicious"]:
        here = place.get(each["row"])
        looks = {"position": None, "cells": []} if here is None else _member(findings, sheet, here)
        rows.append({**each, "position": looks["position"], "cells": looks["cells"]})
    return rows


def short_cells(cells: dict[str, str]) -> list[tuple[str, str]]:
    """Columns and values of a row, long values cut."""
    return [(str(key), _cut(str(value))) for key, value in cells.items()]


def _choose(findings: Findings, places: Ints, most: int) -> tuple[Ints, Ints]:
    """Places of the surest and of the least sure drawn members whose class was not given; none is in both."""
    open_ = places[findings.given[findings.points[places]] < 0]
    order = open_[np.argsort(-findings.probability[findings.points[open_]], kind="stable")]
    half = (len(order) + 1) // 2
    typical = order[: min(most, half)]
    doubtful = order[max(len(order) - most, half) :][::-1]
    return typical, doubtful


def points_first(findings: Findings, sheet: Sheet | None) -> list[dict[str, Any]]:
    """Describe the points to look at first."""
    return [_member(findings, sheet, place) for place in points_to_ask(findings).tolist()]


def _member(findings: Findings, sheet: Sheet | None, place: int, columns: list[str] | None = None) -> dict[str, Any]:
    """One point of a card; of a row the columns that are asked for, else the first."""
    point = int(findings.points[place])
    true = -1 if findings.truth is None else int(findings.truth[point])
    return {
        "id": findings.ids[point],
        "probability": percent(float(findings.probability[point]), digits=0),
        "true": findings.classes[true] if true >= 0 else None,
        "wrong": true >= 0 and true != int(findings.codes[point]),
        "position": sheet.place(int(place)) if sheet else None,
        "found": findings.classes[int(findings.codes[point])],
        "cells": _cells(findings.cells[place], columns) if findings.cells else [],
    }


def _cells(cells: dict[str, str], columns: list[str] | None) -> list[tuple[str, str]]:
    """Cells of some columns, or of the first."""
    return (
        short_cells(cells)[:COLUMNS] if columns is None else short_cells({c: cells[c] for c in columns if c in cells})
    )


def _cut(text: str) -> str:
    """Shorten a long text."""
    return text if len(text) <= LETTERS else text[: LETTERS - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"
