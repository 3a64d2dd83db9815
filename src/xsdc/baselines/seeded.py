"""Seeded k-means under the paper's three fixed similarities."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from xsdc import validation as checks
from xsdc.baselines.euclidean import Centres, Euclidean, as_they_are, decorrelated, group_means
from xsdc.baselines.lloyd import Run, run_lloyd, start_distances
from xsdc.baselines.manners import Baseline
from xsdc.baselines.rbf import KernelMeans, KernelSpace, choose_bandwidth
from xsdc.errors import InvalidInputError, NotConvergedWarning
from xsdc.fitting import Knowledge, read_knowledge

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SIMILARITIES = ("linear", "inverse-correlation", "rbf")


class SeededKMeans(Baseline):
    """Cluster or classify by k-means whose labeled points keep their classes, on the features as they are.

    The baseline with a fixed representation of the paper's Section 5: centres start from the labeled points of each
    class and those points stay; a new point goes to the nearest centre. Without labels it is k-means.

    Parameters
    ----------
    n_clusters : int, optional
        Number of classes, k. By default as many as the labels name; needed where there are none.
    similarity : {"linear", "inverse-correlation", "rbf"}
        What nearness means. "linear" is the distance between points as they come. "inverse-correlation" standardises
        the columns and removes their correlations, by the similarity ``x^T (C + lam I)^{-1} y`` with C the
        correlation matrix and lam = lambda_max(C) / tr(C). "rbf" is kernel k-means with
        ``exp(-||x - y||² / (2 sigma²))``; it takes time in proportion to n², but no matrix of that size.
    bandwidth : "median" or float
        sigma of "rbf". "median" is sqrt(2 d), d the median squared distance between points: all, or 3,000
        drawn at random where there are more.
    init : "k-means++" or array, shape (k, d)
        Centres to start from, for classes without labels; an array gives those of all classes, in the order of
        ``classes_``.
    n_init : int
        Starts, of which the one with the least inertia counts. Where chance has no part in it, one is made.
    max_iter : int
        Largest number of rounds of a start.
    block_size : int
        For "rbf": at most ``block_size``² values of the kernel are in memory at a time.
    random_state : int, RandomState or None
        The one source of randomness.

    Attributes
    ----------
    labels_ : array, shape (n,)
        Class of each point; a label that was given stays as it was.
    classes_ : array, shape (k,)
        Names of the classes: those the labels name, then numbers or "cluster 1", ... for those found.
    cluster_centers_ : array, shape (k, d)
        Mean of the points of each class, in their own units; NaN for a class without points. Not for "rbf", whose
        centres are no vectors.
    inertia_ : float
        Sum of squared distances of the points to the centres of their classes, as the similarity measures them.
    bandwidth_ : float
        sigma, for "rbf".
    n_iter_ : int
        Rounds of the start that was kept.
    n_features_in_, feature_names_in_
        As usual in scikit-learn.

    Notes
    -----
    The paper standardises all data first. "linear" and "rbf" take columns as they come: put ``StandardScaler`` before
    them in a pipeline.

    Examples
    --------
    >>> import numpy as np
    >>> from xsdc.baselines import SeededKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.eye(3) * 6, 30, axis=0) + rng.normal(size=(90, 3))
    >>> y = np.full(90, None)
    >>> y[[0, 30, 60]] = ["ant", "bee", "cat"]
    >>> model = SeededKMeans().fit(X, y)
    >>> [str(name) for name in model.predict(np.eye(3) * 6)]
    ['ant', 'bee', 'cat']
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        similarity: Literal["linear", "inverse-correlation", "rbf"] = "linear",
        bandwidth: float | Literal["median"] = "median",
        init: str | npt.ArrayLike = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        block_size: int = 1024,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.similarity = similarity
        self.bandwidth = bandwidth
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.block_size = block_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> SeededKMeans:
        """Find the classes and their centres.

        Parameters
        ----------
        X : array-like, data frame or tensor, shape (n, d)
            Vectors.
        y : array-like, shape (n,), optional
            Labels, whole numbers or strings; -1, None or NaN where unknown.

        Returns
        -------
        self
        """
        self._check_options()
        X = self._read(X, reset=True)
        knowledge = read_knowledge(len(X), y=y, n_clusters=self.n_clusters)
        if knowledge.n_clusters is None:
            raise InvalidInputError("n_clusters must be given where y names no class. Set it, or give labels.")
        rng = check_random_state(self.random_state)
        space = self._space(X, rng)
        run = self._best_run(space, knowledge, rng)
        self._warn(run, knowledge)
        k = len(knowledge.names)
        self.classes_, self._named = knowledge.names, knowledge.n_named > 0
        self.labels_ = knowledge.names[run.labels]
        self.inertia_, self.n_iter_ = run.inertia, run.n_iter
        self._centres: Centres | KernelMeans = space.centres(run.labels, k)
        for name in ("cluster_centers_", "bandwidth_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if isinstance(space, Euclidean):
            self.cluster_centers_ = group_means(X, run.labels, k)
        else:
            self.bandwidth_ = space.kernel.bandwidth
        return self

    def _codes(self, X: Floats) -> Ints:
        codes: Ints = self._centres.distances(X).argmin(1)
        return codes

    def _check_options(self) -> None:
        if not isinstance(self.similarity, str) or self.similarity not in SIMILARITIES:
            raise InvalidInputError(f"similarity must be one of {', '.join(SIMILARITIES)}; it is {self.similarity!r}.")
        if not isinstance(self.bandwidth, str) or self.bandwidth != "median":
            checks.as_positive(self.bandwidth, name='bandwidth, where not "median",')
        for name in ("n_init", "max_iter", "block_size"):
            checks.as_count(getattr(self, name), name=name)

    def _space(self, X: Floats, rng: np.random.RandomState) -> Euclidean | KernelSpace:
        if self.similarity == "rbf":
            bandwidth = choose_bandwidth(X, rng) if self.bandwidth == "median" else float(self.bandwidth)
            return KernelSpace(X, bandwidth=bandwidth, block=int(self.block_size))
        return Euclidean(X, as_they_are(X) if self.similarity == "linear" else decorrelated(X))

    def _best_run(self, space: Euclidean | KernelSpace, knowledge: Knowledge, rng: np.random.RandomState) -> Run:
        seeds, k = knowledge.codes, len(knowledge.names)
        if not isinstance(self.init, str):
            start = space.to_places(self._places(k))
            return run_lloyd(space, start, seeds, max_iter=self.max_iter)
        if self.init != "k-means++":
            raise InvalidInputError(f'init must be "k-means++" or an array of centres; it is {self.init!r}.')
        by_chance = len(np.unique(seeds[seeds >= 0])) < k and (seeds < 0).any()
        runs = (
            run_lloyd(space, start_distances(space, seeds, k, rng), seeds, max_iter=self.max_iter)
            for _ in range(self.n_init if by_chance else 1)
        )
        return min(runs, key=lambda run: run.inertia)

    def _places(self, k: int) -> Floats:
        try:
            places = np.array(self.init, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"init must hold numbers, one row per class; it does not ({error}).") from error
        if places.shape != (k, self.n_features_in_) or not np.isfinite(places).all():
            what = f"has shape {places.shape}" if places.shape != (k, self.n_features_in_) else "holds NaN or infinity"
            raise InvalidInputError(
                f"init must hold one finite centre per class, shape ({k}, {self.n_features_in_}); it {what}."
            )
        return places

    def _warn(self, run: Run, knowledge: Knowledge) -> None:
        if not run.converged:
            warnings.warn(
                f"Points were still changing class after {run.n_iter} rounds. Raise max_iter.",
                NotConvergedWarning,
                stacklevel=3,
            )
        k, found = len(knowledge.names), len(np.unique(run.labels))
        if found < k:
            warnings.warn(
                f"Only {found} of {k} clusters hold points: no point without a label is left away from their centres."
                " Lower n_clusters.",
                UserWarning,
                stacklevel=3,
            )
