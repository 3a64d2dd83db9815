"""Columns to numbers: texts by the command line beside rivals with a tf-idf matrix, and what a file of skrub holds.

XSDC_DATA=... python -m benchmarks.preparation        # needs suite/trec.npz there; skrub where it is installed
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import skops.io
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from xsdc.data import Preparation
from xsdc.runs import Configuration, DataOptions, RunFolder, fit_run

PER_CLASS, SEEDS = 20, 3
RIVALS = {
    "logistic regression": LogisticRegression(C=10, max_iter=1000),
    "SVC": SVC(C=10),
    "random forest": RandomForestClassifier(500, random_state=0),
}


def main() -> None:
    """Print both tables."""
    if importlib.util.find_spec("skrub") is not None:
        _print_files()
    folder = os.environ.get("XSDC_DATA")
    if folder is None or not (Path(folder) / "suite" / "trec.npz").is_file():
        sys.exit("XSDC_DATA must name a folder with suite/trec.npz.")
    _print_texts(Path(folder) / "suite" / "trec.npz")


def _print_files() -> None:
    skrub = importlib.import_module("skrub")
    rng = np.random.default_rng(0)
    words = ["red", "green", "blue", "wine", "dry", "sweet"]
    table = pd.DataFrame(
        {
            "size": rng.normal(size=300),
            "colour": rng.choice(words[:3], 300),
            "day": pd.date_range("2020-01-01", periods=300).strftime("%d/%m/%Y"),
            "text": [f"{' '.join(rng.choice(words, 6))} {i}" for i in range(300)],
        }
    )
    packed = skops.io.dumps(skrub.TableVectorizer().fit(table))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "preparation"
        Preparation().fit(table).save(path)
        print("| 300 rows, 4 columns | file, kB | types to be trusted |\n| --- | --- | --- |")
        print(f"| skrub's TableVectorizer, by skops | {len(packed) // 1000:,} | ", end="")
        print(f"{len(skops.io.get_untrusted_types(data=packed))} |")
        print(f"| Preparation | {path.stat().st_size // 1000:,} | 0 |\n")


def _print_texts(path: Path) -> None:
    with np.load(path, allow_pickle=False) as file:
        X, y, texts = file["x"].astype(np.float32), file["y"].astype(int), file["text"].astype(str)
    found: dict[str, list[float]] = {}
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        known = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:PER_CLASS] for c in np.unique(y)])
        rest = np.setdiff1d(np.arange(len(y)), known)
        for name, rival in RIVALS.items():
            score = (rival.fit(X[known], y[known]).predict(X[rest]) == y[rest]).mean()
            found.setdefault(f"{name}, tf-idf", []).append(float(score))
        labels = pd.Series([f"class {c}" for c in y], dtype=object)
        table = pd.DataFrame({"question": texts, "label": labels.where(labels.index.isin(known), None)})
        for ending in ("csv", "xlsx"):
            said = _fitted(table, ending, seed)
            found.setdefault(f"xsdc fit, .{ending}", []).append(float((said == labels).to_numpy()[rest].mean()))
    print(f"| TREC, {PER_CLASS} labels per class | " + " | ".join(f"seed {s}" for s in range(SEEDS)) + " | mean |")
    print("| --- " * (SEEDS + 2) + "|")
    for name, scores in found.items():
        print(f"| {name} | " + " | ".join(f"{x:.3f}" for x in [*scores, float(np.mean(scores))]) + " |")


def _fitted(table: pd.DataFrame, ending: str, seed: int) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"trec.{ending}"
        table.to_csv(path, index=False) if ending == "csv" else table.to_excel(path, index=False)
        options = DataOptions(str(path), label_column="label")
        run = RunFolder(Path(folder) / "run")
        fit_run(Configuration.make(options, {}, seed=seed), run, report=False)
        return pd.read_csv(run.labels)["label"]


if __name__ == "__main__":
    main()
