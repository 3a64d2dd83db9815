"""The trials as Markdown tables, and the whole of them as CSV."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import get_args

from benchmarks.measure import markdown_table
from benchmarks.suite.methods import METHODS
from benchmarks.suite.regimes import LEVELS
from benchmarks.suite.sets import BY_NAME, SETS, Kind
from benchmarks.suite.summary import OURS, TRAINED, UNTRAINED, Cell, of_half, overall

LEVEL_NAMES = {
    "0": "nothing",
    "1": "1 label per class",
    "5": "5 labels per class",
    "20": "20 labels per class",
    "5%": "5 % of the labels",
    "pairs-300": "300 pairs",
}
MEASURES = ("train_accuracy", "nmi", "ari", "log_loss", "calibration_error", "memory_gb")


def points(value: float) -> str:
    """Format a difference of accuracy in points, with its sign."""
    return f"{100 * value:+.1f}"


def sentence(cells: Sequence[Cell]) -> str:
    """One line that sums up a half."""
    s = overall(cells)
    share = 100 / s["cells"]
    slow = "" if s["slowdown"] is None else (
        f"; in the median {s['slowdown']:.0f} times the seconds of the fastest rival within a point of it"
    )  # fmt: skip
    return (
        f"Ahead of the best rival of the cell in **{s['ahead']} of {s['cells']} cells** ({s['ahead'] * share:.0f} %),"
        f" within two points of it in {s['within_two'] * share:.0f} %, more than five behind in"
        f" {s['far_behind'] * share:.0f} %; mean lead **{points(s['mean_lead'])} points**; worst cell"
        f" {s['worst'].set} at {s['worst'].level}, {points(s['worst'].lead)} (best: {s['worst'].best}); mean rank"
        f" {s['rank']:.1f} of {s['methods']:.1f} methods{slow}. At least {s['seeds']}"
        f" split{'s' if s['seeds'] > 1 else ''} per cell.{_beside_chosen(s['over_chosen'])}"
    )


def _beside_chosen(leads: Sequence[float]) -> str:
    """The same beside rivals that are chosen by other splits."""
    if not leads:
        return ""
    share, mean = 100 / len(leads), points(fmean(leads))
    return (
        f" Beside the rival that is best on the other splits: ahead in {sum(x > 0 for x in leads) * share:.0f} %,"
        f" within two points in {sum(x >= -0.02 for x in leads) * share:.0f} %, mean lead **{mean} points**."
    )


def lead_table(cells: Sequence[Cell]) -> str:
    """Each cell ours, the best rival's and the lead in points; sets in rows, levels in columns."""

    def shown(cell: Cell) -> str:
        lead, error = cell.difference(OURS, cell.best)
        spread = "" if error is None else f" ± {100 * error:.1f}"
        return f"{cell.mean(OURS):.3f} / {cell.mean(cell.best):.3f} ({points(lead)}{spread})"

    return _matrix(cells, shown)


def headline_table(cells: Sequence[Cell]) -> str:
    """Mean accuracy over the sets of each half at a few levels, beside one method for all and the best of each."""
    rows = []
    for half in ("settle", "report"):
        for level in ("0", "1", "5", "20", "5%", "pairs-300"):
            part = [cell for cell in of_half(cells, half) if cell.level == level]
            if not part:
                continue
            common = set.intersection(*(set(cell.rivals) for cell in part))
            single = max(common, key=lambda name: fmean(cell.mean(name) for cell in part))
            rows.append(
                [
                    half,
                    LEVEL_NAMES[level],
                    str(len(part)),
                    f"{fmean(cell.mean(OURS) for cell in part):.3f}",
                    f"{fmean(cell.mean(single) for cell in part):.3f} ({single})",
                    f"{fmean(cell.mean(cell.best) for cell in part):.3f}",
                    f"{sum(cell.lead > 0 for cell in part)}",
                ]
            )
    header = ["half", "known", "sets", "xsdc", "best single method", "best method of each set", "sets where xsdc leads"]
    return markdown_table(header, rows)


def training_table(cells: Sequence[Cell]) -> str:
    """Points of accuracy that training is worth; sets in rows, levels in columns, the mean of each at the end."""
    gain = {(cell.set, cell.level): cell.difference(TRAINED, UNTRAINED)[0] for cell in cells}
    names = [entry.name for entry in SETS if any(name == entry.name for name, _ in gain)]
    rows = []
    for name in names:
        values = [gain.get((name, level)) for level in LEVELS]
        mean = fmean(value for value in values if value is not None)
        rows.append([name, *("" if value is None else points(value) for value in values), points(mean)])
    means = [_mean_or_blank([gain[s, at] for s, at in gain if at == level]) for level in LEVELS]
    return markdown_table(["set", *LEVELS, "mean"], [*rows, ["mean", *means, points(fmean(gain.values()))]])


def _mean_or_blank(values: Sequence[float]) -> str:
    return points(fmean(values)) if values else ""


def means_table(cells: Sequence[Cell]) -> str:
    """Mean leads by kind of data and by level."""
    groups = {f"data: {kind}": [c for c in cells if BY_NAME[c.set].kind == kind] for kind in get_args(Kind)}
    groups |= {f"level: {level}": [c for c in cells if c.level == level] for level in LEVELS}
    rows = [[name, str(len(some)), points(fmean(c.lead for c in some))] for name, some in groups.items() if some]
    return markdown_table(["cells of", "number", "mean lead"], rows)


def training_sentence(cells: Sequence[Cell]) -> str:
    """How often training helps and harms."""
    gains = [cell.difference(TRAINED, UNTRAINED)[0] for cell in cells]
    worst = min(cells, key=lambda cell: cell.difference(TRAINED, UNTRAINED)[0])
    helps, harms = sum(g > 0.005 for g in gains), sum(g < -0.005 for g in gains)
    return (
        f"Training gains more than half a point in {helps} of {len(gains)} cells and loses more than half a point in"
        f" {harms}; in the mean it is worth {points(fmean(gains))} points. Most is lost on {worst.set} at"
        f" {worst.level}: {points(min(gains))}."
    )


def methods_table(cells: Sequence[Cell]) -> str:
    """Each method over the cells where it was run: how far behind the best of the cell, how often best, the cost."""
    behind: dict[str, list[float]] = defaultdict(list)
    seconds: dict[str, list[float]] = defaultdict(list)
    losses: dict[str, list[float]] = defaultdict(list)
    errors: dict[str, list[float]] = defaultdict(list)
    for cell in cells:
        top = max(cell.mean(name) for name in cell.trials)
        for name, trials in cell.trials.items():
            behind[name].append(cell.mean(name) - top)
            seconds[name].append(cell.seconds(name))
            if "log_loss" in trials[0]:
                losses[name].append(cell.mean(name, "log_loss"))
                errors[name].append(cell.mean(name, "calibration_error"))
    rows = [
        [
            name,
            str(len(behind[name])),
            points(fmean(behind[name])),
            str(sum(value == 0 for value in behind[name])),
            f"{fmean(losses[name]):.2f}" if losses[name] else "",
            f"{fmean(errors[name]):.2f}" if errors[name] else "",
            f"{median(seconds[name]):.2f}",
        ]
        for name in sorted(behind, key=lambda name: -fmean(behind[name]))
    ]
    header = ["method", "cells", "mean distance from the best", "best in", "log loss", "calibration error", "seconds"]
    return markdown_table(header, rows)


def _matrix(cells: Sequence[Cell], show: Callable[[Cell], str]) -> str:
    shown = {(cell.set, cell.level): show(cell) for cell in cells}
    names = [entry.name for entry in SETS if any(name == entry.name for name, _ in shown)]
    rows = [[name, *(shown.get((name, level), "") for level in LEVELS)] for name in names]
    return markdown_table(["set", *LEVELS], rows)


def write_csv(cells: Sequence[Cell], path: Path) -> None:
    """Write every method of every cell with all its measures."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["set", "level", "method", "ours", "splits", "accuracy", *MEASURES, "seconds"])
        for cell in cells:
            for name, trials in cell.trials.items():
                means = [f"{cell.mean(name, m):.5f}" if m in trials[0] else "" for m in ("accuracy", *MEASURES)]
                ours = int(METHODS[name].ours)
                writer.writerow([cell.set, cell.level, name, ours, len(trials), *means, f"{cell.seconds(name):.3f}"])
