"""Accuracy on MNIST by number of images and of labels, with defaults, trained and not.

python -m benchmarks.mnist [--images 60000] [--labels 0 10 50 100 500] [--draws 3] [--trained] [--json PATH]
                           [--docs PATH]

``XSDC_DATA`` or ``--data`` names the directory with ``mnist.npz``. Each draw takes as many labels of each digit among
the training images (their first ``--images``); accuracy is that of the 10,000 test images. Clusters are matched to
digits one to one on the test images. With ``--json`` each fit is written down when it is done, and not made again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.measure import machine, markdown_table, peak_gigabytes, write_between_markers
from benchmarks.suite.ours import TRAINED
from xsdc import XSDC
from xsdc.core.agreement import agreement

K = 10
LABELS = (0, 10, 50, 100, 500)
Ints = npt.NDArray[np.int64]


def draw_labels(y: Ints, count: int, seed: int) -> Ints:
    """Labels of as many points of each class, -1 elsewhere."""
    rng = np.random.RandomState(seed)
    known = np.full(len(y), -1)
    for digit in range(K):
        chosen = rng.permutation(np.flatnonzero(y == digit))[: count // K]
        known[chosen] = digit
    return known


def run(data: dict[str, npt.NDArray[Any]], images: int, labels: int, seed: int, *, trained: bool) -> dict[str, Any]:
    """One fit, and what it reaches."""
    X, y = data["x_train"][:images, None] / np.float32(255), data["y_train"][:images].astype(np.int64)
    X_test, y_test = data["x_test"][:, None] / np.float32(255), data["y_test"].astype(np.int64)
    options: dict[str, Any] = TRAINED if trained else {}
    known = draw_labels(y, labels, seed)
    start = time.perf_counter()
    model = XSDC(K, random_state=seed, **options).fit(X, known)
    fitted = time.perf_counter()
    predicted = model.predict(X_test)
    return {
        "images": images,
        "labels": labels,
        "seed": seed,
        "trained": trained,
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
    for key in sorted({(r["images"], r["trained"], r["labels"]) for r in records}):
        some = [r for r in records if (r["images"], r["trained"], r["labels"]) == key]
        accuracies = [r["accuracy"] for r in some]
        rows.append(
            [
                f"{key[0]:,}",
                "yes" if key[1] else "no",
                str(key[2]),
                f"{fmean(accuracies):.3f} ± {np.std(accuracies):.3f}",
                f"{fmean(r['training accuracy'] for r in some):.3f}",
                f"{fmean(r['seconds'] for r in some):.0f}",
                str(len(some)),
            ]
        )
    header = ["images", "trained", "labels", "accuracy on test images", "of the labels found", "seconds", "draws"]
    return markdown_table(header, rows)


def main() -> None:
    """Run, print and write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("XSDC_DATA"))
    parser.add_argument("--images", type=int, nargs="+", default=[60_000])
    parser.add_argument("--labels", type=int, nargs="+", default=LABELS)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--trained", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--docs", type=Path)
    options = parser.parse_args()
    if options.data is None:
        raise SystemExit("MNIST is needed: name a directory with mnist.npz by --data or XSDC_DATA.")
    with np.load(options.data / "mnist.npz") as file:
        data = dict(file)
    records = []
    if options.json and options.json.exists():
        records = json.loads(options.json.read_text(encoding="utf-8"))
    done = {(r["images"], r["labels"], r["seed"], r["trained"]) for r in records}
    for seed in range(options.draws):
        for images in options.images:
            for labels in options.labels:
                if (images, labels, seed, options.trained) in done:
                    continue
                records.append(run(data, images, labels, seed, trained=options.trained))
                print({name: records[-1][name] for name in list(records[-1])[:9]}, flush=True)
                if options.json:
                    options.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    print(table(records))
    if options.docs:
        write_between_markers(options.docs, table(records), name="mnist")


if __name__ == "__main__":
    main()
