"""Accuracy on scikit-learn's digits beside scikit-learn's own methods, on the same splits.

python -m benchmarks.digits [--seeds 10] [--labels 0 10 50 200 all] [--thinned] [--json PATH] [--docs PATH]

Each seed splits off a stratified quarter for testing and draws as many labels of each digit. All methods get pixels
divided by 16, and run with their defaults where no other is named. Methods that cannot predict new points give
them the label of the nearest training point. Clusterings are matched to the digits one to one before counting. With
``--thinned`` the training part is thinned so that its largest class is ten times its smallest, evenly on a log scale;
the accuracy is then that of the labels found for the training points themselves.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from benchmarks.measure import markdown_table, write_between_markers, write_json
from xsdc import XSDC
from xsdc.core.agreement import agreement

DOCS = Path(__file__).parents[1] / "docs" / "results.md"
K = 10
LABELS = ("0", "10", "50", "200", "all")
THINNED_LABELS = ("0", "50")
Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# Training points, their labels (-1 unknown), test points and a seed to labels of both.
Method = Callable[[Array, Ints, Array, int], tuple[Ints, Ints]]
# For each number of labels and method: mean, deviation, seconds.
Results = dict[str, dict[str, dict[str, float]]]


def by_xsdc(X: Array, y: Ints, X_test: Array, seed: int) -> tuple[Ints, Ints]:
    """Fit with defaults."""
    model = XSDC(K, random_state=seed).fit(X, y)
    return model.labels_, model.predict(X_test)


def by_equal_xsdc(X: Array, y: Ints, X_test: Array, seed: int) -> tuple[Ints, Ints]:
    """Fit with groups of equal size, the paper's default."""
    model = XSDC(K, cluster_size="equal", random_state=seed).fit(X, y)
    return model.labels_, model.predict(X_test)


def by_kmeans(X: Array, y: Ints, X_test: Array, seed: int) -> tuple[Ints, Ints]:
    """Ten starts."""
    del y
    model = KMeans(K, n_init=10, random_state=seed).fit(X)
    return model.labels_, model.predict(X_test)


def by_spectral(affinity: str) -> Method:
    """Cluster, then label test points by their nearest neighbour."""

    def fit(X: Array, y: Ints, X_test: Array, seed: int) -> tuple[Ints, Ints]:
        del y
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of neighbour graphs that are not connected
            labels = SpectralClustering(K, affinity=affinity, random_state=seed).fit_predict(X)
        return labels, KNeighborsClassifier(1).fit(X, labels).predict(X_test)

    return fit


def by_spreading(kernel: str) -> Method:
    """Spread the labels; a point that none reaches gets the first class."""

    def fit(X: Array, y: Ints, X_test: Array, seed: int) -> tuple[Ints, Ints]:
        del seed
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of points that no label reaches, and of too few iterations
            model = LabelSpreading(kernel=kernel).fit(X, y)
            return model.transduction_, model.predict(X_test)

    return fit


def by_self_training(X: Array, y: Ints, X_test: Array, seed: int) -> tuple[Ints, Ints]:
    """Self-training of a support vector machine; needs two labels of a class or more for its probabilities."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where all is labeled, there is nothing to train by itself
        model = SelfTrainingClassifier(SVC(probability=True, random_state=seed)).fit(X, y)
    return model.predict(X), model.predict(X_test)


def by_svc(X: Array, y: Ints, X_test: Array, seed: int) -> tuple[Ints, Ints]:
    """Fit the labeled points alone."""
    del seed
    model = SVC().fit(X[y >= 0], y[y >= 0])
    return model.predict(X), model.predict(X_test)


CLUSTERINGS: dict[str, Method] = {
    "xsdc": by_xsdc,
    "KMeans": by_kmeans,
    "SpectralClustering": by_spectral("rbf"),
    "SpectralClustering, neighbours": by_spectral("nearest_neighbors"),
}
CLASSIFIERS: dict[str, Method] = {
    "xsdc": by_xsdc,
    "LabelSpreading": by_spreading("rbf"),
    "LabelSpreading, neighbours": by_spreading("knn"),
    "SelfTrainingClassifier": by_self_training,
    "SVC": by_svc,
}


def split(seed: int, *, thinned: bool) -> tuple[Array, Array, Ints, Ints]:
    """Training and test part, and their classes."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 16, y, test_size=0.25, stratify=y, random_state=seed)
    if thinned:
        rng = np.random.default_rng(seed)
        shares = np.geomspace(1, 0.1, K)
        members = [np.flatnonzero(y == c) for c in range(K)]
        kept = [rng.choice(m, round(len(m) * share), replace=False) for m, share in zip(members, shares, strict=True)]
        chosen = np.sort(np.concatenate(kept))
        X, y = X[chosen], y[chosen]
    return X, X_test, y, y_test


def draw_labels(y: Ints, labels: str, seed: int) -> Ints:
    """Keep as many labels of each class; -1 elsewhere."""
    if labels == "all":
        return y
    rng = np.random.default_rng(seed)
    given = np.full(len(y), -1)
    for c in range(K):
        given[rng.choice(np.flatnonzero(y == c), int(labels) // K, replace=False)] = c
    return given


def accuracies(labels: str, seed: int, *, thinned: bool, methods: dict[str, Method]) -> dict[str, tuple[float, float]]:
    """Accuracy and seconds of processor time of each method."""
    X, X_test, y, y_test = split(seed, thinned=thinned)
    given = draw_labels(y, labels, seed)
    found = {}
    for name, method in methods.items():
        if name == "SelfTrainingClassifier" and labels == "10":
            continue  # its probabilities come from cross-validation, which one label per class does not allow
        start = time.process_time()  # what else runs on the machine does not count
        train, test = method(X, given, X_test, seed)
        seconds = time.process_time() - start
        predicted, truth = (train, y) if thinned else (test, y_test)
        if labels == "0":
            accuracy = agreement(predicted, truth).accuracy
        elif thinned:
            accuracy = float((predicted == truth)[given < 0].mean())
        else:
            accuracy = float((predicted == truth).mean())
        found[name] = (accuracy, seconds)
    return found


def methods_for(labels: str, *, thinned: bool) -> dict[str, Method]:
    """Methods that make sense for a number of labels."""
    methods = CLUSTERINGS if labels == "0" else CLASSIFIERS
    return {**methods, "xsdc, equal sizes": by_equal_xsdc} if thinned else methods


def measure(columns: dict[str, dict[str, Method]], seeds: int, *, thinned: bool = False) -> Results:
    """Means and deviations for each number of labels and method."""
    results: Results = {}
    for labels, methods in columns.items():
        runs = [accuracies(labels, seed, thinned=thinned, methods=methods) for seed in range(seeds)]
        results[labels] = {}
        for name in runs[0]:
            values = np.array([run[name] for run in runs])
            results[labels][name] = {
                "mean": float(values[:, 0].mean()),
                "deviation": float(values[:, 0].std(ddof=1)) if seeds > 1 else 0.0,
                "seconds": float(values[:, 1].mean()),
            }
        shown = ", ".join(f"{name} {value['mean']:.3f}" for name, value in results[labels].items())
        print(f"{labels} labels: {shown}", flush=True)
    return results


def as_table(results: Results) -> str:
    """One row per method, one column per number of labels."""
    names = list(dict.fromkeys(name for column in results.values() for name in column))
    rows = []
    for name in names:
        cells = [results[labels].get(name) for labels in results]
        rows.append([name, *("" if c is None else f"{c['mean']:.3f} ± {c['deviation']:.3f}" for c in cells)])
    return markdown_table(["method", *(f"{labels} labels" for labels in results)], rows)


def main() -> None:
    """Measure, print and write down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--labels", nargs="+", choices=LABELS, default=None)
    parser.add_argument("--thinned", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument(
        "--docs", type=Path, default=None, help=f"file with markers to write the table into, as {DOCS.name}"
    )
    options = parser.parse_args()
    columns = options.labels or list(THINNED_LABELS if options.thinned else LABELS)
    methods = {labels: methods_for(labels, thinned=options.thinned) for labels in columns}
    results = measure(methods, options.seeds, thinned=options.thinned)
    seconds = [f"{results[labels]['xsdc']['seconds']:.1f}" for labels in results]
    table = as_table(results) + "\n" + "| seconds of a fit by xsdc | " + " | ".join(seconds) + " |"
    print(table)
    if options.json:
        write_json(options.json, {"seeds": options.seeds, "thinned": options.thinned, "results": results})
    if options.docs:
        write_between_markers(options.docs, table, name="thinned" if options.thinned else "digits")


if __name__ == "__main__":
    main()
