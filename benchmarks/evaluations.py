"""What details of scoring change in the accuracy without labels. Writes docs/reproduction.md's table.

python -m benchmarks.evaluations [--dataset cifar10] [--steps 16] [--starts 5] [--docs PATH]

The networks are those after each of the first steps of a trial without labels, by the authors' values. Each is scored
as in the experiment, and again with one detail changed; networks are the same for all, so that differences are the
detail's. With ``--starts`` untrained networks of several seeds are scored instead, for what the authors tell of theirs.
"""

from __future__ import annotations

import argparse
import io
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from benchmarks.measure import markdown_table, write_between_markers
from xsdc.core.agreement import agreement
from xsdc.core.balancing import balance
from xsdc.core.objective import decompose
from xsdc.core.problem import Fractions
from xsdc.core.rounding import spectral_clustering
from xsdc.experiments import EXPERIMENTS
from xsdc.experiments.published import reported
from xsdc.experiments.setting import Setting
from xsdc.experiments.splits import Splits, make_splits
from xsdc.experiments.trial import make_trainer
from xsdc.networks import Network, normalize_features
from xsdc.training import Callback, Trainer

DOCS = Path(__file__).parents[1] / "docs" / "reproduction.md"
SAMPLE = 4096  # training points whose mean norm stands for that of all
QUALITY = 75  # of a JPEG
GAINS = {"gisette": 0.13, "cifar10": 0.56}  # of XSDC without labels over its start, relative, as Section 5.2 tells


def score(
    Phi: Tensor, splits: Splits, lam: float, *, dtype: torch.dtype = torch.float32, seed: int = 0, steps: int = 10
) -> float:
    """Cluster the test points by their features, and compare with their classes."""
    k = splits.n_classes
    A = decompose(Phi).cost(lam).to(dtype).dense()
    M = balance(A, size=Fractions(1 / k, 1 / k), max_iter=steps).M
    found = spectral_clustering(M, k, random_state=np.random.RandomState(seed)).labels
    return agreement(found, splits.test.y).accuracy


def coarser(images: Tensor) -> Tensor:
    """Put images through another JPEG."""
    out = []
    for image in images:
        pixels = (image.permute(1, 2, 0) * 255).round().to(torch.uint8).numpy()
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "JPEG", quality=QUALITY)
        out.append(np.asarray(Image.open(file)))
    return torch.from_numpy(np.stack(out)).to(images).permute(0, 3, 1, 2).contiguous() / 255


class Score(Callback):
    """Scores the network after each step in all ways."""

    def __init__(self, splits: Splits) -> None:
        self.splits, self.scores = splits, dict[str, list[float]]()
        chosen = np.random.default_rng(0).permutation(len(splits.train.y))[:SAMPLE]
        self.some = splits.train.X[torch.from_numpy(chosen)]
        self.again = coarser(splits.test.X) if splits.test.X.shape[1:2] == (3,) else None

    def on_step(self, trainer: Trainer, record: dict[str, Any]) -> None:
        """Score, and print."""
        for name, way in self.ways(trainer.network, record["ridge"]).items():
            self.scores.setdefault(name, []).append(way())
        print(record["iteration"], *(f"{name} {x[-1]:.4f}" for name, x in self.scores.items()), sep="  ", flush=True)

    def ways(self, network: Network, lam: float) -> dict[str, Callable[[], float]]:
        """Name each way to score."""
        splits = self.splits
        raw = network.features(splits.test.X)
        Phi, _ = normalize_features(raw)
        trained = normalize_features(network.features(self.some))[1]
        ways = {
            "as in the experiment": lambda: score(Phi, splits, lam),
            "k-means from another seed": lambda: score(Phi, splits, lam, seed=1),
            "A and M in float64": lambda: score(Phi, splits, lam, dtype=torch.float64),
            "features scaled by training points": lambda: score(normalize_features(raw, norm=trained)[0], splits, lam),
            "100 iterations of balancing": lambda: score(Phi, splits, lam, steps=100),
        }
        if self.again is not None:
            again = self.again
            ways["images through another JPEG"] = lambda: score(
                normalize_features(network.features(again))[0], splits, lam
            )
        return ways


def starts(setting: Setting, count: int) -> str:
    """Accuracy of untrained networks, and the one that the authors' gain over theirs amounts to."""
    found = []
    for seed in range(count):
        splits = make_splits(setting, seed=seed)
        trainer, evaluation = make_trainer(setting, splits, seed=seed)
        found.append(evaluation(trainer.network, setting.ridge or 0.0))
        print(seed, f"{found[-1]:.4f}", flush=True)
    theirs = reported()[setting.dataset, 0].mean / (1 + GAINS[setting.dataset])
    cells = [", ".join(f"{x:.3f}" for x in found), f"{np.mean(found):.3f} ± {np.std(found):.3f}", f"{theirs:.3f}"]
    return markdown_table(["untrained, by seed", "mean and deviation", "the authors'"], [cells])


def main() -> None:
    """Train, score, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="cifar10", help="data set, where XSDC_DATA says")
    parser.add_argument("--steps", type=int, default=16, help="networks")
    parser.add_argument("--starts", type=int, help="untrained networks to score instead")
    parser.add_argument("--docs", type=Path, default=DOCS, help="page whose table is written")
    options = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    (setting,) = EXPERIMENTS["accuracy-vs-labels"].expand(datasets=[options.dataset], labels=[0])
    if options.starts:
        table = starts(setting, options.starts)
        print(table)
        write_between_markers(options.docs, table, name="untrained")
        return
    splits = make_splits(setting, seed=0)
    watch = Score(splits)
    shorter = replace(setting, iterations=options.steps)
    trainer, _ = make_trainer(shorter, splits, seed=0, callbacks=(watch,))
    trainer.score = None
    trainer.run()
    usual = np.array(watch.scores["as in the experiment"])
    rows = []
    for name, found in watch.scores.items():
        change = 100 * (np.array(found) - usual)
        cells = [f"{np.mean(found):.4f}", f"{change.mean():+.2f} ± {change.std():.2f}", f"{max(found):.4f}"]
        rows.append([name, *cells])
    table = markdown_table(["scored", "mean accuracy", "change, points", "best of all"], rows)
    print(table)
    write_between_markers(options.docs, table, name="evaluations")


if __name__ == "__main__":
    main()
