"""What a trial is scored by: labels held out of it or, without labels, how well its groups stand on their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from xsdc import validation as checks
from xsdc.errors import InvalidInputError
from xsdc.estimator import XSDC
from xsdc.tuning.label_free import LabelFree
from xsdc.tuning.problem import Problem, digest

Ints = npt.NDArray[np.int64]
ENOUGH_LABELS = 50  # for "auto" to trust labels held out
ENOUGH_HELD_OUT = 100  # for one split to do
FOLDS = 4


class Criterion(Protocol):
    """Scores options, the higher the better."""

    @property
    def name(self) -> str:
        """Its name."""

    def describe(self) -> str:
        """Say all that a score depends on besides data and options."""

    def score(self, problem: Problem, estimator: XSDC, options: Mapping[str, Any], *, seed: int) -> float:
        """Fit with the options and score."""


@dataclass(frozen=True)
class HeldOut:
    """Accuracy on labels that the fit does not see; the mean where there are several parts."""

    parts: tuple[Ints, ...]
    name: str = "validation"

    def describe(self) -> str:
        """Name the rows."""
        return f"validation on {[part.tolist() for part in self.parts]}"

    def score(self, problem: Problem, estimator: XSDC, options: Mapping[str, Any], *, seed: int) -> float:
        """Fit once for each part."""
        right = 0
        for part in self.parts:
            model = problem.fit(estimator, options, seed=seed, hide=part)
            right += int((model.predict(problem.rows(part)) == problem.labels(part)).sum())
        return right / sum(len(part) for part in self.parts)


@dataclass(frozen=True)
class SetAside:
    """Accuracy on points of their own."""

    X: Any
    y: Any
    name: str = "validation"

    def describe(self) -> str:
        """Mark the points."""
        return f"validation on other points, {digest(self.X, repr(np.asarray(self.y).tolist()))}"

    def score(self, problem: Problem, estimator: XSDC, options: Mapping[str, Any], *, seed: int) -> float:
        """Fit with all labels."""
        return problem.fit(estimator, options, seed=seed).score(self.X, self.y)


def choose_criterion(criterion: str, validation: Any, problem: Problem, *, seed: int) -> Criterion:
    """Read what to score by.

    Parameters
    ----------
    criterion : {"auto", "validation", "label-free"}
        "auto" holds labels out where there are 50 or more, and two of each class.
    validation : "auto", float, int or (X, y)
        Share of the labels to hold out, number of folds, or points set aside.
    problem : Problem
        Data and labels.
    seed : int
        Decides which labels are held out.
    """
    if criterion not in ("auto", "validation", "label-free"):
        raise InvalidInputError(f'criterion must be "auto", "validation" or "label-free"; it is {criterion!r}.')
    pair = isinstance(validation, tuple | list)
    if criterion == "auto":
        counts = np.bincount(problem.knowledge.codes[problem.knowledge.codes >= 0], minlength=1)
        enough = problem.n_labels >= ENOUGH_LABELS and counts[counts > 0].min() >= 2
        criterion = "validation" if pair or enough else "label-free"
    if criterion == "label-free":
        if not (isinstance(validation, str) and validation == "auto"):
            raise InvalidInputError(
                'Labels to hold out were asked for, but the criterion is "label-free" (as it is by itself with fewer'
                f" than {ENOUGH_LABELS} labels), which uses none. Leave them out, or set the criterion to validation."
            )
        return _label_free(problem, seed)
    if pair:
        return _set_aside(validation)
    return HeldOut(hold_out(problem.knowledge.codes, validation, rng=np.random.RandomState(seed)))


def hold_out(codes: Ints, validation: Any, *, rng: np.random.RandomState) -> tuple[Ints, ...]:
    """Choose rows whose labels are hidden, as a share of each class or in folds; a class always keeps one."""
    counts = np.bincount(codes[codes >= 0], minlength=1)
    if counts.max() < 2:
        raise InvalidInputError(
            f"validation needs two labels of a class or more, one to fit and one to score by; there are {counts.sum()}"
            ' labels, no class has two. Give more, a pair (X, y) as validation, or criterion="label-free".'
        )
    folds, share = _read_share(validation, int(counts.sum()))
    part, dealt = np.full(len(codes), -1), 0
    for c in np.flatnonzero(counts >= 2):
        members = rng.permutation(np.flatnonzero(codes == c))
        if folds:
            part[members] = (dealt + np.arange(len(members))) % folds
            dealt += len(members)
        else:
            part[members[: int(np.clip(round(share * len(members)), 1, len(members) - 1))]] = 0
    return tuple(np.flatnonzero(part == number) for number in range(part.max() + 1))


def _read_share(validation: Any, n_labels: int) -> tuple[int, float]:
    """Read a number of folds, or 0 and a share of the labels."""
    if isinstance(validation, str) and validation == "auto":
        return (0, 0.25) if n_labels >= 4 * ENOUGH_HELD_OUT else (FOLDS, 0.0)
    if isinstance(validation, int) and not isinstance(validation, bool):
        return checks.as_count(validation, name="validation, as a number of folds,", minimum=2), 0.0
    share = checks.as_positive(validation, name="validation")
    if share >= 1:
        raise InvalidInputError(
            f"validation must be a share of the labels below 1, or a whole number of folds; it is {validation!r}."
        )
    return 0, share


def _label_free(problem: Problem, seed: int) -> LabelFree:
    if problem.knowledge.n_clusters is None:
        raise InvalidInputError(
            "Without labels, groupings can be compared where they have the same number of groups. Set n_clusters."
        )
    return LabelFree.of(problem, seed=seed)


def _set_aside(validation: Any) -> SetAside:
    if len(validation) != 2:
        raise InvalidInputError(f"validation must be a pair (X, y), a share or a number; it holds {len(validation)}.")
    X, y = validation
    if checks.is_unknown(checks.as_labels(y, n=len(X))).all():
        raise InvalidInputError("validation holds no label. Give the labels of its points.")
    return SetAside(X, y)
