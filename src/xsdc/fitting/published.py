"""What the paper does with trained features (the end of its Algorithms 2 and 3), and how it scores them in training.

With labels, a point without one takes that of its nearest labeled neighbor. Without labels, M is balanced over all
points and clustered by its eigenvectors. A ridge regression of these classes on the features classifies new points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.assignment import assign, violated_links
from xsdc.core.balancing import balance
from xsdc.core.classifier import PATH, Classifier, choose_ridge, fit_classifier
from xsdc.core.grouping import match_classes
from xsdc.core.known import Known
from xsdc.core.objective import Spectrum, decompose, one_hot
from xsdc.core.problem import Fractions
from xsdc.core.rounding import Spectral, nearest_labels, spectral_clustering
from xsdc.fitting.automatic import training_dimension
from xsdc.fitting.bounds import Bounds
from xsdc.fitting.choices import Choices
from xsdc.fitting.features import HELD, normalised, read_features, scaled_features
from xsdc.fitting.groups import named_like
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.labels import Outcome, names_every_class, warn_of_unmet
from xsdc.fitting.points import choose_points
from xsdc.networks import Network, normalize_features
from xsdc.networks.rows import Rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# Points whose matrix M is formed and clustered: as many as the paper's largest, the test set of MNIST. In single
# precision each of the four or so matrices that are held at a time then takes 400 MB.
MOST_BALANCED = 10_000
BLOCK = 4096


def spread_labels(Phi: Tensor | Rows, seeds: Tensor, labeled: Tensor, codes: Tensor) -> Tensor:
    """Give each point the class of its nearest labeled neighbor; labeled points keep theirs.

    Parameters
    ----------
    Phi : Tensor of shape (n, D), or Rows
        Features of all points.
    seeds : Tensor, shape (l, D)
        Features of the labeled ones.
    labeled : Tensor of int, shape (l,)
        Their positions.
    codes : Tensor of int, shape (l,)
        Their classes.
    """
    blocks = [Phi] if isinstance(Phi, Tensor) else [Phi[i : i + BLOCK] for i in range(0, len(Phi), BLOCK)]
    found = torch.cat([nearest_labels(block, seeds, codes) for block in blocks])
    found[labeled] = codes.to(found)
    return found


def cluster(
    spectrum: Spectrum,
    lam: float,
    k: int,
    *,
    size: Fractions,
    known: Known | None = None,
    nu: float | Literal["median"] = "median",
    rng: np.random.RandomState,
) -> Spectral:
    """Balance M over all points, and cluster it by its eigenvectors."""
    A = spectrum.cost(lam).to(torch.float32).dense()  # its factors rounded first: two fifths of the time
    return spectral_clustering(balance(A, size=size, known=known, nu=nu).M, k, random_state=rng)


def ridge_by_validation(spectrum: Spectrum, codes: Tensor, k: int, Phi: Tensor, y: Ints) -> float:
    """Choose the lambda whose classifier is right most often on a validation set with features Phi and classes y."""
    W, b = spectrum.ridge(one_hot(codes, n_classes=k), PATH)
    Phi = Phi.to(W.dtype)
    right = [(Phi @ W[i] + b[i]).argmax(1).cpu().numpy() == y for i in range(len(PATH))]
    return PATH[int(np.argmax([each.mean() for each in right]))]


@dataclass(frozen=True)
class Validation:
    """Chooses lambda, and scores a network, by a validation set.

    Attributes
    ----------
    data : Tensor of shape (n, ...), or Rows
        Prepared data.
    points : Tensor of int
        Positions of the points that classifiers are fitted to.
    codes : Tensor of int
        Their classes, -1 where no label is given.
    held : pair of Tensor and array of int
        Prepared data and classes of the validation set.
    k : int
        Number of classes.
    """

    data: Tensor | Rows
    points: Tensor
    codes: Tensor
    held: tuple[Tensor, Ints]
    k: int

    def choose_ridge(self, network: Network, *, labeled_only: bool) -> float:
        """Choose lambda by labeled points alone or by all, the others as their neighbors."""
        spectrum, codes, Phi = self._spread(network, labeled_only=labeled_only)
        return ridge_by_validation(spectrum, codes, self.k, Phi, self.held[1])

    def score(self, network: Network, lam: float) -> float:
        """Share of the validation set that a classifier fitted to all points tells."""
        spectrum, codes, Phi = self._spread(network, labeled_only=False)
        scores = fit_classifier(spectrum, codes, n_classes=self.k, lam=lam).scores(Phi)
        return float((scores.argmax(1).cpu().numpy() == self.held[1]).mean())

    def _spread(self, network: Network, *, labeled_only: bool) -> tuple[Spectrum, Tensor, Tensor]:
        """Decompose features with a class for each; and those of the validation set, scaled by the labeled ones."""
        labeled = (self.codes >= 0).nonzero().flatten()
        codes = self.codes[labeled].to(network.device)
        raw = network.features(self.data[self.points[labeled] if labeled_only else self.points])
        seeds, norm = normalised(raw if labeled_only else raw[labeled])
        held = scaled_features(network, self.held[0], norm)
        if labeled_only:
            return decompose(seeds), codes, held
        Phi, _ = normalize_features(raw, norm=norm)
        return decompose(Phi), spread_labels(Phi, seeds, labeled, codes), held


@dataclass(frozen=True)
class FeatureClassifier:
    """A ridge classifier on the learned features.

    Attributes
    ----------
    ridge : Classifier
    """

    ridge: Classifier

    def log_probabilities(self, data: Tensor | Rows, Phi: Tensor | Rows) -> Floats:  # noqa: ARG002  as of an ensemble
        """Logarithms of the probability of each class, shape (n, k), by learned features."""
        blocks = (Phi[start : start + BLOCK] for start in range(0, max(len(Phi), 1), BLOCK))
        return torch.cat([self.ridge.log_probabilities(block.cpu()) for block in blocks]).numpy()


def label_as_published(
    Phi: Tensor | Rows,
    knowledge: Knowledge,
    *,
    bounds: Bounds,
    ridge: float | Literal["auto"],
    entropy: float | Literal["median"],
    before: Ints | None = None,
    choices: Choices,
    rng: np.random.RandomState,
) -> Outcome:
    """Give every point a class as the paper does, and fit its classifier.

    Labels, must-links and allowed labels hold, and cannot-links where they can, which the paper leaves to training.

    Parameters
    ----------
    Phi : Tensor of shape (n, D), or Rows
        Learned features.
    knowledge : Knowledge
        What is known of the points; the number of classes among it.
    bounds : Bounds
        Bounds on the sizes of classes; those of M alone.
    ridge : float or "auto"
        lambda.
    entropy : float or "median"
        nu.
    before : array of int, shape (n,), optional
        Classes of points in an earlier fit, -1 where there are none; clusters keep their numbers.
    choices : Choices
        Where choices are written down.
    rng : RandomState
        Source of randomness.
    """
    constraints, k = knowledge.constraints, len(knowledge.names)
    if k > 1 and names_every_class(knowledge):
        found, classifier = _from_labels(Phi, knowledge, ridge=ridge, choices=choices, rng=rng)
        eigenvalues = np.empty(0)
    else:
        found, classifier, eigenvalues = _from_clusters(
            Phi, knowledge, bounds=bounds, ridge=ridge, entropy=entropy, before=before, choices=choices, rng=rng
        )
    scores = classifier.log_probabilities(Phi, Phi)
    rows = np.flatnonzero(found >= 0)
    scores[rows, found[rows]] += 1 + np.ptp(scores[rows], axis=1)  # the first choice, unless it is known not to be
    codes = assign(scores, constraints)
    violated = violated_links(codes, constraints)
    warn_of_unmet(violated, 0, n=knowledge.n, k=k)
    return Outcome(knowledge, codes, classifier, None, eigenvalues, violated)


def _from_labels(
    Phi: Tensor | Rows,
    knowledge: Knowledge,
    *,
    ridge: float | Literal["auto"],
    choices: Choices,
    rng: np.random.RandomState,
) -> tuple[Ints, FeatureClassifier]:
    """Classes by the nearest labeled neighbor; the classifier is fitted to all points, as far as memory allows."""
    classes, k = knowledge.constraints.classes, len(knowledge.names)
    labeled = np.flatnonzero(classes >= 0)
    codes = torch.from_numpy(classes[labeled])
    seeds = read_features(Phi, labeled)
    found = spread_labels(Phi, seeds, torch.from_numpy(labeled), codes).cpu()
    points = choose_points(knowledge, rng, most=HELD // seeds.shape[1])
    _, scale = normalised(seeds)  # the paper's scale is that of the labeled points
    spectrum, targets = decompose(read_features(Phi, points) / scale), found[torch.from_numpy(points)]
    rows = torch.from_numpy(np.flatnonzero(classes[points] >= 0))
    if ridge == "auto":
        ridge = choose_ridge(spectrum, one_hot(targets, n_classes=k), rows=rows)
        why = f"least squared error on {len(rows)} labeled points, left out one at a time"
        choices.note("ridge of the classifier", ridge, why)
    classifier = _fit(spectrum, targets, k, lam=ridge, rows=rows)
    return found.numpy(), FeatureClassifier(replace(classifier, W=classifier.W / scale))


def _from_clusters(
    Phi: Tensor | Rows,
    knowledge: Knowledge,
    *,
    bounds: Bounds,
    ridge: float | Literal["auto"],
    entropy: float | Literal["median"],
    before: Ints | None,
    choices: Choices,
    rng: np.random.RandomState,
) -> tuple[Ints, FeatureClassifier, Floats]:
    """Clusters of M, -1 for points beyond those it is formed of; the classifier; and eigenvalues of M."""
    k = len(knowledge.names)
    points = choose_points(knowledge, rng, most=MOST_BALANCED)
    constraints = knowledge.constraints.restricted(points)
    spectrum, known = decompose(read_features(Phi, points)), constraints.entries()
    if ridge == "auto":
        ridge = spectrum.ridge_for_dimension(training_dimension(k, spectrum.n, spectrum.Pc.shape[1]))
        choices.note("ridge of the clusters", ridge, "effective dimension as in training")
    size = bounds.for_classes(k).among_sample(knowledge.constraints, known, points)
    clusters = cluster(spectrum, ridge, k, size=size, known=known, nu=entropy, rng=rng)
    codes = match_classes(clusters.labels.numpy(), constraints, k, sizes=None)
    if before is not None:
        codes = named_like(codes, before[points], knowledge.n_named, k)
    classifier = _fit(spectrum, torch.from_numpy(codes), k, lam=ridge, rows=torch.arange(len(points)))
    found = np.full(knowledge.n, -1)
    found[points] = codes
    return found, FeatureClassifier(classifier), clusters.eigenvalues.numpy()


def _fit(spectrum: Spectrum, codes: Tensor, k: int, *, lam: float, rows: Tensor) -> Classifier:
    """Fit the classifier, and the sharpness of its probabilities to some rows, left out one at a time."""
    classifier = fit_classifier(spectrum, codes, n_classes=k, lam=lam)
    return classifier.calibrated(spectrum.leave_one_out(one_hot(codes, n_classes=k), lam)[rows], codes[rows])
