"""The figures of the paper, the authors' points beside ours."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from xsdc.errors import InvalidInputError
from xsdc.experiments.declared import Experiment
from xsdc.experiments.published import reported

Record = dict[str, Any]
Points = dict[float, list[float]]
THEIRS = "XSDC, the authors"
INITIALISATIONS = {
    "random_initialization": "random initialisation",
    "supervised_initialization": "supervised initialisation",
}
OURS = ("XSDC", "balancing", "balancing, all steps", "without copies", "none")  # what the authors' figures are for
ALL_STEPS = 500


def draw_figure(experiment: Experiment, records: list[Record], path: Path) -> None:
    """Draw the trials of an experiment.

    Parameters
    ----------
    experiment : Experiment
        What is shown.
    records : list of dict
        Its trials.
    path : Path
        File to write: its suffix says in which format, svg, png or pdf.
    """
    if not records:
        raise InvalidInputError(f"There is no trial of {experiment.name} to draw yet.")
    plt = pyplot()
    records = _compared(records)
    one_at_a_time = experiment.name == "sensitivity"  # its curves have axes of their own
    gaps = experiment.name == "relaxations"
    panels: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        panels[record["setting"]["curve" if one_at_a_time else "dataset"]].append(record)
    size = (4.4 * (len(panels) + gaps), 3.6)
    figure, axes = plt.subplots(
        1, len(panels) + gaps, figsize=size, squeeze=False, sharey=one_at_a_time, layout="constrained"
    )
    colors = {name: f"C{i}" for i, name in enumerate(curves(records))}  # the same in every panel
    for axis, (title, shown) in zip(axes[0], panels.items(), strict=False):
        _draw_curves(axis, experiment.axis, shown, colors)
        axis.set_title(title)
        if one_at_a_time and len({record["setting"]["x"] for record in shown}) > 1:
            axis.set_xscale("log", base=2)
    axes[0][0].set_ylabel("test accuracy")
    if gaps:
        _draw_gaps(axes[0][-1], records)
    headline = _headline(experiment.name, records)
    if axes.size == 1:  # too narrow for one line
        headline = headline.replace(": ", ":\n")
    figure.suptitle(headline, fontsize=9)
    figure.savefig(path)
    plt.close(figure)


def _headline(name: str, records: list[Record]) -> str:
    """Say what is drawn, by which protocol, and from how many trials."""
    counts = Counter((r["setting"]["dataset"], r["setting"]["curve"], r["setting"]["x"]) for r in records).values()
    fewest, most = min(counts), max(counts)
    trials = f"{fewest} to {most} trials each" if fewest < most else f"{most} trial{'s' if most > 1 else ''} each"
    protocol = "the honest protocol" if records[0]["protocol"] == "honest" else "the authors' protocol"
    return f"{name}, {protocol}: mean and deviation of {trials}"


def curves(records: list[Record]) -> dict[str, Points]:
    """Accuracies by curve and place on the axis; the initialisations are curves of their own."""
    found: dict[str, Points] = defaultdict(lambda: defaultdict(list))
    for record in records:
        setting = record["setting"]
        found[setting["curve"]][setting["x"]].append(record["accuracy"])
        if setting["curve"] == "XSDC":
            for key, name in INITIALISATIONS.items():
                if record.get(key) is not None:
                    found[name][setting["x"]].append(record[key])
    return found


def comparable(record: Record) -> bool:
    """Whether the authors' figure for this number of labels is of the same thing."""
    setting = record["setting"]
    return bool(
        setting["curve"] in OURS
        and setting["x"] == setting["n_labeled"]
        and setting["iterations"] == ALL_STEPS
        and record["protocol"] == "authors"
    )


def _compared(records: list[Record]) -> list[Record]:
    """Leave out data sets of which one curve alone is there, where others have several to compare."""
    names: dict[str, set[str]] = defaultdict(set)
    for record in records:
        names[record["setting"]["dataset"]].add(record["setting"]["curve"])
    most = max(map(len, names.values()))
    return [record for record in records if most == 1 or len(names[record["setting"]["dataset"]]) > 1]


def _draw_curves(axis: Any, axis_name: str, records: list[Record], colors: dict[str, str]) -> None:
    """Draw the curves of one data set."""
    dataset = records[0]["setting"]["dataset"]
    lines = curves(records)
    places = {x for points in lines.values() for x in points}
    style = {"markersize": 3, "capsize": 2, "linewidth": 1.2}
    shift: dict[str, float] = dict.fromkeys(lines, 0.0)
    if len(places) == 1:  # nothing to draw a line through: curves side by side
        shift = {name: i - min(places) for i, name in enumerate([*lines, THEIRS])}
    for name, points in lines.items():
        x = sorted(points)
        mean, deviation = ([float(f(points[at])) for at in x] for f in (np.mean, np.std))
        where = [at + shift[name] for at in x]
        axis.errorbar(where, mean, deviation, label=name, marker="o", color=colors[name], **style)
    theirs = {
        n: reported()[dataset, n]
        for n in sorted({record["setting"]["n_labeled"] for record in records if comparable(record)})
        if (dataset, n) in reported()
    }
    if theirs:
        beside = shift.get(THEIRS, 6)
        mean, deviation = [r.mean for r in theirs.values()], [r.deviation for r in theirs.values()]
        black: dict[str, Any] = {**style, "color": "black", "linestyle": "none", "marker": "s"}
        axis.errorbar([n + beside for n in theirs], mean, deviation, label=THEIRS, **black)
    axis.grid(alpha=0.25)
    if len(places) == 1:
        shown = [*lines, *([THEIRS] if theirs else [])]
        axis.set_xticks(range(len(shown)), shown, rotation=20, ha="right", fontsize=7)
        axis.set(xlim=(-0.5, len(shown) - 0.5), xlabel=f"{axis_name}: {min(places):g}")
    else:
        axis.set_xlabel(axis_name)
        if len(lines) > 1:
            axis.legend(fontsize=7)


def _draw_gaps(axis: Any, records: list[Record]) -> None:
    by_curve: dict[str, list[list[float]]] = defaultdict(list)
    for record in records:
        by_curve[record["setting"]["curve"]].append(record["eigengaps"])
    shortest = min(len(row) for rows in by_curve.values() for row in rows)
    for name, rows in by_curve.items():
        axis.plot(1 + np.arange(shortest), np.mean([row[:shortest] for row in rows], axis=0), label=name, linewidth=1.2)
    axis.set(title="eigengap of A", xlabel="iteration", yscale="log")
    axis.grid(alpha=0.25)
    axis.legend(fontsize=7)


def pyplot() -> Any:
    """Import matplotlib, which is an extra, for drawing into files."""
    try:
        import matplotlib as mpl  # noqa: PLC0415  an extra
    except ImportError as error:
        raise InvalidInputError(
            'Figures need matplotlib, which is not installed: pip install "xsdc[experiments]".'
        ) from error
    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    return plt
