"""Handwritten digits with no labels, ten and fifty: how many are recognised, beside scikit-learn's own methods."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from xsdc.core.agreement import agreement
from xsdc.runs.configuration import Configuration, DataOptions
from xsdc.runs.fit import fit_run
from xsdc.runs.folder import RunFolder
from xsdc.runs.given import read_given
from xsdc.runs.publishing import abandon, claim, held
from xsdc.training import Callback

LABELS = (0, 10, 50)
N_CLASSES = 10
OPTIONS = {"n_clusters": N_CLASSES}


def demo_run(
    out: Path, *, force: bool, callbacks: Sequence[Callback], announce: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """Fit the digits with ever more labels; the last run has a report.

    Yields
    ------
    dict
        ``labels``, ``accuracy``, ``seconds``, ``rivals`` and the ``folder`` of each run.
    """
    folders = [RunFolder(out / f"{labels}-labels") for labels in LABELS]
    for folder in folders:
        with held(folder):
            claim(folder, force=force)
            abandon(folder)
    for labels, folder in zip(LABELS, folders, strict=True):
        configuration = Configuration.make(DataOptions("digits", keep_labels=labels), OPTIONS)
        metrics = fit_run(
            configuration,
            folder,
            force=force,
            report=labels == LABELS[-1],
            callbacks=callbacks,
            announce=partial(_announce, announce, labels),
        )
        yield {
            "labels": labels,
            "accuracy": metrics["measured"]["accuracy"],
            "seconds": metrics["seconds"]["fit"],
            "rivals": rivals(configuration),
            "folder": folder,
        }


def _announce(announce: Callable[[str], None], labels: int, stage: str) -> None:
    announce(f"{labels} labels: {stage.lower()}")


def rivals(configuration: Configuration) -> dict[str, float]:
    """Accuracy of scikit-learn's methods on the same labels, measured on the same others."""
    dataset = read_given(configuration.data, seed=configuration.seed).dataset
    X, truth = dataset.X / 16, np.array(dataset.truth, dtype=np.int64)
    y = np.array([-1 if label is None else label for label in dataset.labels])
    hidden = y < 0
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="sklearn")  # of neighbour graphs that are not connected
        if hidden.all():
            spectral = SpectralClustering(N_CLASSES, affinity="nearest_neighbors", random_state=0)
            found = {"KMeans": KMeans(N_CLASSES, n_init=10, random_state=0), "SpectralClustering": spectral}
            return {name: agreement(method.fit_predict(X), truth).accuracy for name, method in found.items()}
        spread = LabelSpreading(kernel="knn").fit(X, y).transduction_
        classified = SVC().fit(X[~hidden], y[~hidden]).predict(X)
    return {
        name: float((labels == truth)[hidden].mean())
        for name, labels in (("LabelSpreading", spread), ("SVC", classified))
    }
