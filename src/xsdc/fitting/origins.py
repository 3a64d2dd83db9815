"""Where points without a label get their classes from: groups among the features, or the labels alone.

Groups are what the method is about, and where classes are groups they know far more than a few labels do. Where classes
are none, such as two halves of a cloud, groups are about something else, and a classifier of the labels alone is right
more often. Labels that are hidden tell which it is, and how clear the groups are tells what to expect: few labels leave
much to chance, and those of the first rows, say, are more alike than all points are.

The rule and its constants were settled by accuracy on the test points of `benchmarks.origins`, and on digits whose
first rows alone have labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.assignment import assign
from xsdc.core.classifier import fit_sharpness
from xsdc.core.constraints import Constraints
from xsdc.core.judging import Judge
from xsdc.core.labelling import Labelling, label_points
from xsdc.core.objective import decompose
from xsdc.errors import InvalidInputError
from xsdc.fitting.choices import Choices
from xsdc.fitting.hidden import Blind, Hidden, Label, label_blindly
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.others import Rule, by_classifier, by_neighbour
from xsdc.networks.rows import Rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Counts = Callable[[Constraints, Ints], tuple[Floats, Floats] | None]
ORIGINS = ("groups", "classifier", "nearest")
VAGUE, CLEAR = 0.3, 0.7  # merits of a grouping, as shares of the largest that its sizes allow
SURELY = 2.0  # standard errors by which what is not expected must be better
MOST_LABELED, LEAST_OF_CLASS = 5000, 10  # labeled points that others are compared with


@dataclass(frozen=True)
class Origin:
    """One of them.

    Attributes
    ----------
    name : str
        Which.
    label : callable
        From what is known, and positions of points, to their classes.
    rule : callable or None
        From what is known to a rule for all points; None for groups, which are found already.
    """

    name: str
    label: Label
    rule: Callable[[Knowledge], Rule] | None = None


def from_groups(
    Phi: Tensor | Rows,
    labelling: Labelling,
    *,
    k: int,
    entropy: float | Literal["median"],
    counts: Counts,
    rng: np.random.RandomState,
) -> Origin:
    """Take classes from groups, found again as they were found among all points.

    ``counts`` tells from what is known and positions of points how many of them each class may have.
    """

    def label(knowledge: Knowledge, points: Ints) -> Ints:
        spectrum = decompose(Phi[torch.from_numpy(points)])
        found = label_points(
            spectrum,
            knowledge.constraints.restricted(points),
            n_clusters=k,
            candidate=labelling.candidate,
            judge=Judge(spectrum, labelling.candidate.lam),
            nu=entropy,
            sizes=counts(knowledge.constraints, points),
            rng=rng,
        )
        return found.codes

    return Origin("groups", label)


def from_labels(name: str, Phi: Tensor | Rows, *, k: int, lam: float | None, counts: Counts) -> Origin:
    """Take classes from labeled points alone: from a classifier of them, or each from the nearest one."""

    def rule(knowledge: Knowledge) -> Rule:
        classes = knowledge.constraints.classes
        labeled = _some(np.flatnonzero(classes >= 0), classes)
        shown, codes = Phi[torch.from_numpy(labeled)], classes[labeled]
        if name == "classifier":
            return by_classifier(shown, codes, k, lam=lam)
        return by_neighbour(shown, codes, k, name="nearest labeled point", embed=lambda features: features)

    def label(knowledge: Knowledge, points: Ints) -> Ints:
        scores = rule(knowledge).scores(Phi[torch.from_numpy(points)])
        return assign(scores, knowledge.constraints.restricted(points), sizes=counts(knowledge.constraints, points))

    return Origin(name, label, rule)


def _some(labeled: Ints, classes: Ints) -> Ints:
    """Thin out labeled points evenly, where they are many; some of each class stay."""
    if len(labeled) <= MOST_LABELED:
        return labeled
    even = labeled[np.linspace(0, len(labeled) - 1, MOST_LABELED).round().astype(np.int64)]
    of_class = classes[labeled]
    return np.unique(np.concatenate([even, *(labeled[of_class == c][:LEAST_OF_CLASS] for c in np.unique(of_class))]))


def check_origin(name: str, knowledge: Knowledge) -> None:
    """Refuse to take all classes from labels where some class has none."""
    missing = unlabeled_class(knowledge)
    if name not in ("auto", "groups") and missing is not None:
        raise InvalidInputError(
            f'labels_by="{name}" needs labels of every class; {missing} has none. Give some, or let groups stand for'
            ' classes: labels_by="groups".'
        )


def unlabeled_class(knowledge: Knowledge) -> str | None:
    """Name a class that no label shows, if there is one."""
    unseen = np.setdiff1d(np.arange(knowledge.n_clusters or 1), knowledge.constraints.classes)
    if not len(unseen):
        return None
    return str(knowledge.names[unseen[0]]) if len(knowledge.names) else "the first"


def choose_origin(
    asked: str,
    groups: Origin,
    Phi: Tensor | Rows,
    knowledge: Knowledge,
    *,
    labelling: Labelling,
    hidden: Hidden | None,
    lam: float | None,
    counts: Counts,
    choices: Choices,
    rng: np.random.RandomState,
) -> tuple[Origin, list[Blind]]:
    """Choose where classes come from by how likely it makes hidden labels; groups where none can be hidden.

    Clear groups are expected to be the classes, and a classifier to be better where they are vague: two standard errors
    must speak against it. In between anything decides. Where no way tells more of the hidden labels than to call all by
    the most frequent one, as may be with a rare class, what groups and the classifier call the hidden points
    themselves decides.

    Parameters
    ----------
    asked : {"auto", "groups", "classifier", "nearest"}
        What the user wants.
    groups : Origin
        The first to be tried.
    Phi : Tensor of shape (n, D), or Rows
        Features of all points.
    knowledge : Knowledge
        What is known of them.
    labelling : Labelling
        The groups.
    hidden : Hidden or None
        Labels to hide, if there are enough.
    lam : float or None
        Ridge of classifiers, chosen for each where None.
    counts : callable
        From what is known and positions of points to how many of them each class may have.
    choices : Choices
        Where the choice is written down.
    rng : RandomState
        Source of randomness.

    Returns
    -------
    Origin
        The one chosen.
    list of Blind
        What it made of points without the labels of each fold; none where no label was hidden.
    """
    k = len(knowledge.names)
    why_not = _why_no_choice(asked, knowledge, hidden)
    names = ORIGINS if why_not is None else ("groups",) if asked == "auto" or k == 1 else (asked,)
    origins = [groups if name == "groups" else from_labels(name, Phi, k=k, lam=lam, counts=counts) for name in names]
    found: list[list[Blind]] = [[] for _ in names]
    if hidden is not None:
        found = label_blindly([origin.label for origin in origins], knowledge, hidden, rng)
    if why_not is not None or hidden is None:
        if (knowledge.constraints.classes >= 0).any():
            choices.note("labels_by", names[0], str(why_not))
        return origins[0], found[0]
    truth = torch.from_numpy(knowledge.codes[hidden.points])
    scores = [torch.cat([each.scores(Phi, k, lam) for each in blind]) for blind in found]
    shares = [float((each.argmax(1) == truth).double().mean()) for each in scores]
    told = f"found again of {hidden.why}: "
    told += ", ".join(f"{name} {share:.2f}" for name, share in zip(names, shares, strict=True))
    if max(shares) <= float(torch.bincount(truth).max()) / len(truth):
        own = [np.concatenate([each.found for each in blind]) for blind in found[:2]]
        right = [float((each == truth.numpy()).mean()) for each in own]
        best = int(right[1] > right[0])
        told += f", no more than the most frequent class has; by their own labels {right[0]:.2f} and {right[1]:.2f}"
    else:
        clarity = labelling.clarity
        best = _best(clarity, [_log_likelihood(each, truth) for each in scores])
        kind = "clear" if clarity > CLEAR else "vague" if clarity < VAGUE else "neither clear nor vague"
        told += f"; groups are {kind} ({clarity:.2f})"
    choices.note("labels_by", names[best], told)
    return origins[best], found[best]


def _why_no_choice(asked: str, knowledge: Knowledge, hidden: Hidden | None) -> str | None:
    """Say why there is nothing to choose; None where there is."""
    if len(knowledge.names) == 1 or not (knowledge.constraints.classes < 0).any():
        return "every class is known"
    if asked != "auto":
        return "as asked"
    missing = unlabeled_class(knowledge)
    if missing is not None:
        return f"no label shows the class {missing}"
    return "too few labels to hide any" if hidden is None else None


def _best(clarity: float, likelihoods: list[Floats]) -> int:
    """Choose by log likelihoods of hidden labels under groups, classifier and nearest."""
    expected = 1 if clarity < VAGUE else 0
    needed = 0.0 if VAGUE <= clarity <= CLEAR else SURELY
    rival = max((i for i in range(len(likelihoods)) if i != expected), key=lambda i: likelihoods[i].sum())
    ahead = likelihoods[rival] - likelihoods[expected]
    return rival if ahead.sum() > needed * ahead.std() * math.sqrt(len(ahead)) else expected


def _log_likelihood(scores: Tensor, truth: Tensor) -> Floats:
    """Log likelihood of each label under probabilities as sharp as fits them all best."""
    log_p = torch.log_softmax(fit_sharpness(scores, truth) * scores, dim=1)
    return log_p.gather(1, truth[:, None])[:, 0].numpy()
