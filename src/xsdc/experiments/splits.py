"""The data as the authors prepared it: parts for training, validation and test, and the labels that are given."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler
from torch import Tensor

from xsdc.data import load_dataset, load_split
from xsdc.data.dataset import Dataset
from xsdc.errors import InvalidInputError
from xsdc.experiments.setting import Setting

Ints = npt.NDArray[np.int64]
MNIST_MEAN, MNIST_DEVIATION = 0.1307, 0.3081
MNIST_VALIDATION = 10_000
IMBALANCED_SIZE = 25_000
NETWORKS = {"mnist": "lenet5-ckn", "cifar10": "ckn-gm", "magic": "kn", "gisette": "kn", "digits": "ckn"}
BATCH = {"magic": 4096, "gisette": 4096}


@dataclass(frozen=True)
class Part:
    """Points and their true classes.

    Attributes
    ----------
    X : Tensor, shape (n, ...)
        Inputs of the network.
    y : array of int64, shape (n,)
        Classes from 0.
    """

    X: Tensor
    y: Ints

    def taken(self, points: Ints) -> Part:
        """Take some of the points."""
        return Part(self.X[torch.from_numpy(points)], self.y[points])


@dataclass(frozen=True)
class Splits:
    """Data of one trial.

    Attributes
    ----------
    train, validation, test : Part
        The parts.
    labeled : array of int64
        Positions in ``train`` whose labels are given.
    n_classes : int
        Number of classes.
    network : str
        Network of the paper for this data.
    batch_size : int
        Labeled and unlabeled points in a step.
    """

    train: Part
    validation: Part
    test: Part
    labeled: Ints
    n_classes: int
    network: str
    batch_size: int


def make_splits(setting: Setting, *, seed: int) -> Splits:
    """Split the data of a setting and draw the labels that are given."""
    rng = np.random.default_rng(seed)
    train, validation, test = SPLITTERS[setting.dataset](seed)
    k = int(train.y.max()) + 1
    labeled = draw_per_class(train.y, setting.n_labeled, k, rng)
    if setting.imbalance is not None:
        kept = imbalanced(train.y, setting.imbalance, labeled, k, rng)
        train, labeled = train.taken(kept), np.searchsorted(kept, labeled)
    batch = BATCH.get(setting.dataset, 1024)
    return Splits(train, validation, test, labeled, k, NETWORKS[setting.dataset], batch)


def draw_per_class(y: Ints, count: int, k: int, rng: np.random.Generator) -> Ints:
    """Draw the same number of points of each class."""
    if count % k:
        raise InvalidInputError(
            f"The number of labels must be a multiple of {k}, the number of classes; it is {count}."
        )
    drawn = [rng.choice(np.flatnonzero(y == c), count // k, replace=False) for c in range(k)]
    return np.sort(np.concatenate(drawn)).astype(np.int64)


def imbalanced(y: Ints, share: float, labeled: Ints, k: int, rng: np.random.Generator) -> Ints:
    """Keep the labeled points and so many others that the lower half of the classes has the share asked for.

    Classes are even within each half. Where the data does not suffice for 25,000 points, as many as it allows.
    """
    free = np.setdiff1d(np.arange(len(y)), labeled)
    weight = np.where(np.arange(k) < k // 2, share / (k // 2), (1 - share) / (k - k // 2))
    there = np.bincount(y[free], minlength=k)
    size = min(IMBALANCED_SIZE - len(labeled), int((there / weight).min()))
    kept = [
        rng.choice(free[y[free] == c], min(round(size * weight[c]), int(there[c])), replace=False) for c in range(k)
    ]
    return np.sort(np.concatenate([labeled, *kept])).astype(np.int64)


def _mnist(_seed: int) -> tuple[Part, Part, Part]:
    train, test = _loaded("mnist")
    held = len(train.y) - MNIST_VALIDATION
    points = np.arange(len(train.y))
    return train.taken(points[:held]), train.taken(points[held:]), test


def _cifar10(seed: int) -> tuple[Part, Part, Part]:
    train, test = _loaded("cifar10")
    kept, held = _parted(train.y, 0.2, seed)
    return train.taken(kept), train.taken(held), test


@cache
def _loaded(name: str) -> tuple[Part, Part]:
    parts = []
    for dataset in load_split(name):
        X = torch.from_numpy(np.asarray(dataset.X)).to(torch.float32) / 255
        gray = X.ndim == 3
        X = (X.unsqueeze(1) - MNIST_MEAN) / MNIST_DEVIATION if gray else X.permute(0, 3, 1, 2).contiguous()
        parts.append(Part(X, _codes(dataset)))
    return parts[0], parts[1]


def _magic(seed: int) -> tuple[Part, Part, Part]:
    dataset = load_dataset("magic")
    X, y = np.asarray(dataset.X, dtype=np.float64), _codes(dataset)
    rng = np.random.default_rng(seed)
    train, test = (_even(y, part, rng) for part in _parted(y, 0.25, seed))
    kept, held = (train[part] for part in _parted(y[train], 0.2, seed))
    mean, deviation = X[train].mean(0), X[train].std(0)
    scaled = torch.from_numpy((X - mean) / deviation)
    whole = Part(scaled, y)
    return whole.taken(kept), whole.taken(held), whole.taken(test)


def _gisette(seed: int) -> tuple[Part, Part, Part]:
    dataset = load_dataset("gisette")
    train, test = np.arange(6000), np.arange(6000, dataset.n)
    X = np.asarray(dataset.X, dtype=np.float64)
    scaled = MinMaxScaler((-1, 1)).fit(X[train]).transform(X)  # as LIBSVM has it
    whole = Part(torch.from_numpy(scaled), _codes(dataset))
    kept, held = (train[part] for part in _parted(whole.y[train], 0.2, seed))
    return whole.taken(kept), whole.taken(held), whole.taken(test)


def _digits(seed: int) -> tuple[Part, Part, Part]:
    dataset = load_dataset("digits")
    images = torch.from_numpy(np.asarray(dataset.X, dtype=np.float32)).reshape(-1, 1, 8, 8) / 16
    whole = Part(images, _codes(dataset))
    rest, test = _parted(whole.y, 0.25, seed)
    kept, held = (rest[part] for part in _parted(whole.y[rest], 0.2, seed))
    return whole.taken(kept), whole.taken(held), whole.taken(test)


def _parted(y: Ints, share: float, seed: int) -> tuple[Ints, Ints]:
    kept, held = train_test_split(np.arange(len(y)), test_size=share, stratify=y, random_state=seed)
    return np.sort(kept), np.sort(held)


def _even(y: Ints, points: Ints, rng: np.random.Generator) -> Ints:
    """Cut larger classes to the size of the smallest."""
    least = np.bincount(y[points]).min()
    return np.sort(np.concatenate([rng.choice(points[y[points] == c], least, replace=False) for c in np.unique(y)]))


def _codes(dataset: Dataset) -> Ints:
    return np.unique([str(label) for label in dataset.labels], return_inverse=True)[1].astype(np.int64)


SPLITTERS: dict[str, Any] = {
    "mnist": _mnist,
    "cifar10": _cifar10,
    "magic": _magic,
    "gisette": _gisette,
    "digits": _digits,
}
