"""Handwritten digits with no labels, ten, fifty and all: how many are recognised, beside scikit-learn's own methods.

Writes the model fitted with fifty labels and its predictions to the folder ``demo`` (or the one given).
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from xsdc import XSDC
from xsdc.core.rounding import agreement

N_CLASSES = 10
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def draw_labels(y: Ints, per_class: int | None) -> Ints:
    """Keep the labels of a few points of each class, or all; -1 is unknown."""
    if per_class is None:
        return y
    rng = np.random.default_rng(0)
    labels = np.full(len(y), -1)
    for c in range(N_CLASSES):
        labels[rng.choice(np.flatnonzero(y == c), per_class, replace=False)] = c
    return labels


def rivals_without_labels(X: Floats, X_test: Floats, y_test: Ints) -> dict[str, float]:
    """Accuracy of scikit-learn's clusterings, clusters matched to the digits."""
    kmeans = KMeans(N_CLASSES, n_init=10, random_state=0).fit(X).predict(X_test)
    clusters = SpectralClustering(N_CLASSES, affinity="nearest_neighbors", random_state=0).fit_predict(X)
    spectral = KNeighborsClassifier(1).fit(X, clusters).predict(X_test)
    return {
        "KMeans": agreement(kmeans, y_test).accuracy,
        "SpectralClustering": agreement(spectral, y_test).accuracy,
    }


def rivals_with_labels(X: Floats, labels: Ints, X_test: Floats, y_test: Ints) -> dict[str, float]:
    """Accuracy of scikit-learn's semi-supervised and supervised classifiers."""
    given = labels >= 0
    return {
        "LabelSpreading": LabelSpreading(kernel="knn").fit(X, labels).score(X_test, y_test),
        "SVC": SVC().fit(X[given], labels[given]).score(X_test, y_test),
    }


def write_predictions(path: Path, model: XSDC, X_test: Floats, y_test: Ints) -> None:
    """Write what the model says about each test digit, and how sure it is."""
    probabilities = model.predict_proba(X_test)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["digit", "predicted", "probability"])
        best = probabilities.argmax(1)
        for truth, code, row in zip(y_test, best, probabilities, strict=True):
            writer.writerow([truth, model.classes_[code], f"{row[code]:.3f}"])


def main() -> None:
    """Print a table of accuracies; save a model and its predictions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the model and its predictions")
    out = parser.parse_args().out
    warnings.filterwarnings("ignore", module="sklearn")  # of neighbour graphs that are not connected

    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 16, y, test_size=0.25, stratify=y, random_state=0)
    print(f"{len(X)} handwritten digits to learn from, {len(X_test)} others to recognise, {N_CLASSES} classes\n")
    print(f"{'labels':>6}  {'xsdc':>6}  {'seconds':>7}  scikit-learn")
    for per_class in (0, 1, 5, None):
        labels = draw_labels(y, per_class)
        start = time.perf_counter()
        model = XSDC(N_CLASSES, random_state=0).fit(X, labels)
        seconds = time.perf_counter() - start
        if per_class == 0:
            rivals = rivals_without_labels(X, X_test, y_test)
        else:
            rivals = rivals_with_labels(X, labels, X_test, y_test)
        others = ", ".join(f"{name} {accuracy:.3f}" for name, accuracy in rivals.items())
        print(f"{(labels >= 0).sum():>6}  {model.score(X_test, y_test):>6.3f}  {seconds:>7.1f}  {others}", flush=True)
        if per_class == 5:
            kept = model
    out.mkdir(parents=True, exist_ok=True)
    kept.save(out / "digits.xsdc")
    write_predictions(out / "predictions.csv", XSDC.load(out / "digits.xsdc"), X_test, y_test)
    print("\nWithout labels, clusters are matched to the digits one to one before counting.")
    print("This is one split of the data; docs/results.md has the means of ten.")
    print(f"The model fitted with 50 labels: {out / 'digits.xsdc'}; what it predicts: {out / 'predictions.csv'}")


if __name__ == "__main__":
    main()
