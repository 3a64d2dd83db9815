"""Models and preparations that were damaged or tampered with."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.trust.outcomes import REFUSED, RIGHT, Outcomes, while_time
from benchmarks.trust.workers import Worker
from xsdc import XSDC
from xsdc.data import Dataset, Preparation, prepare
from xsdc.data.blocks import unlabeled
from xsdc.errors import InvalidInputError

VALUES: tuple[Any, ...] = (None, True, -1, 0, 1, 3, 10**9, 10**30, 1e308, -0.5, "", "x", "layers")
VALUES += ([], [1], {}, {"a": 1})
TYPES = ("<U5", "f4", "i1", "c16", "?")
WHOLE, FRACTIONS = (0, -1, 10**6, 127), (np.nan, np.inf, -1e300, 1e300, 0.0, 1e-300)
TOLERANCE = 1e-6


class Models:
    """A model and a preparation, what they answer, and ways of tampering with them.

    Parameters
    ----------
    place : Path
        A folder.
    seed : int
        Source of chance.
    """

    def __init__(self, place: Path, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(40, 3)) + 4 * np.repeat([[0, 0, 0], [1, 1, 0]], 20, axis=0)
        y = np.where(np.arange(40) % 4 == 0, np.repeat([0, 1], 20), -1)
        self.data = Dataset("a", "vectors", self.X, np.arange(40), "row", unlabeled(40))
        self.files = {name: place / name for name in ("model", "grouped", "published", "preparation")}
        models = {
            "model": XSDC(random_state=seed).fit(self.X, y),
            "grouped": XSDC(2, random_state=seed).fit(self.X),
            "published": XSDC.as_published().set_params(max_iter=2, supervised_iter=2).fit(self.X, y),
        }
        for name, model in models.items():
            model.save(self.files[name])
        done = prepare(self.data, Preparation(scale="standard").fit(self.data))
        done.preparation.save(self.files["preparation"])
        self.answers = {name: model.predict_proba(self.X) for name, model in models.items()} | {"preparation": done.Z}
        self.work = place / "tampered"

    def try_one(self, task: tuple[str, bytes, bool]) -> str:
        """Load a file and use it; ``same`` tells that whatever is read must answer as before."""
        name, content, same = task
        self.work.write_bytes(content)
        try:
            if name == "preparation":
                found = Preparation.load(self.work).transform(self.data)
            else:
                found = XSDC.load(self.work).predict_proba(self.X)
        except InvalidInputError:
            return REFUSED
        except MemoryError:
            return "MemoryError"
        except Exception as error:  # noqa: BLE001  any other is a defect
            return f"{type(error).__name__}: {error}"
        if same:
            return RIGHT if np.array_equal(found, self.answers[name]) else "silently wrong"
        if name == "preparation":
            return RIGHT
        proper = np.isfinite(found).all() and np.abs(found.sum(1) - 1).max() < TOLERANCE
        return RIGHT if proper else "probabilities are not finite, or do not sum to one"

    def tamper(self, rng: random.Random) -> tuple[str, bytes, bool]:
        """Change bytes of a file, or what stands in it."""
        name = rng.choice(list(self.files))
        content = self.files[name].read_bytes()
        if rng.random() < 0.4:
            return name, _bytes_changed(content, rng), True
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            parts = {part: file.read(part) for part in file.namelist()}
        part = rng.choice(list(parts))
        if part.endswith(".json"):
            parts[part] = _description_changed(parts[part], rng)
        elif part.endswith(".npz"):
            parts[part] = _arrays_changed(parts[part], rng)
        elif rng.random() < 0.2:
            del parts[part]
        else:
            parts[part] = _bytes_changed(parts[part], rng)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as file:
            for each, packed in parts.items():
                file.writestr(each, packed)
        return name, buffer.getvalue(), False


def _bytes_changed(content: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.2:
        return content[: rng.randrange(len(content))]
    changed = bytearray(content)
    for _ in range(rng.choice([1, 2, 8, 64])):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _description_changed(content: bytes, rng: random.Random) -> bytes:
    """Put another value in some place of a description, or take one away."""
    whole = json.loads(content)
    place = whole
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return json.dumps(rng.choice(VALUES)).encode()
        key = rng.choice(keys)
        if isinstance(place[key], dict | list) and place[key] and rng.random() < 0.8:
            place = place[key]
            continue
        if rng.random() < 0.2:
            del place[key]
        else:
            place[key] = rng.choice(VALUES)
        return json.dumps(whole).encode()


def _arrays_changed(content: bytes, rng: random.Random) -> bytes:
    """Change one of some arrays: its entries, its shape, its type; or take it away."""
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = dict(stored)
    name = rng.choice(list(arrays))
    array = arrays[name]
    how = rng.randrange(7)
    if how == 0:
        del arrays[name]
    elif how == 1:
        arrays[name] = array[..., None]
    elif how == 2:
        arrays[name] = array.reshape(-1)[:-1]
    elif how == 3:
        arrays[name] = array.astype(rng.choice(TYPES)) if array.dtype.kind in "iuf" else array[:0]
    elif array.size and array.dtype.kind in "iuf":
        changed = array.copy()
        value = rng.choice(WHOLE if array.dtype.kind in "iu" else FRACTIONS)
        changed.flat[rng.randrange(array.size)] = value
        arrays[name] = changed
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def try_models(place: Path, *, count: int, seconds: float, seed: int) -> Outcomes:
    """Tamper with models and preparations, and use them."""
    outcomes, rng = Outcomes("tampered models and preparations"), random.Random(seed)  # noqa: S311
    models = Models(place, seed)
    worker = Worker(models.try_one)
    for number in while_time(range(count), seconds):
        task = models.tamper(rng)
        outcome = worker(task)
        if outcome not in (REFUSED, RIGHT):
            (place / f"defect {number}").write_bytes(task[1])
            outcomes.notes.append(str(place / f"defect {number}"))
        outcomes.add(outcome, f"{task[0]} {number}")
    worker.stop()
    return outcomes
