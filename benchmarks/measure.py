"""Timing and tables shared by the benchmarks."""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

import xsdc


def best_seconds(run: Callable[[], object], *, repeats: int = 5) -> float:
    """Shortest of several runs, after one that is not counted.

    The shortest, because what else runs on the machine only ever adds: a second busy process on one of two cores
    makes single calls thirty times slower, since every operation then waits for the slower thread.
    """
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def peak_gigabytes() -> float:
    """Largest memory this process has held.

    Linux keeps it in /proc for the program that runs; getrusage would count what the parent held before it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii"))
        return int(peak) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def milliseconds(seconds: float) -> str:
    """Format a duration for a table."""
    return f"{seconds * 1e3:,.1f} ms" if seconds < 10 else f"{seconds:,.1f} s"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    return {
        "xsdc": xsdc.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
    }


def write_between_markers(path: Path, text: str, *, name: str = "benchmark") -> None:
    """Replace what stands between the markers of that name in a Markdown file."""
    start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
    content = path.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(content):
        raise SystemExit(f"{path} has no place for the table: {start} ... {end}")
    path.write_text(pattern.sub(lambda _: f"{start}\n{text}\n{end}", content), encoding="utf-8")


def write_json(path: Path, results: dict[str, Any]) -> None:
    """Write results with the machine they were measured on."""
    path.write_text(json.dumps({"machine": machine(), **results}, indent=2) + "\n", encoding="utf-8")
