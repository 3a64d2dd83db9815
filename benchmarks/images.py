"""Accuracy on MNIST and CIFAR-10 at full size, by number of images and of labels, for the three efforts.

python -m benchmarks.images [--set mnist] [--images 60000] [--labels 0 10 50 100 500] [--efforts fast normal]
                            [--draws 3] [--json PATH] [--docs PATH]

``XSDC_DATA`` names the directory with the data sets. Each draw takes as many labels of each class among the training
images (their first ``--images``); accuracy is that of the 10,000 test images. Clusters are matched to classes one to
one on the test images. With ``--json`` each fit is written down when it is done, and not made again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.measure import machine, markdown_table, peak_gigabytes, write_between_markers
from xsdc import XSDC
from xsdc.core.agreement import agreement
from xsdc.data import load_split

SETS = ("mnist", "cifar10")
LABELS = (0, 10, 50, 100, 500)
EFFORTS = ("fast", "normal", "best")
KEY = ("set", "effort", "images", "labels", "seed")
Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]


def read(name: str) -> tuple[Array, Ints, Array, Ints]:
    """Training and test images between 0 and 1, channels first, and their classes from 0."""
    parts = []
    for dataset in load_split(name):
        X = np.asarray(dataset.X)
        X = X.astype(np.float32) / 255 if X.dtype == np.uint8 else X.astype(np.float32)
        X = X[:, None] if X.ndim == 3 else X.transpose(0, 3, 1, 2) if X.shape[-1] == 3 else X
        parts += [np.ascontiguousarray(X), np.unique(np.asarray(dataset.labels).astype(str), return_inverse=True)[1]]
    return tuple(parts)  # type: ignore[return-value]


def draw_labels(y: Ints, count: int, seed: int) -> Ints:
    """Labels of as many points of each class, -1 elsewhere."""
    rng = np.random.RandomState(seed)
    known = np.full(len(y), -1)
    classes = np.unique(y)
    for each in classes:
        chosen = rng.permutation(np.flatnonzero(y == each))[: count // len(classes)]
        known[chosen] = each
    return known


def run(data: tuple[Array, Ints, Array, Ints], *, images: int, labels: int, seed: int, effort: str) -> dict[str, Any]:
    """One fit, and what it reaches."""
    X, y, X_test, y_test = data
    X, y = X[:images], y[:images]
    known = draw_labels(y, labels, seed)
    start = time.perf_counter()
    model = XSDC(len(np.unique(y)), random_state=seed, effort=effort).fit(X, known)
    fitted = time.perf_counter()
    predicted = model.predict(X_test)
    return {
        "accuracy": accuracy(y_test, predicted, labels),
        "training accuracy": accuracy(y, model.labels_, labels),
        "seconds": fitted - start,
        "seconds to predict": time.perf_counter() - fitted,
        "peak GB": peak_gigabytes(),
        **machine(),
    }


def accuracy(y: Ints, predicted: Ints, labels: int) -> float:
    """Share of points with their own class; clusters are matched where no label names them."""
    return float((y == predicted).mean()) if labels else agreement(y, predicted).accuracy


def table(records: list[dict[str, Any]]) -> str:
    """Mean and deviation of the accuracy, and seconds of a fit."""
    rows = []
    order = {effort: place for place, effort in enumerate(EFFORTS)}
    keys = {tuple(r[name] for name in KEY[:-1]) for r in records}
    for key in sorted(keys, key=lambda key: (key[0], key[2], key[3], order[key[1]])):
        name, effort, images, labels = key
        some = [r for r in records if tuple(r[each] for each in KEY[:-1]) == key]
        accuracies = [r["accuracy"] for r in some]
        rows.append(
            [
                name,
                f"{images:,}",
                str(labels),
                effort,
                f"{fmean(accuracies):.3f}" + (f" ± {np.std(accuracies):.3f}" if len(some) > 1 else ""),
                f"{fmean(r['training accuracy'] for r in some):.3f}",
                f"{fmean(r['seconds'] for r in some):.0f}",
                str(len(some)),
            ]
        )
    header = ["set", "images", "labels", "effort", "accuracy on test images", "of the labels found", "seconds", "draws"]
    return markdown_table(header, rows)


def main() -> None:
    """Run, print and write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=SETS, default="mnist")
    parser.add_argument("--images", type=int, nargs="+", default=[60_000])
    parser.add_argument("--labels", type=int, nargs="+", default=LABELS)
    parser.add_argument("--efforts", nargs="+", choices=EFFORTS, default=["fast", "normal"])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--docs", type=Path)
    options = parser.parse_args()
    data = read(options.set)
    records = []
    if options.json and options.json.exists():
        records = json.loads(options.json.read_text(encoding="utf-8"))
    done = {tuple(r[name] for name in KEY) for r in records}
    wanted = [
        (options.set, effort, images, labels, seed)
        for seed in range(options.draws)
        for images in options.images
        for labels in options.labels
        for effort in options.efforts
    ]
    for key in wanted:
        if key in done:
            continue
        asked = dict(zip(KEY, key, strict=True))
        found = run(data, images=key[2], labels=key[3], seed=key[4], effort=key[1])
        records.append({**asked, **found})
        print({name: records[-1][name] for name in (*KEY, "accuracy", "training accuracy", "seconds")}, flush=True)
        if options.json:
            options.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    print(table(records))
    if options.docs:
        write_between_markers(options.docs, table(records), name="images")


if __name__ == "__main__":
    main()
