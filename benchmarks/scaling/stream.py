"""A stream whose classes arrive over time, learned part by part, against one fit to everything: scikit-learn's digits.

python -m benchmarks.scaling.stream PARTS measures the memory of a longer or shorter stream in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

from benchmarks.measure import markdown_table, peak_gigabytes, write_between_markers
from xsdc import XSDC

PARTS, SEEDS, TESTED, LABELED = 50, (0, 1, 2), 450, 100
LENGTHS, PART = (20, 80), 200  # parts of streams whose memory is compared, and points of a part
Numbers = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def run(docs: Path) -> None:
    """Measure, print and write."""
    rows = []
    for seed in SEEDS:
        stream, whole, seconds = compare(seed)
        rows.append([str(seed), f"{stream:.3f}", f"{whole:.3f}", f"{100 * (stream - whole):+.1f}", f"{seconds:.0f} s"])
        print(rows[-1], flush=True)
    header = ["seed", f"after {PARTS} parts", "one fit to all", "points apart", "time of the stream"]
    peaks = [peak(parts) for parts in LENGTHS]
    text = (
        markdown_table(header, rows)
        + "\n\n"
        + markdown_table(
            ["parts of 200 points in the stream", "peak memory"],
            [[str(parts), f"{gigabytes:.3f} GB"] for parts, gigabytes in zip(LENGTHS, peaks, strict=True)],
        )
    )
    print(text)
    write_between_markers(docs, text, name="stream")


def compare(seed: int) -> tuple[float, float, float]:
    """Accuracy on points that neither has seen, of a stream and of one fit; and seconds of the stream.

    A point of class c comes in a part drawn from the (5 c)-th on, so that the last class is there for the last fifth.
    """
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    test, train = order[:TESTED], order[TESTED:]
    part = np.array([rng.integers(PARTS // 10 * c, PARTS) for c in y[train]])
    given = np.full(len(train), -1)
    chosen = rng.permutation(len(train))[:LABELED]
    given[chosen] = y[train][chosen]
    whole = XSDC(random_state=seed).fit(X[train] / 16, given).score(X[test] / 16, y[test])
    model = XSDC(random_state=seed)
    begun = time.perf_counter()
    waiting: Ints = np.empty(0, dtype=np.int64)
    for number in range(PARTS):
        waiting = np.concatenate([waiting, np.flatnonzero(part == number)])
        if len(waiting) >= 10:  # the first parts hold a few points of one class
            model.partial_fit(X[train][waiting] / 16, given[waiting])
            waiting = waiting[:0]
    seconds = time.perf_counter() - begun
    return model.score(X[test] / 16, y[test]), whole, seconds


def peak(parts: int) -> float:
    """Peak memory of a stream, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scaling.stream", str(parts)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])  # noqa: S603


def feed(parts: int) -> None:
    """Learn from a stream of groups in ten dimensions."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(5, 10)) * 3
    model = XSDC(5, max_iter=2, random_state=0)
    for _ in range(parts):
        y = rng.integers(5, size=PART)
        X = centres[y] + rng.normal(size=(PART, 10))
        model.partial_fit(X, np.where(rng.uniform(size=PART) < 0.02, y, -1), keep=1000)


if __name__ == "__main__":
    feed(int(sys.argv[1]))
    print(peak_gigabytes())
