"""Time, memory and accuracy of a fit with defaults beside a former version, in one run. Writes docs/results.md's table.

python -m benchmarks.former [--commit 6beb71e] [--repeats 2] [--points 1000000] [--docs PATH]

The former version is checked out from git into a temporary folder; both run with the packages installed here, by turns,
each fit in a process of its own with one thread. Nothing else should run beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.measure import markdown_table, write_between_markers
from benchmarks.scaling.points import GROUPS, write_points

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "results.md"
COMMIT = "6beb71e"  # the last version that labeled by a balanced M of landmarks
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# Run by either version: it may only use what both have.
FIT = """
import json, re, sys, time, warnings
import numpy as np
from pathlib import Path
from xsdc import XSDC
from xsdc.core.agreement import agreement
warnings.simplefilter("ignore")
folder, k = Path(sys.argv[1]), int(sys.argv[2])
X, y, truth = np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "y.npy"), np.load(folder / "truth.npy")
X = X if X.nbytes > 1 << 27 else np.array(X)
known = (y >= 0).any()
start = time.perf_counter()
model = XSDC(k, random_state=0, progress=False).fit(X, y if known else None)
seconds = time.perf_counter() - start
right = agreement(truth, model.labels_).accuracy if not known else (model.labels_ == truth)[y < 0].mean()
peak = int(re.findall(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[0]) / 2**20
print(json.dumps({"seconds": seconds, "peak": peak, "right": float(right)}))
"""


def write_problems(folder: Path, points: int) -> list[tuple[str, Path, int]]:
    """Write points, known labels and true classes of each problem; return names, folders and numbers of classes."""
    X, y = load_digits(return_X_y=True)
    known = np.full(len(y), -1)
    for digit in range(10):
        some = np.random.default_rng(0).permutation(np.flatnonzero(y == digit))[:5]
        known[some] = digit
    images = np.kron(X[:1000].reshape(-1, 8, 8), np.ones((1, 4, 4))) / 16
    problems: list[tuple[str, Any, Any, Any, int]] = [
        ("digits, no labels", X / 16, np.full(len(y), -1), y, 10),
        ("digits, 50 labels", X / 16, known, y, 10),
        ("1,000 images of 32×32, 50 labels", images.astype(np.float32), known[:1000], y[:1000], 10),
    ]
    written: list[tuple[str, Path, int]] = []
    for name, data, labels, truth, k in problems:
        place = folder / str(len(written))
        place.mkdir()
        for file, array in (("X", data), ("y", labels), ("truth", truth)):
            np.save(place / f"{file}.npy", array)
        written.append((name, place, k))
    place = folder / str(len(written))
    place.mkdir()
    truth = write_points(place / "X.npy", points)
    np.save(place / "y.npy", np.full(points, -1))
    np.save(place / "truth.npy", truth)
    return [*written, (f"{points:,} points of 64 numbers, no labels", place, GROUPS)]


def fit(source: Path, place: Path, k: int) -> dict[str, float]:
    """Fit with the version at a place, in a process of its own."""
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(source)}
    command = [sys.executable, "-c", FIT, str(place), str(k)]
    said = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout  # noqa: S603
    found: dict[str, float] = json.loads(said.splitlines()[-1])
    return found


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default=COMMIT, help="the former version")
    parser.add_argument("--repeats", type=int, default=2, help="fits of each; the shortest counts")
    parser.add_argument("--points", type=int, default=1_000_000, help="points of the largest problem, fitted once")
    parser.add_argument("--docs", type=Path, default=DOCS, help="page whose table is written")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        former = Path(folder) / "former"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", str(former), options.commit], check=True, capture_output=True)  # noqa: S603
        try:
            problems = write_problems(Path(folder), options.points)
            for name, place, k in problems:
                repeats = 1 if place == problems[-1][1] else options.repeats
                found: dict[Path, dict[str, float]] = {}
                for _ in range(repeats):
                    for source in (former / "src", ROOT / "src"):
                        one = fit(source, place, k)
                        found[source] = min(one, found.get(source, one), key=lambda each: each["seconds"])
                then, now = found[former / "src"], found[ROOT / "src"]
                cells = [f"{each['seconds']:.1f} s, {each['peak']:.2f} GB, {each['right']:.3f}" for each in (then, now)]
                rows.append([name, *cells, f"{then['seconds'] / now['seconds']:.1f}×"])
                print(*rows[-1], sep="  ", flush=True)
        finally:
            subprocess.run([*git, "remove", "--force", str(former)], check=True, capture_output=True)  # noqa: S603
    head = ["data", f"version {options.commit}: time, peak memory, share right", "present version", "faster"]
    table = markdown_table(head, rows)
    print(table)
    write_between_markers(options.docs, table, name="former")


if __name__ == "__main__":
    main()
