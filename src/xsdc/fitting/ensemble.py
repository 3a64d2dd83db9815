"""Classifiers of the given labels, pooled: linear ones, trees, labels spread over graphs, and what the solver finds.

They look at two views of each point, its input and its features where these were learned, for learning helps on some
data and harms on others. Where classes are groups of near points, graphs know far more than a few labels do; where they
are not, a classifier of the labels is better. Labels that are left out tell which it is: each member says how probable
every class is, and `xsdc.core.pool` weights and calibrates what they say in one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.graph import Metric, NeighborIndex
from xsdc.core.pool import fit_weights, pool
from xsdc.core.propagation import Propagation
from xsdc.defaults import DEFAULTS
from xsdc.fitting.groups import LabelSolver
from xsdc.fitting.models import Linear, Trees
from xsdc.fitting.views import View

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
VIEWS = ("inputs", "learned features")


@dataclass(frozen=True)
class ClassifierMember:
    """A fitted classifier.

    Attributes
    ----------
    model : Linear or Trees
    view : int
        Which view it looks at.
    """

    model: Linear | Trees
    view: int

    @property
    def names(self) -> tuple[str, ...]:
        """What its opinion is called."""
        return ("logistic regression" if isinstance(self.model, Linear) else "trees",)

    def opinions(self, Z: Tensor) -> list[Floats]:
        """Logarithms of the probability of each class, shape (m, k), of points (m, d)."""
        return [_log(self.model.probabilities(Z.numpy()))]


@dataclass(frozen=True)
class GraphMember:
    """Classes of points, found in several ways; a new point takes the means of its neighbours.

    Attributes
    ----------
    index : NeighborIndex
        Of points of the data.
    spreads : array of float32, shape (number of ways, n, k)
        How much of each class each of them has.
    view : int
        Which view it looks at.
    names : tuple of str
        What its opinions are called.
    """

    index: NeighborIndex
    spreads: npt.NDArray[np.float32]
    view: int
    names: tuple[str, ...]

    def opinions(self, Z: Tensor) -> list[Floats]:
        """Logarithms of the probability of each class, shape (m, k) each, of points (m, d)."""
        weights = self.index.weights(Z)
        return [_log(weights @ spread) for spread in self.spreads]


Member = ClassifierMember | GraphMember


@dataclass(frozen=True)
class Ensemble:
    """Members, and the weights of their opinions.

    Attributes
    ----------
    members : tuple of Member
    weights : array
        One for each opinion, in the order of the members.
    """

    members: tuple[Member, ...]
    weights: Floats

    def log_probabilities(self, views: Sequence[Tensor]) -> Floats:
        """Logarithms of the probability of each class, shape (m, k), of points by their views, (m, d) each."""
        if not self.members:  # one class alone
            return np.zeros((len(views[0]), 1))
        opinions = [opinion for member in self.members for opinion in member.opinions(views[member.view])]
        return pool(opinions, self.weights)

    def named_weights(self) -> list[tuple[str, float]]:
        """Each opinion's name and weight."""
        names = [f"{name} of {VIEWS[member.view]}" for member in self.members for name in member.names]
        return list(zip(names, self.weights.tolist(), strict=True))


@dataclass(frozen=True)
class LeftOut:
    """What an ensemble says of labeled points without their labels.

    Attributes
    ----------
    points : array of int, shape (l,)
        Positions. A label whose class has no other is not among them: nothing could name its class.
    probabilities : array, shape (l, k)
        Of each class.
    """

    points: Ints
    probabilities: Floats

    def log_likelihood(self, classes: Ints) -> float | None:
        """Mean logarithm of the probability of their classes, given for all points; None where no label is left out."""
        if not len(self.points):
            return None
        own = self.probabilities[np.arange(len(self.points)), classes[self.points]]
        return float(np.log(own).mean())


def fit_ensemble(
    views: Sequence[View],
    classes: Ints,
    k: int,
    *,
    solver: LabelSolver | None = None,
    rng: np.random.RandomState,
) -> tuple[Ensemble, LeftOut]:
    """Fit all members to the labeled points, and weight them by labels that are left out.

    Parameters
    ----------
    views : sequence of View
        Inputs of all n points, and learned features where there are any.
    classes : array of int, shape (n,)
        Their classes, -1 where unknown. Every class has a label.
    k : int
        Number of classes; one alone needs no members.
    solver : LabelSolver, optional
        Of these points; its solutions are members too.
    rng : RandomState
        Source of randomness.
    """
    labeled = np.flatnonzero(classes >= 0)
    codes = classes[labeled]
    if k == 1:
        return Ensemble((), np.empty(0)), LeftOut(labeled[:0], np.empty((0, 1)))
    labels = Labels(labeled, codes, deal(codes, rng), k)
    seed = int(rng.randint(2**31))
    fitted = [_fit_classifier(Trees, views[0], labels, view=0, seed=seed)]
    for view, each in enumerate(views):
        fitted.append(_fit_classifier(Linear, each, labels, view=view, seed=seed))
        for metric in each.metrics:
            joined = solver if (view, metric) == (0, "euclidean") else None
            fitted.append(_fit_graph(each, metric, labels, view=view, solver=joined))
    told = np.bincount(codes, minlength=k)[codes] > 1
    return _pooled(fitted, labels, told)


def fit_to_groups(views: Sequence[View], codes: Ints, points: Ints, k: int, *, rng: np.random.RandomState) -> Ensemble:
    """Fit classifiers of groups: linear ones, and the classes of neighbors.

    Parameters
    ----------
    views : sequence of View
        Inputs of all n points, and learned features where there are any.
    codes : array of int, shape (n,)
        Their groups; none is empty.
    points : array of int, shape (l,)
        Those that linear classifiers are fitted to, and by which members are weighted.
    k : int
        Number of groups; one alone needs no members.
    rng : RandomState
        Source of randomness.
    """
    if k == 1:
        return Ensemble((), np.empty(0))
    labels = Labels(points, codes[points], deal(codes[points], rng), k)
    fitted = [_fit_classifier(Linear, each, labels, view=view, seed=0) for view, each in enumerate(views)]
    Y = np.eye(k)[codes]
    for metric in views[0].metrics:
        member = GraphMember(views[0].index(metric), Y[None].astype(np.float32), 0, (f"neighbors, {metric}",))
        fitted.append((member, [_log((views[0].graph(metric) @ Y)[points])]))
    return _pooled(fitted, labels, np.ones(len(points), dtype=bool))[0]


def _pooled(fitted: Sequence[tuple[Member, list[Floats]]], labels: Labels, told: Bools) -> tuple[Ensemble, LeftOut]:
    """Weight members by the labels that were left out and told by others."""
    left_out = [opinion[told] for _, opinions in fitted for opinion in opinions]
    weights = fit_weights(left_out, labels.codes[told], prior=np.full(len(left_out), DEFAULTS.prior))
    ensemble = Ensemble(tuple(member for member, _ in fitted), weights)
    return ensemble, LeftOut(labels.points[told], np.exp(pool(left_out, weights)))


@dataclass(frozen=True)
class Labels:
    """What members are fitted to.

    Attributes
    ----------
    points : array of int, shape (l,)
        Positions of labeled points.
    codes : array of int, shape (l,)
        Their classes.
    folds : array of int, shape (l,)
        Which labels are left out together.
    k : int
        Number of classes.
    """

    points: Ints
    codes: Ints
    folds: Ints
    k: int


def deal(codes: Ints, rng: np.random.RandomState) -> Ints:
    """Deal labeled points out to folds, class by class, so that all folds have like numbers of each."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    first = np.searchsorted(codes[order], codes[order])
    folds: Ints = np.empty(len(codes), dtype=np.int64)
    folds[order] = (np.arange(len(codes)) - first) % min(DEFAULTS.folds, int(np.bincount(codes).max()))
    return folds


def _fit_classifier(
    kind: type[Linear] | type[Trees], points: View, labels: Labels, *, view: int, seed: int
) -> tuple[Member, list[Floats]]:
    """Fit a classifier, and others without each fold of the labels to tell those."""
    X, codes, k = points.Z[torch.from_numpy(labels.points)].numpy(), labels.codes, labels.k
    left_out = np.full((len(codes), k), -np.log(k))
    for fold in range(labels.folds.max() + 1):
        shown, hidden = labels.folds != fold, labels.folds == fold
        if len(np.unique(codes[shown])) > 1:
            left_out[hidden] = _log(kind.fit(X[shown], codes[shown], k, seed=seed).probabilities(X[hidden]))
    return ClassifierMember(kind.fit(X, codes, k, seed=seed), view), [left_out]


def _fit_graph(
    points: View, metric: Metric, labels: Labels, *, view: int, solver: LabelSolver | None
) -> tuple[Member, list[Floats]]:
    """Spread labels, and again without each fold of them to tell those; so for what the solver finds."""
    propagation = Propagation(points.graph(metric))

    def spread(some: Ints, codes: Ints) -> Floats:
        found = _spread(propagation, some, codes, labels.k)
        return found if solver is None else np.concatenate([found, solver.scores(some, codes)])

    names = tuple(f"{way} on the {metric} graph" for way in ("walks", "interpolation"))
    names += () if solver is None else solver.WAYS
    left_out = np.empty((len(names), len(labels.points), labels.k))
    for fold in range(labels.folds.max() + 1):
        shown, hidden = labels.folds != fold, labels.folds == fold
        left_out[:, hidden] = spread(labels.points[shown], labels.codes[shown])[:, labels.points[hidden]]
    spreads = spread(labels.points, labels.codes).astype(np.float32)
    return GraphMember(points.index(metric), spreads, view, names), [_log(opinion) for opinion in left_out]


def _spread(propagation: Propagation, labeled: Ints, codes: Ints, k: int) -> Floats:
    """Spread labels by how often walks from them come by, and by smooth interpolation, shape (2, n, k)."""
    values, known = np.zeros((len(propagation.degrees), k)), np.zeros((len(propagation.degrees), 1))
    values[labeled, codes], known[labeled] = 1.0, 1.0
    shares = values / np.maximum(values.sum(axis=0), 1)  # a class with many labels has no more to give
    return np.stack([propagation.visits(shares), propagation.interpolate(values, known, fidelity=DEFAULTS.fidelity)])


def _log(p: Floats) -> Floats:
    """Logarithms of what is proportional to probabilities; equal ones where there is nothing."""
    p = np.maximum(p, 0) + np.finfo(np.float64).tiny
    p = p / p.sum(axis=1, keepdims=True)
    return np.asarray(np.log(np.maximum(p, DEFAULTS.least_probability)))
