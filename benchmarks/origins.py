"""Where unlabeled points get their classes from, on data whose classes are groups and on data whose classes are none.

python -m benchmarks.origins [--seeds 5] [--only DATA ...] [--json PATH] [--docs PATH]

XSDC with its defaults, which choose, and made to take classes from groups, from a classifier of the labels or each
from the nearest label; a support vector machine and logistic regression on the same labels beside it. A stratified
quarter is for testing; columns are standardised but for the digits. MAGIC, on the splits of the paper's experiment, is
measured where ``XSDC_DATA`` says where it is.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.measure import markdown_table, write_between_markers, write_json
from xsdc import XSDC
from xsdc.experiments import EXPERIMENTS
from xsdc.experiments.splits import draw_per_class, make_splits

Array = npt.NDArray[Any]
Loaded = tuple[Array, Array]
Drawn = tuple[Array, Array, Array, Array, Array]
DOCS = Path(__file__).parents[1] / "docs" / "results.md"
MADE = 2000
OWN = ("groups", "classifier", "nearest")
SOURCES: dict[str, Callable[[int], Loaded]] = {
    "digits": lambda _: load_digits(return_X_y=True),
    "wine": lambda _: load_wine(return_X_y=True),
    "breast cancer": lambda _: load_breast_cancer(return_X_y=True),
    "moons that touch": lambda seed: make_moons(MADE, noise=0.25, random_state=seed),
    "two classes, one normal each": lambda seed: make_classification(
        MADE, 20, n_informative=6, n_clusters_per_class=1, random_state=seed
    ),
    "four classes, two normals each": lambda seed: make_classification(
        MADE, 20, n_informative=8, n_classes=4, random_state=seed
    ),
}
CASES = (
    ("digits", 50),
    ("digits", 200),
    ("wine", 21),
    ("breast cancer", 20),
    ("breast cancer", 50),
    ("moons that touch", 20),
    ("moons that touch", 100),
    ("two classes, one normal each", 20),
    ("two classes, one normal each", 100),
    ("four classes, two normals each", 40),
    ("four classes, two normals each", 200),
    ("magic", 50),
    ("magic", 500),
)


def draw(name: str, labels: int, seed: int) -> Drawn:
    """Training points with their true classes, the same for testing, and which labels are given."""
    if name == "magic":
        (setting,) = EXPERIMENTS["accuracy-vs-labels"].expand(datasets=["magic"], labels=[0])
        splits = make_splits(replace(setting, n_labeled=labels), seed=seed)
        train, test = splits.train, splits.test
        return train.X.numpy(), train.y, test.X.numpy(), test.y, splits.labeled
    X, y = SOURCES[name](seed)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    if name == "digits":
        X, X_test = X / 16, X_test / 16
    else:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    given = draw_per_class(y, labels, int(y.max()) + 1, np.random.default_rng(seed))
    return X, y, X_test, y_test, given


def measure(name: str, labels: int, seed: int) -> dict[str, Any]:
    """Accuracy on test points of each way, and which one was chosen."""
    X, truth, X_test, y_test, given = draw(name, labels, seed)
    y = np.full(len(X), -1)
    y[given] = truth[given]
    models = {how: XSDC(labels_by=how, random_state=seed, progress=False).fit(X, y) for how in ("auto", *OWN)}
    (chosen,) = [c for c in models["auto"].history_["choices"] if c["option"] == "labels_by"]
    plain = {"SVC": SVC(), "logistic regression": LogisticRegression(max_iter=1000)}
    rivals = {rival: model.fit(X[given], truth[given]) for rival, model in plain.items()}
    accuracy = {how: float((model.predict(X_test) == y_test).mean()) for how, model in (models | rivals).items()}
    return {"data": name, "labels": labels, "seed": seed, "chosen": chosen["value"], "why": chosen["why"]} | accuracy


def as_table(records: list[dict[str, Any]]) -> str:
    """One row for each data set and number of labels; of the choice, how often each was made."""
    methods = ["auto", *OWN, "SVC", "logistic regression"]
    rows = []
    for case in dict.fromkeys((r["data"], r["labels"]) for r in records):
        same = [r for r in records if (r["data"], r["labels"]) == case]
        made = [r["chosen"] for r in same]
        counts = ", ".join(f"{how} {made.count(how)}" for how in OWN if how in made)
        means = [f"{np.mean([r[m] for r in same]):.3f} ± {np.std([r[m] for r in same]):.3f}" for m in methods]
        rows.append([case[0], str(case[1]), *means, counts])
    return markdown_table(["data", "labels", *methods, "chosen"], rows)


def main() -> None:
    """Measure, print and write down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=[*SOURCES, "magic"])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--docs", type=Path, help=f"file with markers to write the table into, as {DOCS.name}")
    options = parser.parse_args()
    records = []
    if "XSDC_DATA" not in os.environ:
        print("MAGIC is left out: XSDC_DATA does not say where it is.")
    for name, labels in CASES:
        if (options.only is None or name in options.only) and (name != "magic" or "XSDC_DATA" in os.environ):
            for seed in range(options.seeds):
                records.append(measure(name, labels, seed))
                print(records[-1], flush=True)
    table = as_table(records)
    print(table)
    if options.json:
        write_json(options.json, {"seeds": options.seeds, "records": records})
    if options.docs:
        write_between_markers(options.docs, table, name="origins")


if __name__ == "__main__":
    main()
