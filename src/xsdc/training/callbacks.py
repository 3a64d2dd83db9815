"""Observers of the training loop."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from xsdc.training.loop import Trainer


class Callback:
    """Hooks that do nothing; override those that matter."""

    def on_start(self, trainer: Trainer) -> None:
        """Called before the first step."""

    def on_step(self, trainer: Trainer, record: dict[str, Any]) -> None:
        """Called after each step with what was recorded of it."""

    def on_end(self, trainer: Trainer) -> None:
        """Called after the last step, also when training was interrupted."""


class Progress(Callback):
    """A line on a terminal: how far, how good, how long still."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self._begun = 0.0
        self._first = 0

    def on_start(self, trainer: Trainer) -> None:
        """Start the clock."""
        self._begun, self._first = time.monotonic(), trainer.iteration

    def on_step(self, trainer: Trainer, record: dict[str, Any]) -> None:
        """Rewrite the line."""
        total, done = trainer.plan.total, trainer.iteration
        pace = (time.monotonic() - self._begun) / max(done - self._first, 1)
        left = pace * (total - done)
        width = 24
        bar = "█" * (width * done // max(total, 1))
        score = "" if trainer.best_score is None else f"  best {trainer.best_score:.3f}"
        line = f"{record['stage']:<12} {bar:<{width}} {done}/{total}  objective {record['objective']:.4f}{score}"
        self.stream.write(f"\r{line}  {left:4.0f} s left ")
        self.stream.flush()

    def on_end(self, trainer: Trainer) -> None:
        """End the line."""
        if trainer.iteration > self._first:
            self.stream.write("\n")
            self.stream.flush()
