"""Probabilities that mean what they say: how sharp they are is fitted to labels that the classifier has not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.classifier import Classifier
from xsdc.core.judging import Judge, indicators
from xsdc.core.objective import decompose
from xsdc.fitting.choices import Choices
from xsdc.fitting.hidden import Blind, Hidden, stand_ins
from xsdc.fitting.knowledge import Knowledge
from xsdc.networks.rows import Rows

Ints = npt.NDArray[np.int64]


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


def calibrate_blind(
    classifier: Classifier,
    Phi: Tensor | Rows,
    knowledge: Knowledge,
    *,
    hidden: Hidden,
    blind: list[Blind],
    choices: Choices,
) -> tuple[Classifier, Checked]:
    """Choose the sharpness of a classifier's probabilities by hidden labels, and say what it made of them.

    Labels that training did not see tell most honestly. Otherwise a fifth of them at a time was hidden from the
    labelling and is hidden from the classifier, though not from the features.

    Parameters
    ----------
    classifier : Classifier
        To be calibrated.
    Phi : Tensor of shape (n, D), or Rows
        Features of all points.
    knowledge : Knowledge
        What is known of them.
    hidden : Hidden
        Labels that are hidden.
    blind : list of Blind
        Points that were labeled without them.
    choices : Choices
        Where the choice is written down.
    """
    scores = torch.cat([each.scores(Phi, len(classifier.b), classifier.lam) for each in blind])
    calibrated = _calibrated(classifier, scores, knowledge.codes[hidden.points], hidden.why, choices)
    return calibrated, Checked(hidden.points, calibrated.probabilities(scores).numpy(), hidden.how)


def calibrate_alone(
    classifier: Classifier,
    Phi: Tensor | Rows,
    knowledge: Knowledge,
    *,
    codes: Ints,
    choices: Choices,
    rng: np.random.RandomState,
) -> Classifier:
    """Choose the sharpness without labels to hide: the classes found must do."""
    points = stand_ins(knowledge, rng)
    judge = Judge(decompose(Phi[torch.from_numpy(points)]), classifier.lam)
    scores = torch.from_numpy(judge.scores(indicators(codes[points], len(classifier.b))))
    why = "too few labels to hide any: the classes found, each point left out of its own prediction"
    return _calibrated(classifier, scores, codes[points], why, choices)


def _calibrated(classifier: Classifier, scores: Tensor, truth: Ints, why: str, choices: Choices) -> Classifier:
    calibrated = classifier.calibrated(scores, torch.from_numpy(truth))
    choices.note("sharpness of probabilities", calibrated.sharpness, f"most likely for {why}")
    return calibrated
