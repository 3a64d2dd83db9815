"""What the report draws of a run, kept beside it so that the report can be drawn again without the data."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from xsdc import XSDC
from xsdc.errors import InvalidInputError
from xsdc.report import Equivalence, Findings
from xsdc.runs.folder import RunFolder, read_json
from xsdc.runs.given import Given
from xsdc.runs.tables import unguarded
from xsdc.training import Callback, Trainer

Ints = npt.NDArray[np.int64]
MOST_DRAWN = 2000
MOST_LABELED = 500
MOST_EQUIVALENT = 400
MOST_COLUMNS = 40  # of a table, among which those are looked for that set a class apart


class FirstFeatures(Callback):
    """Remembers the features of some points before training."""

    def __init__(self, points: Ints) -> None:
        self.points = points
        self.features: npt.NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)

    def on_start(self, trainer: Trainer) -> None:
        """Compute them; a state to go on from is only loaded afterwards."""
        chosen = trainer.data[torch.from_numpy(self.points)]
        self.features = trainer.network.features(chosen).to("cpu", torch.float32).numpy()


def choose_points(given: Given, *, seed: int) -> Ints:
    """Draw the points to be shown: labeled ones first, as far as they leave room."""
    rng = np.random.default_rng(seed)
    known = np.array([label is not None for label in given.dataset.labels])
    labeled = rng.permutation(np.flatnonzero(known))[:MOST_LABELED]
    others = rng.permutation(np.flatnonzero(~known))
    more = rng.permutation(np.setdiff1d(np.flatnonzero(known), labeled))
    return np.sort(np.concatenate([labeled, others, more])[:MOST_DRAWN])


def keep_drawing(
    path: Path,
    given: Given,
    model: XSDC,
    Z: Any,
    *,
    points: Ints,
    before: npt.NDArray[np.float32],
    truth: Ints | None,
) -> None:
    """Write features before and after training, M among some points, and how points look."""
    position = {name: code for code, name in enumerate(model.classes_.tolist())}
    some = np.unique(points[np.linspace(0, len(points) - 1, min(len(points), MOST_EQUIVALENT)).astype(int)])
    ordered = some[np.argsort([position[model.labels_[i]] for i in some.tolist()], kind="stable")]
    arrays: dict[str, npt.NDArray[Any]] = {
        "points": points,
        "before": before,
        "after": model.transform(Z[points]).astype(np.float32),
        "equivalent": ordered,
        "M": model.equivalence(ordered).astype(np.float32),
    }
    if truth is not None:
        arrays["truth"] = truth
    shown = given.dataset.taken(points)
    if shown.pictures is not None:
        arrays["pictures"] = shown.pictures
    elif isinstance(shown.X, pd.DataFrame):
        records = shown.X.iloc[:, :MOST_COLUMNS].to_dict("records")
        cells = [{str(name): _cell(value) for name, value in row.items()} for row in records]
        arrays["cells"] = np.array(json.dumps(cells))
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # a stub takes the keyword allow_pickle for all
    partial.replace(path)


def _cell(value: object) -> str:
    if pd.isna(value):
        return "missing"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return str(value)


def _read_points(path: Path) -> dict[str, npt.NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return dict(stored)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidInputError(f"{path} is damaged. Fit again, or take it from a copy.") from error


def read_findings(folder: RunFolder, metrics: dict[str, Any]) -> Findings:
    """Gather from the files of a run what its report says."""
    try:
        labels = pd.read_csv(folder.labels, dtype={"id": str, "label": str}, keep_default_na=False)
        labels = labels.assign(**{name: labels[name].map(unguarded) for name in ("id", "label")})
        drawn = _read_points(folder.points)
        classes = list(metrics["found"]["sizes"])
        position = {name: code for code, name in enumerate(classes)}
        codes = np.array([position[label] for label in labels["label"]], dtype=np.int64)
        return Findings(
            title=metrics["data"]["name"],
            metrics=metrics,
            history=read_json(folder.history),
            configuration=read_json(folder.configuration),
            classes=classes,
            ids=labels["id"].tolist(),
            codes=codes,
            probability=labels["probability"].to_numpy(dtype=np.float64),
            given=np.where(labels["source"] == "given", codes, -1),
            truth=drawn.get("truth"),
            points=drawn["points"],
            features_before=drawn["before"],
            features_after=drawn["after"],
            pictures=drawn.get("pictures"),
            cells=json.loads(str(drawn["cells"])) if "cells" in drawn else None,
            equivalence=Equivalence(drawn["equivalent"], drawn["M"]),
            folder=str(folder.place()),
        )
    except InvalidInputError:
        raise
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise InvalidInputError(f"{folder.path} is not a finished run, or is damaged ({error}).") from error
