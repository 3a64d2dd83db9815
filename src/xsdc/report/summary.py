"""From findings to the dictionary that the template draws."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from xsdc.report.charts import Chart, calibration_chart, curve
from xsdc.report.embedding import draw_maps
from xsdc.report.findings import Equivalence, Findings
from xsdc.report.members import class_cards, points_first, short_cells, suspicious_labels
from xsdc.report.palette import class_colours
from xsdc.report.pictures import Sheet, draw_matrix, make_sheet
from xsdc.report.wording import grouping, interval, knowledge, lead, origin, scores, tiles

MOST_POINTS = 2000  # on the map: t-SNE takes seconds and the eye sees no more
SHOWN = 8  # cells of a row that the map shows
STAGES = {"supervised": "labels only", "joint": "all points"}
CURVES = {
    "objective": "Objective: what training makes small",
    "score": "Score on labels held back: larger is better",
    "eigengap": "Eigengap: how clearly the number of classes shows",
    "ridge": "Ridge: how much the classifier is held back",
}
READ = {
    "objective": "It should fall and become level. Where the stage changes it may jump: more points count then.",
    "score": "It should rise and become level. Where it falls at the end nothing is lost: the best state was kept.",
    "eigengap": "A rise says that the groups come apart. A fall, or a level line, is no fault by itself.",
    "ridge": "It is chosen anew as training goes on. Its ups and downs mean nothing by themselves.",
}


def summarize(findings: Findings) -> dict[str, Any]:
    """Gather everything the page shows; see ``templates/report.html`` for where it goes."""
    findings = _sample(findings)
    metrics, history = findings.metrics, findings.history
    one, many = grouping(metrics)
    pictures = findings.pictures
    sheet = make_sheet(pictures) if pictures is not None and len(pictures) else None
    return {
        "title": findings.title,
        "one": one,
        "many": many,
        "lead": lead(metrics),
        "tiles": tiles(metrics),
        "longest": max(map(len, findings.classes), default=1),
        "colours": class_colours(len(findings.classes)),
        "sheet": sheet,
        "map": _map(findings, sheet),
        "matrix": None if findings.equivalence is None else _matrix(findings, findings.equivalence),
        "origin": origin(history),
        "classes": class_cards(findings, sheet),
        "suspicious": suspicious_labels(findings, sheet),
        "first": points_first(findings, sheet),
        "folder": findings.folder,
        "measured": None if metrics["measured"] is None else _measured(metrics),
        "sizes": _sizes(findings),
        "knowledge": knowledge(metrics),
        "violations": metrics["found"].get("violations") or [],
        "charts": _charts(history),
        "training": metrics["training"],
        "choices": [{**choice, "value": _written(choice["value"])} for choice in history.get("choices", [])],
        "notes": metrics["data"].get("notes") or [],
        "warnings": metrics.get("warnings") or [],
        "configuration": json.dumps(plain(findings.configuration), indent=2, ensure_ascii=False),
        "metrics": plain(metrics),
    }


def plain(value: Any) -> Any:
    """Make JSON that every reader takes: no NaN, no infinity, nothing but its six kinds."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _sample(findings: Findings) -> Findings:
    """Leave out drawn points beyond what the map holds, by chance."""
    m = len(findings.points)
    if m <= MOST_POINTS:
        return findings
    keep = np.sort(np.random.default_rng(0).choice(m, MOST_POINTS, replace=False))
    return replace(
        findings,
        points=findings.points[keep],
        features_before=findings.features_before[keep],
        features_after=findings.features_after[keep],
        pictures=None if findings.pictures is None else findings.pictures[keep],
        cells=None if findings.cells is None else [findings.cells[i] for i in keep],
    )


def _map(findings: Findings, sheet: Sheet | None) -> dict[str, Any]:
    """What the script of the map reads."""
    kept = len(findings.features_before) == len(findings.points)  # not so where training never began
    first = findings.features_before if kept else findings.features_after
    before, after = draw_maps(first, findings.features_after)
    drawn = findings.points
    truth = None if findings.truth is None or not (findings.truth[drawn] >= 0).any() else findings.truth[drawn]
    return {
        "moves": kept and bool(findings.history.get("steps")),
        "before": np.round(before, 4).tolist(),
        "after": np.round(after, 4).tolist(),
        "named": findings.metrics["found"]["named"],
        "classes": findings.classes,
        "ids": [findings.ids[i] for i in drawn],
        "codes": findings.codes[drawn].tolist(),
        "probability": plain(np.round(findings.probability[drawn].astype(float), 4)),
        "given": findings.given[drawn].tolist(),
        "truth": None if truth is None else truth.tolist(),
        "cells": None if findings.cells is None else [short_cells(cells)[:SHOWN] for cells in findings.cells],
        "sheet": None if sheet is None else {k: v for k, v in vars(sheet).items() if k != "uri"},
    }


def _matrix(findings: Findings, equivalence: Equivalence) -> dict[str, Any] | None:
    """Picture of M with the stretches that belong to one class."""
    codes, q = findings.codes[equivalence.points], len(equivalence.points)
    if q == 0:
        return None
    starts = np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1, [q]])
    together = codes[:, None] == codes[None]
    others = ~np.eye(q, dtype=bool)
    M = np.asarray(equivalence.M, dtype=float)
    return {
        "uri": draw_matrix(M),
        "q": q,
        "spans": [
            {"code": int(codes[a]), "name": findings.classes[codes[a]], "start": a / q, "size": (b - a) / q}
            for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        ],
        "within": float(M[together & others].mean()) if (together & others).any() else None,
        "between": float(M[~together].mean()) if (~together).any() else None,
    }


def _measured(metrics: dict[str, Any]) -> dict[str, Any]:
    """Comparison with known answers."""
    measured = metrics["measured"]
    calibration = measured.get("calibration")
    bins = [] if calibration is None else [b for b in calibration["bins"] if b["n"] > 0]
    return {
        "on": measured["on"],
        "note": measured.get("note"),
        "matched": measured.get("matched", False),
        "interval": interval(measured),
        "scores": scores(metrics),
        "confusion": _confusion(measured) if measured.get("confusion") else None,
        "calibration": calibration_chart(bins) if bins else None,
        "calibration_error": None if calibration is None else calibration["error"],
    }


def _confusion(measured: dict[str, Any]) -> dict[str, Any]:
    """Rows of the confusion table: counts, how dark they are drawn, and whether they are right.

    Clusters without names stand in the order of the classes they match best, so that what is right is on the diagonal.
    """
    truth, found = measured["confusion"]["truth"], measured["confusion"]["found"]
    counts = np.asarray(measured["confusion"]["counts"], dtype=np.int64).reshape(len(truth), len(found))
    right = np.array([[name == other for other in found] for name in truth], dtype=bool).reshape(counts.shape)
    if measured.get("matched"):
        rows, columns = linear_sum_assignment(counts, maximize=True)
        right = np.zeros_like(right)
        right[rows, columns] = True
        order = [*columns.tolist(), *sorted(set(range(len(found))) - set(columns.tolist()))]
        found, counts, right = [found[j] for j in order], counts[:, order], right[:, order]
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    cells = [
        [{"n": n, "share": s, "shade": math.sqrt(s), "right": r} for n, s, r in zip(*row, strict=True)]
        for row in zip(counts.tolist(), share.tolist(), right.tolist(), strict=True)
    ]
    totals = counts.sum(axis=1).tolist()
    rows_ = [{"name": t, "total": total, "cells": row} for t, total, row in zip(truth, totals, cells, strict=True)]
    return {"found": found, "rows": rows_}


def _sizes(findings: Findings) -> dict[str, Any]:
    """Share of each class beside its bounds, as shares of the longest bar."""
    found = findings.metrics["found"]
    bounds = found["bounds"]
    low, high = ({}, {}) if bounds is None else (bounds["minimum"] or {}, bounds["maximum"] or {})
    shares = {name: found["share"].get(name, 0.0) for name in findings.classes}
    within = [bound for bound in high.values() if bound is not None and bound < 1]
    longest = max([*shares.values(), *within, 1e-9])
    rows = [
        {"code": code, "name": name, "size": found["sizes"].get(name, 0), "share": share, "bar": share / longest}
        | {"low": low.get(name), "high": high.get(name)}
        | {"low_at": (low.get(name) or 0) / longest, "high_at": min((high.get(name) or 1) / longest, 1)}
        for code, (name, share) in enumerate(shares.items())
    ]
    return {"rows": rows, "bounded": bounds is not None, "kept": None if bounds is None else bounds["kept"]}


def _charts(history: dict[str, Any]) -> list[Chart]:
    """Curves of what training recorded; what stayed the same all along is left out."""
    steps = history.get("steps") or []
    if not steps:
        return []
    span = (steps[0]["iteration"], steps[-1]["iteration"])
    changes = [s for s, last in zip(steps, [None, *steps], strict=False) if last is None or s["stage"] != last["stage"]]
    stages = [(s["iteration"], STAGES.get(s["stage"], s["stage"])) for s in changes]
    charts = []
    for key, title in CURVES.items():
        drawn = [s for s in steps if s.get(key) is not None and math.isfinite(s[key])]
        values = [float(s[key]) for s in drawn]
        if not values or (key == "ridge" and min(values) == max(values)):
            continue
        best = history.get("best_iteration")
        charts.append(
            curve(
                title,
                [s["iteration"] for s in drawn],
                values,
                x_range=span,
                log=0 < 20 * min(values) < max(values),
                stages=stages,
                best=best if best is not None and span[0] <= best <= span[1] else None,
                text=f"From {values[0]:.3g} to {values[-1]:.3g}. {READ[key]}",
            )
        )
    return charts


def _written(value: Any) -> str:
    """Write the value of a choice: numbers short, lists with commas and not whole where they are long."""
    if isinstance(value, (list, tuple)):
        items = [f"({_written(item)})" if isinstance(item, (list, tuple)) else _written(item) for item in value]
        return ", ".join(items[:4]) + (f" … {len(items)} in all" if len(items) > 4 else "")
    if isinstance(value, float):
        return f"{value:.4g}"
    return "none" if value is None else str(value)
