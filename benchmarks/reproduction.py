"""Write docs/reproduction.md's tables from the trials in docs/reproduction/trials.jsonl.

python -m benchmarks.reproduction [--trials FILE] [--docs PATH]

The trials are made by ``xsdc reproduce NAME --out docs/reproduction``, each a line with its seed, settings and time.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import markdown_table, write_between_markers
from xsdc.experiments import EXPERIMENTS
from xsdc.experiments.figures import ALL_STEPS
from xsdc.experiments.runner import Log, list_tasks
from xsdc.experiments.summary import summarise

HERE = Path(__file__).parents[1] / "docs"
MOST_TRIALS = 50
NEAR = 0.02  # of the best accuracy
ANEW = "the same, λ chosen anew"
STARTS = ("random initialisation", "supervised initialisation")
Record = dict[str, Any]
# Points of accuracy that XSDC adds to the supervised start, as Section 5.2 of the paper tells.
GAINS = {
    ("magic", 50): 0.8,
    ("magic", 500): 0.6,
    ("mnist", 50): 10.0,
    ("mnist", 500): 0.2,
    ("cifar10", 50): 4.0,
    ("cifar10", 500): 6.0,
}
# Eigengaps of A, as the paper's appendix on relaxations tells.
GAPS = {"balancing": "1e-15", "eigen": "2e-06 to 6e-05", "eigen-kmeans": "5e-06 to 5e-05"}


def finished(log: Log, name: str, protocol: str) -> list[Record]:
    """Trials of an experiment that are in the log, whatever their number."""
    tasks = list_tasks(
        EXPERIMENTS[name], datasets=None, labels=None, trials=MOST_TRIALS, seed=0, quick=False, protocol=protocol
    )
    return [record for task in tasks if (record := log.of(task)) is not None]


def shown(row: dict[str, Any]) -> str:
    """Mean and deviation; of one trial its accuracy."""
    return f"{row['mean']:.3f}" + (f" ± {row['deviation']:.3f}" if row["trials"] > 1 else "")


def accuracy_table(log: Log) -> str:
    """Ours beside the authors', and the honest protocol beside both."""
    honest = {
        (row["dataset"], row["x"]): row
        for row in summarise(finished(log, "accuracy-vs-labels", "honest"))
        if row["curve"] == "XSDC"
    }
    rows = []
    for row in summarise(finished(log, "accuracy-vs-labels", "authors")):
        if row["curve"] != "XSDC" or row["theirs"] is None:
            continue
        theirs, other = row["theirs"], honest.get((row["dataset"], row["x"]))
        gap = (row["mean"] - theirs.mean) / theirs.deviation
        verdict = "above" if gap > 1 else "below" if gap < -1 else "within"
        rows.append(
            [
                row["dataset"],
                f"{row['x']:g}",
                f"{theirs.mean:.3f} ± {theirs.deviation:.3f}",
                shown(row),
                str(row["trials"]),
                f"{verdict} ({gap:+.1f})",
                "" if other is None else f"{shown(other)} ({other['trials']})",
            ]
        )
    heads = ["data", "labels", "the authors' XSDC", "ours", "trials", "one deviation", "honest (trials)"]
    return markdown_table(heads, rows)


def starts_table(log: Log) -> str:
    """What training adds to the starts, and whether XSDC's own steps add it."""
    trials = by_place(finished(log, "accuracy-vs-labels", "authors"))
    starts = by_place(finished(log, "starts", "authors"))
    rows = []
    for (dataset, labels), here in trials.items():
        start, best = mean(here, "random_initialization"), mean(here, "accuracy")
        supervised = mean(here, "supervised_initialization") if labels else None
        seeds = {record["seed"] for record in here}
        again = [record for record in starts.get((dataset, labels), ()) if record["seed"] in seeds]
        anew = f"{mean(again, 'supervised_initialization_new_ridge'):.3f}" if len(again) == len(here) else ""
        rows.append(
            [
                dataset,
                str(labels),
                f"{start:.3f}",
                "" if supervised is None else f"{supervised:.3f}",
                anew,
                f"{best:.3f}",
                "" if supervised is None else f"{100 * (best - supervised):+.1f}",
                f"{GAINS[dataset, labels]:+.1f}" if (dataset, labels) in GAINS else "",
                *own_steps(here),
            ]
        )
    heads = ["data", "labels", "random start", "supervised start", ANEW, "XSDC", "gain, points"]
    return markdown_table([*heads, "the authors' gain", "best at a step of XSDC's", "these steps alone"], rows)


def by_place(records: list[Record]) -> dict[tuple[str, int], list[Record]]:
    """Trials by data set and number of labels."""
    places: dict[tuple[str, int], list[Record]] = {}
    for record in records:
        setting = record["setting"]
        places.setdefault((setting["dataset"], setting["n_labeled"]), []).append(record)
    return places


def looks_table(log: Log) -> str:
    """How far the best accuracy without labels depends on how often, and at which steps, one looks."""
    rows = []
    for (dataset, labels), here in by_place(finished(log, "accuracy-vs-labels", "authors")).items():
        if labels:
            continue
        looked = [record["test"] for record in here]  # after every step
        best = [[max(test), min(max(test[::2]), max(test[1::2])), max(test[::10]), test[-1]] for test in looked]
        later = [test[len(test) // 2 :] for test in looked]
        spread = f"{np.mean(list(map(np.mean, later))):.3f} ± {np.mean(list(map(np.std, later))):.3f}"
        rows.append([dataset, str(len(here)), *(f"{x:.3f}" for x in np.mean(best, axis=0)), spread])
    heads = ["data", "trials", "best of all steps", "of even or odd ones, the worse", "of every tenth"]
    return markdown_table([*heads, "the last alone", "mean and deviation over the later half"], rows)


def gaps_table(log: Log) -> str:
    """Eigengaps of A at the first and the last step that all relaxations made, the authors' beside."""
    trials: dict[str, list[list[float]]] = {}
    for record in finished(log, "relaxations", "authors"):
        if record["setting"]["curve"] in GAPS:
            trials.setdefault(record["setting"]["curve"], []).append(record["eigengaps"])
    rows = []
    for curve, gaps in trials.items():
        first, last = np.mean([[each[0], each[-1]] for each in gaps], axis=0)
        rows.append([curve, f"{first:.0e}", f"{last:.0e}", GAPS[curve]])
    return markdown_table(["", "first step", "last step", "the authors'"], rows)


def own_steps(records: list[Record]) -> tuple[str, str]:
    """In how many trials the best step is one of XSDC's own, and the accuracy if only these are looked at.

    The protocol takes the best of all evaluations, the starts and the steps on labeled points among them.
    """
    own, accuracies = 0, []
    for record in records:
        setting = record["setting"]
        first = setting["burn_in"] if setting["n_labeled"] else 0
        scores = record["validation"] or record["test"]
        places = [i for i, step in enumerate(record["iterations"]) if step > first]
        accuracies.append(record["test"][max(places, key=scores.__getitem__)])
        own += record["best_iteration"] > first
    return f"{own} of {len(records)}", f"{sum(accuracies) / len(accuracies):.3f}"


def mean(records: list[Record], name: str) -> float:
    """Mean of a figure over trials."""
    return float(np.mean([record[name] for record in records]))


def comparison_table(log: Log, name: str) -> str:
    """All curves of an experiment; by number of labels where there is more than one to compare."""
    found = [row for row in summarise(finished(log, name, "authors")) if row["curve"] not in STARTS]
    places = Counter((row["dataset"], row["x"]) for row in found)
    rows = []
    for row in found:
        if EXPERIMENTS[name].axis == "labels" and places[row["dataset"], row["x"]] == 1:
            continue
        rows.append([row["dataset"], row["curve"], f"{row['x']:g}", shown(row), str(row["trials"])])
    return markdown_table(["data", "curve", EXPERIMENTS[name].axis, "accuracy", "trials"], rows)


def imbalance_table(log: Log) -> str:
    """What uneven unlabeled data does, the features of labeled points alone beside it."""
    trials: dict[float, list[Record]] = {}
    for record in finished(log, "imbalance", "authors"):
        trials.setdefault(record["setting"]["imbalance"], []).append(record)
    rows = []
    for share, here in sorted(trials.items()):
        setting = here[0]["setting"]
        start, best = mean(here, "supervised_initialization"), mean(here, "accuracy")
        low, high = setting["sizes"]
        rate = f"2^{np.log2(setting['learning_rate']):g}"
        anew = mean(here, "supervised_initialization_new_ridge")
        gain = f"{100 * (best - start):+.1f}"
        figures = [f"{start:.3f}", f"{anew:.3f}", f"{best:.3f}", gain, *own_steps(here)]
        rows.append([f"{share:.0%}", f"{low:g} to {high:g}", rate, *figures, str(len(here))])
    heads = ["0 to 4 among the unlabeled", "share of a class", "step length", "supervised start", ANEW, "XSDC"]
    return markdown_table([*heads, "gain, points", "best at a step of XSDC's", "these steps alone", "trials"], rows)


def augmentation_table(log: Log) -> str:
    """What copies change in the start on labeled points, and in XSDC's own steps."""
    trials: dict[tuple[str, int], list[Record]] = {}
    for record in finished(log, "augmentation", "authors"):
        if record["setting"]["n_labeled"]:
            trials.setdefault((record["setting"]["curve"], record["setting"]["n_labeled"]), []).append(record)
    places = Counter(labels for _, labels in trials)
    rows = []
    for (curve, labels), here in trials.items():
        if places[labels] > 1:
            start = f"{mean(here, 'supervised_initialization'):.3f}"
            rows.append([curve, str(labels), start, shown(summarise(here)[0]), *own_steps(here), str(len(here))])
    heads = ["", "labels", "supervised start", "accuracy", "best at a step of XSDC's", "these steps alone", "trials"]
    return markdown_table(heads, rows)


def sensitivity_table(log: Log) -> str:
    """Over which values of one hyperparameter the accuracy stays near its best."""
    trials: dict[str, dict[float, list[float]]] = {}
    for record in finished(log, "sensitivity", "authors"):
        setting = record["setting"]
        trials.setdefault(setting["curve"], {}).setdefault(setting["x"], []).append(record["accuracy"])
    rows = []
    for curve, values in trials.items():
        if len(values) == 1:  # the authors' own values, a trial of other experiments: nothing was varied
            continue
        means = {x: float(np.mean(values[x])) for x in sorted(values)}
        best, worst = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
        near = [f"{np.log2(x):g}" for x in means if means[x] >= means[best] - NEAR]
        ends = [f"{means[x]:.3f} at 2^{np.log2(x):g}" for x in (best, worst)]
        spread = f"2^{np.log2(min(means)):g} to 2^{np.log2(max(means)):g} ({len(means)})"
        rows.append([curve, spread, *ends, ", ".join(near), str(max(map(len, values.values())))])
    heads = ["", "values", "best", "worst", f"powers of 2 within {100 * NEAR:g} points of the best", "trials"]
    return markdown_table(heads, rows)


def hours(log: Log) -> str:
    """Time of all trials in the log."""
    rows: dict[str, list[float]] = {}
    for record in log.records.values():
        setting = record["setting"]
        kind = f"{setting['dataset']}, {setting['method']}, {setting['n_labeled']} labels"
        kind += f", {setting['constraints']} facts" if setting["constraints"] else ""
        kind += f", {setting['copies']} copies" if setting["copies"] > 1 else ""
        kind += ", uneven" if setting["imbalance"] is not None else ""
        kind += f", {setting['iterations']} steps" if setting["iterations"] != ALL_STEPS else ""
        kind += " (honest)" if record["protocol"] == "honest" else ""
        rows.setdefault(kind, []).append(record["seconds"])
    table = [[kind, str(len(s)), f"{sum(s) / len(s):.0f} s", f"{sum(s) / 3600:.2f} h"] for kind, s in rows.items()]
    return markdown_table(["trials of", "number", "mean time", "in all"], table)


WRITERS = {
    "accuracy": accuracy_table,
    "starts": starts_table,
    "looks": looks_table,
    "eigengaps": gaps_table,
    "imbalance": imbalance_table,
    "augmentation": augmentation_table,
    "sensitivity": sensitivity_table,
    "hours": hours,
}


def main() -> None:
    """Print and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=Path, default=HERE / "reproduction" / "trials.jsonl", help="log of trials")
    parser.add_argument("--docs", type=Path, default=HERE / "reproduction.md", help="page whose tables are written")
    options = parser.parse_args()
    log = Log(options.trials)
    page = options.docs.read_text()
    tables = {name: table for name, write in WRITERS.items() if (table := write(log)).count("\n") >= 2}  # has rows
    tables |= {
        name: comparison_table(log, name) for name in EXPERIMENTS if f"<!-- {name}" in page and name not in WRITERS
    }
    for name, table in tables.items():
        print(f"\n{name}\n{table}")
        write_between_markers(options.docs, table, name=name)
    print(json.dumps({"trials": len(log.records)}))


if __name__ == "__main__":
    main()
