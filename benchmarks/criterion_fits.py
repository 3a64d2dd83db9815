"""The fits by which criteria without labels are compared: a pool of configurations, good and bad, on two data sets."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse.linalg import ArpackError
from sklearn.datasets import load_digits

from xsdc import XSDC
from xsdc.core.agreement import agreement
from xsdc.core.judging import make_judge
from xsdc.core.objective import decompose
from xsdc.errors import InvalidInputError

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
K = 10
ROLES = ("all", "again", "first half", "second half")  # again: another seed
SIZES = {"digits": 500, "mnist": 1500}
CONFIGURATIONS = {"digits": 32, "mnist": 14}
DEFAULTS: dict[str, dict[str, Any]] = {"digits": {}, "mnist": {"max_iter": 30, "batch_size": 512}}  # shorter
SEEDS = {"digits": 3, "mnist": 2}


@dataclass(frozen=True)
class Data:
    """Points of one seed, with classes that only the accuracy sees."""

    name: str
    seed: int
    X: Array
    y: Ints
    halves: tuple[Ints, Ints]


def load(name: str, seed: int, directory: Path | None) -> Data:
    """Draw points of a data set and two halves of them."""
    rng = np.random.default_rng(seed)
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        X = X / 16
    else:
        assert directory is not None  # noqa: S101  checked by the caller
        with np.load(directory / "mnist.npz") as file:
            X, y = (file["x_train"] / 255 - 0.1307) / 0.3081, file["y_train"].astype(np.int64)
    chosen = rng.permutation(len(X))[: SIZES[name]]
    order = rng.permutation(len(chosen))
    halves = (np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :]))
    return Data(name, seed, X[chosen], y[chosen], halves)


def configurations(name: str) -> list[dict[str, Any]]:
    """Draw the pool: the defaults, and what a search might try, drawn once for all seeds."""
    rng = np.random.default_rng(0)
    make = _digits_configuration if name == "digits" else _mnist_configuration
    return [DEFAULTS[name], *(make(rng) for _ in range(CONFIGURATIONS[name] - 1))]


def _digits_configuration(rng: np.random.Generator) -> dict[str, Any]:
    def pick(values: list[Any]) -> Any:
        return values[rng.integers(len(values))]

    layer = {"width": pick([10, 32, 100, 200]), "kernel": "rbf", "bandwidth": pick([None, None, 2.0, 6.0])}
    return {
        "network": {"name": "kn", "input": "vectors", "layers": [layer]},
        "learning_rate": pick(["auto", *(2.0**i for i in range(-8, 8, 2))]),
        "ridge": pick(["auto", *(2.0**i for i in range(-16, 1, 4))]),
        "max_iter": pick([0, 20, 50, 100]),
        "cluster_size": pick(["equal", "auto", (0.05, 0.2), (0.02, 0.5)]),
        "entropy": pick(["median", "median", 1e-6, 1e-5, 3e-5]),
    }


def _mnist_configuration(rng: np.random.Generator) -> dict[str, Any]:
    def pick(values: list[Any]) -> Any:
        return values[rng.integers(len(values))]

    return {
        "network": pick(["lenet5-ckn", "lenet5-ckn", "ckn-gm", "cnn"]),
        "learning_rate": pick([2.0**i for i in range(-10, 1, 2)]),
        "ridge": pick(["auto", 2.0**-40, 2.0**-20, 2.0**-8]),
        "max_iter": pick([0, 10, 30]),
        "cluster_size": pick(["equal", "auto", (0.05, 0.2)]),
        "batch_size": 512,
    }


def fit(data: Data, options: dict[str, Any], role: str) -> dict[str, Any]:
    """Fit in one of the roles; what all criteria need, as plain data."""
    points = {"first half": data.halves[0], "second half": data.halves[1]}.get(role, np.arange(len(data.y)))
    seed = data.seed + (1000 if role == "again" else 0)
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bad configurations are part of the pool
        try:
            model = XSDC(K, random_state=seed, progress=False).set_params(**options).fit(data.X[points])
        except (InvalidInputError, ArpackError) as error:
            return {"failed": str(error)}
        predicted = model.predict(data.X)
        judge = make_judge(decompose(torch.from_numpy(model.transform(data.X[points]))), K)
    return {
        "labels": "".join(str(c) for c in model.labels_),
        "predicted": "".join(str(c) for c in predicted),
        "own_merit": judge.merit(model.labels_),
        "own_margin": judge.margin(model.labels_),
        "accuracy": agreement(model.labels_, data.y[points]).accuracy,
        "seconds": time.process_time() - begun,
    }


def read_log(path: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Fits made so far, by data set, seed, configuration and role; a line cut short is made again."""
    fits = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        fits[row["data"], row["seed"], row["configuration"], row["role"]] = row
    return fits


def make_fits(
    name: str, seeds: int, pool: list[dict[str, Any]], directory: Path | None, log: Path
) -> Iterator[tuple[Data, list[dict[str, dict[str, Any]]]]]:
    """Make the fits that the log does not hold; yield those of each seed, by configuration and role."""
    for seed in range(seeds):
        data = load(name, seed, directory)
        done = read_log(log)
        found = []
        for number, options in enumerate(pool):
            rows = {}
            for role in ROLES:
                row = done.get((name, seed, number, role))
                if row is None:
                    row = {"data": name, "seed": seed, "configuration": number, "role": role, "options": options}
                    row |= fit(data, options, role)
                    with log.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
                    print(name, seed, number, role, row.get("accuracy", row.get("failed")), flush=True)
                rows[role] = row
            found.append(rows)
        yield data, found
