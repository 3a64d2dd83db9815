"""t-SNE of unlabeled points by their pixels and by their features at stages of training, as in the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.manifold import TSNE

from xsdc.experiments.figures import pyplot
from xsdc.experiments.setting import Setting
from xsdc.experiments.splits import make_splits
from xsdc.experiments.trial import make_trainer
from xsdc.training import Callback, Trainer

MOST = 4096
GRID = 40  # squares on a side, each of which shows one image
STAGES = ("pixels", "random initialisation", "supervised initialisation")
Floats = npt.NDArray[np.float32]


class Stages(Callback):
    """Remembers features before training and after the steps on labeled points."""

    def __init__(self, points: npt.NDArray[np.int64], burn_in: int) -> None:
        self.points, self.burn_in = torch.from_numpy(points), burn_in
        self.features: dict[str, Floats] = {}

    def on_start(self, trainer: Trainer) -> None:
        """Before training."""
        self.features[STAGES[1]] = self.of(trainer)

    def on_step(self, trainer: Trainer, record: dict[str, Any]) -> None:
        """After the steps on labeled points."""
        if record["iteration"] == self.burn_in:
            self.features[STAGES[2]] = self.of(trainer)

    def of(self, trainer: Trainer) -> Floats:
        """Features of the points now."""
        return trainer.network.features(trainer.data[self.points]).to("cpu", torch.float32).numpy()


def draw_maps(settings: Sequence[Setting], path: Path, *, seed: int = 0) -> None:
    """Train as each setting says, and draw the maps with images in them, coloured by their true class.

    The settings are of the same data and labels; pixels and starts are shown once, as the first one has them.
    """
    splits = make_splits(settings[0], seed=seed)
    free = np.setdiff1d(np.arange(len(splits.train.y)), splits.labeled)
    points = np.sort(np.random.default_rng(seed).permutation(free)[:MOST])
    part = splits.train.taken(points)
    features: dict[str, Floats] = {STAGES[0]: part.X.flatten(1).numpy()}
    for setting in settings:
        stages = Stages(points, setting.burn_in)
        trainer, _ = make_trainer(setting, splits, seed=seed, callbacks=(stages,))
        trainer.run()  # the best state by validation is put back
        if trainer.interrupted:
            raise KeyboardInterrupt
        features = {**stages.features, **features, setting.curve: stages.of(trainer)}
    names = [*STAGES, *(setting.curve for setting in settings)]
    plt = pyplot()
    figure, axes = plt.subplots(1, len(names), figsize=(4 * len(names), 4.3), layout="constrained")
    for axis, name in zip(axes, names, strict=True):
        Z = TSNE(init="pca", random_state=0).fit_transform(features[name])
        axis.imshow(mosaic(Z, part.X[:, 0].numpy(), part.y, plt.get_cmap("tab10")), interpolation="nearest")
        axis.set_title(name)
        axis.set_axis_off()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def mosaic(Z: Floats, images: Floats, y: npt.NDArray[np.int64], colours: Any) -> Floats:
    """Put one image into each square of a grid that holds a point, in the colour of its class, on white."""
    low, high = Z.min(0), Z.max(0)
    square = np.minimum(((Z - low) / np.maximum(high - low, 1e-9) * GRID).astype(int), GRID - 1)
    h, w = images.shape[1:]
    page = np.ones((GRID * h, GRID * w, 3), dtype=np.float32)
    ink = (images - images.min()) / max(float(np.ptp(images)), 1e-9)
    _, first = np.unique(square, axis=0, return_index=True)
    for i in first:
        column, row = square[i]
        colour = np.array(colours(int(y[i]) % 10)[:3])
        page[row * h : (row + 1) * h, column * w : (column + 1) * w] = 1 - ink[i][..., None] * (1 - colour)
    return page
