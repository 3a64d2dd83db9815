"""What the authors of the paper report: the values they settled on, and the accuracies they reached."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from xsdc.errors import InvalidInputError

METHODS = {
    "matrix balancing": "balancing",
    "pseudo labeling": "pseudo-labels",
    "deep clustering": "deep-clustering",
    "eigendecomposition": "eigen",
}
EXPERIMENTS = {
    "matrix_balancing": "balancing",
    "pseudo_labeling": "pseudo-labels",
    "deep_clustering": "deep-clustering",
    "addl_constraints": "constraints",
    "augmentation": "augmentation",
    "imbalanced": "imbalance",
    "eigengap": "relaxations",
}


@dataclass(frozen=True)
class Reported:
    """Accuracy of the authors' XSDC.

    Attributes
    ----------
    mean, deviation : float
        Of the test accuracy.
    trials : int
        Number of trials behind them.
    """

    mean: float
    deviation: float
    trials: int


@cache
def reported() -> dict[tuple[str, int], Reported]:
    """Accuracies by data set and number of labels."""
    return {
        (row["dataset"], int(row["n_labeled"])): Reported(
            float(row["mean_test_accuracy"]), float(row["std_test_accuracy"]), int(row["trials"])
        )
        for row in _rows("reported_accuracy.csv")
    }


@dataclass(frozen=True)
class Values:
    """Hyperparameters of one experiment of the authors at one number of labels; None where not used.

    Attributes
    ----------
    dataset, experiment : str
        For what; the experiment is a labeler's name, or "constraints", "augmentation", "imbalance", "relaxations".
    method : str
        Labeler.
    n_labeled : int
        Labels.
    supervised_learning_rate, learning_rate : float or None
        Length of step on labeled points alone, and on all.
    filter_penalty, ridge : float or None
        zeta and, where it is fixed, lambda.
    n_groups, every : int or None
        Of deep clustering.
    imbalance : float or None
        Share of the digits 0 to 4 among unlabeled points.
    largest_share : float or None
        Upper bound on the share of a class.
    weight : float or None
        l_0 of the eigendecomposition, as a share of the batch.
    kmeans : bool
        Whether the eigendecomposition is followed by k-means.
    copies : int
        Changed copies of an image.
    constraints : str or None
        "specific" or "random".
    burn_in, iterations, evaluate_every : int
        Steps on labeled points alone, in all, and between two evaluations.
    """

    dataset: str
    experiment: str
    method: str
    n_labeled: int
    supervised_learning_rate: float | None
    learning_rate: float | None
    filter_penalty: float | None
    ridge: float | None
    n_groups: int | None
    every: int | None
    imbalance: float | None
    largest_share: float | None
    weight: float | None
    kmeans: bool
    copies: int
    constraints: str | None
    burn_in: int
    iterations: int
    evaluate_every: int


@cache
def published_values() -> tuple[Values, ...]:
    """All rows of the authors' table."""
    return tuple(_read(row) for row in _rows("hyperparameters.csv"))


def find_values(dataset: str, experiment: str, n_labeled: int, **also: object) -> Values:
    """Find the row of an experiment; ``also`` names further fields that it must have."""
    wanted = {"dataset": dataset, "experiment": experiment, "n_labeled": n_labeled, **also}
    found = [row for row in published_values() if all(getattr(row, name) == value for name, value in wanted.items())]
    if not found:
        raise InvalidInputError(
            f"The authors give no values for {', '.join(f'{name} {value}' for name, value in wanted.items())}."
        )
    return found[0]


def _rows(name: str) -> list[dict[str, str]]:
    text = files("xsdc.experiments").joinpath("paper", name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _read(row: dict[str, str]) -> Values:
    kind = row["experiment"].removeprefix(row["dataset"] + "_").split("_", 1)[1]
    return Values(
        dataset=row["dataset"],
        experiment=EXPERIMENTS[kind],
        method=METHODS[row["method"]],
        n_labeled=int(row["n_labeled"]),
        supervised_learning_rate=_power(row["log2_lr_supervised"]),
        learning_rate=_power(row["log2_lr_semisupervised"]),
        filter_penalty=_power(row["log2_lambda_filters"]),
        ridge=_power(row["log2_lambda"]),
        n_groups=_whole(row["n_clusters"]),
        every=_whole(row["update_clusters_every"]),
        imbalance=_number(row["imbalance"]),
        largest_share=_number(row["max_fraction_per_class"]),
        weight=_number(row["min_fraction_per_class"]),
        kmeans=row["rounding"] == "k-means",
        copies=_whole(row["augmentations"]) or 1,
        constraints=row["constraints"] or None,
        burn_in=int(row["burn_in"]),
        iterations=int(row["iterations"]),
        evaluate_every=int(row["evaluate_every"]),
    )


def _power(cell: str) -> float | None:
    return 2.0 ** float(cell) if cell else None


def _number(cell: str) -> float | None:
    return float(cell) if cell else None


def _whole(cell: str) -> int | None:
    return int(cell) if cell else None
