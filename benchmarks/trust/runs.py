"""Runs that are killed, interrupted, raced, or find the disk full."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import signal
import subprocess
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.trust.outcomes import REFUSED, RIGHT, Outcomes, while_time
from benchmarks.trust.workers import LONGEST, fork
from xsdc.errors import InvalidInputError
from xsdc.runs import Configuration, DataOptions, RunFolder, find_task, fit_run, open_run
from xsdc.runs.manifest import Manifest

STEPS = {"max_iter": 30, "supervised_iter": 0, "effort": "best"}  # states are kept every ten steps
QUICK = {"max_iter": 0, "supervised_iter": 0}
MINE = {"notes.txt": b"mine", "checkpoints/thesis.txt": b"my thesis", "prepared/photo.jpg": b"my photo"}
DISK = 4 * 2**20  # bytes of the disk that is filled
# The first two say how long it took, skops writes where objects lay in memory.
LEFT_OUT = ("metrics.json", "report.html", "preparation.xsdc")
SEEDS = 4


@dataclass
class Place:
    """A folder with a table, and runs of it as they end when they are left alone.

    Attributes
    ----------
    path : Path
        The folder.
    """

    path: Path

    @property
    def table(self) -> Path:
        """What is fitted."""
        return self.path / "table.csv"

    def write_table(self) -> None:
        """Two kinds of points, one label in four known."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(80, 3)) + 3 * np.repeat([[0, 0, 0], [1, 1, 0]], 40, axis=0)
        kind = np.where(np.arange(80) % 4 == 0, np.repeat(["a", "b"], 40), "")
        pd.DataFrame(X, columns=list("xyz")).assign(kind=kind).to_csv(self.table, index=False)

    def configuration(self, options: dict[str, Any], seed: int = 0) -> Configuration:
        """What a run is to do."""
        return Configuration.make(DataOptions(str(self.table), label_column="kind"), options, seed=seed)

    def run(self, folder: Path, options: dict[str, Any], *, seed: int = 0, force: bool = False) -> Callable[[], int]:
        """Return something that makes a run, or goes on with one, and returns the exit code of the command."""

        def act() -> int:
            try:
                asked = self.configuration(options, seed)
                here = RunFolder(folder)
                going_on = not force and (here.begun or here.finished)
                task = find_task(here, asked, resume=going_on)
                if not task.finished:
                    fit_run(task.configuration, here, force=force, resume=task.resume)
            except InvalidInputError:
                return 2
            except OSError:
                return 3
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                return 1
            return 0

        return act


def contents(folder: Path) -> dict[str, str]:
    """Hashes of the outputs of a run; of archives of what they hold, since they also say when they were written."""
    return {path.name: digest(path) for path in RunFolder(folder).written() if path.name not in LEFT_OUT}


def digest(path: Path) -> str:
    """Hash a file by what it holds."""
    if not zipfile.is_zipfile(path):
        return sha256(path.read_bytes()).hexdigest()
    with zipfile.ZipFile(path) as archive:
        return "".join(digest_member(archive, name) for name in sorted(archive.namelist()))


def digest_member(archive: zipfile.ZipFile, name: str) -> str:
    """Hash what an entry holds, also where it is an archive itself."""
    content = archive.read(name)
    if not content.startswith(b"PK"):
        return sha256(content).hexdigest()
    with zipfile.ZipFile(io.BytesIO(content)) as inner:
        return "".join(digest_member(inner, each) for each in sorted(inner.namelist()))


def is_whole(folder: Path, expected: dict[str, str]) -> bool:
    """Whether a folder holds a certain run, all of it, as its manifest says."""
    run = RunFolder(folder)
    return contents(folder) == expected and not Manifest.read(run.manifest).foreign(run.written())


def every_file(folder: Path) -> dict[Path, bytes]:
    """All that lies in a folder, but for what a run leaves while it is made."""
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.relative_to(folder).parts[0].startswith(".")
    }


def ended(pid: int) -> int:
    """Wait for a process; its exit code, or minus the signal that ended it; a hang is ended."""
    end = time.monotonic() + 4 * LONGEST
    while time.monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return 98


def try_kills(place: Path, *, count: int, seconds: float, seed: int) -> Outcomes:
    """Kill -9 at random moments, half of them while outputs are written; then go on, to the same bytes."""
    outcomes, rng = Outcomes("kill -9 of a run, then --resume"), random.Random(seed)  # noqa: S311
    here = Place(place)
    here.write_table()
    begun = time.monotonic()
    ended(fork(here.run(place / "whole", STEPS)))
    usual = time.monotonic() - begun
    expected, writing = contents(place / "whole"), 0
    for number in while_time(range(count), seconds):
        folder = place / f"killed {number}"
        pid = fork(here.run(folder, STEPS))
        at_the_end = number % 2 == 1
        if at_the_end:
            _wait_for(RunFolder(folder).unfinished.model, pid)
            time.sleep(rng.uniform(0, 0.3) * usual)
        else:
            time.sleep(rng.uniform(0, 1) * usual)
        state = "while it wrote" if RunFolder(folder).unfinished.model.exists() else "before it wrote"
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        writing += state == "while it wrote"
        code = ended(fork(here.run(folder, STEPS)))
        same = code == 0 and contents(open_run(folder).path) == expected and not _left(folder)
        outcomes.add(RIGHT if same else f"exit {code}, other bytes after a kill {state}", str(number))
        shutil.rmtree(folder)
    outcomes.notes.append(f"{writing} of the kills fell while outputs were written")
    return outcomes


def _wait_for(path: Path, pid: int) -> None:
    end = time.monotonic() + LONGEST
    while (
        not path.exists()
        and time.monotonic() < end
        and not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    ):
        time.sleep(0.001)


def _left(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def prepare(here: Place, folder: Path) -> dict[Path, bytes]:
    """Make a finished run with files of the user beside it."""
    here.write_table()
    code = ended(fork(here.run(folder, QUICK)))
    if code:
        raise SystemExit(f"The run that is to be replaced has failed: exit {code}.")
    for name, content in MINE.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return every_file(folder)


def try_interrupts(place: Path, *, count: int, seconds: float, seed: int) -> Outcomes:
    """Ctrl-C of a run by --force at random moments: the finished run or the new one is there, whole."""
    outcomes, rng = Outcomes("Ctrl-C of a run by --force"), random.Random(seed)  # noqa: S311
    here = Place(place)
    before = prepare(here, place / "finished")
    begun = time.monotonic()
    ended(fork(here.run(place / "usual", STEPS, seed=1)))
    usual, expected = time.monotonic() - begun, contents(place / "usual")
    for number in while_time(range(count), seconds):
        folder = place / f"run {number}"
        shutil.copytree(place / "finished", folder)
        pid = fork(here.run(folder, STEPS, seed=1, force=True))
        time.sleep(rng.uniform(0, 1) * usual)
        os.kill(pid, signal.SIGINT)
        code = ended(pid)
        open_run(folder)
        after = every_file(folder)
        mine = all(after.get(Path(name)) == content for name, content in MINE.items())
        whole = after == before or is_whole(folder, expected)
        proper = mine and whole and code in (0, 130)
        outcomes.add(RIGHT if proper else f"exit {code}, whole: {whole}, files of the user: {mine}", str(number))
        shutil.rmtree(folder)
    return outcomes


def try_races(place: Path, *, count: int, seconds: float, seed: int) -> Outcomes:
    """Three processes that replace the same run at once: one run is there afterwards, whole."""
    outcomes, rng = Outcomes("races of three runs by --force"), random.Random(seed)  # noqa: S311
    here = Place(place)
    prepare(here, place / "finished")
    expected = {}
    for number in range(SEEDS):
        ended(fork(here.run(place / f"alone {number}", QUICK, seed=number)))
        expected[number] = contents(place / f"alone {number}")
    for number in while_time(range(count), seconds):
        folder = place / f"run {number}"
        shutil.copytree(place / "finished", folder)
        pids = []
        for each in range(1, SEEDS):
            pids.append(fork(here.run(folder, QUICK, seed=each, force=True)))
            time.sleep(rng.choice([0, 0.01, 0.1]))
        codes = [ended(pid) for pid in pids]
        won = json.loads(RunFolder(folder).configuration.read_text(encoding="utf-8"))["seed"]
        whole = is_whole(folder, expected[won])
        mine = all((folder / name).read_bytes() == content for name, content in MINE.items())
        proper = whole and mine and set(codes) <= {0, 2} and 0 in codes and not _left(folder)
        outcomes.add(RIGHT if proper else f"exits {codes}, whole: {whole}, files of the user: {mine}", str(number))
        shutil.rmtree(folder)
    return outcomes


def try_disks(place: Path, *, count: int, seconds: float, seed: int) -> Outcomes:
    """A disk that is full at some point of a run by --force; needs the right to mount one."""
    outcomes, rng = Outcomes("full disks during a run by --force"), random.Random(seed)  # noqa: S311
    here = Place(place)
    before = prepare(here, place / "finished")
    disk = place / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    asked = [mount or "mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", str(disk)]
    if subprocess.run(asked, check=False, capture_output=True).returncode:  # noqa: S603
        outcomes.notes.append("not tried: no right to mount a disk")
        return outcomes
    try:
        for number in while_time(range(count), seconds):
            folder = disk / f"run {number}"
            shutil.copytree(place / "finished", folder)
            free = shutil.disk_usage(disk).free
            (disk / "filled").write_bytes(bytes(max(0, free - rng.randrange(600_000))))
            code = ended(fork(here.run(folder, QUICK, seed=1, force=True)))
            kept = every_file(folder) == before
            (disk / "filled").unlink()
            again = ended(fork(here.run(folder, QUICK, seed=1, force=True)))
            proper = (code == 0 or (code in (2, 3) and kept)) and again == 0 and not _left(folder)
            outcome = (RIGHT if code == 0 else REFUSED) if proper else f"exit {code}, kept: {kept}, then exit {again}"
            outcomes.add(outcome, str(number))
            shutil.rmtree(folder)
    finally:
        subprocess.run([shutil.which("umount") or "umount", str(disk)], check=False)  # noqa: S603
    return outcomes
