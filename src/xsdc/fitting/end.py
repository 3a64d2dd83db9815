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
from xsdc.fitting.calibration import Checked, calibrate_alone, calibrate_blind
from xsdc.fitting.choices import Choices
from xsdc.fitting.everyone import Bounds, LabelEveryone
from xsdc.fitting.hidden import hide_labels
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.landmarks import MOST_LANDMARKS
from xsdc.fitting.origins import choose_origin, from_groups
from xsdc.fitting.others import label_by_rule
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
    classifier : Classifier
        For new points.
    eigenvalues : Tensor
        Leading eigenvalues of the normalised M; none where every point was labeled.
    violated : int
        Cannot-linked pairs of groups that share a class.
    candidate : Candidate
        How the groups were found.
    checked : Checked or None
        What the classifier says of labels that it has not seen, where some could be hidden.
    """

    knowledge: Knowledge
    codes: Ints
    classifier: Classifier
    eigenvalues: Tensor
    violated: int
    candidate: Candidate
    checked: Checked | None

    @property
    def way(self) -> Candidate | None:
        """How the groups were found; None where all classes were given, so that no way was tried."""
        return self.candidate if len(self.eigenvalues) else None


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
    labels_by : {"auto", "groups", "classifier", "nearest"}
        Where points without a label get theirs from.
    n_landmarks : int
        Points that are labeled by the matrix of all their pairs.
    way : Candidate, optional
        The only way to be tried; by default several are, and the best is kept.
    """

    ridge: float | Literal["auto"]
    entropy: float | Literal["median"]
    bounds: Bounds
    labels_by: str = "auto"
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

    def classify(
        self,
        Phi: Tensor | Rows,
        knowledge: Knowledge,
        labelling: Labelling,
        *,
        held_out: Ints,
        choices: Choices,
        rng: np.random.RandomState,
    ) -> Outcome:
        """Settle the labels of all points, fit a classifier to them and calibrate it."""
        k, lam = len(knowledge.names), None if self.ridge == "auto" else self.ridge
        counts = self.bounds.for_classes(k).counts
        hidden = hide_labels(knowledge, held_out, rng)
        origin, blind = choose_origin(
            self.labels_by,
            from_groups(Phi, labelling, k=k, entropy=self.entropy, counts=counts, rng=rng),
            Phi,
            knowledge,
            labelling=labelling,
            hidden=hidden,
            lam=lam,
            counts=counts,
            choices=choices,
            rng=rng,
        )
        codes, constraints = labelling.codes, knowledge.constraints
        sizes = counts(constraints, np.arange(knowledge.n))
        if origin.rule is not None and (constraints.classes < 0).any():
            codes = label_by_rule(origin.rule(knowledge), Phi, constraints.classes, constraints, k=k, counts=sizes)
        sample = np.sort(rng.permutation(len(codes))[: min(MOST_FITTED, MOST_NUMBERS // Phi[:1].shape[1])])
        spectrum = decompose(Phi[torch.from_numpy(sample)])
        classifier = fit_classifier(spectrum, torch.from_numpy(codes[sample]), n_classes=k, lam=lam)
        if lam is None:
            choices.note("ridge of the classifier", classifier.lam, "least squared error on points left out")
        checked = None
        if hidden is None:
            classifier = calibrate_alone(classifier, Phi, knowledge, codes=codes, choices=choices, rng=rng)
        else:
            classifier, checked = calibrate_blind(
                classifier, Phi, knowledge, hidden=hidden, blind=blind, choices=choices
            )
        violated = violated_links(codes, constraints)
        _warn_of_unmet(violated, 0 if sizes is None else outside_sizes(codes, sizes), n=len(codes), k=k)
        return Outcome(knowledge, codes, classifier, labelling.eigenvalues, violated, labelling.candidate, checked)


def _warn_of_unmet(violated: int, outside: int, *, n: int, k: int) -> None:
    """Tell of links and bounds that the labels do not meet."""
    if violated:
        warnings.warn(f"{violated} cannot-links could not be met with {k} classes.", UserWarning, stacklevel=5)
    if outside:
        warnings.warn(
            f"The bounds on sizes are not quite met: {outside} of {n} points would have to change class, which what is"
            " known of them hardly allows.",
            UserWarning,
            stacklevel=5,
        )
