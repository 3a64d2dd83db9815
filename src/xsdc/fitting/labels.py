"""Classes for all points: what an ensemble of classifiers of labels or of groups says, within what is known."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.assignment import assign, outside_sizes, violated_links
from xsdc.core.graph import Metric
from xsdc.defaults import DEFAULTS
from xsdc.fitting.bounds import Bounds
from xsdc.fitting.checked import CheckedLabels, check_labels
from xsdc.fitting.choices import Choices
from xsdc.fitting.ensemble import Ensemble, fit_ensemble, fit_to_groups
from xsdc.fitting.features import read_features
from xsdc.fitting.groups import Inputs, LabelSolver, group_points, named_like
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.points import choose_points, in_turn
from xsdc.fitting.representation import Representation, fit_representation, transformed
from xsdc.fitting.views import View
from xsdc.networks.rows import Rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MOST_JOINED = 100_000  # points that neighbour graphs join
JOINED_OF_MORE = 20_000  # of more than these, as each of the others is compared with all that are joined
MOST_LABELED = 10_000  # labels that classifiers are fitted to, alike many of each class
METRICS: tuple[tuple[Metric, ...], ...] = (("euclidean", "cosine"), ("euclidean",))  # of graphs of inputs and features
BLOCK = 4096


@dataclass(frozen=True)
class LabelClassifier:
    """Tells the classes of points, those of the data and new ones alike.

    Attributes
    ----------
    representations : tuple of Representation
        Of inputs, and of features where these were learned.
    ensemble : Ensemble
        From these to classes.
    """

    representations: tuple[Representation, ...]
    ensemble: Ensemble

    def log_probabilities(self, data: Tensor | Rows, Phi: Tensor | Rows) -> Floats:
        """Logarithms of the probability of each class, shape (n, k), by prepared inputs and learned features."""
        found = []
        for start in range(0, max(len(data), 1), BLOCK):
            block = slice(start, start + BLOCK)  # features are only read where they are looked at
            views = [f(source[block]) for f, source in zip(self.representations, (data, Phi), strict=False)]
            found.append(self.ensemble.log_probabilities(views))
        return np.concatenate(found)


class PointClassifier(Protocol):
    """What tells the classes of points."""

    def log_probabilities(self, data: Tensor | Rows, Phi: Tensor | Rows) -> Floats:
        """Logarithms of the probability of each class, shape (n, k), by prepared inputs and learned features."""


def names_every_class(knowledge: Knowledge) -> bool:
    """Whether there are several classes, and a label for each of them."""
    k = knowledge.n_clusters or 1
    return k > 1 and len(np.setdiff1d(np.arange(k), knowledge.constraints.classes)) == 0


@dataclass(frozen=True)
class Outcome:
    """A class for every point, and a classifier for others.

    Attributes
    ----------
    knowledge : Knowledge
        What was known of the points.
    codes : array of int, shape (n,)
        Class of each.
    classifier : PointClassifier
        For new points; it also told the classes of these, within what is known of them.
    checked : CheckedLabels or None
        What the classifier says of labeled points without their labels; None where some class has no label, or no
        label can be left out.
    eigenvalues : array
        Leading eigenvalues of the smoother by which groups were found; none where labels name every class.
    violated : int
        Cannot-linked pairs of groups that share a class.
    likelihood : float or None
        Mean logarithm of the probability of labels that were left out, None where there are none.
    """

    knowledge: Knowledge
    codes: Ints
    classifier: PointClassifier
    checked: CheckedLabels | None
    eigenvalues: Floats
    violated: int
    likelihood: float | None = None


@dataclass(frozen=True)
class JoinedInputs:
    """Inputs of all points as vectors, and those whose neighbors graphs join.

    Attributes
    ----------
    data : Tensor of shape (n, ...), or Rows
        Prepared inputs, images as their scattering transform.
    points : array of int, shape (m,)
        Positions of the points that are joined.
    representation : Representation
        From inputs to vectors.
    view : View
        Vectors of the points that are joined, and their graphs.
    images : bool
        Whether the inputs are images.
    """

    data: Tensor | Rows
    points: Ints
    representation: Representation
    view: View
    images: bool

    @property
    def all_joined(self) -> bool:
        """Whether graphs join all points."""
        return len(self.points) == len(self.data)


def join_inputs(data: Tensor | Rows, knowledge: Knowledge, rng: np.random.RandomState) -> JoinedInputs:
    """Represent the inputs as vectors, and choose the points that graphs join."""
    most = MOST_JOINED if knowledge.n <= MOST_JOINED else min(MOST_JOINED, JOINED_OF_MORE)
    points = choose_points(knowledge, rng, most=most)
    images = data[:1].ndim > 2
    data = transformed(data)
    representation = fit_representation(data, images=images)
    chosen = None if len(points) == knowledge.n else torch.from_numpy(points)
    return JoinedInputs(data, points, representation, View(representation(data, chosen), metrics=METRICS[0]), images)


def label_points(
    inputs: JoinedInputs,
    Phi: Tensor | Rows,
    knowledge: Knowledge,
    *,
    learned: bool,
    bounds: Bounds,
    ridge: float | Literal["auto"],
    before: Ints | None = None,
    start: Ints | None = None,
    choices: Choices,
    rng: np.random.RandomState,
) -> Outcome:
    """Give every point a class: that which a classifier of the labels gives it, within what is known.

    Where labels do not name every class, points are grouped first, and the groups are the labels.

    Parameters
    ----------
    inputs : JoinedInputs
        Inputs of all points.
    Phi : Tensor of shape (n, D), or Rows
        Learned features.
    knowledge : Knowledge
        What is known of them; the number of classes among it.
    learned : bool
        Whether the features were learned, or are a network's as it was made.
    bounds : Bounds
        Bounds on the sizes of classes.
    ridge : float or "auto"
        lambda of the solver.
    before : array of int, shape (n,), optional
        Classes of points in an earlier fit, -1 where there are none; groups keep their numbers.
    start : array of int, shape (n,), optional
        Classes of all points by an earlier answer; where groups are to be found, they are improved.
    choices : Choices
        Where choices are written down.
    rng : RandomState
        Source of randomness.
    """
    constraints, k = knowledge.constraints, len(knowledge.names)
    points, data = inputs.points, inputs.data
    representations: tuple[Representation, ...] = (inputs.representation,)
    views: tuple[View, ...] = (inputs.view,)
    if learned:
        represent = fit_representation(Phi)
        chosen = None if inputs.all_joined else torch.from_numpy(points)
        representations = (*representations, represent)
        views = (*views, View(represent(Phi, chosen), metrics=METRICS[1]))
    classes, eigenvalues = constraints.classes[points], np.empty(0)
    labeled = names_every_class(knowledge)
    # Features that were not learned tell something where they are those of a kernel, and many.
    telling = learned or (not inputs.images and Phi[:1].shape[1] >= DEFAULTS.dimensions_per_class * k)
    looked_at = Inputs(inputs.view, read_features(Phi, points) if telling else None, ridge=ridge)
    if not labeled and k > 1:
        known, sizes = constraints.restricted(points), bounds.ways(constraints, points, k)
        begun = None if start is None else start[points]
        grouping = group_points(looked_at, known, k, sizes=sizes, start=begun, rng=rng)
        why = "objective, at most 1: how well graphs and ridge regressions explain the groups; best of several starts"
        choices.note("groups", round(grouping.objective, 4), why)
        classes, eigenvalues = grouping.codes, grouping.eigenvalues
        if before is not None:
            classes = named_like(classes, before[points], knowledge.n_named, k)
    if labeled:
        classes = _limited(classes, rng)
        place = dict(zip(points.tolist(), range(len(points)), strict=True))
        allowed = {place[point]: some for point, some in knowledge.facts["allowed"].items() if point in place}
        narrow, wide = bounds.ways(constraints, points, k)[0], bounds.of_labeled(constraints, points, k)
        solver = LabelSolver(looked_at, classes, k, sizes=narrow, wide=wide, allowed=allowed, rng=rng)
        ensemble, left_out = fit_ensemble(views, classes, k, solver=solver, rng=rng)
        weights = ", ".join(f"{name} {weight:.2f}" for name, weight in ensemble.named_weights())
        choices.note("classifier", weights, f"weights that make {len(left_out.points)} left-out labels most likely")
        checked = check_labels(knowledge, points[left_out.points], left_out.probabilities)
        likelihood = left_out.log_likelihood(classes)
    else:
        some = np.flatnonzero(_limited(classes, rng) >= 0)
        ensemble, checked, likelihood = fit_to_groups(views, classes, some, k, rng=rng), None, None
    classifier = LabelClassifier(representations, ensemble)
    given_sizes = bounds.counts(constraints, np.arange(knowledge.n), k) if bounds.given else None
    scores = classifier.log_probabilities(data, Phi)
    codes = assign(scores, constraints, sizes=given_sizes)
    if not labeled and given_sizes is None and len(np.unique(codes)) < k:  # a small group that classifiers pass over
        codes = assign(scores, constraints, sizes=(np.ones(k), np.full(k, float(knowledge.n))))
    violated = violated_links(codes, constraints)
    warn_of_unmet(violated, 0 if given_sizes is None else outside_sizes(codes, given_sizes), n=knowledge.n, k=k)
    return Outcome(knowledge, codes, classifier, checked, eigenvalues, violated, likelihood)


def warn_of_unmet(violated: int, outside: int, *, n: int, k: int) -> None:
    """Tell of links and bounds that the labels do not meet."""
    if violated:
        warnings.warn(f"{violated} cannot-links could not be met with {k} classes.", UserWarning, stacklevel=8)
    if outside:
        warnings.warn(
            f"The bounds on sizes are not quite met: {outside} of {n} points would have to change class, which what is"
            " known of them hardly allows.",
            UserWarning,
            stacklevel=8,
        )


def _limited(classes: Ints, rng: np.random.RandomState) -> Ints:
    """Leave out classes of some points, -1, where they are too many; as many of each class as the rarest let."""
    labeled = np.flatnonzero(classes >= 0)
    if len(labeled) <= MOST_LABELED:
        return classes
    kept = in_turn(rng.permutation(labeled), classes)[:MOST_LABELED]
    limited = np.full_like(classes, -1)
    limited[kept] = classes[kept]
    return limited
