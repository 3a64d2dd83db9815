"""Means and deviations of trials, the authors' beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from xsdc.experiments.figures import OURS, curves
from xsdc.experiments.published import reported

Record = dict[str, Any]


def summarise(records: list[Record]) -> list[dict[str, Any]]:
    """Gather trials into rows: data set, curve, place on the axis, mean, deviation, number and what the authors have.

    The authors' figures are for their XSDC under their protocol; they stand beside those curves of ours alone.
    """
    rows = []
    for dataset in dict.fromkeys(record["setting"]["dataset"] for record in records):
        here = [record for record in records if record["setting"]["dataset"] == dataset]
        by_labels = all(record["setting"]["x"] == record["setting"]["n_labeled"] for record in here)
        same = all(record["protocol"] == "authors" and record["setting"]["iterations"] == 500 for record in here)
        for curve, points in curves(here).items():
            for x in sorted(points):
                comparable = by_labels and same and curve in OURS
                rows.append(
                    {
                        "dataset": dataset,
                        "curve": curve,
                        "x": x,
                        "mean": float(np.mean(points[x])),
                        "deviation": float(np.std(points[x])),
                        "trials": len(points[x]),
                        "theirs": reported().get((dataset, int(x))) if comparable else None,
                    }
                )
    return rows
