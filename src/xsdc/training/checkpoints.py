"""States of a training in a folder, so that a run that was cut off goes on to the same end."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import torch

from xsdc import validation
from xsdc.errors import InvalidInputError
from xsdc.training.callbacks import Callback
from xsdc.training.loop import Trainer

DIGEST = hashlib.sha256().digest_size
KEPT = 2


class Stateful(Protocol):
    """What can be saved and go on, as torch has it."""

    def state_dict(self) -> dict[str, Any]:
        """Everything it needs to go on, as plain data and tensors."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""


class Checkpoints(Callback):
    """Writes the state of a training every so often, and goes on from the last one.

    A file is written under another name and then renamed, and begins with a digest of the rest: it is whole or it is
    noticed. A folder serves one training; a state of another one (other data, options or seed) is refused. Of many
    processes the first one writes and reads, and sends the others what it read.

    Parameters
    ----------
    folder : path
        Where the states are kept; made where it is absent.
    every : int
        Steps between two of them.
    resume : bool
        Whether to go on from the last state in the folder. Otherwise states that lie there are removed.
    about : str
        What else makes this training what it is, beyond what the trainer knows.
    also : sequence of Stateful
        What is saved along with the trainer, and goes on with it.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        every: int = 10,
        resume: bool = False,
        about: str = "",
        also: Sequence[Stateful] = (),
    ) -> None:
        self.folder = Path(folder)
        self.every = validation.as_count(every, name="every")
        self.resume, self.about, self.also = resume, about, also
        self._fingerprint = ""
        self._written = -1

    def on_start(self, trainer: Trainer) -> None:
        """Go on from the last state, or make room."""
        self._fingerprint = f"{trainer.fingerprint()} {self.about}"
        stored = trainer.processes.agree(self._begin)
        if stored is not None:
            trainer.load_state_dict(stored["state"])
            for each, state in zip(self.also, stored["also"], strict=True):
                each.load_state_dict(state)
            self._written = trainer.iteration

    def _begin(self) -> dict[str, Any] | None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInputError(f"Checkpoints cannot be kept in {self.folder}: {error.strerror}.") from error
        if not self.resume:
            self.clear()
            return None
        return self._last()

    def on_step(self, trainer: Trainer, record: dict[str, Any]) -> None:
        """Write the state, where it is time to."""
        if record["iteration"] % self.every == 0 and trainer.processes.first:
            self._write(trainer)

    def on_end(self, trainer: Trainer) -> None:
        """Write the last state; not where a step may have been cut off in its middle."""
        if trainer.finished and trainer.iteration > self._written and trainer.processes.first:
            self._write(trainer)

    def files(self) -> list[Path]:
        """States in the folder, the last first."""
        return sorted(self.folder.glob("step-*.state"), reverse=True)

    def clear(self) -> None:
        """Remove all states."""
        for path in [*self.files(), *self.folder.glob("step-*.partial")]:
            path.unlink(missing_ok=True)

    def _write(self, trainer: Trainer) -> None:
        buffer = io.BytesIO()
        also = [each.state_dict() for each in self.also]
        torch.save({"fingerprint": self._fingerprint, "state": trainer.state_dict(), "also": also}, buffer)
        content = buffer.getvalue()
        if self._written < 0 and _load(content) is None:
            raise InvalidInputError(
                "The state of this training could not be read again: what state_dict returns, of a labeler for example,"
                " must hold tensors and plain data only."
            )
        path = self.folder / f"step-{trainer.iteration:09d}.state"
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            file.write(hashlib.sha256(content).digest() + content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        self._written = trainer.iteration
        for old in self.files()[KEPT:]:
            old.unlink(missing_ok=True)

    def _last(self) -> dict[str, Any] | None:
        for path in self.files():
            stored = _read(path)
            if stored is None:
                warnings.warn(f"{path} is damaged; an earlier state is used.", UserWarning, stacklevel=4)
                continue
            if stored["fingerprint"] != self._fingerprint:
                raise InvalidInputError(
                    f"The states in {self.folder} belong to another run: its data, options or seed were not these."
                    " Give the same ones, or begin anew."
                )
            return stored
        return None


def _read(path: Path) -> dict[str, Any] | None:
    """Read a state; None where it is damaged. Nothing in the file is run."""
    content = path.read_bytes()
    if len(content) <= DIGEST or hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
        return None
    return _load(content[DIGEST:])


def _load(content: bytes) -> dict[str, Any] | None:
    try:
        stored = torch.load(io.BytesIO(content), weights_only=True)
    except (RuntimeError, pickle.UnpicklingError):
        return None
    return stored if isinstance(stored, dict) and {"fingerprint", "state", "also"} <= stored.keys() else None
