"""Small batches with a memory of recent features against large batches: MNIST, 50 labels, the authors' values.

Evaluated as the authors do, but every 50 steps and by a part of the points, so that all trials take an hour or two on
one core. Each finished trial is a line of docs/scaling-memory.jsonl; a rerun makes those that are missing.
"""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import markdown_table, write_between_markers
from xsdc.errors import NotConvergedWarning
from xsdc.experiments.declared import EXPERIMENTS
from xsdc.experiments.setting import Setting
from xsdc.experiments.splits import Splits, make_splits
from xsdc.experiments.trial import make_trainer
from xsdc.training import Callback, Memory, Trainer

SEEDS = (0, 1, 2)
SIZES = ((128, 128), (128, 0), (1024, 0))  # of batch and memory
EVERY, TRAIN_STEP, HELD_STEP = 50, 7, 2  # steps between evaluations; each so many-th point takes part in them
TIMED = 5


def run(docs: Path) -> None:
    """Make the trials that are missing, print and write."""
    log = docs.with_name("scaling-memory.jsonl")
    records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    made = {(record["batch"], record["memory"], record["seed"]) for record in records}
    for seed in SEEDS:
        for batch, memory in SIZES:
            if (batch, memory, seed) not in made:
                records.append(trial(batch, memory, seed))
                with log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(records[-1]) + "\n")
                write_between_markers(docs, table(records), name="memory")
    text = table(records, {sizes: step_seconds(*sizes) for sizes in SIZES})
    print(text)
    write_between_markers(docs, text, name="memory")


def declared() -> Setting:
    """Find the authors' values."""
    (setting,) = EXPERIMENTS["accuracy-vs-labels"].expand(datasets=["mnist"], labels=[50])
    return replace(setting, evaluate_every=EVERY)


def trial(batch: int, memory: int, seed: int, setting: Setting | None = None) -> dict[str, Any]:
    """Train once; the accuracy is that on the test points at the best evaluation on the validation points."""
    setting = setting or declared()
    splits = make_splits(setting, seed=seed)
    trainer, evaluation = make_trainer(setting, splits, seed=seed)
    evaluation.splits = thinned(splits)
    resize(trainer, batch, memory)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # ten iterations of balancing are the authors' recipe
        trainer.run()
    best = int(np.argmax(evaluation.validation))
    return {
        "batch": batch,
        "memory": memory,
        "seed": seed,
        "accuracy": evaluation.test[best],
        "last": evaluation.test[-1],
        "best_iteration": best * setting.evaluate_every,
    }


def resize(trainer: Trainer, batch: int, memory: int) -> None:
    """Set the unlabeled points of a batch and those remembered; all labels stay in each batch."""
    trainer.batches = replace(trainer.batches, unlabeled_size=batch)
    trainer.memory = Memory(memory)


def thinned(splits: Splits) -> Splits:
    """Keep a part of the points to evaluate by, all labeled ones among them."""
    kept = np.union1d(np.arange(0, len(splits.train.y), TRAIN_STEP), splits.labeled)
    held = np.arange(0, len(splits.validation.y), HELD_STEP)
    return replace(
        splits,
        train=splits.train.taken(kept),
        labeled=np.searchsorted(kept, splits.labeled),
        validation=splits.validation.taken(held),
        test=splits.test.taken(np.arange(0, len(splits.test.y), HELD_STEP)),
    )


def step_seconds(batch: int, memory: int) -> float:
    """Time a step with a full memory, the shortest of some."""
    setting = replace(declared(), burn_in=0, iterations=TIMED + 8, evaluate_every=1000)
    trainer, _ = make_trainer(setting, make_splits(setting, seed=0), seed=0)
    trainer.score, trainer.choose_ridge = None, lambda _network: 2.0**-10
    resize(trainer, batch, memory)
    moments: list[float] = []
    trainer.callbacks = [_Clock(moments)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        trainer.run()
    return float(np.diff(moments)[-TIMED:].min())


class _Clock(Callback):
    def __init__(self, moments: list[float]) -> None:
        self.moments = moments

    def on_step(self, trainer: Trainer, record: dict[str, Any]) -> None:  # noqa: ARG002
        self.moments.append(time.perf_counter())


def table(records: list[dict[str, Any]], seconds: dict[tuple[int, int], float] | None = None) -> str:
    """Show accuracy and time of each pair of sizes; time is left open until all trials are made."""
    rows = []
    for batch, memory in SIZES:
        ours = [record for record in records if (record["batch"], record["memory"]) == (batch, memory)]
        best, last = ([record[name] for record in ours] for name in ("accuracy", "last"))
        shown = (
            [f"{np.mean(x):.3f}" + (f" ± {np.std(x):.3f}" if len(x) > 1 else "") for x in (best, last)]
            if ours
            else ["not yet made"] * 2
        )
        took = f"{seconds[batch, memory]:.2f} s" if seconds else "not yet measured"
        rows.append([f"{batch:,}", str(memory), str(len(ours)), *shown, took])
    header = ["batch", "memory", "trials", "accuracy, best on validation", "accuracy, last step", "a step, one thread"]
    return markdown_table(header, rows)
