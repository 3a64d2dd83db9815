"""Probabilities that mean what they say: how sharp they are is fitted to labels that the classifier has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.classifier import Classifier, fit_classifier
from xsdc.core.judging import Judge, indicators
from xsdc.core.labelling import Labelling, label_points
from xsdc.core.objective import decompose
from xsdc.fitting.choices import Choices
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.landmarks import choose_landmarks
from xsdc.networks.rows import Rows

Ints = npt.NDArray[np.int64]
MOST_POINTS = 2000
ENOUGH = 20  # labels
FOLDS = 5


@dataclass(frozen=True)
class Checked:
    """What a classifier says of labeled points whose labels it has not seen: a look at how often it is right.

    Attributes
    ----------
    points : array of int64, shape (m,)
        Positions of the points.
    probabilities : array, shape (m, k)
        Probability of each class.
    how : str
        From what the labels were hidden.
    """

    points: Ints
    probabilities: npt.NDArray[np.float64]
    how: str


def calibrate(
    classifier: Classifier,
    Phi: Tensor | Rows,
    knowledge: Knowledge,
    labelling: Labelling,
    *,
    held_out: Ints,
    entropy: float | Literal["median"],
    choices: Choices,
    rng: np.random.RandomState,
) -> tuple[Classifier, Checked | None]:
    """Choose the sharpness of a classifier's probabilities; where labels could be hidden, say what it made of them.

    Labels that training did not see tell most honestly. Otherwise, with enough labels, a fifth of them at a time is
    hidden from the labelling and the classifier, though not from the features. With fewer, the classes found
    must do, each point left out of its own prediction.

    Parameters
    ----------
    classifier : Classifier
        To be calibrated.
    Phi : Tensor of shape (n, D), or Rows
        Features of all points.
    knowledge : Knowledge
        What is known of them.
    labelling : Labelling
        Classes found for them.
    held_out : array of int
        Points whose labels training did not see.
    entropy : float or "median"
        nu of the labelling.
    choices : Choices
        Where the choice is written down.
    rng : RandomState
        Source of randomness.
    """
    given = np.flatnonzero(knowledge.codes >= 0)
    if max(len(held_out), len(given)) < ENOUGH:
        points = choose_landmarks(knowledge, rng, most=MOST_POINTS)
        truth = labelling.codes[points]
        judge = Judge(decompose(Phi[torch.from_numpy(points)]), classifier.lam)
        scores = torch.from_numpy(judge.scores(indicators(truth, len(classifier.b))))
        why, how = "too few labels to hide any: the classes found, each point left out of its own prediction", None
    else:
        if len(held_out) >= ENOUGH:
            if len(held_out) > MOST_POINTS:
                held_out = np.sort(rng.permutation(held_out)[:MOST_POINTS])
            folds, why, how = [held_out], f"{len(held_out)} labels held out of training", "held out of training"
        else:
            given = rng.permutation(given)[: MOST_POINTS // 2]
            folds, why = np.array_split(given, FOLDS), f"{len(given)} labels, hidden a fifth at a time"
            how = "hidden a fifth at a time from labelling and classifier, though not from training"
        points = np.concatenate(folds)
        truth = knowledge.codes[points]
        scores = torch.cat(
            [_blind_scores(fold, classifier, Phi, knowledge, labelling, entropy=entropy, rng=rng) for fold in folds]
        )
    scores = scores.cpu()
    calibrated = classifier.calibrated(scores, torch.from_numpy(truth))
    choices.note("sharpness of probabilities", calibrated.sharpness, f"most likely for {why}")
    if how is None:
        return calibrated, None
    return calibrated, Checked(points, calibrated.probabilities(scores).numpy(), how)


def _blind_scores(
    hidden: Ints,
    classifier: Classifier,
    Phi: Tensor | Rows,
    knowledge: Knowledge,
    labelling: Labelling,
    *,
    entropy: float | Literal["median"],
    rng: np.random.RandomState,
) -> Tensor:
    """Scores of some labeled points by a classifier made without their labels, on the same features."""
    blind = knowledge.hiding(hidden)
    others = np.setdiff1d(choose_landmarks(blind, rng, most=MOST_POINTS), hidden)
    codes = knowledge.constraints.classes[others]
    if (codes < 0).any():
        points = np.concatenate([others, hidden])
        spectrum = decompose(Phi[torch.from_numpy(points)])
        found = label_points(
            spectrum,
            blind.constraints.restricted(points),
            n_clusters=len(classifier.b),
            candidate=labelling.candidate,
            judge=Judge(spectrum, labelling.candidate.lam),
            nu=entropy,
            rng=rng,
        )
        codes = found.codes[: len(others)]
    spectrum = decompose(Phi[torch.from_numpy(others)])
    other = fit_classifier(spectrum, torch.from_numpy(codes), n_classes=len(classifier.b), lam=classifier.lam)
    return other.scores(Phi[torch.from_numpy(hidden)])
