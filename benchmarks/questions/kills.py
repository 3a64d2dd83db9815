"""A process that saves a burst of answers is killed at random moments; what it had acknowledged must be there."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from xsdc.app.store import Store

BURST = 2000
PROGRAM = f"""
import sys
from pathlib import Path
from xsdc.app.store import Entry, Store
store = Store(Path(sys.argv[1]))
for i in range({BURST}):
    store.add([Entry(f"entry-{{i}}", f"entry-{{i}}", "label", (i,), "cat")])
    print(i, flush=True)
"""


def run(path: Path, moment: float | None) -> tuple[int, float]:
    """Save a burst, killed after a time where one is given; how many were acknowledged, and how long it took."""
    process = subprocess.Popen(  # noqa: S603  our own program
        [sys.executable, "-c", PROGRAM, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None  # noqa: S101  it is a pipe
    first = process.stdout.readline()
    begun = time.perf_counter()
    if moment is not None:
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
    lines = [first, *process.stdout]
    process.wait()
    return sum(line.endswith("\n") for line in lines), time.perf_counter() - begun


def kill_often(times: int) -> None:
    """Kill it at random moments of a burst, and compare what was acknowledged with what is there."""
    chance = random.Random(0)  # noqa: S311  moments, not secrets
    with tempfile.TemporaryDirectory() as folder:
        _, whole = run(Path(folder) / "whole.sqlite", None)
        lost, acknowledged_in_all = 0, 0
        for number in range(times):
            path = Path(folder) / f"{number}.sqlite"
            acknowledged, _ = run(path, chance.random() * whole)
            store = Store(path)
            kept = len(store.entries())
            store.close()
            lost += max(0, acknowledged - kept)
            acknowledged_in_all += acknowledged
    said = f"{acknowledged_in_all:,} acknowledged, {lost} lost"
    print(f"{times} kills in bursts of {BURST:,} answers ({whole:.1f} s): {said}")
