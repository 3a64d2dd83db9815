"""A run that is killed at twenty random moments and resumed each time, against one that was left alone."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.measure import markdown_table, write_between_markers

KILLS, SEED, STEPS, ROWS, LABELS = 20, 0, 1000, 600, 100
LONGEST = 600  # seconds that a run may take, kills included, before it is given up
EARLY = 0.2  # share of kills that come after data is read, mostly before a step; the others after a state is written
LONGEST_DELAY = 0.05  # of the time of a run left alone, from there until it is killed
COMPARED = ("model.xsdc", "labels.csv", "history.json")


def run(docs: Path, *, kills: int = KILLS, steps: int = STEPS) -> None:
    """Measure, print and write."""
    with tempfile.TemporaryDirectory() as folder:
        outcome = compare(Path(folder), kills=kills, steps=steps)
    text = table(outcome)
    print(text)
    write_between_markers(docs, text, name="kills")


@dataclass(frozen=True)
class Outcome:
    """What came of both runs.

    Attributes
    ----------
    steps, seconds : int, float
        Length of the run, and how long it took when left alone.
    reached : list of int
        Step of the last state that was kept, at each kill.
    same : dict
        Whether each file is as it was.
    """

    steps: int
    seconds: float
    reached: list[int]
    same: dict[str, bool]


def compare(folder: Path, *, kills: int, steps: int, rows: int = ROWS) -> Outcome:
    """Make both runs and compare what they have written."""
    X, y = (part[:rows] for part in load_digits(return_X_y=True))
    np.savez(folder / "digits.npz", X=X, y=np.where(np.arange(len(y)) < LABELS, y, -1))
    begun = time.monotonic()
    finish(folder, "whole", steps)
    seconds = time.monotonic() - begun
    reached, ends = kill_often(folder, steps, kills=kills, seconds=seconds)
    same = {name: all(end[name] for end in ends) for name in COMPARED}
    return Outcome(steps, seconds, reached, same)


def kill_often(folder: Path, steps: int, *, kills: int, seconds: float) -> tuple[list[int], list[dict[str, bool]]]:
    """Kill a run at random moments after it has begun or gone on.

    Returns the last state after each kill, and for each run that came to its end whether its files are as they were.
    """
    rng = random.Random(SEED)  # noqa: S311
    reached: list[int] = []
    ends: list[dict[str, bool]] = []
    while len(reached) < kills:
        process = start(folder, "killed", steps)
        try:
            if rng.random() < EARLY:
                wait_for_news(folder / "killed", ".unfinished-run/config.json", process)
            else:
                wait_for_news(folder / "killed", ".unfinished-run/checkpoints/*.state", process)
            process.wait(timeout=rng.uniform(0, LONGEST_DELAY) * seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            reached.append(last_state(folder / "killed"))
            continue
        # It has come to its end before all kills were spent: the rest of them fall on the run begun anew.
        ends.append(compare_files(folder))
        shutil.rmtree(folder / "killed")
    finish(folder, "killed", steps)
    return reached, [*ends, compare_files(folder)]


def compare_files(folder: Path) -> dict[str, bool]:
    """Compare what the killed run has written with what the other has."""
    return {name: digest(folder / "whole" / name) == digest(folder / "killed" / name) for name in COMPARED}


def finish(folder: Path, out: str, steps: int) -> None:
    """Let a run come to its end."""
    if start(folder, out, steps).wait(timeout=LONGEST):
        raise SystemExit(f"The run {out} has failed.")


def wait_for_news(run_folder: Path, pattern: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has written a file of its run."""
    begun = time.time_ns()
    while process.poll() is None:
        for path in run_folder.glob(pattern):
            with suppress(FileNotFoundError):  # states come and go
                if path.stat().st_mtime_ns > begun:
                    return
        time.sleep(0.01)


def start(folder: Path, out: str, steps: int) -> subprocess.Popen[bytes]:
    """Begin a run, or go on with it."""
    begun = (folder / out / ".unfinished-run" / "config.json").exists()
    options = ["--max-iter", str(steps), "--supervised-iter", "0", "--batch-size", "128", "--no-report", "--quiet"]
    command = [sys.executable, "-m", "xsdc", "fit", "digits.npz", *options, "--out", out]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    quiet = subprocess.DEVNULL
    command += ["--resume"] if begun else []
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=quiet, stderr=quiet)  # noqa: S603


def last_state(run_folder: Path) -> int:
    """Step of the last state that a run has kept; 0 where there is none."""
    states = sorted((run_folder / ".unfinished-run" / "checkpoints").glob("step-*.state"))
    return int(states[-1].stem.removeprefix("step-")) if states else 0


def digest(path: Path) -> str:
    """Tell whether files are the same; of an archive what it holds, for it also says when it was written."""
    if not zipfile.is_zipfile(path):
        return sha256(path.read_bytes()).hexdigest()
    with zipfile.ZipFile(path) as archive:
        return "".join(sha256(archive.read(name)).hexdigest() for name in sorted(archive.namelist()))


def table(outcome: Outcome) -> str:
    """Say what was done and found."""
    reached, same = outcome.reached, outcome.same
    rows = [
        ["kills (`kill -9`), each followed by `--resume`", str(len(reached))],
        ["steps of the run; seconds when left alone", f"{outcome.steps}; {outcome.seconds:.0f}"],
        ["last state kept at each kill", ", ".join(map(str, reached))],
        *(
            [f"`{name}` as of the run left alone, byte for byte", "yes" if holds else "no"]
            for name, holds in same.items()
        ),
    ]
    return markdown_table(["", ""], rows)
