"""How sure a classifier of groups is: its sharpness is fitted to the groups, each point left out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.classifier import Classifier
from xsdc.core.judging import Judge, indicators
from xsdc.core.objective import decompose
from xsdc.fitting.choices import Choices
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.landmarks import choose_landmarks
from xsdc.networks.rows import Rows

Ints = npt.NDArray[np.int64]
MOST_POINTS = 2000


def calibrate(
    classifier: Classifier,
    Phi: Tensor | Rows,
    knowledge: Knowledge,
    *,
    codes: Ints,
    choices: Choices,
    rng: np.random.RandomState,
) -> Classifier:
    """Choose the sharpness of a classifier's probabilities by the classes found for points that stand for all."""
    points = choose_landmarks(knowledge, rng, most=MOST_POINTS)
    judge = Judge(decompose(Phi[torch.from_numpy(points)]), classifier.lam)
    scores = torch.from_numpy(judge.scores(indicators(codes[points], len(classifier.b))))
    calibrated = classifier.calibrated(scores, torch.from_numpy(codes[points]))
    why = "most likely for the classes found, each point left out of its own prediction"
    choices.note("sharpness of probabilities", calibrated.sharpness, why)
    return calibrated
