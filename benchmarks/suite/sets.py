"""The data sets of the suite: one line each, with its kind and its half."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from xsdc.data.dataset import Dataset
from xsdc.data.named import available, cache_folder, load_dataset, load_split

Array = npt.NDArray[Any]
Half = Literal["settle", "report"]
# What is done to the numbers of each kind before any method sees them, see `prepare`.
Kind = Literal["table", "genes", "image", "vectors", "words", "cells"]
THINNED = 5000  # points that large data sets are thinned to


class MissingDataError(Exception):
    """A data set is not on this machine."""


@dataclass(frozen=True)
class SuiteSet:
    """A data set of the suite.

    Attributes
    ----------
    name : str
        What it is called; also the name of its file, ``suite/NAME.npz``, where ``read`` is not given.
    kind : str
        Decides its preparation, and in which group of the table it stands.
    half : {"settle", "report"}
        Whether defaults may be settled by looking at it.
    read : callable, optional
        Returns points and classes 0, 1, ...; raises `MissingDataError`.
    bundled : bool
        Whether it comes with scikit-learn.
    """

    name: str
    kind: Kind
    half: Half
    read: Callable[[], tuple[Array, Array]] | None = None
    bundled: bool = False

    def load(self) -> tuple[Array, Array]:
        """Points and classes, not yet prepared."""
        if self.read is not None:
            X, y = self.read()
        else:
            path = _file(self.name)
            if path is None:
                raise MissingDataError(_absent(self.name))
            with np.load(path, allow_pickle=False) as file:
                X, y = file["x"], file["y"]
        return X, np.unique(y, return_inverse=True)[1]

    def why_missing(self) -> str | None:
        """Tell why it cannot be loaded here, without loading it; None where it can."""
        here = self.bundled or (_file(self.name) if self.read is None else available(self.name)) is not None
        return None if here else _absent(self.name)


def _file(name: str) -> Path | None:
    given = os.environ.get("XSDC_DATA")
    folders = [*([Path(given)] if given else []), cache_folder()]
    return next((path for f in folders if (path := f / "suite" / f"{name}.npz").is_file()), None)


def _absent(name: str) -> str:
    return f"{name} is neither in the folder that XSDC_DATA names nor in {cache_folder()}"


def _named(name: str, *, split: bool) -> Callable[[], tuple[Array, Array]]:
    """Read a large named data set, thinned; of one with a usual split the training part alone."""

    def read() -> tuple[Array, Array]:
        if available(name) is None:
            raise MissingDataError(_absent(name))
        data: Dataset = load_split(name)[0] if split else load_dataset(name)
        kept = np.random.default_rng(0).permutation(data.n)[:THINNED]
        return np.asarray(data.X)[kept], np.asarray(data.labels)[kept].astype(str)

    return read


def _digits() -> tuple[Array, Array]:
    X, y = load_digits(return_X_y=True)
    return X / 16, y


SETS = (
    # Tables
    SuiteSet("wine", "table", "settle", lambda: load_wine(return_X_y=True), bundled=True),
    SuiteSet("magic", "table", "settle", _named("magic", split=False)),
    SuiteSet("penbased", "table", "settle"),
    SuiteSet("vehicle", "table", "settle"),
    SuiteSet("movement_libras", "table", "settle"),
    SuiteSet("phoneme", "table", "settle"),
    SuiteSet("spambase", "table", "settle"),
    SuiteSet("page_blocks", "table", "settle"),
    SuiteSet("waveform", "table", "settle"),
    SuiteSet("breast_cancer", "table", "report", lambda: load_breast_cancer(return_X_y=True), bundled=True),
    SuiteSet("segment", "table", "report"),
    SuiteSet("vowel", "table", "report"),
    SuiteSet("banana", "table", "report"),
    SuiteSet("ring", "table", "report"),
    SuiteSet("yeast", "table", "report"),
    # Gene expression: far more columns than rows
    SuiteSet("tox171", "genes", "settle"),
    SuiteSet("lymphoma", "genes", "report"),
    # Images; the digits of scikit-learn come as vectors. The defaults were once settled on digits and on MAGIC, so
    # both belong to `settle`; MNIST and CIFAR-10 are in `report` because their full sizes are.
    SuiteSet("digits", "vectors", "settle", _digits, bundled=True),
    SuiteSet("usps", "image", "settle"),
    SuiteSet("orl", "image", "settle"),
    SuiteSet("mnist", "image", "report", _named("mnist", split=True)),
    SuiteSet("cifar10", "image", "report", _named("cifar10", split=True)),
    # Words of documents and of questions
    SuiteSet("pcmac", "words", "settle"),
    SuiteSet("trec", "words", "settle"),
    SuiteSet("basehock", "words", "report"),
    # Gene counts of single cells
    SuiteSet("cells_worm", "cells", "settle"),
    SuiteSet("cells_pbmc4k", "cells", "report"),
)
BY_NAME = {entry.name: entry for entry in SETS}


@lru_cache(maxsize=1)
def load(name: str) -> tuple[Array, Array]:
    """Load a data set by name; the last one is kept."""
    return BY_NAME[name].load()


def prepare(X: Array, X_test: Array, kind: Kind) -> tuple[Array, Array]:
    """Prepare training and test points, the same way for every method.

    Tables and gene expression are standardised; images are divided by 255; word counts become tf-idf with logarithmic
    counts (tf-idf stays as it is); cells are logarithms of scaled counts already. What is estimated, means,
    deviations and document frequencies, comes from the training points.
    """
    if kind in {"table", "genes"}:
        scaler = StandardScaler().fit(X.astype(np.float64))
        return scaler.transform(X.astype(np.float64)), scaler.transform(X_test.astype(np.float64))
    if kind == "image":
        return (X / 255).astype(np.float32), (X_test / 255).astype(np.float32)
    X, X_test = X.astype(np.float64), X_test.astype(np.float64)
    if kind == "words" and np.array_equal(X, np.round(X)):  # counts
        weights = TfidfTransformer(sublinear_tf=True).fit(X)
        return weights.transform(X).toarray(), weights.transform(X_test).toarray()
    return X, X_test
