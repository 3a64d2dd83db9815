"""Large batches in pieces and small ones with a memory, against large ones: MNIST, 50 labels, the authors' values.

Evaluated as the authors do, but every 50 steps and by a part of the points, so that all trials take an hour or two on
one core. Each finished trial is a line of docs/scaling-batches.jsonl; a rerun makes those that are missing.

python -m benchmarks.scaling.batches IMAGES PIECE measures the memory of a step in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.measure import markdown_table, peak_gigabytes, write_between_markers
from benchmarks.scaling.points import forget_peak
from xsdc.errors import NotConvergedWarning
from xsdc.experiments.declared import EXPERIMENTS
from xsdc.experiments.setting import Setting
from xsdc.experiments.splits import Splits, make_splits
from xsdc.experiments.trial import make_trainer
from xsdc.networks import build_network
from xsdc.training import Callback, Memory, Trainer
from xsdc.training.pieces import features_in_pieces


@dataclass(frozen=True)
class Way:
    """How many unlabeled points a step draws, sends through the network at a time (0: all), and remembers."""

    batch: int
    piece: int = 0
    memory: int = 0


SEEDS = (0, 1, 2)
WAYS = (Way(1024), Way(1024, piece=128), Way(128, memory=128), Way(128))
OTHERS = (
    Way(128, memory=256),
    Way(128, memory=896),
)  # sizes tried with the first seed, by whose accuracy 128 was picked
EVERY, TRAIN_STEP, HELD_STEP = 50, 7, 2  # steps between evaluations; each so many-th point takes part in them
TIMED = 5
WEIGHED, PIECES = 2048, (0, 512, 128, 32)  # batch and pieces whose memory is measured


def run(docs: Path) -> None:
    """Make the trials that are missing, measure time and memory, print and write."""
    log = docs.with_name("scaling-batches.jsonl")
    records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    made = [(Way(**record["way"]), record["seed"]) for record in records]
    for way, seed in [*((way, seed) for seed in SEEDS for way in WAYS), *((way, SEEDS[0]) for way in OTHERS)]:
        if (way, seed) not in made:
            records.append(trial(way, seed))
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(records[-1]) + "\n")
            print(records[-1], flush=True)
    text = f"{table(records, {way: step_seconds(way) for way in (*WAYS, *OTHERS)})}\n\n{memory_table()}"
    print(text)
    write_between_markers(docs, text, name="batches")


def declared() -> Setting:
    """Find the authors' values."""
    (setting,) = EXPERIMENTS["accuracy-vs-labels"].expand(datasets=["mnist"], labels=[50])
    return replace(setting, evaluate_every=EVERY)


def trial(way: Way, seed: int) -> dict[str, Any]:
    """Train once; the accuracy is that on the test points at the best evaluation on the validation points."""
    setting = declared()
    splits = make_splits(setting, seed=seed)
    trainer, evaluation = make_trainer(setting, splits, seed=seed)
    evaluation.splits = thinned(splits)
    resize(trainer, way)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # ten iterations of balancing are the authors' recipe
        trainer.run()
    best = int(np.argmax(evaluation.validation))
    return {
        "way": asdict(way),
        "seed": seed,
        "accuracy": evaluation.test[best],
        "last": evaluation.test[-1],
        "best_iteration": best * setting.evaluate_every,
    }


def resize(trainer: Trainer, way: Way) -> None:
    """Set the unlabeled points of a batch, of a piece and those remembered; all labels stay in each batch."""
    trainer.batches = replace(trainer.batches, unlabeled_size=way.batch)
    trainer.piece_size = way.piece or None
    trainer.memory = Memory(way.memory)


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


def step_seconds(way: Way) -> float:
    """Time a step with a full memory, the shortest of some."""
    setting = replace(declared(), burn_in=0, iterations=TIMED + 8, evaluate_every=1000)
    trainer, _ = make_trainer(setting, make_splits(setting, seed=0), seed=0)
    trainer.score, trainer.choose_ridge = None, lambda _network: 2.0**-10
    resize(trainer, way)
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


def table(records: list[dict[str, Any]], seconds: dict[Way, float]) -> str:
    """Show accuracy and time of each way."""
    rows = []
    for way in (*WAYS, *OTHERS):
        ours = [record for record in records if record["way"] == asdict(way)]
        best, last = ([record[name] for record in ours] for name in ("accuracy", "last"))
        shown = [f"{np.mean(x):.3f}" + (f" ± {np.std(x):.3f}" if len(x) > 1 else "") for x in (best, last)]
        each = ", ".join(f"{x:.3f}" for x in best)
        piece = f"{way.piece}" if way.piece else "all"
        rows.append([f"{way.batch:,}", piece, str(way.memory), shown[0], each, shown[1], f"{seconds[way]:.2f} s"])
    header = [
        "batch",
        "at a time",
        "memory",
        "accuracy, best on validation",
        "by seed",
        "last step",
        "a step, one thread",
    ]
    return markdown_table(header, rows)


def memory_table() -> str:
    """Measure the memory of a step in pieces, each in a process of its own."""
    rows = []
    for piece in PIECES:
        command = [sys.executable, "-m", "benchmarks.scaling.batches", str(WEIGHED), str(piece or WEIGHED)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
        found = json.loads(said.splitlines()[-1])
        rows.append([f"{piece or WEIGHED:,}", f"{found['gigabytes']:.2f} GB", f"{found['seconds']:.1f} s"])
    header = [f"of {WEIGHED:,} images at a time", "memory for features and gradient", "time"]
    return markdown_table(header, rows)


def weigh(n: int, piece: int) -> dict[str, float]:
    """Compute features of color images and their gradient."""
    images = torch.rand(n, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    network = build_network("ckn-gm", images[:500], generator=torch.Generator().manual_seed(0), dtype=images.dtype)
    features_in_pieces(network, images[:8], 4).sum().backward()  # type: ignore[no-untyped-call]
    forget_peak()
    before, begun = peak_gigabytes(), time.perf_counter()
    features_in_pieces(network, images, piece).square().sum().backward()  # type: ignore[no-untyped-call]
    return {"gigabytes": peak_gigabytes() - before, "seconds": time.perf_counter() - begun}


if __name__ == "__main__":
    print(json.dumps(weigh(int(sys.argv[1]), int(sys.argv[2]))))
