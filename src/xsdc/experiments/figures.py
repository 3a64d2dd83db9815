"""The figures of the paper, the authors' points beside ours."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from xsdc.errors import InvalidInputError
from xsdc.experiments.declared import Experiment
from xsdc.experiments.published import reported

Record = dict[str, Any]
Points = dict[float, list[float]]
INITIALISATIONS = {
    "random_initialization": "random initialisation",
    "supervised_initialization": "supervised initialisation",
}
OURS = ("XSDC", "balancing", "without copies", "none")  # curves that the authors' figures are for


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
    datasets = list(dict.fromkeys(record["setting"]["dataset"] for record in records))
    gaps = experiment.name == "relaxations"
    size = (4.4 * (len(datasets) + gaps), 3.6)
    figure, axes = plt.subplots(1, len(datasets) + gaps, figsize=size, squeeze=False, layout="constrained")
    for axis, dataset in zip(axes[0], datasets, strict=False):
        _draw_curves(axis, dataset, [r for r in records if r["setting"]["dataset"] == dataset])
        axis.set(title=dataset, xlabel=experiment.axis)
        if experiment.name == "sensitivity":
            axis.set_xscale("log", base=2)
    axes[0][0].set_ylabel("test accuracy")
    if gaps:
        _draw_gaps(axes[0][-1], records)
    counts = {len({r["seed"] for r in records if r["setting"]["dataset"] == dataset}) for dataset in datasets}
    figure.suptitle(
        f"{experiment.name}: mean and deviation of {'/'.join(map(str, sorted(counts)))} trial(s)", fontsize=9
    )
    figure.savefig(path)
    plt.close(figure)


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


def _draw_curves(axis: Any, dataset: str, records: list[Record]) -> None:
    lines = curves(records)
    for name, points in lines.items():
        x = sorted(points)
        mean, deviation = ([float(f(points[at])) for at in x] for f in (np.mean, np.std))
        axis.errorbar(x, mean, deviation, label=name, marker="o", markersize=3, capsize=2, linewidth=1.2)
    by_labels = all(record["setting"]["x"] == record["setting"]["n_labeled"] for record in records)
    theirs = {count: r for (name, count), r in reported().items() if name == dataset}
    shown = sorted({record["setting"]["n_labeled"] for record in records} & theirs.keys())
    if by_labels and shown and any(name in lines for name in OURS):
        mean, deviation = [theirs[n].mean for n in shown], [theirs[n].deviation for n in shown]
        style = {"color": "black", "marker": "s", "markersize": 3, "capsize": 2, "linestyle": "none"}
        axis.errorbar([n + 6 for n in shown], mean, deviation, label="XSDC, the authors", **style)
    axis.grid(alpha=0.25)
    axis.legend(fontsize=7)


def _draw_gaps(axis: Any, records: list[Record]) -> None:
    by_curve: dict[str, list[list[float]]] = defaultdict(list)
    for record in records:
        by_curve[record["setting"]["curve"]].append(record["eigengaps"])
    for name, rows in by_curve.items():
        axis.plot(1 + np.arange(len(rows[0])), np.mean(rows, axis=0), label=name, linewidth=1.2)
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
