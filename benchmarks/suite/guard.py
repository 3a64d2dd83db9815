"""A small part of the suite that the tests run, so that no change makes the defaults worse unseen.

``python -m benchmarks.suite record`` writes down the accuracies of the present code. Do so when they have changed for a
reason, and say it in the commit.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

from benchmarks.suite.measures import score
from benchmarks.suite.methods import METHODS
from benchmarks.suite.regimes import make_problem
from benchmarks.suite.runner import current_commit
from benchmarks.suite.summary import OURS

RECORDED = Path(__file__).parent / "recorded.json"
CASES = tuple(product(("wine", "breast_cancer", "digits"), ("0", "5", "pairs-300")))
ALLOWED = 0.03  # fall of accuracy that is let pass; machines round differently


def measure(name: str, level: str) -> float:
    """Accuracy on test points with defaults, seed 0."""
    problem = make_problem(name, level, seed=0)
    if problem is None:
        raise ValueError(f"{name} has no level {level}.")
    return score(problem, METHODS[OURS].fit(problem.given))["accuracy"]


def read_recorded(path: Path = RECORDED) -> dict[str, float]:
    """Accuracies to compare with, by ``set/level``."""
    accuracies: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))["accuracy"]
    return accuracies


def record(path: Path = RECORDED) -> None:
    """Measure all cases and write them down."""
    accuracy = {f"{name}/{level}": round(measure(name, level), 4) for name, level in CASES}
    path.write_text(json.dumps({"commit": current_commit(), "accuracy": accuracy}, indent=2) + "\n", encoding="utf-8")
