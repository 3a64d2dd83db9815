"""What the command line prints: messages on stderr, answers on stdout."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from rich.progress import Progress

    from xsdc.training import Callback

OUT = Console(highlight=False, soft_wrap=True)
ERR = Console(stderr=True, highlight=False, soft_wrap=True)


CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def plain(text: str) -> str:
    """Show what would steer a terminal, in names and cells from anywhere, as what it is; markup is no markup either."""
    return escape(text.translate(CONTROL))


def fail(message: str) -> None:
    """Print an error."""
    ERR.print(f"[bold red]Error:[/] {plain(message)}")


def note(message: str) -> None:
    """Print something worth knowing."""
    ERR.print(f"[yellow]Note:[/] {plain(message)}")


def print_json(content: Any) -> None:
    """Print plain data for machines."""
    OUT.out(json.dumps(content, indent=1, ensure_ascii=False))


def print_table(rows: list[tuple[str, str]], *, title: str | None = None) -> None:
    """Print pairs of a name and a value."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0), title=title and plain(title), title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(plain(name), plain(value))
    OUT.print(table)


def accuracy_text(measured: dict[str, Any]) -> str:
    """Write an accuracy with its interval, and what it was measured on."""
    low, high = measured["interval"]
    return f"{measured['accuracy']:.3f} (95 % interval {low:.3f} to {high:.3f}) on {measured['on']}"


class Watch:
    """Shows what a run is doing: a bar on a terminal, a line for each stage elsewhere, nothing where quiet."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self._progress: Progress | None = None
        self._task: Any = None

    @contextmanager
    def shown(self) -> Iterator[Watch]:
        """Show it while something runs."""
        if self.quiet or not ERR.is_terminal:
            yield self
            return
        from rich.progress import (  # noqa: PLC0415  only where there is a terminal
            BarColumn,
            MofNCompleteColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[detail]}"),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=ERR, transient=True) as self._progress:
            yield self
        self._progress = None

    def announce(self, stage: str) -> None:
        """Say what is being done now."""
        if self._progress is not None:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._task = self._progress.add_task(stage, total=None, detail="")
        elif not self.quiet:
            ERR.print(f"{stage} ...")

    def advance(self, done: int, total: int, detail: str) -> None:
        """Say how far training has come."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=done, total=total, detail=detail)

    def callback(self) -> Callback:
        """Make an observer of training."""
        from xsdc.training import Callback, Trainer  # noqa: PLC0415  torch takes a second

        watch = self

        class Bar(Callback):
            def on_step(self, trainer: Trainer, record: dict[str, Any]) -> None:
                best = "" if trainer.best_score is None else f", best score {trainer.best_score:.3f}"
                watch.advance(trainer.iteration, trainer.plan.total, f"objective {record['objective']:.3f}{best}")

            def on_end(self, trainer: Trainer) -> None:  # noqa: ARG002
                watch.announce("Labelling")

        return Bar()
