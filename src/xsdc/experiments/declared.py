"""The experiments of Section 5 and Appendix C, as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xsdc.errors import InvalidInputError
from xsdc.experiments.published import find_values, published_values
from xsdc.experiments.setting import Setting
from xsdc.experiments.trial import KMEANS

LABELS = tuple(range(0, 501, 50))
DATASETS = ("gisette", "magic", "mnist", "cifar10")
Settings = list[Setting]


@dataclass(frozen=True)
class Experiment:
    """What the paper shows, and how to show it again.

    Attributes
    ----------
    name, shows : str
        What it is called, and what it is about.
    datasets : tuple of str
        Data sets of the paper, the first of them the default.
    labels : tuple of int
        Numbers of labels.
    settings : callable
        From a data set and a number of labels to settings.
    axis : str
        What the horizontal axis of its figure is.
    trials : int
        Trials of the authors.
    """

    name: str
    shows: str
    datasets: tuple[str, ...]
    labels: tuple[int, ...]
    settings: Callable[[str, int], Settings]
    axis: str = "labels"
    trials: int = 10

    def expand(self, *, datasets: Sequence[str] | None = None, labels: Sequence[int] | None = None) -> Settings:
        """List all settings, or those of some data sets and numbers of labels."""
        for given, offered, what in ((datasets, self.datasets, "data set"), (labels, self.labels, "number of labels")):
            strange = [x for x in given or () if x not in offered]
            if strange:
                shown = ", ".join(map(str, offered))
                raise InvalidInputError(f"{self.name} has no {what} {strange[0]}; there are {shown}.")
        return [
            setting
            for dataset in datasets or self.datasets
            for count in (self.labels if labels is None else labels)
            for setting in self.settings(dataset, count)
        ]


def _xsdc(dataset: str, count: int, *, curve: str = "XSDC", experiment: str = "balancing", **also: object) -> Setting:
    return Setting.published(find_values(dataset, experiment, count, **also), curve=curve, x=count)


def _accuracy(dataset: str, count: int) -> Settings:
    return [_xsdc(dataset, count)]


def _starts(dataset: str, count: int) -> Settings:
    whole = _xsdc(dataset, count, curve="supervised initialisation")
    return [replace(whole, iterations=whole.burn_in, evaluate_every=whole.burn_in)]


def _maps(dataset: str, count: int) -> Settings:
    known = _xsdc(dataset, count, curve="XSDC, {4, 9} known", experiment="constraints", constraints="specific")
    return [_xsdc(dataset, count), known]


def _fixed(dataset: str, count: int) -> Settings:
    similarities = ("linear", "inverse-correlation", "rbf")
    fixed = [
        Setting(curve=f"k-means, {name}", x=count, dataset=dataset, n_labeled=count, method=f"{KMEANS}{name}")
        for name in similarities
    ]
    return [_xsdc(dataset, count), *fixed]


def _labelers(dataset: str, count: int) -> Settings:
    return [
        _xsdc(dataset, count, curve=name, experiment=name) for name in ("balancing", "pseudo-labels", "deep-clustering")
    ]


def _augmentation(dataset: str, count: int) -> Settings:
    return [
        _xsdc(dataset, count, curve="without copies"),
        _xsdc(dataset, count, curve="with copies", experiment="augmentation"),
        _xsdc(dataset, count, curve="pseudo-labels", experiment="pseudo-labels"),
    ]


def _constraints(dataset: str, count: int) -> Settings:
    return [
        _xsdc(dataset, count, curve="none"),
        _xsdc(dataset, count, curve="{4, 9} known", experiment="constraints", constraints="specific"),
        _xsdc(dataset, count, curve="random pairs", experiment="constraints", constraints="random"),
    ]


def _imbalance(dataset: str, count: int) -> Settings:
    rows = [row for row in published_values() if row.experiment == "imbalance"]
    return [
        Setting.published(row, curve="XSDC", x=row.imbalance or 0.0)
        for row in rows
        if (row.dataset, row.n_labeled) == (dataset, count)
    ]


def _sensitivity(dataset: str, count: int) -> Settings:
    base = _xsdc(dataset, count)
    rates = [2.0**i for i in range(-10, 6)]
    curves: list[Settings] = [
        [replace(base, curve="supervised learning rate", x=r, supervised_learning_rate=r) for r in rates],
        [replace(base, curve="learning rate", x=r, learning_rate=r) for r in rates],
        [replace(base, curve="lambda", x=2.0**i, ridge=2.0**i) for i in range(-40, 1, 4)],
    ]
    # Coarse grids first: hours are many, and a run that is cut short should have seen all of each range.
    grids = (slice(None, None, 4), slice(2, None, 4), slice(1, None, 2))
    return [setting for grid in grids for curve in curves for setting in curve[grid]]


def _relaxations(dataset: str, count: int) -> Settings:
    steps = find_values(dataset, "relaxations", count, kmeans=True).iterations
    whole = _xsdc(dataset, count, curve="balancing, all steps")
    return [
        whole,
        replace(whole, curve="balancing", iterations=steps),
        _xsdc(dataset, count, curve="eigen", experiment="relaxations", kmeans=False),
        _xsdc(dataset, count, curve="eigen-kmeans", experiment="relaxations", kmeans=True),
    ]


MNIST = ("mnist",)
EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment("accuracy-vs-labels", "initialisations and XSDC by number of labels", DATASETS, LABELS, _accuracy),
        Experiment("starts", "the start with lambda chosen before and after it", DATASETS, LABELS[1:], _starts),
        Experiment("feature-maps", "t-SNE of features at four stages of training", MNIST, (50,), _maps, trials=1),
        Experiment("fixed-representations", "seeded k-means with three similarities", DATASETS, LABELS, _fixed),
        Experiment("labelers", "balancing, pseudo-labels and deep clustering", DATASETS, LABELS, _labelers),
        Experiment("augmentation", "changed copies tied by must-links", MNIST, LABELS, _augmentation),
        Experiment("constraints", "facts short of labels", MNIST, LABELS[1:], _constraints),
        Experiment("imbalance", "uneven unlabeled data", MNIST, (50,), _imbalance, axis="share of digits 0 to 4"),
        Experiment("sensitivity", "one hyperparameter at a time", MNIST, (50,), _sensitivity, axis="value"),
        Experiment("relaxations", "balancing against eigenvectors, with eigengaps", MNIST, (0,), _relaxations),
    )
}
