"""Means and deviations of trials, the authors' beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from xsdc.experiments.figures import comparable, curves
from xsdc.experiments.published import reported

Record = dict[str, Any]


def summarise(records: list[Record]) -> list[dict[str, Any]]:
    """Gather trials into rows: data set, curve, place on the axis, mean, deviation, number and what the authors have.

    The authors' figures are for their XSDC under their protocol; they stand beside those curves of ours alone.
    """
    rows = []
    for dataset in dict.fromkeys(record["setting"]["dataset"] for record in records):
        here = [record for record in records if record["setting"]["dataset"] == dataset]
        for curve, points in curves(here).items():
            for x in sorted(points):
                same = [r for r in here if (r["setting"]["curve"], r["setting"]["x"]) == (curve, x) and comparable(r)]
                rows.append(
                    {
                        "dataset": dataset,
                        "curve": curve,
                        "x": x,
                        "mean": float(np.mean(points[x])),
                        "deviation": float(np.std(points[x])),
                        "trials": len(points[x]),
                        "theirs": reported().get((dataset, int(x))) if same else None,
                    }
                )
    return rows
