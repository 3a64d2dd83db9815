"""Time and peak memory of training, labelling and prediction, from a thousand points to a million, without labels.

python -m benchmarks.scaling.growth N FILE measures one size in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import markdown_table, peak_gigabytes, write_between_markers
from benchmarks.scaling.points import COLUMNS, GROUPS, forget_peak, write_points
from xsdc import XSDC
from xsdc.core.agreement import agreement
from xsdc.training import Callback, Trainer

SIZES = (1_000, 10_000, 100_000, 1_000_000)
STAGES = ("train", "label", "predict")
FIRST_OF_SLOPE = 100_000  # below it, what does not grow takes most of the time


def run(docs: Path) -> None:
    """Measure all sizes, print, write the table and draw the plot."""
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for n in SIZES:
            path = Path(folder) / "points.npy"
            groups = write_points(path, n)
            np.save(Path(folder) / "groups.npy", groups)
            command = [sys.executable, "-m", "benchmarks.scaling.growth", str(n), folder]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
            measured.append(json.loads(said.splitlines()[-1]))
            print(measured[-1], flush=True)
    text = table(measured)
    print(text)
    write_between_markers(docs, text, name="growth")
    draw(measured, docs.with_name("scaling.svg"))


class Moments(Callback):
    """Notes when training begins and ends, and how much memory it took."""

    def on_start(self, trainer: Trainer) -> None:  # noqa: ARG002
        """Begin."""
        self.begun = time.perf_counter()

    def on_end(self, trainer: Trainer) -> None:
        """End; the peak from here on is that of labelling."""
        self.ended, self.steps = time.perf_counter(), trainer.iteration
        self.peak = peak_gigabytes()
        forget_peak()


def measure(folder: Path) -> dict[str, Any]:
    """Fit and predict points that lie in a file."""
    X, groups = np.load(folder / "points.npy", mmap_mode="r"), np.load(folder / "groups.npy")
    moments = Moments()
    before = peak_gigabytes()
    begun = time.perf_counter()
    model = XSDC(GROUPS, random_state=0, callbacks=[moments], progress=False).fit(X)
    fitted = time.perf_counter()
    label_peak = peak_gigabytes()
    forget_peak()
    model.predict(X)
    return {
        "n": len(X),
        "seconds": {
            "train": moments.ended - begun,
            "label": fitted - moments.ended,
            "predict": time.perf_counter() - fitted,
        },
        "gigabytes": {"before": before, "train": moments.peak, "label": label_peak, "predict": peak_gigabytes()},
        "accuracy": agreement(model.labels_, groups).accuracy,
        "file": X.nbytes / 2**30,
    }


def slope(measured: list[dict[str, Any]], kind: str, stage: str) -> float:
    """Exponent of growth between the larger sizes."""
    large = [each for each in measured if each["n"] >= FIRST_OF_SLOPE]
    n = np.log([each["n"] for each in large])
    return float(np.polyfit(n, np.log([each[kind][stage] for each in large]), 1)[0])


def table(measured: list[dict[str, Any]]) -> str:
    """Show time and memory by stage and size, and how they grow."""
    rows = []
    for each in measured:
        cells = [f"{each['seconds'][s]:.1f} s, {each['gigabytes'][s]:.2f} GB" for s in STAGES]
        rows.append([f"{each['n']:,}", f"{each['file']:.2f} GB", *cells, f"{each['accuracy']:.3f}"])
    slopes = [f"{slope(measured, 'seconds', s):.2f}, {slope(measured, 'gigabytes', s):.2f}" for s in STAGES]
    rows.append(["exponent of time and memory from 10^5 on", "", *slopes, ""])
    before = max(each["gigabytes"]["before"] for each in measured)
    header = ["points", "file", "training", "final labelling", "prediction", "labels that are right"]
    return f"{markdown_table(header, rows)}\n\nThe libraries alone take {before:.2f} GB, which every figure includes."


def draw(measured: list[dict[str, Any]], path: Path) -> None:
    """Draw time and memory by size."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "xsdc"
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
    n = [each["n"] for each in measured]
    for stage, name in zip(STAGES, ("training", "final labelling", "prediction"), strict=True):
        axes[0].loglog(n, [each["seconds"][stage] for each in measured], "o-", label=name)
        axes[1].loglog(n, [each["gigabytes"][stage] for each in measured], "o-", label=name)
    axes[1].loglog(n, [each["file"] for each in measured], "k:", label="the file")
    for axis, title in zip(axes, ("seconds", "peak memory, GB"), strict=True):
        axis.set_title(title)
        axis.set_xlabel(f"points of {COLUMNS} numbers")
        axis.grid(alpha=0.3)
        axis.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[2]))))
