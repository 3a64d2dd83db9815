"""The folder of a run: which file holds what, written whole, never over something unasked."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xsdc.errors import InvalidInputError

METRICS = {"version", "data", "found", "measured", "unmeasured", "training", "warnings", "seconds"}


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
    def replaced(self) -> Path:
        """A finished run that another one is about to replace."""
        return self.path / ".replaced-run"  # a name that no file of the user's has: it is removed unasked

    def written(self) -> list[Path]:
        """Files of a run that are there."""
        ours = (
            self.configuration,
            self.model,
            self.preparation,
            self.labels,
            self.suspicious,
            self.changes,
            self.metrics,
            self.history,
            self.points,
            self.report,
            self.checkpoints,
            self.prepared,
        )
        return [path for path in ours if path.exists()]

    @property
    def finished(self) -> bool:
        """Whether a run has come to its end here."""
        return self.metrics.exists()

    def claim(self, *, force: bool) -> None:
        """Make the folder ready for a new run; what a former one left is only removed by force."""
        if self.path.exists() and not self.path.is_dir():
            raise InvalidInputError(f"{self.path} is a file, not a folder. Give another name with --out.")
        left = self.written()
        if left and not force:
            raise InvalidInputError(
                f"{self.path} already holds a run. Give another folder with --out, --force to replace it"
                + ("." if self.finished else ", or --resume to go on with it.")
            )
        if self.finished:
            self._set_aside(left)
        self.clear()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInputError(f"{self.path} cannot be made: {error.strerror}.") from error

    def _set_aside(self, files: list[Path]) -> None:
        """Keep a finished run until the one that replaces it has ended."""
        self.forget_replaced()
        self.replaced.mkdir()
        for path in files:
            path.rename(self.replaced / path.name)

    def forget_replaced(self) -> None:
        """Remove the run that was replaced."""
        if self.replaced.exists():
            shutil.rmtree(self.replaced)

    def clear(self) -> None:
        """Remove the files of a run, and nothing else."""
        for path in self.written():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def drop_prepared(self) -> None:
        """Remove prepared points, which a fit needs only while it runs."""
        if self.prepared.exists():
            shutil.rmtree(self.prepared)

    def abandon(self) -> None:
        """Leave nothing behind of a run that could not begin, and put back the one that it was to replace."""
        self.clear()
        if self.replaced.exists():
            for path in self.replaced.iterdir():
                path.rename(self.path / path.name)
            self.replaced.rmdir()
        if not any(self.path.iterdir()):
            self.path.rmdir()

    def require(self, *paths: Path) -> None:
        """Raise where files of a run are missing."""
        missing = [path.name for path in paths if not path.is_file()]
        if missing:
            if self.configuration.exists() and not self.finished and (self.path / "tuning.json").exists():
                raise InvalidInputError(
                    f"{self.path} holds a search, not a run: xsdc fit --config {self.configuration}."
                )
            if self.configuration.exists() and not self.finished:
                raise InvalidInputError(
                    f"The run in {self.path} is not finished. Go on with it: xsdc fit --out {self.path} --resume."
                )
            raise InvalidInputError(f"{self.path} holds no run: {', '.join(missing)} is missing.")


def write_json(path: Path, content: Any) -> None:
    """Write plain data, whole or not at all."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(content, indent=1, default=_plain, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(path)


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
