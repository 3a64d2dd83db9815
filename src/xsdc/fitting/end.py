"""The end of a fit: labels for everyone, a classifier, its calibration."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.assignment import outside_sizes, violated_links
from xsdc.core.classifier import Classifier, fit_classifier
from xsdc.core.labelling import Candidate, Labelling
from xsdc.core.objective import decompose
from xsdc.fitting.calibration import calibrate
from xsdc.fitting.choices import Choices
from xsdc.fitting.ensemble import LeftOut
from xsdc.fitting.everyone import Bounds, LabelEveryone
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.labels import LabelClassifier, label_by_labels
from xsdc.fitting.landmarks import MOST_LANDMARKS
from xsdc.networks.rows import Rows

Ints = npt.NDArray[np.int64]
MOST_FITTED, MOST_NUMBERS = 100_000, 1 << 24  # points that the classifier is fitted to, and numbers of their features


@dataclass(frozen=True)
class Outcome:
    """What was found for the points.

    Attributes
    ----------
    knowledge : Knowledge
        As given, with the number of classes settled.
    codes : array of int64, shape (n,)
        Class of each point.
    classifier : Classifier or LabelClassifier
        For new points: of learned features where classes are groups, of inputs where every class has labels.
    eigenvalues : Tensor
        Leading eigenvalues of the normalised M of the groups; none where labels tell the classes.
    violated : int
        Cannot-linked pairs of groups that share a class.
    way : Candidate or None
        How the groups were found, None where none were.
    left_out : LeftOut or None
        What the classifier says of labeled points without their labels; None of groups.
    """

    knowledge: Knowledge
    codes: Ints
    classifier: Classifier | LabelClassifier
    eigenvalues: Tensor
    violated: int
    way: Candidate | None
    left_out: LeftOut | None


@dataclass(frozen=True)
class End:
    """How labels and a classifier are found on trained features.

    Attributes
    ----------
    ridge : float or "auto"
        lambda, of the cost and of the classifier.
    entropy : float or "median"
        nu.
    bounds : Bounds
        Bounds on sizes.
    n_landmarks : int
        Points that are labeled by the matrix of all their pairs.
    way : Candidate, optional
        The only way to be tried; by default several are, and the best is kept.
    """

    ridge: float | Literal["auto"]
    entropy: float | Literal["median"]
    bounds: Bounds
    n_landmarks: int = MOST_LANDMARKS
    way: Candidate | None = None

    def label(
        self,
        Phi: Tensor | Rows,
        knowledge: Knowledge,
        *,
        landmarks: Ints,
        choices: Choices,
        rng: np.random.RandomState,
    ) -> tuple[Knowledge, Labelling]:
        """Group all points by normalised features (n, D), under what is known of them."""
        everyone = LabelEveryone(
            Phi,
            landmarks=landmarks,
            ridge=self.ridge,
            entropy=self.entropy,
            bounds=self.bounds,
            way=self.way,
            choices=choices,
            rng=rng,
        )
        return everyone.label(knowledge)

    def from_groups(
        self,
        Phi: Tensor | Rows,
        knowledge: Knowledge,
        labelling: Labelling,
        *,
        choices: Choices,
        rng: np.random.RandomState,
    ) -> Outcome:
        """Fit a classifier to the groups of all points and calibrate it."""
        k, lam, codes = len(knowledge.names), None if self.ridge == "auto" else self.ridge, labelling.codes
        sample = np.sort(rng.permutation(len(codes))[: min(MOST_FITTED, MOST_NUMBERS // Phi[:1].shape[1])])
        spectrum = decompose(Phi[torch.from_numpy(sample)])
        classifier = fit_classifier(spectrum, torch.from_numpy(codes[sample]), n_classes=k, lam=lam)
        if lam is None:
            choices.note("ridge of the classifier", classifier.lam, "least squared error on points left out")
        classifier = calibrate(classifier, Phi, knowledge, codes=codes, choices=choices, rng=rng)
        way = labelling.candidate if len(labelling.eigenvalues) else None
        violated = self._unmet(knowledge, codes)
        return Outcome(knowledge, codes, classifier, labelling.eigenvalues, violated, way, None)

    def from_labels(
        self,
        data: Tensor | Rows,
        Phi: Tensor | Rows,
        knowledge: Knowledge,
        *,
        choices: Choices,
        rng: np.random.RandomState,
    ) -> Outcome:
        """Fit a classifier to labels of every class, and label all points by it."""
        codes, classifier, left_out = label_by_labels(
            data, Phi, knowledge, sizes=self._counts(knowledge), choices=choices, rng=rng
        )
        violated = self._unmet(knowledge, codes)
        return Outcome(knowledge, codes, classifier, torch.empty(0), violated, None, left_out)

    def _counts(self, knowledge: Knowledge) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None:
        """How many points each class may have, where the user has said so."""
        bounds = self.bounds.for_classes(len(knowledge.names))
        return bounds.counts(knowledge.constraints, np.arange(knowledge.n))

    def _unmet(self, knowledge: Knowledge, codes: Ints) -> int:
        """Count cannot-links that are not met, and tell of them and of sizes."""
        violated, sizes = violated_links(codes, knowledge.constraints), self._counts(knowledge)
        outside = 0 if sizes is None else outside_sizes(codes, sizes)
        _warn_of_unmet(violated, outside, n=len(codes), k=len(knowledge.names))
        return violated


def _warn_of_unmet(violated: int, outside: int, *, n: int, k: int) -> None:
    """Tell of links and bounds that the labels do not meet."""
    if violated:
        warnings.warn(f"{violated} cannot-links could not be met with {k} classes.", UserWarning, stacklevel=6)
    if outside:
        warnings.warn(
            f"The bounds on sizes are not quite met: {outside} of {n} points would have to change class, which what is"
            " known of them hardly allows.",
            UserWarning,
            stacklevel=6,
        )
