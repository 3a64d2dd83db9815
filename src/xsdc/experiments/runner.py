"""Runs the trials of an experiment; each finished one is a line of JSON, and a rerun continues where it stopped.

A trial that was cut off in the middle goes on from the last state of its training, in a folder that goes when it ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from xsdc.errors import InvalidInputError
from xsdc.experiments.declared import EXPERIMENTS, Experiment
from xsdc.experiments.setting import Setting
from xsdc.experiments.trial import check_protocol, run_trial
from xsdc.training import Callback

Record = dict[str, Any]
Report = Callable[[Record, int, int], object]
UNFINISHED = "unfinished"
QUICK_CURVE = 3  # settings of a curve that a quick run makes


@dataclass(frozen=True)
class Task:
    """A trial to be made."""

    setting: Setting
    seed: int
    protocol: str

    @property
    def key(self) -> str:
        """What tells it from others; what a curve is called does not."""
        plain = {name: x for name, x in self.setting.as_dict().items() if name not in ("curve", "x")}
        return json.dumps([plain, self.seed, self.protocol], sort_keys=True)

    def run(self, states: Path, callbacks: tuple[Callback, ...] = ()) -> Record:
        """Make it, or the rest of it."""
        return run_trial(self.setting, seed=self.seed, protocol=self.protocol, states=states, callbacks=callbacks)


class Log:
    """Finished trials in a file, one a line; shared by all experiments that make the same trial."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[str, Record] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._take(line)

    def _take(self, line: str) -> None:
        try:
            record = json.loads(line)
        except ValueError:  # a line that was cut off: the trial is made again
            return
        try:
            setting = Setting(**{**record["setting"], "sizes": _pair(record["setting"]["sizes"])})
            self.records[Task(setting, record["seed"], record["protocol"]).key] = record
        except (KeyError, TypeError) as error:
            raise InvalidInputError(
                f"{self.path} holds a line that is no trial of this version: {error}. Remove the line, or give another"
                " folder as --out."
            ) from error

    def states(self, task: Task) -> Path:
        """Folder for the states of a trial that is not finished."""
        return self.path.parent / UNFINISHED / hashlib.sha256(task.key.encode()).hexdigest()[:16]

    def add(self, task: Task, record: Record) -> None:
        """Write a trial down at once; its states are needed no more."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        torn = self.path.exists() and not self.path.read_bytes().endswith(b"\n")
        with self.path.open("a", encoding="utf-8") as file:
            file.write(("\n" if torn else "") + json.dumps(record) + "\n")
        self.records[task.key] = record
        shutil.rmtree(self.states(task), ignore_errors=True)
        with contextlib.suppress(OSError):  # others are under way
            self.states(task).parent.rmdir()

    def of(self, task: Task) -> Record | None:
        """Find a trial, told in the words of the one that asks."""
        found = self.records.get(task.key)
        return None if found is None else {**found, "setting": task.setting.as_dict()}


def reproduce(
    name: str,
    *,
    out: Path,
    datasets: Sequence[str] | None = None,
    labels: Sequence[int] | None = None,
    trials: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    quick: bool = False,
    protocol: str = "authors",
    only_finished: bool = False,
    report: Report = lambda _record, _done, _total: None,
    callbacks: tuple[Callback, ...] = (),
) -> list[Record]:
    """Run an experiment of the paper.

    Parameters
    ----------
    name : str
        A key of `EXPERIMENTS`.
    out : Path
        Folder of the log, ``trials.jsonl``; trials that it holds are not made again. States of those that are not
        finished lie there too.
    datasets, labels : sequence, optional
        Which; by default all that the paper has.
    trials : int, optional
        How many, with seeds from ``seed`` on; by default as many as the authors made.
    seed : int
        First seed.
    jobs : int
        Processes.
    quick : bool
        On the digits that come with scikit-learn, with a few steps: to see that it runs, not how good it is.
    protocol : {"authors", "honest"}
        See `run_trial`.
    only_finished : bool
        Whether to make no trial, and return those that are there.
    report : callable
        Told of each trial: its record, how many are done, and how many there are.
    callbacks : tuple of Callback
        Observers of training, where there is one process.

    Returns
    -------
    list of dict
        All trials that were asked for.
    """
    tasks = list_tasks(
        find_experiment(name),
        datasets=datasets,
        labels=labels,
        trials=trials,
        seed=seed,
        quick=quick,
        protocol=check_protocol(protocol),
    )
    log = Log(out / "trials.jsonl")
    once = {task.key: task for task in tasks}
    left = [] if only_finished else [task for task in once.values() if log.of(task) is None]
    done = len(once) - len(left)
    for task, record in _made(left, log, jobs, callbacks):
        log.add(task, record)
        done += 1
        report(record, done, len(once))
    return [made for task in tasks if (made := log.of(task)) is not None]


def find_experiment(name: str) -> Experiment:
    """Find an experiment by its name."""
    if name not in EXPERIMENTS:
        raise InvalidInputError(f"There is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]


def list_tasks(
    experiment: Experiment,
    *,
    datasets: Sequence[str] | None,
    labels: Sequence[int] | None,
    trials: int | None,
    seed: int,
    quick: bool,
    protocol: str,
) -> list[Task]:
    """List the trials of an experiment, all settings with the first seed before any with the second.

    Curves that cross share a trial: it is listed for each of them.
    """
    if protocol == "honest" and experiment.name != "accuracy-vs-labels":
        raise InvalidInputError(
            f"{experiment.name} compares ways to train; the honest protocol, XSDC as it comes, is for"
            " accuracy-vs-labels."
        )
    if quick:
        settings = _thinned(
            experiment.expand(datasets=experiment.datasets[-1:], labels=labels or experiment.labels[:2])
        )
        settings = [setting.quick() for setting in settings]
        trials = 1
    else:
        settings = experiment.expand(datasets=datasets, labels=labels)
    count = experiment.trials if trials is None else trials
    return [Task(setting, seed + t, protocol) for t in range(count) for setting in settings]


def _made(tasks: list[Task], log: Log, jobs: int, callbacks: tuple[Callback, ...]) -> Iterator[tuple[Task, Record]]:
    if jobs == 1 or len(tasks) < 2:
        for task in tasks:
            yield task, task.run(log.states(task), callbacks)
        return
    threads = max(1, (os.cpu_count() or 1) // jobs)
    waiting = iter(tasks)
    under_way: dict[Future[Record], Task] = {}
    with ProcessPoolExecutor(jobs, get_context("spawn"), torch.set_num_threads, (threads,)) as pool:
        # No more than are under way, or Ctrl-C, which ends these, would let the pool begin the next ones.
        for task in itertools.islice(waiting, jobs):
            under_way[pool.submit(task.run, log.states(task))] = task
        while under_way:
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                yield under_way.pop(future), future.result()
                for task in itertools.islice(waiting, 1):
                    under_way[pool.submit(task.run, log.states(task))] = task


def _thinned(settings: list[Setting]) -> list[Setting]:
    """Keep the first few settings of each curve."""
    kept: dict[str, list[Setting]] = {}
    for setting in settings:
        kept.setdefault(setting.curve, []).append(setting)
    return [setting for curve in kept.values() for setting in curve[:QUICK_CURVE]]


def _pair(sizes: Sequence[float] | None) -> tuple[float, float] | None:
    return None if sizes is None else (sizes[0], sizes[1])
