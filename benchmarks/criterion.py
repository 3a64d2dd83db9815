"""Which fit is the best, when nobody knows the truth? Criteria without labels beside the true accuracy.

python -m benchmarks.criterion [--data DIR] [--quick] [--log PATH] [--json PATH] [--docs PATH]

A pool of configurations, good and bad, is fitted without labels to 500 of scikit-learn's digits, and to 1,500 images of
MNIST where ``--data`` or ``XSDC_DATA`` names a directory with ``mnist.npz``: four fits for each, with two seeds and on
two halves. The criterion was chosen on digits; MNIST tests the choice. Each fit is a line of the log, and a run that
was interrupted goes on from there.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import rankdata, spearmanr
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

from benchmarks.criterion_fits import SEEDS, Array, Data, Ints, K, configurations, make_fits
from benchmarks.measure import markdown_table, write_between_markers, write_json
from xsdc.core.agreement import agreement
from xsdc.core.judging import Judge, indicators, make_judge, merit
from xsdc.core.objective import decompose
from xsdc.fitting import Choices, choose_network, read_knowledge
from xsdc.fitting.features import normalised
from xsdc.networks import build_network

DOCS = Path(__file__).parents[1] / "docs"
NEIGHBOURS = 10
BEST_MERIT = np.log(K) + 1
FEW_LABELS = (10, 20, 50, 100)
CHOSEN = "merit by neighbours"  # by digits alone; what xsdc.tuning uses
QUICK = 4  # configurations
# Rows of one configuration, by role.
Rows = dict[str, dict[str, Any]]
# Mean over seeds of correlation, regret and accuracy, by criterion.
Figures = dict[str, dict[str, float]]


def codes(text: str) -> Ints:
    """Read the labels of a line of the log."""
    return np.array([int(c) for c in text])


@dataclass(frozen=True)
class References:
    """Judges by features that no fit has shaped: the inputs, and those of the default network before training."""

    judges: dict[str, Judge]
    neighbours: dict[str, Ints]

    @classmethod
    def of(cls, data: Data) -> References:
        """Prepare the features."""
        inputs = torch.from_numpy(data.X.reshape(len(data.X), -1))
        generator = torch.Generator().manual_seed(data.seed)
        spec = choose_network("auto", data.X.shape, read_knowledge(len(inputs), n_clusters=K), Choices())
        network = build_network(spec, data.X, generator=generator)
        first, _ = normalised(network.features(network.prepare(data.X)))
        return cls(
            {
                "merit by inputs": make_judge(decompose(inputs), K),
                "merit by first features": make_judge(decompose(first), K),
            },
            {"merit by neighbours": nearest(inputs), "merit by neighbours in first features": nearest(first)},
        )

    def merits(self, labels: Ints) -> dict[str, float]:
        """Merit of a grouping by each of them, and its margins."""
        values = {name: judge.merit(labels) for name, judge in self.judges.items()}
        values |= {name.replace("merit", "margin"): judge.margin(labels) for name, judge in self.judges.items()}
        votes = indicators(labels, K)
        return values | {name: merit(labels, votes[near].mean(1)) for name, near in self.neighbours.items()}


def nearest(Phi: Tensor) -> Ints:
    """Nearest other points of each point."""
    found = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(Phi.numpy()).kneighbors(return_distance=False)
    return np.asarray(found, dtype=np.int64)


def prediction_strength(predicted: Ints, found: Ints) -> float:
    """Of the pairs in a group, the share that the other half's fit puts together too; the least over the groups.

    Tibshirani and Walther (2005).
    """
    shares = []
    for c in np.unique(found):
        sizes = np.bincount(predicted[found == c])
        m = sizes.sum()
        if m > 1:
            shares.append(float((sizes * (sizes - 1)).sum() / (m * (m - 1))))
    return min(shares, default=0.0)


def between_halves(rows: Rows, data: Data) -> tuple[float, float]:
    """Agreement of the fits to two halves, on all points, and the strength of their predictions."""
    one, two = (rows[f"{which} half"] for which in ("first", "second"))
    if "failed" in one or "failed" in two:
        return -1.0, 0.0
    first, second = codes(one["predicted"]), codes(two["predicted"])
    strength = (
        prediction_strength(first[data.halves[1]], codes(two["labels"]))
        + prediction_strength(second[data.halves[0]], codes(one["labels"]))
    ) / 2
    return float(adjusted_rand_score(first, second)), strength


def single_values(rows: Rows, data: Data, references: References) -> dict[str, float]:
    """Value of one configuration by each criterion that looks at it alone."""
    fit, again = rows["all"], rows["again"]
    if "failed" in fit:
        return {}
    labels = codes(fit["labels"])
    stability, strength = between_halves(rows, data)
    return references.merits(labels) | {
        "own merit": fit["own_merit"],
        "own margin": fit["own_margin"],
        "stability (seeds)": -1.0 if "failed" in again else adjusted_rand_score(labels, codes(again["labels"])),
        "stability (halves)": stability,
        "prediction strength": strength,
    }


def consensus(pool: Sequence[Rows]) -> Array:
    """Mean agreement with the other fits of the pool."""
    found = [codes(rows["all"]["labels"]) if "labels" in rows["all"] else None for rows in pool]
    values = np.full(len(found), np.nan)
    for i, one in enumerate(found):
        others = [two for j, two in enumerate(found) if two is not None and j != i]
        if one is not None and others:
            values[i] = np.mean([adjusted_rand_score(one, two) for two in others])
    return values


RANKED = {
    "ranks: own merit, merit by inputs": ("own merit", "merit by inputs"),
    "ranks: merit by inputs, by neighbours": ("merit by inputs", "merit by neighbours"),
    "ranks: merit by neighbours, stability (seeds)": ("merit by neighbours", "stability (seeds)"),
}
SUMMED = {
    "sum: own merit, merit by inputs": ("own merit", "merit by inputs"),
    "sum: merit by inputs, by neighbours": ("merit by inputs", "merit by neighbours"),
    "sum: merit by first features, by neighbours": ("merit by first features", "merit by neighbours"),
    "sum: merit by neighbours, stability (seeds)": ("merit by neighbours", "stability (seeds)"),
}


def all_values(pool: Sequence[Rows], data: Data) -> dict[str, Array]:
    """Values of all configurations by each criterion; NaN where a fit failed."""
    references = References.of(data)
    singles = [single_values(rows, data, references) for rows in pool]
    names = next(values for values in singles if values)
    values = {name: np.array([single.get(name, np.nan) for single in singles]) for name in names}
    values["consensus"] = consensus(pool)
    values |= {
        name: sum((ranks(values[part]) for part in parts), np.zeros(len(pool))) for name, parts in RANKED.items()
    }
    for name, parts in SUMMED.items():
        values[name] = sum((values[p] / (BEST_MERIT if "merit" in p else 1) for p in parts), np.zeros(len(pool)))
    return values


def ranks(values: Array) -> Array:
    """Ranks, the highest for the best; failed fits come last."""
    return np.asarray(rankdata(np.where(np.isnan(values), -np.inf, values)), dtype=np.float64)


def few_label_values(pool: Sequence[Rows], data: Data, number: int) -> Array:
    """Accuracy on a few labels that are kept for choosing alone."""
    chosen = np.random.default_rng(data.seed).permutation(len(data.y))[:number]
    values = np.full(len(pool), np.nan)
    for i, rows in enumerate(pool):
        if "labels" in rows["all"]:
            values[i] = agreement(codes(rows["all"]["labels"])[chosen], data.y[chosen]).accuracy
    return values


def judge_criteria(pool: Sequence[Rows], data: Data) -> dict[str, dict[str, float]]:
    """How each criterion does as a guide to the accuracy."""
    accuracy = np.array([rows["all"].get("accuracy", 0.0) for rows in pool])
    values = all_values(pool, data)
    for number in FEW_LABELS:
        few = f"{number} labels"
        values[few] = few_label_values(pool, data, number)
        values[f"{few}, ranks with {CHOSEN}"] = ranks(values[few]) + ranks(values[CHOSEN])
    found = {name: _as_guide(ranks(value), accuracy) for name, value in values.items()}
    for name, of_truth in References.of(data).merits(data.y).items():
        found[name]["above_the_truth"] = float((values[name] > of_truth).mean())  # share of the pool
    for name, reached in (("the defaults", accuracy[0]), ("any at random", accuracy.mean())):
        found[name] = {"regret": float(accuracy.max() - reached), "accuracy": float(reached)}
    return found


def _as_guide(order: Array, accuracy: Array) -> dict[str, float]:
    """Correlation with the accuracy, on all and on the better half, and what is lost by the choice."""
    better = accuracy >= np.median(accuracy)
    reached = accuracy[order == order.max()].mean()  # of equals any
    return {
        "spearman": _spearman(order, accuracy),
        "spearman_better_half": _spearman(order[better], accuracy[better]),
        "regret": float(accuracy.max() - reached),
        "accuracy": float(reached),
    }


def _spearman(one: Array, two: Array) -> float:
    return 0.0 if np.ptp(one) == 0 or np.ptp(two) == 0 else float(spearmanr(one, two).statistic)


def summarise(runs: list[dict[str, dict[str, float]]]) -> Figures:
    """Means over seeds, and the worst regret."""
    figures: Figures = {}
    for name, measures in runs[0].items():
        figures[name] = {measure: float(np.mean([run[name][measure] for run in runs])) for measure in measures}
        figures[name]["worst_regret"] = max(run[name]["regret"] for run in runs)
    return figures


def as_table(results: dict[str, Figures]) -> str:
    """One row per criterion, best first by its correlation on the first data set."""
    first = next(iter(results.values()))
    header = ["criterion"]
    for data in results:
        header += [f"{data}: correlation", "in the better half", "regret (worst)", "accuracy"]
    rows = []
    for name in sorted(first, key=lambda name: -first[name].get("spearman", -2)):
        row = [f"**{name}**" if name == CHOSEN else name]
        for figures in results.values():
            got = figures[name]
            row += [f"{got[m]:.2f}" if m in got else "" for m in ("spearman", "spearman_better_half")]
            row += [f"{got['regret']:.3f} ({got['worst_regret']:.3f})", f"{got['accuracy']:.3f}"]
        rows.append(row)
    return markdown_table(header, rows)


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("XSDC_DATA"), help="directory with mnist.npz")
    parser.add_argument("--quick", action="store_true", help="a few configurations of digits, to see that it runs")
    parser.add_argument(
        "--log", type=Path, default=Path("criterion.jsonl"), help="a line for each fit; goes on from it"
    )
    parser.add_argument("--json", type=Path, help=f"as {DOCS.name}/results-criterion.json")
    parser.add_argument(
        "--docs", type=Path, help=f"file with markers to write the table into, as {DOCS.name}/tuning.md"
    )
    return parser.parse_args()


def main() -> None:
    """Fit, compare, print and write down."""
    options = read_options()
    torch.set_num_threads(1)
    names = ["digits"] if options.quick or options.data is None else ["digits", "mnist"]
    pools = {name: configurations(name)[: QUICK if options.quick else None] for name in names}
    results = {}
    for name, pool in pools.items():
        seeds = 1 if options.quick else SEEDS[name]
        fits = make_fits(name, seeds, pool, None if options.data is None else Path(options.data), options.log)
        results[name] = summarise([judge_criteria(rows, data) for data, rows in fits])
    table = as_table(results)
    print(table)
    if options.json:
        write_json(options.json, {"seeds": SEEDS, "configurations": pools, "results": results})
    if options.docs:
        write_between_markers(options.docs, table, name="criterion")


if __name__ == "__main__":
    main()
