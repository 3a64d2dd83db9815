"""Classes for all points from labels of every class: what the ensemble of classifiers says, within what is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.assignment import assign
from xsdc.fitting.choices import Choices
from xsdc.fitting.ensemble import Ensemble, LeftOut, fit_ensemble
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.representation import Representation, fit_representation
from xsdc.networks.rows import Rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MOST_JOINED = 50_000  # points that a neighbour graph joins; the others are told as new points are
MOST_LABELED = 10_000  # labels that classifiers are fitted to, alike many of each class
BLOCK = 16_384


@dataclass(frozen=True)
class LabelClassifier:
    """Tells the classes of points, those of the data and new ones alike.

    Attributes
    ----------
    representations : tuple of Representation
        Of inputs and of learned features.
    ensemble : Ensemble
        From these to classes.
    """

    representations: tuple[Representation, ...]
    ensemble: Ensemble

    def log_probabilities(self, data: Tensor | Rows, Phi: Tensor | Rows) -> Floats:
        """Logarithms of the probability of each class, shape (n, k), by prepared inputs and learned features."""
        found = []
        for start in range(0, max(len(data), 1), BLOCK):
            sources = (data[start : start + BLOCK], Phi[start : start + BLOCK])
            views = [represent(X) for represent, X in zip(self.representations, sources, strict=True)]
            found.append(self.ensemble.log_probabilities(views))
        return np.concatenate(found)


def names_every_class(knowledge: Knowledge) -> bool:
    """Whether there are several classes, and a label for each of them."""
    k = knowledge.n_clusters or 1
    return k > 1 and len(np.setdiff1d(np.arange(k), knowledge.constraints.classes)) == 0


def label_by_labels(
    data: Tensor | Rows,
    Phi: Tensor | Rows,
    knowledge: Knowledge,
    *,
    sizes: tuple[Floats, Floats] | None,
    choices: Choices,
    rng: np.random.RandomState,
) -> tuple[Ints, LabelClassifier, LeftOut | None]:
    """Give every point a class.

    Parameters
    ----------
    data : Tensor of shape (n, ...), or Rows
        Prepared inputs.
    Phi : Tensor of shape (n, D), or Rows
        Learned features.
    knowledge : Knowledge
        What is known of them: labels of every class, and anything else.
    sizes : pair of arrays, each of shape (k,), or None
        Least and largest number of points of each class.
    choices : Choices
        Where the weights are written down.
    rng : RandomState
        Source of randomness.

    Returns
    -------
    codes : array of int, shape (n,)
    classifier : LabelClassifier
    left_out : LeftOut or None
        What the classifier says of labeled points without their labels; None where each class has one alone.
    """
    constraints, k = knowledge.constraints, knowledge.n_clusters or 1
    points, classes = _choose_points(constraints.classes, rng)
    representations = tuple(fit_representation(source) for source in (data, Phi))
    chosen = None if len(points) == knowledge.n else torch.from_numpy(points)
    views = [represent(source, chosen) for represent, source in zip(representations, (data, Phi), strict=True)]
    ensemble, left_out = fit_ensemble(views, classes, k, rng=rng)
    weights = ", ".join(f"{name} {weight:.2f}" for name, weight in ensemble.named_weights())
    choices.note("classifier", weights, f"weights that make {len(left_out.points)} left-out labels most likely")
    classifier = LabelClassifier(representations, ensemble)
    codes = assign(classifier.log_probabilities(data, Phi), constraints, sizes=sizes)
    told = points[left_out.points]
    given = knowledge.codes[told] >= 0  # the class of a point may also follow from links; it then has no label
    if not given.any():
        return codes, classifier, None
    return codes, classifier, LeftOut(told[given], left_out.probabilities[given])


def _choose_points(classes: Ints, rng: np.random.RandomState) -> tuple[Ints, Ints]:
    """Choose the points that are joined by a graph, and the labels that are used of them, -1 elsewhere.

    All of them where they are few enough; otherwise as many labels of each class as the rarest classes leave room for,
    and of the other points an even sample.
    """
    n = len(classes)
    labeled = rng.permutation(np.flatnonzero(classes >= 0))
    if len(labeled) > MOST_LABELED:
        order = np.argsort(classes[labeled], kind="stable")
        of_class = classes[labeled][order]
        turn = np.empty(len(labeled), dtype=np.int64)  # how many of its class come before each
        turn[order] = np.arange(len(labeled)) - np.searchsorted(of_class, of_class)
        labeled = labeled[np.argsort(turn, kind="stable")[:MOST_LABELED]]
    others = np.setdiff1d(np.arange(n), labeled)
    if n > MOST_JOINED:
        others = rng.permutation(others)[: MOST_JOINED - len(labeled)]
    points = np.sort(np.concatenate([labeled, others]))
    return points, np.where(np.isin(points, labeled), classes[points], -1)
