"""Processes that try what may crash, hang or take all memory; forked, so that they need not import anything again."""

from __future__ import annotations

import io
import multiprocessing
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

FORK = multiprocessing.get_context("fork")
LONGEST = 60.0  # seconds
MOST_MEMORY = 2**30  # bytes beyond what the process had


class Worker:
    """Does one thing after the other in a process of its own, which is begun anew where it dies.

    Parameters
    ----------
    work : callable
        Takes a task and returns an outcome, a word.
    """

    def __init__(self, work: Callable[[Any], str]) -> None:
        self.work = work
        self._process: Any = None
        self._pipe: Any = None

    def __call__(self, task: Any) -> str:
        """Do one thing; a crash, a hang or too much memory is the outcome where it happens."""
        if self._process is None or not self._process.is_alive():
            self._start()
        self._pipe.send(task)
        if not self._pipe.poll(LONGEST):
            self.stop()
            return f"hangs for more than {LONGEST:.0f} s"
        try:
            outcome, memory = self._pipe.recv()
        except EOFError:
            self._process.join()
            code = self._process.exitcode
            return f"crashes ({signal.Signals(-code).name if code < 0 else f'exit {code}'})"
        if memory > MOST_MEMORY:
            return f"takes {memory / 2**30:.1f} GB"
        return str(outcome)

    def _start(self) -> None:
        self._pipe, other = FORK.Pipe()
        self._process = FORK.Process(target=_serve, args=(other, self.work), daemon=True)
        self._process.start()
        other.close()

    def stop(self) -> None:
        """End the process."""
        if self._process is not None and self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process = None


def _serve(pipe: Connection[Any, Any], work: Callable[[Any], str]) -> None:
    while True:
        task = pipe.recv()
        before = _reset_peak()
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            outcome = work(task)
        pipe.send((outcome, _status("VmHWM") - before))


def _reset_peak() -> int:
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _status("VmRSS")


def _status(name: str) -> int:
    (kilobytes,) = re.findall(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    return int(kilobytes) * 1024


def fork(act: Callable[[], int]) -> int:
    """Run something in a forked process, whose exit code it returns there; return the number of the process."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        warnings.simplefilter("ignore")
        code = act()
    except KeyboardInterrupt:
        code = 130
    finally:
        os._exit(code)
