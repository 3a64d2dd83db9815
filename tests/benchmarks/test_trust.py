"""A few trials of the campaign; `python -m benchmarks.trust` makes thousands."""

from __future__ import annotations

import random

import numpy as np
import pytest

pytest.importorskip("anndata")
files = pytest.importorskip("benchmarks.trust.files")

from benchmarks.trust.answers import fit_hostile, hostile  # noqa: E402
from benchmarks.trust.models import Models  # noqa: E402
from benchmarks.trust.outcomes import REFUSED, RIGHT, Outcomes  # noqa: E402
from benchmarks.trust.workers import Worker  # noqa: E402


def test_malformed_files(tmp_path):
    good, rng = files.originals(np.random.default_rng(0)), random.Random(0)  # noqa: S311
    for number in range(40):
        place = tmp_path / str(number)
        place.mkdir()
        kind = list(files.ENDINGS)[number % len(files.ENDINGS)]
        assert files.examine_file(files.make(place, kind, good, rng)) in (REFUSED, RIGHT), (number, kind)


def test_tampered_models(tmp_path):
    models, rng = Models(tmp_path, 0), random.Random(0)  # noqa: S311
    outcomes = {models.try_one(models.tamper(rng)) for _ in range(30)}
    assert outcomes <= {REFUSED, RIGHT}


@pytest.mark.filterwarnings("ignore")
def test_hostile_arrays():
    rng = random.Random(1)  # noqa: S311
    assert {fit_hostile(hostile(rng)) for _ in range(40)} <= {REFUSED, RIGHT}


def act(task):
    if task == "die":
        import os

        os.kill(os.getpid(), 11)
    return "done"


def test_crashes_of_a_worker_are_outcomes():
    worker = Worker(act)
    assert worker("work") == "done"
    assert worker("die") == "crashes (SIGSEGV)"
    assert worker("work") == "done"
    worker.stop()
    outcomes = Outcomes("some")
    for outcome in (REFUSED, RIGHT, "crashes"):
        outcomes.add(outcome, "one")
    assert (outcomes.tried, outcomes.refused, outcomes.right, outcomes.defects) == (3, 1, 1, ["one: crashes"])
