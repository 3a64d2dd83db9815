"""Labels by the whole matrix, which is never formed, and by landmarks: time, memory, and whether they agree.

python -m benchmarks.scaling.labels N LANDMARKS FOLDER measures one fit in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.measure import markdown_table, peak_gigabytes, write_between_markers
from benchmarks.scaling.points import GROUPS, forget_peak, write_points
from xsdc import XSDC
from xsdc.core.agreement import agreement
from xsdc.data import load_dataset
from xsdc.errors import InvalidInputError

COMPARED, LARGE = 10_000, 50_000
STEPS = 60  # of training, on images


def run(docs: Path) -> None:
    """Measure, print and write."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, n in (("groups", COMPARED), ("images", COMPARED), ("groups", LARGE)):
            if not write_data(folder, what, n):
                print("MNIST is not at hand; its rows are left out.")
                continue
            whole, some = (fitted(folder, landmarks) for landmarks in (n, "auto"))
            alike = agreement(np.array(whole.pop("labels")), np.array(some.pop("labels"))).accuracy
            for way, found in (("whole matrix", whole), ("3,000 landmarks", some)):
                rows.append(
                    [
                        "10 groups in 64 dimensions" if what == "groups" else "MNIST images, trained features",
                        f"{n:,}",
                        way,
                        f"{found['seconds']:.0f} s",
                        f"{found['gigabytes']:.2f} GB",
                        f"{found['accuracy']:.3f}",
                        f"{alike:.4f}",
                    ]
                )
                print(rows[-1], flush=True)
    header = ["data", "points", "labels by", "labelling", "peak memory", "right", "points on which both agree"]
    text = markdown_table(header, rows)
    print(text)
    write_between_markers(docs, text, name="labels")


def write_data(folder: Path, what: str, n: int) -> bool:
    """Write points and their true groups; False where they cannot be had."""
    if what == "groups":
        groups = write_points(folder / "points.npy", n)
    else:
        try:
            mnist = load_dataset("mnist")
        except InvalidInputError:
            return False
        assert mnist.truth is not None or mnist.labels is not None  # noqa: S101
        np.save(folder / "points.npy", np.asarray(mnist.X)[:n])
        groups = np.unique(np.asarray((mnist.labels if mnist.truth is None else mnist.truth)[:n]), return_inverse=True)[
            1
        ]
    np.save(folder / "groups.npy", groups)
    return True


def fitted(folder: Path, landmarks: int | Literal["auto"]) -> dict[str, Any]:
    """Fit in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scaling.labels", str(landmarks), str(folder)]
    said = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ).stdout  # noqa: S603
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found


def measure(landmarks: int | Literal["auto"], folder: Path) -> dict[str, Any]:
    """Fit points that lie in a file; what is measured is the labelling after training."""
    from benchmarks.scaling.growth import Moments  # noqa: PLC0415  the other part, which measures the same way

    X, groups = np.load(folder / "points.npy", mmap_mode="r"), np.load(folder / "groups.npy")
    moments = Moments()
    forget_peak()
    steps = STEPS if X.ndim > 2 else 0
    model = XSDC(
        GROUPS, n_landmarks=landmarks, max_iter=steps, callbacks=[moments], progress=False, random_state=0
    ).fit(X)
    return {
        "seconds": time.perf_counter() - moments.ended,
        "gigabytes": peak_gigabytes(),
        "accuracy": agreement(model.labels_, groups).accuracy,
        "labels": model.labels_.tolist(),
    }


if __name__ == "__main__":
    print(json.dumps(measure("auto" if sys.argv[1] == "auto" else int(sys.argv[1]), Path(sys.argv[2]))))
