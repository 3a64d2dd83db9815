"""Makes the trials that are missing; each is a line of JSON.

A trial counts for the code that made it: its line holds fingerprints of what the method was given and of the method's
own code and packages, and is passed over where either has changed. The commit is kept for people.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks.measure import peak_gigabytes
from benchmarks.suite.measures import score
from benchmarks.suite.methods import METHODS
from benchmarks.suite.regimes import make_problem

Record = dict[str, Any]
ROOT = Path(__file__).parents[2]
LOGS = ROOT / "docs" / "suite"
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT"), "1"
)


@dataclass(frozen=True)
class Unit:
    """Trials of several methods on one problem."""

    set: str
    level: str
    seed: int
    methods: tuple[str, ...]


def log_path(method: str, folder: Path = LOGS) -> Path:
    """Where the trials of a method are kept: XSDC's change with the code, the others' hardly ever."""
    return folder / ("xsdc.jsonl" if METHODS[method].ours else "rivals.jsonl")


def read_log(folder: Path = LOGS) -> list[Record]:
    """Read all trials, of every version; of a trial made twice the last one counts."""
    records: dict[tuple[Any, ...], Record] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            records[key(record)] = record
    return list(records.values())


def key(record: Record) -> tuple[Any, ...]:
    """What tells a trial from others."""
    return tuple(record[field] for field in ("set", "level", "seed", "method", "problem", "code"))


def run(units: Sequence[Unit], *, jobs: int, folder: Path = LOGS) -> list[Record]:
    """Make the missing trials of all units and append them to the logs.

    Parameters
    ----------
    units : sequence of Unit
        What is to be there in the end.
    jobs : int
        Processes, of one thread each.
    folder : path
        Where the logs are.

    Returns
    -------
    list of dict
        Trials that were made now.
    """
    folder.mkdir(parents=True, exist_ok=True)
    done = {key(record) for record in read_log(folder)}
    commit = current_commit()
    made: list[Record] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn()) as progress:
        bar = progress.add_task("problems", total=len(units))
        for unit, records in _results(units, done, jobs):
            for record in records:
                _append(log_path(record["method"], folder), {**record, "commit": commit})
                if "error" in record:
                    progress.print(f"{unit.set}, {unit.level}, seed {unit.seed}, {record['method']}: {record['error']}")
            made.extend(records)
            progress.update(bar, advance=1, description=f"{unit.set}, {unit.level}")
    return made


def _results(units: Sequence[Unit], done: set[tuple[Any, ...]], jobs: int) -> Iterator[tuple[Unit, list[Record]]]:
    if jobs == 1:
        for unit in units:
            yield unit, run_unit(unit, done)
        return
    os.environ.update(ONE_THREAD)  # children read it when they start
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_use_one_thread) as pool:
        futures: dict[Future[list[Record]], Unit] = {}
        for unit in units:
            same = {k for k in done if k[:3] == (unit.set, unit.level, unit.seed)}
            futures[pool.submit(run_unit, unit, same)] = unit
        for future in as_completed(futures):
            yield futures[future], future.result()


def _use_one_thread() -> None:
    import torch  # noqa: PLC0415  not needed by the parent

    torch.set_num_threads(1)


def run_unit(unit: Unit, done: set[tuple[Any, ...]]) -> list[Record]:
    """Make the trials of a unit that are not done."""
    problem = make_problem(unit.set, unit.level, unit.seed)
    if problem is None:
        return []
    digest = problem.given.digest()
    records = []
    for name in unit.methods:
        method = METHODS[name]
        record: Record = {
            "set": unit.set,
            "level": unit.level,
            "seed": unit.seed,
            "method": name,
            "problem": digest,
            "code": method.code,
        }
        if key(record) in done or not method.applies(problem.given):
            continue
        before = reset_peak()
        start = time.process_time()
        try:
            answer = method.fit(problem.given)
        except Exception as error:  # noqa: BLE001  it is written down, and the other trials go on
            records.append({**record, "error": f"{type(error).__name__}: {error}"})
            continue
        seconds = time.process_time() - start
        rounded = {name: round(value, 5) for name, value in score(problem, answer).items()}
        memory = round(max(peak_gigabytes() - before, 0.0), 3)
        records.append({**record, **rounded, "seconds": round(seconds, 3), "memory_gb": memory})
    return records


def reset_peak() -> float:
    """Forget the largest memory so far, where the system lets one; return gigabytes in use."""
    peak = Path("/proc/self/clear_refs")
    if peak.exists():
        peak.write_text("5", encoding="ascii")
    return peak_gigabytes()


def _append(path: Path, record: Record) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def current_commit() -> str:
    """Short name of the commit, with a plus where the source differs from it."""
    try:
        name = _git("rev-parse", "--short", "HEAD")
        return name + ("+" if _git("status", "--porcelain", "--", "src", "benchmarks/suite") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603
