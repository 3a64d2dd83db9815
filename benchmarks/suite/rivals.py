"""Other methods, with sensible settings and the preparation that XSDC gets; each also after PCA to 50 columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from benchmarks.suite.graph_rivals import NEIGHBORS, fit_graph
from benchmarks.suite.measures import Answer
from benchmarks.suite.pair_rivals import fit_pairs
from benchmarks.suite.regimes import Given
from benchmarks.suite.sets import Array

LABELED = ("1", "2", "5", "10", "20", "1%", "5%")
PAIRS = ("pairs-100", "pairs-300", "pairs-1000")
COMPONENTS = 50
MANY_COLUMNS = 1000  # with more, covariance matrices and unreduced pairs take too long


def always(_given: Given, _d: int) -> bool:
    """Run everywhere."""
    return True


@dataclass(frozen=True)
class Rival:
    """A method: levels at which it is run, how it is fitted, and where it can be."""

    levels: tuple[str, ...]
    fit: Callable[[Given], Answer]
    applies: Callable[[Given], bool]


Fit = Callable[[Array, Given, Array], Answer]  # training points as vectors, what else is given, test points


def kmeans(X: Array, given: Given, X_test: Array) -> Answer:
    """Ten starts."""
    model = KMeans(given.k, n_init=10, random_state=given.seed).fit(X)
    return Answer(model.labels_, model.predict(X_test))


def spectral(X: Array, given: Given, X_test: Array) -> Answer:
    """Normalised cut of the neighbour graph; test points follow the nearest training point."""
    neighbors = min(NEIGHBORS, len(X) - 1)
    model = SpectralClustering(
        given.k, affinity="nearest_neighbors", n_neighbors=neighbors, random_state=given.seed, n_init=10
    )
    return _by_nearest(X, model.fit_predict(X), X_test)


def umap_kmeans(X: Array, given: Given, X_test: Array) -> Answer:
    """K-means in two dimensions, with the settings that UMAP's documentation recommends for clustering."""
    import umap  # noqa: PLC0415  an extra, and slow to import

    neighbors = min(30, len(X) - 1)
    embedded = umap.UMAP(n_neighbors=neighbors, min_dist=0.0, random_state=given.seed, n_jobs=1).fit_transform(X)
    return _by_nearest(X, KMeans(given.k, n_init=10, random_state=given.seed).fit_predict(embedded), X_test)


def constrained_kmeans(X: Array, given: Given, X_test: Array) -> Answer:
    """K-means with a least and a largest size, the same for all clusters."""
    from k_means_constrained import KMeansConstrained  # noqa: PLC0415  an extra

    if given.sizes is None:
        raise ValueError("Bounds on sizes are needed.")
    low, high = int(given.sizes[:, 0].min() * len(X)), int(np.ceil(given.sizes[:, 1].max() * len(X)))
    model = KMeansConstrained(given.k, size_min=low, size_max=min(high, len(X)), n_init=3, random_state=given.seed)
    labels = model.fit_predict(X)
    distances = ((X_test[:, None, :] - model.cluster_centers_) ** 2).sum(axis=2)
    return Answer(labels, distances.argmin(axis=1))


def pairs_kmeans(*, learn_metric: bool) -> Fit:
    """PCKMeans or MPCKMeans; test points take the nearest center."""

    def fit(X: Array, given: Given, X_test: Array) -> Answer:
        rng = np.random.default_rng(given.seed)
        labels, centers, metric = fit_pairs(
            X, given.k, given.must_link, given.cannot_link, learn_metric=learn_metric, rng=rng
        )
        root = np.sqrt(metric)
        nearest = KNeighborsClassifier(1).fit(centers * root, np.arange(given.k))
        return Answer(labels, nearest.predict(X_test * root))

    return fit


def classifier(make: Callable[[int], Any]) -> Fit:
    """Fit the labeled points alone."""

    def fit(X: Array, given: Given, X_test: Array) -> Answer:
        known = given.y >= 0
        model = make(given.seed).fit(X[known], given.y[known])
        return _answer(model, model.predict(X), X_test, given)

    return fit


def semi_supervised(make: Callable[[Array, int], Any]) -> Fit:
    """Fit labeled and unlabeled points with scikit-learn."""

    def fit(X: Array, given: Given, X_test: Array) -> Answer:
        model = make(X, given.seed).fit(X, given.y)
        return _answer(model, getattr(model, "transduction_", None), X_test, given, X=X)

    return fit


def graph(kind: Any) -> Fit:
    """Laplace or Poisson learning."""

    def fit(X: Array, given: Given, X_test: Array) -> Answer:
        return Answer(*fit_graph(X, given.y, X_test, kind=kind))

    return fit


def _answer(model: Any, labels: Array | None, X_test: Array, given: Given, *, X: Array | None = None) -> Answer:
    probabilities = None
    if hasattr(model, "predict_proba"):
        probabilities = np.zeros((len(X_test), given.k))
        probabilities[:, model.classes_] = np.nan_to_num(model.predict_proba(X_test))
    return Answer(model.predict(X) if labels is None else labels, model.predict(X_test), probabilities)


def _by_nearest(X: Array, labels: Array, X_test: Array) -> Answer:
    return Answer(labels, KNeighborsClassifier(1).fit(X, labels).predict(X_test))


def _spreading(X: Array, kernel: str) -> LabelSpreading:
    gamma = 1 / (X.shape[1] * max(float(X.var()), np.finfo(float).tiny))  # what SVC calls "scale"
    return LabelSpreading(kernel=kernel, gamma=gamma, n_neighbors=min(NEIGHBORS, len(X) - 1), max_iter=100)


def _enough_for_lda(given: Given, d: int) -> bool:
    labels = given.y[given.y >= 0]
    return d <= MANY_COLUMNS and len(labels) > len(np.unique(labels))


def _few_columns(_given: Given, d: int) -> bool:
    return d <= MANY_COLUMNS


# Name, levels, how it is fitted, and where it is run, by what is given and the number of columns.
PLAIN: tuple[tuple[str, tuple[str, ...], Fit, Callable[[Given, int], bool]], ...] = (
    ("KMeans", ("0",), kmeans, always),
    ("SpectralClustering", ("0",), spectral, always),
    ("UMAP + KMeans", ("0",), umap_kmeans, always),
    ("PCKMeans", PAIRS, pairs_kmeans(learn_metric=False), _few_columns),
    ("MPCKMeans", PAIRS, pairs_kmeans(learn_metric=True), _few_columns),
    ("k-means-constrained", ("sizes",), constrained_kmeans, _few_columns),
    ("SVC", LABELED, classifier(lambda _: SVC()), always),
    ("LogisticRegression", LABELED, classifier(lambda _: LogisticRegression(max_iter=1000)), always),
    ("RandomForest", LABELED, classifier(lambda seed: RandomForestClassifier(random_state=seed)), always),
    (
        "LDA",
        LABELED,
        classifier(lambda _: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
        _enough_for_lda,
    ),
    ("LabelSpreading, neighbors", LABELED, semi_supervised(lambda X, _: _spreading(X, "knn")), always),
    ("LabelSpreading, rbf", LABELED, semi_supervised(lambda X, _: _spreading(X, "rbf")), always),
    (
        "SelfTraining",
        LABELED,
        semi_supervised(lambda _X, _seed: SelfTrainingClassifier(LogisticRegression(max_iter=1000))),
        always,
    ),
    ("Laplace learning", LABELED, graph("laplace"), always),
    ("Poisson learning", LABELED, graph("poisson"), always),
)


def _rival(levels: tuple[str, ...], fit: Fit, runs: Callable[[Given, int], bool], *, reduce: bool) -> Rival:
    def columns(given: Given) -> int:
        return int(np.prod(given.X.shape[1:]))

    def fitted(given: Given) -> Answer:
        X, X_test = given.X.reshape(len(given.X), -1), given.X_test.reshape(len(given.X_test), -1)
        if reduce:
            pca = PCA(min(COMPONENTS, len(X) - 1), random_state=given.seed).fit(X)
            X, X_test = pca.transform(X), pca.transform(X_test)
        with warnings.catch_warnings():
            # Of graphs that are not connected, points that no label reaches, iterations that did not suffice: the
            # accuracy says what comes of it.
            warnings.simplefilter("ignore")
            return fit(X, given, X_test)

    def applies(given: Given) -> bool:
        d = columns(given)
        return (d > COMPONENTS and runs(given, COMPONENTS)) if reduce else runs(given, d)

    return Rival(levels, fitted, applies)


RIVALS: dict[str, Rival] = {
    f"{name}{', PCA' if reduce else ''}": _rival(levels, fit, runs, reduce=reduce)
    for name, levels, fit, runs in PLAIN
    for reduce in (False, True)
}
