"""The folder of a run: which file holds what.

A run is made in a folder of its own within that of the user (`RunFolder.unfinished`), and moved to its place once it is
whole (`xsdc.runs.publishing`).
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xsdc.errors import InvalidInputError

METRICS = {"version", "data", "found", "measured", "unmeasured", "training", "warnings", "seconds"}


UNFINISHED = ".unfinished-run"


@dataclass(frozen=True)
class RunFolder:
    """Paths of what a run writes.

    Attributes
    ----------
    path : Path
        The folder.
    """

    path: Path

    @property
    def configuration(self) -> Path:
        """What the run was asked to do."""
        return self.path / "config.json"

    @property
    def model(self) -> Path:
        """The fitted estimator."""
        return self.path / "model.xsdc"

    @property
    def preparation(self) -> Path:
        """How columns become numbers."""
        return self.path / "preparation.xsdc"

    @property
    def labels(self) -> Path:
        """A class for every point."""
        return self.path / "labels.csv"

    @property
    def suspicious(self) -> Path:
        """Given labels that are probably wrong."""
        return self.path / "suspicious.csv"

    @property
    def changes(self) -> Path:
        """Rows whose class changed by corrections."""
        return self.path / "changes.csv"

    @property
    def metrics(self) -> Path:
        """What was given, found and measured; written last."""
        return self.path / "metrics.json"

    @property
    def history(self) -> Path:
        """Choices and steps."""
        return self.path / "history.json"

    @property
    def points(self) -> Path:
        """What the report draws."""
        return self.path / "points.npz"

    @property
    def report(self) -> Path:
        """The page for people."""
        return self.path / "report.html"

    @property
    def checkpoints(self) -> Path:
        """States of an unfinished training."""
        return self.path / "checkpoints"

    @property
    def prepared(self) -> Path:
        """Prepared points of a fit that runs, where they are too many for memory."""
        return self.path / "prepared"

    @property
    def manifest(self) -> Path:
        """Which files the run wrote, with their hashes."""
        return self.path / "manifest.json"

    @property
    def lock(self) -> Path:
        """Held by the process that writes here."""
        return self.path / ".lock"

    @property
    def unfinished(self) -> RunFolder:
        """The run that is being made here."""
        return RunFolder(self.path / UNFINISHED)  # names that no file of the user's has: removed unasked

    def place(self) -> Path:
        """Where the run stands once it is whole."""
        return self.path.parent if self.path.name == UNFINISHED else self.path

    @property
    def complete(self) -> RunFolder:
        """A run that is whole and on its way to its place."""
        return RunFolder(self.path / ".complete-run")

    def outputs(self) -> list[Path]:
        """Files that a finished run may have, whether they are there or not; the metrics come last."""
        return [
            self.configuration,
            self.preparation,
            self.model,
            self.labels,
            self.suspicious,
            self.changes,
            self.history,
            self.points,
            self.report,
            self.metrics,
        ]

    def written(self) -> list[Path]:
        """Files of a finished run that are there."""
        return [path for path in self.outputs() if path.exists()]

    @property
    def finished(self) -> bool:
        """Whether a run has come to its end here."""
        return self.metrics.exists()

    @property
    def begun(self) -> bool:
        """Whether a run has begun here and not come to its end."""
        return self.unfinished.configuration.exists()

    def drop_prepared(self) -> None:
        """Remove prepared points, which a fit needs only while it runs."""
        if self.prepared.exists():
            shutil.rmtree(self.prepared)

    def require(self, *paths: Path) -> None:
        """Raise where files of a run are missing."""
        missing = [path.name for path in paths if not path.is_file()]
        if not missing:
            return
        if (self.path / "tuning.json").exists() and not self.finished:
            raise InvalidInputError(f"{self.path} holds a search, not a run: xsdc fit --config {self.configuration}.")
        if self.begun or (self.configuration.exists() and not self.finished):
            raise InvalidInputError(
                f"The run in {self.path} is not finished. Go on with it: xsdc fit --out {self.path} --resume."
            )
        raise InvalidInputError(f"{self.path} holds no run: {', '.join(missing)} is missing.")


def write_json(path: Path, content: Any) -> None:
    """Write plain data, whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.write(json.dumps(content, indent=1, default=_plain, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_json(path: Path) -> Any:
    """Read a file of a run."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path} cannot be read, or is damaged ({error}).") from error


def read_metrics(folder: RunFolder) -> dict[str, Any]:
    """Read the metrics of a finished run."""
    metrics = read_json(folder.metrics)
    missing = METRICS - (metrics.keys() if isinstance(metrics, dict) else set())
    if missing:
        raise InvalidInputError(f"{folder.metrics} is damaged: it has no {min(missing)!r}.")
    return dict(metrics)


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
