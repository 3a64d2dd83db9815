"""The same answer whatever the machine does and whatever stands in one row; hostile arrays; a soak."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.suite.measures import calibration_error
from benchmarks.trust.outcomes import REFUSED, RIGHT, Outcomes, while_time
from benchmarks.trust.workers import Worker, fork
from xsdc import XSDC

Array = np.ndarray[Any, Any]
FLAT_MEMORY = 100 * 2**20  # bytes that a soak may add after its first tenth
POINT = 0.01  # of accuracy
SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}


def problem(rng: np.random.Generator, *, n: int = 120, k: int = 3, d: int = 6) -> tuple[Array, Array, Array]:
    """Groups in space, and labels of a fifth of the points."""
    truth = np.arange(n) % k
    X = rng.normal(size=(n, d)) + 2.5 * rng.normal(size=(k, d))[truth]
    y = np.where(rng.random(n) < 0.2, truth, -1)
    y[:k] = truth[:k]
    return X, y, truth


def try_load(place: Path, *, count: int, seconds: float, seed: int) -> Outcomes:  # noqa: ARG001
    """Fit with all cores busy, on one thread and on two, in other orders of the rows, sorted by class."""
    outcomes = Outcomes("load, threads and orders of rows")
    rng = np.random.default_rng(seed)
    X, y, truth = problem(rng)
    expected = XSDC(random_state=0).fit(X, y).labels_
    busy = [fork(_burn) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        for number in while_time(range(count), seconds):
            how = ("load", "one thread", "two threads", "order", "sorted by class")[number % 5]
            order = np.arange(len(X))
            if how == "order":
                order = rng.permutation(len(X))
            elif how == "sorted by class":
                order = np.argsort(truth, kind="stable")
            threads = 2 if how == "two threads" else 1
            torch.set_num_threads(threads)
            with threadpool_limits(threads):
                found = np.empty_like(expected)
                found[order] = XSDC(random_state=0).fit(X[order], y[order]).labels_
            outcomes.add(RIGHT if np.array_equal(found, expected) else f"{(found != expected).sum()} other labels", how)
    finally:
        for pid in busy:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        torch.set_num_threads(1)
    return outcomes


def _burn() -> int:
    while True:
        pass


def try_outliers(place: Path, *, count: int, seconds: float, seed: int) -> Outcomes:  # noqa: ARG001
    """One absurd row or cell, at any place and of any size: the accuracy on the other rows."""
    outcomes, rng = Outcomes("one absurd row or cell"), np.random.default_rng(seed)
    X, y, truth = problem(rng, n=300)
    clean = float((XSDC(random_state=0).fit(X, y).labels_ == truth)[y < 0].mean())
    for number in while_time(range(count), seconds):
        absurd, row = X.copy(), int(rng.integers(len(X)))
        value = float(rng.choice([-1, 1]) * 10 ** rng.uniform(2, 9))
        columns = slice(None) if number % 2 else int(rng.integers(X.shape[1]))
        absurd[row, columns] = value
        others = (y < 0) & (np.arange(len(X)) != row)
        found = float((XSDC(random_state=0).fit(absurd, y).labels_ == truth)[others].mean())
        outcome = RIGHT if found > clean - POINT else f"{found:.3f} instead of {clean:.3f}"
        outcomes.add(outcome, f"row {row}, {value:.3g}")
    return outcomes


def hostile(rng: random.Random) -> tuple[Any, Any]:
    """Make X and y of odd types, shapes and contents."""
    numbers = np.random.default_rng(rng.randrange(2**32))
    n = rng.choice([0, 1, 2, 3, 30])
    shape = rng.choice([(n,), (n, 1), (n, 4), (n, 0), (n, 6, 6), (n, 6, 6, 3), (n, 3, 6, 6), (n, 2, 2, 2, 2)])
    X: Any = numbers.normal(size=shape)
    special = rng.choice([None, None, np.nan, np.inf, -9999.0, 1e300, 1e-300, 0.0])
    if special is not None:
        X = np.where(numbers.random(shape) < rng.choice([0.05, 1.0]), special, X)
    kinds = ["f8", "f4", "f2", "i8", "u1", "?", "c16", "O", "U5", "S5", ">f8", "longdouble", "M8[D]"]
    with np.errstate(all="ignore"):
        X = X.astype(rng.choice(kinds), copy=False) if not (special is not None and rng.random() < 0.5) else X
    forms: list[Any] = [_frozen, _frozen, np.asfortranarray, np.ndarray.tolist, list, np.ma.asarray]
    X = rng.choice(forms)(X)
    labels: list[Any] = [numbers.integers(-1, 3, n), np.full(n, -1), numbers.choice(["a", "b", ""], n), [None] * n]
    labels += [np.zeros(n, bool), numbers.normal(size=n), np.full(n, np.nan), [(1,)] * n]
    labels += [np.zeros(n + 1, int), None, "words", [{}] * n, np.full(n, 10**18)]
    labels += [numbers.integers(0, 2, n).astype("O"), numbers.integers(0, 2, (n, 2))]
    return X, rng.choice(labels)


def _frozen(A: Array) -> Array:
    A = A.copy()
    A.flags.writeable = False
    return A


def fit_hostile(task: tuple[Any, Any]) -> str:
    """Fit, and look at what comes out."""
    X, y = task
    try:
        model = XSDC(random_state=0).fit(X, y)
        found = model.predict_proba(X)
    except (ValueError, TypeError) as error:  # among them InvalidInputError and what scikit-learn's checks raise
        return REFUSED if str(error) else f"{type(error).__name__} without a word"
    except Exception as error:  # noqa: BLE001  any other is a defect
        return f"{type(error).__name__}: {error}"
    proper = len(model.labels_) == len(X) and np.isfinite(found).all() and np.abs(found.sum(1) - 1).max() < 1e-6
    return RIGHT if proper else "probabilities are not finite, or do not sum to one"


def try_arrays(place: Path, *, count: int, seconds: float, seed: int) -> Outcomes:  # noqa: ARG001
    """Hostile arrays."""
    outcomes, worker, rng = Outcomes("hostile arrays"), Worker(fit_hostile), random.Random(seed)  # noqa: S311
    for number in while_time(range(count), seconds):
        task = hostile(rng)
        what = f"{number} ({type(task[0]).__name__} {getattr(task[0], 'dtype', '')} {getattr(task[0], 'shape', '')})"
        outcomes.add(worker(task), what)
    worker.stop()
    return outcomes


def options_at_random(rng: random.Random) -> dict[str, Any]:
    """Valid options, drawn at random."""
    drawn: dict[str, Any] = {
        "effort": rng.choice(["fast", "normal", "best"]),
        "labeler": rng.choice(["balancing", "eigen", "hard", "pseudo-labels"]),
        "max_iter": rng.choice([0, 1, 3]),
        "supervised_iter": rng.choice([0, 1, 3]),
        "batch_size": rng.choice([8, 32]),
        "labeled_batch_size": rng.choice([4, 16]),
        "piece_size": rng.choice([None, 16]),
        "ridge": rng.choice(["auto", 1e-3, 1.0]),
        "entropy": rng.choice(["median", 0.1]),
        "filter_penalty": rng.choice([0.0, 0.01]),
        "cluster_size": rng.choice(["auto", "equal", (0.05, 0.8)]),
        "validation": rng.choice([None, "auto"]),
        "dtype": rng.choice(["auto", "float32", "float64"]),
    }
    return {name: value for name, value in drawn.items() if rng.random() < 0.5}


def try_soak(place: Path, *, count: int, seconds: float, seed: int) -> Outcomes:  # noqa: ARG001
    """Fit small problems with options drawn at random; no crash, and memory stays flat."""
    outcomes, rng = Outcomes("soak: options at random"), random.Random(seed)  # noqa: S311
    memory = []
    for number in while_time(range(count), seconds):
        numbers = np.random.default_rng([seed, number])
        k = rng.choice([2, 3, 5])
        X, y, _ = problem(numbers, n=rng.choice([30, 60, 100]), k=k, d=rng.choice([2, 5, 20]))
        options, labels = options_at_random(rng), y if rng.random() < 0.7 else None
        try:
            model = XSDC(k if labels is None else None, random_state=number, progress=False, **options).fit(X, labels)
            found = model.predict_proba(X)
            proper = bool(np.isfinite(found).all() and np.abs(found.sum(1) - 1).max() < 1e-6)
            kept = labels is None or (model.labels_ == labels)[labels >= 0].all()
            outcomes.add(RIGHT if proper and kept else "improper probabilities, or a label was changed", str(options))
        except Exception as error:  # noqa: BLE001  all options are valid
            outcomes.add(f"{type(error).__name__}: {error}", str(options))
        memory.append(_resident())
    grown = memory[-1] - memory[len(memory) // 10]
    outcomes.notes.append(f"memory has grown by {grown / 2**20:.0f} MB after the first tenth")
    if grown > FLAT_MEMORY:
        outcomes.defects.append("memory grows")
    return outcomes


def _resident() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def try_calibration(place: Path, *, count: int, seconds: float, seed: int) -> Outcomes:  # noqa: ARG001
    """Expected calibration error beside scikit-learn's CalibratedClassifierCV, on the same 20 labels per class."""
    outcomes = Outcomes("calibration, 20 labels per class")
    end = time.monotonic() + seconds
    errors: dict[str, list[tuple[float, float]]] = {}
    for name, ours, theirs in _calibrations(range(count), seed):
        errors.setdefault(name, []).append((ours, theirs))
        outcomes.add(RIGHT, name)
        if time.monotonic() > end:
            break
    for name, pairs in errors.items():
        ours, theirs = np.mean(pairs, axis=0)
        outcomes.notes.append(f"{name}: {ours:.3f}, CalibratedClassifierCV {theirs:.3f} ({len(pairs)} splits)")
    return outcomes


def _calibrations(splits: range, seed: int) -> Iterator[tuple[str, float, float]]:
    for split in splits:
        for name, load in SETS.items():
            X, truth = load(return_X_y=True)
            X = StandardScaler().fit_transform(X)
            train, test = train_test_split(np.arange(len(X)), test_size=0.5, stratify=truth, random_state=seed + split)
            train = train[:600]
            known = np.concatenate([train[truth[train] == c][:20] for c in np.unique(truth)])
            y = np.where(np.isin(train, known), truth[train], -1)
            found = XSDC(random_state=split).fit(X[train], y).predict_proba(X[test])
            rival = CalibratedClassifierCV(LogisticRegression(max_iter=1000), cv=5).fit(X[known], truth[known])
            ours, theirs = (calibration_error(each, truth[test]) for each in (found, rival.predict_proba(X[test])))
            yield name, float(ours), float(theirs)
