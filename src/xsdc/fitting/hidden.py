"""Labels that are hidden, to see how well they are found again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.classifier import fit_classifier
from xsdc.core.objective import decompose
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.landmarks import choose_landmarks
from xsdc.networks.rows import Rows

Ints = npt.NDArray[np.int64]
Label = Callable[[Knowledge, Ints], Ints]
MOST_POINTS = 2000
ENOUGH = 20  # labels
FOLDS = 5


@dataclass(frozen=True)
class Hidden:
    """Labels to hide, some at a time.

    Attributes
    ----------
    folds : list of arrays of int64
        Positions of the points whose labels are hidden together.
    why : str
        Which they are.
    how : str
        From what they are hidden.
    """

    folds: list[Ints]
    why: str
    how: str

    @property
    def points(self) -> Ints:
        """Positions of all of them."""
        return np.concatenate(self.folds)


@dataclass(frozen=True)
class Blind:
    """Classes that points were given without the labels of some others.

    Attributes
    ----------
    hidden : array of int64
        Positions of the others.
    points : array of int64, shape (m,)
        Positions of points that stand for all.
    codes : array of int64, shape (m,)
        Their classes.
    found : array of int64
        Classes that the others were given; -1 where none was, since all but they have labels.
    """

    hidden: Ints
    points: Ints
    codes: Ints
    found: Ints

    def scores(self, Phi: Tensor | Rows, k: int, lam: float | None) -> Tensor:
        """Score the hidden ones by a classifier of the points; its ridge is chosen where none is given."""
        spectrum = decompose(Phi[torch.from_numpy(self.points)])
        classifier = fit_classifier(spectrum, torch.from_numpy(self.codes), n_classes=k, lam=lam)
        return classifier.scores(Phi[torch.from_numpy(self.hidden)]).cpu()


def stand_ins(knowledge: Knowledge, rng: np.random.RandomState) -> Ints:
    """Choose points that stand for all where a classifier is tried."""
    return choose_landmarks(knowledge, rng, most=MOST_POINTS)


def hide_labels(knowledge: Knowledge, held_out: Ints, rng: np.random.RandomState) -> Hidden | None:
    """Choose labels to hide: those that training did not see, or else a fifth of all at a time; None of too few."""
    given = np.flatnonzero(knowledge.codes >= 0)
    if max(len(held_out), len(given)) < ENOUGH:
        return None
    if len(held_out) >= ENOUGH:
        if len(held_out) > MOST_POINTS:
            held_out = np.sort(rng.permutation(held_out)[:MOST_POINTS])
        return Hidden([held_out], f"{len(held_out)} labels held out of training", "held out of training")
    given = rng.permutation(given)[: MOST_POINTS // 2]
    given = given[np.argsort(knowledge.codes[given], kind="stable")]  # dealt out class by class, to all folds alike
    return Hidden(
        [given[first::FOLDS] for first in range(FOLDS)],
        f"{len(given)} labels, hidden a fifth at a time",
        "hidden a fifth at a time from labelling and classifier, though not from training",
    )


def label_blindly(
    ways: list[Label], knowledge: Knowledge, hidden: Hidden, rng: np.random.RandomState
) -> list[list[Blind]]:
    """Give points that stand for all their classes in several ways, without the labels of each fold.

    Parameters
    ----------
    ways : list of callables
        From what is known, and positions of points, to their classes.
    knowledge : Knowledge
        What is known.
    hidden : Hidden
        Labels to hide.
    rng : RandomState
        Source of randomness.

    Returns
    -------
    list of lists of Blind
        For each way, one for each fold.
    """
    found: list[list[Blind]] = [[] for _ in ways]
    for fold in hidden.folds:
        blind = knowledge.hiding(fold)
        points = np.setdiff1d(stand_ins(blind, rng), fold)
        codes = blind.constraints.classes[points]
        for way, so_far in zip(ways, found, strict=True):
            if (codes < 0).any():
                given = way(blind, np.concatenate([points, fold]))
                so_far.append(Blind(fold, points, given[: len(points)], given[len(points) :]))
            else:  # nobody but the hidden ones needs a class
                so_far.append(Blind(fold, points, codes, np.full(len(fold), -1)))
    return found
