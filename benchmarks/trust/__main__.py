"""Try what may go wrong, and write down what came of it.

python -m benchmarks.trust [--minutes 10] [--parts files models ...] [--full] [--seed 1] [--write]

Each part has its share of the minutes; with ``--full`` as much time as all of its trials take. ``--write`` puts
the outcomes into the table of docs/trust.md. Exit code 1 where there is a defect.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure import markdown_table, write_between_markers
from benchmarks.trust import answers, files, models, runs
from benchmarks.trust.outcomes import Outcomes

ROOT = Path(__file__).parents[2]
PAGE, RESULTS = ROOT / "docs" / "trust.md", ROOT / "docs" / "trust.json"


@dataclass(frozen=True)
class Part:
    """One kind of trial.

    Attributes
    ----------
    attempt : callable
        Makes the trials.
    count : int
        How many are asked for.
    share : float
        Of the time.
    """

    attempt: Callable[..., Outcomes]
    count: int
    share: float


PARTS = {
    "files": Part(files.try_files, 5000, 0.25),
    "models": Part(models.try_models, 2000, 0.15),
    "kills": Part(runs.try_kills, 100, 0.1),
    "interrupts": Part(runs.try_interrupts, 20, 0.05),
    "races": Part(runs.try_races, 50, 0.1),
    "disks": Part(runs.try_disks, 20, 0.05),
    "load": Part(answers.try_load, 100, 0.08),
    "outliers": Part(answers.try_outliers, 50, 0.05),
    "arrays": Part(answers.try_arrays, 500, 0.07),
    "soak": Part(answers.try_soak, 500, 0.07),
    "calibration": Part(answers.try_calibration, 5, 0.03),
}


def attempt(name: str, *, seed: int, seconds: float, place: Path) -> Outcomes:
    """Make the trials of one part, and say how it went."""
    part, begun = PARTS[name], time.monotonic()
    folder = place / name
    folder.mkdir()
    outcomes = part.attempt(folder, count=part.count, seconds=seconds, seed=seed)
    outcomes.seconds = time.monotonic() - begun
    print(f"{outcomes.part}: {outcomes.tried} tried, {len(outcomes.defects)} defects, {outcomes.seconds:.0f} s")
    for line in [*outcomes.defects[:10], *outcomes.notes[:10]]:
        print(f"  {line[:300]}")
    return outcomes


def table(results: dict[str, dict[str, Any]]) -> str:
    """Write the outcomes as a table."""
    keys = ("tried", "refused", "right", "defects")
    rows = [
        [found["part"], *(f"{found[key]:,}" for key in keys), str(found["seed"]), "; ".join(found["notes"])]
        for found in results.values()
    ]
    return markdown_table(["part", "tried", "clear refusal", "right answer", "defect", "seed", "notes"], rows)


def main() -> int:
    """Read what is asked for, try it, and write it down."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trust", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if asked.write and RESULTS.exists() else {}
    shares = sum(PARTS[name].share for name in asked.parts)
    defects = 0
    place = Path(tempfile.mkdtemp(prefix="xsdc-trust-"))  # kept, for what is found lies there
    for name in asked.parts:
        seconds = math.inf if asked.full else 60 * asked.minutes * PARTS[name].share / shares
        outcomes = attempt(name, seed=asked.seed, seconds=seconds, place=place)
        defects += len(outcomes.defects)
        results[name] = outcomes.plain() | {"seed": asked.seed}
        if asked.write:
            RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            write_between_markers(PAGE, table({each: results[each] for each in PARTS if each in results}), name="trust")
    return int(defects > 0)


if __name__ == "__main__":
    sys.exit(main())
