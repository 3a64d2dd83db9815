"""DIFFRAC: discriminative clustering on features as they are."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils import check_random_state
from torch import Tensor

from xsdc import validation as checks
from xsdc.baselines.manners import Baseline
from xsdc.core.assignment import violated_links
from xsdc.core.classifier import fit_classifier
from xsdc.core.grouping import Mean, RidgeSmoother, find_groups
from xsdc.core.objective import decompose, one_hot
from xsdc.errors import InvalidInputError
from xsdc.fitting import Choices, Knowledge, read_knowledge
from xsdc.fitting.automatic import choose_sizes
from xsdc.fitting.bounds import Bounds
from xsdc.fitting.number import settle_number
from xsdc.fitting.settings import ClusterSize, read_sizes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
DIMENSIONS_PER_CLASS = (1.0, 2.0, 5.0)


class DIFFRAC(Baseline):
    """Cluster or classify by the grouping that a ridge regression on the given features explains best.

    The discriminative clustering that the paper builds on (Bach and Harchaoui, 2007): over groupings Y whose sizes
    are within bounds, minimise ``tr(Y Y^T A)``, the error of the best ridge regression from the features to Y. It is
    solved as `xsdc.XSDC` does at its end, without the graphs and without learning anything about the features.

    Parameters
    ----------
    n_clusters : int, optional
        Number of classes, k. By default as many as the labels name. Without labels it may stay open: a number within
        the bounds of ``cluster_size`` is then suggested.
    ridge : float or "auto"
        lambda, for features that are centred and have a norm of one on average. "auto" averages the cost over effective
        dimensions of one, two and five for each class, and takes the value with the least left-out error for the
        classifier.
    cluster_size : "auto", "equal", (min, max), one pair per class, or mapping from class to pair
        Bounds on the share of points in a class, as for `xsdc.XSDC`. "auto" is as there, too.
    random_state : int, RandomState or None
        The one source of randomness.

    Attributes
    ----------
    labels_ : array, shape (n,)
        Class of each point; a label that was given stays as it was.
    classes_ : array, shape (n_clusters_,)
        Names of the classes: those that labels and allowed labels name, then numbers or "cluster 1", ... .
    n_clusters_ : int
        Their number.
    coef_, intercept_ : array, shape (n_clusters_, d) and (n_clusters_,)
        Ridge regression from the features to the classes, by which new points are classified.
    objective_ : float
        ``tr(Y Y^T A)`` of the labels and the classifier's ridge: its penalised squared error on the data.
    choices_ : list of dict
        What was chosen, and why.
    n_violated_links_ : int
        Cannot-links that the labels found do not meet.
    n_features_in_, feature_names_in_
        As usual in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from xsdc.baselines import DIFFRAC
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.eye(3) * 6, 30, axis=0) + rng.normal(size=(90, 3))
    >>> model = DIFFRAC(3, random_state=0).fit(X, must_link=[(0, 1)], cannot_link=[(0, 30)])
    >>> len(set(model.labels_[::30]))
    3
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        ridge: float | Literal["auto"] = "auto",
        cluster_size: ClusterSize = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.ridge = ridge
        self.cluster_size = cluster_size
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        allowed_labels: Mapping[int, Iterable[Any]] | None = None,
    ) -> DIFFRAC:
        """Find the classes and the classifier.

        Parameters
        ----------
        X : array-like, data frame or tensor, shape (n, d)
            Vectors.
        y : array-like, shape (n,), optional
            Labels, whole numbers or strings; -1, None or NaN where unknown.
        must_link, cannot_link : array-like, shape (m, 2), optional
            Pairs of row positions in the same and in different classes.
        allowed_labels : mapping from row position to labels, optional
            Classes that a point may have: ``{7: ["four", "nine"]}``.

        Returns
        -------
        self
        """
        if self.ridge != "auto":
            checks.as_positive(self.ridge, name='ridge, where not "auto",')
        X = self._read(X, reset=True)
        knowledge = read_knowledge(
            len(X),
            y=y,
            must_link=must_link,
            cannot_link=cannot_link,
            allowed_labels=allowed_labels,
            n_clusters=self.n_clusters,
        )
        choices = Choices()
        bounds = self._bounds(knowledge, choices)
        mean, norm = _centre_and_norm(X)
        Phi = torch.from_numpy((X - mean) / norm)
        rng = check_random_state(self.random_state)
        knowledge, _ = settle_number(Phi, knowledge, bounds=bounds, choices=choices, rng=rng)
        codes = self._find(Phi, knowledge, bounds, rng)
        self.classes_, self.n_clusters_ = knowledge.names, len(knowledge.names)
        self._named = knowledge.n_named > 0
        self.labels_ = knowledge.names[codes]
        self._fit_classifier(Phi, codes, mean=mean, norm=norm, choices=choices)
        self.choices_ = choices.made
        self._count_violated(codes, knowledge)
        return self

    def _find(self, Phi: Tensor, knowledge: Knowledge, bounds: Bounds, rng: np.random.RandomState) -> Ints:
        k, constraints = len(knowledge.names), knowledge.constraints
        if k == 1 or (constraints.classes >= 0).all():
            return np.maximum(constraints.classes, 0)
        spectrum = decompose(Phi)
        automatic = [spectrum.ridge_for_classes(k, per_class=d) for d in DIMENSIONS_PER_CLASS]
        ridges = automatic if isinstance(self.ridge, str) else [self.ridge]
        S = Mean([RidgeSmoother(Phi, k, lam=lam) for lam in ridges])
        sizes = bounds.ways(constraints, np.arange(knowledge.n), k)
        return find_groups(S, constraints, k, sizes=sizes, rng=rng)[0].codes

    def _codes(self, X: Floats) -> Ints:
        codes: Ints = (X @ self.coef_.T + self.intercept_).argmax(1)
        return codes

    def _bounds(self, knowledge: Knowledge, choices: Choices) -> Bounds:
        given = read_sizes(self.cluster_size, knowledge.names.tolist(), knowledge.n_clusters)
        if given is not None:
            given.check(knowledge.constraints, n_classes=knowledge.n_clusters, names=knowledge.names)
        return choose_sizes(knowledge, given, choices)[1]

    def _fit_classifier(self, Phi: Tensor, codes: Ints, *, mean: Floats, norm: float, choices: Choices) -> None:
        spectrum = decompose(Phi)
        lam = None if isinstance(self.ridge, str) else float(self.ridge)
        classifier = fit_classifier(spectrum, torch.from_numpy(codes), n_classes=self.n_clusters_, lam=lam)
        if lam is None:
            choices.note("ridge of the classifier", classifier.lam, "least squared error on points left out")
        Y = one_hot(torch.from_numpy(codes), n_classes=self.n_clusters_)
        self.objective_ = float(spectrum.residuals(Y, [classifier.lam])[0])
        # In the units of X, so that new points need no scaling.
        self.coef_: Floats = classifier.W.numpy().T / norm
        self.intercept_: Floats = classifier.b.numpy() - self.coef_ @ mean

    def _count_violated(self, codes: Ints, knowledge: Knowledge) -> None:
        self.n_violated_links_ = violated_links(codes, knowledge.constraints)
        if self.n_violated_links_:
            warnings.warn(
                f"{self.n_violated_links_} cannot-links could not be met with {self.n_clusters_} classes.",
                UserWarning,
                stacklevel=3,
            )


def _centre_and_norm(X: Floats) -> tuple[Floats, float]:
    """Mean of the points and their mean distance to it; lambda means the same in all units then."""
    if not np.ptp(X, axis=0).any():
        raise InvalidInputError(f"X must hold points that differ; all {len(X)} are equal. Give data that varies.")
    mean: Floats = X.mean(0)
    return mean, float(np.linalg.norm(X - mean, axis=1).mean())
