"""Training in a process of its own; the old result stays until the new one is there."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from xsdc.app.exchange import write_answers
from xsdc.app.session import Session
from xsdc.errors import InvalidInputError
from xsdc.runs import RunFolder
from xsdc.runs.folder import write_json
from xsdc.runs.manifest import Manifest
from xsdc.runs.publishing import held

CAN_PAUSE = hasattr(signal, "SIGSTOP")
AT_WORK = ("running", "paused")


class Trainer:
    """Fits a run from the answers so far, when it is asked to or every so many answers.

    Parameters
    ----------
    session : Session
        Whose answers.
    tell : callable
        Called with "training" and the state, from any thread.
    """

    def __init__(self, session: Session, tell: Callable[[str, dict[str, Any]], None]) -> None:
        self._session, self._tell = session, tell
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self.every = 0
        self._answers = 0
        self.state: dict[str, Any] = {"status": "idle", "can_pause": CAN_PAUSE, "every": 0, "finished": self._finished}

    @property
    def _finished(self) -> bool:
        return self._session.opened.folder.finished

    def start(self) -> None:
        """Begin, unless a training is under way."""
        with self._lock:
            if self.state["status"] in AT_WORK:
                raise InvalidInputError("A training is under way. Stop it first.")
            session = self._session
            solution = session.wait()
            configuration = write_answers(session)
            target = self._target
            shutil.rmtree(target.path, ignore_errors=True)
            asked = session.opened.folder.path / ".refit.json"
            write_json(asked, configuration.as_dict())
            self._answers = len(solution.known.live)
            self._process = subprocess.Popen(  # noqa: S603  our own module, no shell
                [sys.executable, "-m", "xsdc.app.worker", str(asked), str(target.path)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
            self._set(status="running", stage="Starting", done=0, total=0, error=None, begun=time.time())
            threading.Thread(target=self._follow, args=(self._process,), name="training", daemon=True).start()

    def pause(self) -> None:
        """Let it rest."""
        self._signal("running", "SIGSTOP", "paused")

    def resume(self) -> None:
        """Let it go on."""
        self._signal("paused", "SIGCONT", "running")

    def stop(self) -> None:
        """End it; what it had is dropped, and the old result stays."""
        with self._lock:
            process = self._process
            if process is None or process.poll() is not None:
                return
            self._set(status="stopping")
            if CAN_PAUSE:
                process.send_signal(signal.SIGCONT)
            process.terminate()
        process.wait(timeout=30)

    def after_answer(self) -> None:
        """Begin by itself where so many answers have come."""
        count = len(self._session.solution.known.live)
        if self.every and count >= self._answers + self.every and self.state["status"] not in AT_WORK:
            threading.Thread(target=self.start, name="start of training", daemon=True).start()

    def set_every(self, every: int) -> None:
        """Train by itself after so many answers; 0 for never."""
        self.every = max(0, every)
        self._set(every=self.every)

    @property
    def _target(self) -> RunFolder:
        return RunFolder(self._session.opened.folder.path / ".refit")

    def _signal(self, needed: str, name: str, status: str) -> None:
        if not CAN_PAUSE:
            raise InvalidInputError("This system cannot pause a process; stop it instead.")
        with self._lock:
            if self.state["status"] == needed and self._process is not None:
                self._process.send_signal(getattr(signal, name))
                self._set(status=status)

    def _set(self, **changes: Any) -> None:
        self.state = {**self.state, **changes, "finished": self._finished}
        self._tell("training", self.state)

    def _follow(self, process: subprocess.Popen[str]) -> None:
        """Read what the process says until it ends, and take its result."""
        error = None
        assert process.stdout is not None  # noqa: S101  it is a pipe
        assert process.stderr is not None  # noqa: S101
        noise: list[str] = []
        drain = threading.Thread(target=lambda: noise.extend(process.stderr or ()), daemon=True)
        drain.start()
        for line in process.stdout:
            said = json.loads(line)
            error = said.pop("error", error)
            if said and "finished" not in said and self.state["status"] in AT_WORK:
                self._set(**said)
        code = process.wait()
        drain.join(timeout=5)
        process.stdout.close()
        process.stderr.close()
        with self._lock:
            if self.state["status"] == "stopping":
                self._end("stopped", None)
            elif code:
                self._end("failed", error or (noise[-1].strip() if noise else f"exit code {code}"))
            else:
                try:
                    self._take()
                    self._end("done", None)
                except InvalidInputError as refused:
                    self._end("failed", str(refused))

    def _take(self) -> None:
        """Put the new result in the place of the old one."""
        folder = self._session.opened.folder
        with held(folder):
            manifest, made = Manifest.read(folder.manifest), self._target.written()
            foreign = manifest.foreign(folder.path / path.name for path in made)
            if foreign:
                names = ", ".join(path.name for path in foreign)
                raise InvalidInputError(f"{names} in {folder.path} was changed by somebody else. Move it away.")
            for path in made:
                path.replace(folder.path / path.name)
            manifest.with_files(folder.path / path.name for path in made).write(folder.manifest)
        self._session.renew()

    def _end(self, status: str, error: str | None) -> None:
        shutil.rmtree(self._target.path, ignore_errors=True)
        (self._session.opened.folder.path / ".refit.json").unlink(missing_ok=True)
        self._process = None
        self._set(status=status, error=error)
