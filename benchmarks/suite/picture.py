"""The leads at a glance: a dot for each cell, sets in rows, levels in columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.suite.regimes import LEVELS
from benchmarks.suite.sets import SETS
from benchmarks.suite.summary import Cell

AHEAD, BEHIND = "#1b7f79", "#c1562b"
LARGEST = 0.2  # a lead of so much or more has the largest dot


def draw(cells: Sequence[Cell], path: Path) -> None:
    """Draw both halves side by side.

    The area of a dot is the distance from the best rival, its colour says on which side; a ring is a tie within half
    a point.
    """
    import matplotlib as mpl  # noqa: PLC0415  an extra

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    leads = {(cell.set, cell.level): cell.lead for cell in cells}
    drawn = sorted((e for e in SETS if any(name == e.name for name, _ in leads)), key=lambda entry: entry.kind)
    halves = [[entry for entry in drawn if entry.half == half] for half in ("settle", "report")]
    tallest = max(len(entries) for entries in halves)
    figure, axes = plt.subplots(1, 2, figsize=(13, 1.7 + 0.36 * tallest), layout="constrained")
    for axis, entries, half in zip(axes, halves, ("settle", "report"), strict=True):
        for row, entry in enumerate(entries):
            for column, level in enumerate(LEVELS):
                lead = leads.get((entry.name, level))
                if lead is None:
                    continue
                tie, color = abs(lead) < 0.005, AHEAD if lead > 0 else BEHIND
                area = 40 if tie else 25 + 375 * min(abs(lead), LARGEST) / LARGEST
                axis.scatter(column, row, s=area, color="none" if tie else color, edgecolors="gray" if tie else color)
        axis.set_xticks(range(len(LEVELS)), [level.replace("pairs-", "pairs\n") for level in LEVELS], fontsize=8)
        axis.set_yticks(range(len(entries)), [f"{entry.name} ({entry.kind})" for entry in entries], fontsize=9)
        axis.set_ylim(tallest - 0.5, -0.5)
        axis.set_xlim(-0.6, len(LEVELS) - 0.4)
        axis.set_title(half, fontsize=11, loc="left")
        axis.xaxis.tick_top()
        axis.tick_params(length=0)
        axis.grid(color="#eeeeee", zorder=0)
        axis.set_axisbelow(True)
        axis.spines[:].set_visible(False)
    handles = [
        axes[0].scatter([], [], s=25 + 375 * lead / LARGEST, color=color, label=f"{100 * lead:.0f} points {side}")
        for side, color in (("ahead", AHEAD), ("behind", BEHIND))
        for lead in (0.02, 0.1, LARGEST)
    ]
    handles.append(axes[0].scatter([], [], s=40, color="none", edgecolors="gray", label="within half a point"))
    figure.suptitle("xsdc with its defaults beside the best other method of each cell", x=0.01, ha="left")
    figure.legend(handles=handles, loc="outside lower center", ncols=7, frameon=False, fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
