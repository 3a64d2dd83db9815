"""One fit from beginning to end: choose, train, label, classify."""

from __future__ import annotations

import copy
import sys
import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from sklearn.model_selection import train_test_split
from torch import Tensor

from xsdc.core.assignment import violated_links
from xsdc.core.classifier import Classifier, fit_classifier
from xsdc.core.feasibility import check_feasible
from xsdc.core.labelling import Labelling
from xsdc.core.objective import decompose
from xsdc.core.rounding import nearest_labels
from xsdc.core.sizes import ClassSizes
from xsdc.errors import InvalidInputError
from xsdc.fitting.automatic import (
    ENOUGH_TO_HOLD_OUT,
    choose_plan,
    choose_sizes,
    training_dimension,
)
from xsdc.fitting.calibration import calibrate
from xsdc.fitting.choices import Choices
from xsdc.fitting.everyone import Bounds, LabelEveryone, make_judge
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.landmarks import choose_landmarks
from xsdc.fitting.settings import Settings, read_sizes
from xsdc.networks import Network, normalize_features
from xsdc.training import Batches, Callback, Progress, Trainer

Ints = npt.NDArray[np.int64]
Auto = Literal["auto"]
MOST_FITTED = 100_000  # points that the classifier is fitted to
SAMPLE = 2048  # points by which the ridge is chosen
SCORED = 5000  # points that take part in a score
HELD_OUT = 0.2
CLEARLY = 0.1  # of a margin; the first features are partial to the groups that they themselves have led to


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
    """

    knowledge: Knowledge
    codes: Ints
    classifier: Classifier
    eigenvalues: Tensor
    violated: int


@dataclass(frozen=True)
class End:
    """The end of a fit: labels for everyone, a classifier, its calibration.

    Attributes
    ----------
    ridge : float or "auto"
        lambda, of the cost and of the classifier.
    entropy : float or "median"
        nu.
    bounds : Bounds
        Bounds on sizes.
    """

    ridge: float | Auto
    entropy: float | Literal["median"]
    bounds: Bounds

    def label(
        self,
        Phi: Tensor,
        knowledge: Knowledge,
        *,
        landmarks: Ints,
        choices: Choices,
        rng: np.random.RandomState,
    ) -> tuple[Knowledge, Labelling]:
        """Label all points by normalised features (n, D)."""
        everyone = LabelEveryone(
            Phi,
            landmarks=landmarks,
            ridge=self.ridge,
            entropy=self.entropy,
            bounds=self.bounds,
            choices=choices,
            rng=rng,
        )
        return everyone.label(knowledge)

    def classify(
        self,
        Phi: Tensor,
        knowledge: Knowledge,
        labelling: Labelling,
        *,
        held_out: Ints,
        choices: Choices,
        rng: np.random.RandomState,
    ) -> Outcome:
        """Fit a classifier to the labels found, and calibrate it."""
        codes = labelling.codes
        sample = np.sort(rng.permutation(len(codes))[:MOST_FITTED])
        classifier = fit_classifier(
            decompose(Phi[torch.from_numpy(sample)]),
            torch.from_numpy(codes[sample]),
            n_classes=len(knowledge.names),
            lam=None if self.ridge == "auto" else self.ridge,
        )
        if self.ridge == "auto":
            choices.note("ridge of the classifier", classifier.lam, "least squared error on points left out")
        classifier = calibrate(
            classifier, Phi, knowledge, labelling, held_out=held_out, entropy=self.entropy, choices=choices, rng=rng
        )
        violated = violated_links(codes, knowledge.constraints)
        if violated:
            warnings.warn(
                f"{violated} cannot-links could not be met with {len(knowledge.names)} classes.",
                UserWarning,
                stacklevel=4,
            )
        return Outcome(knowledge, codes, classifier, labelling.eigenvalues, violated)


@dataclass(frozen=True)
class Fitted:
    """A fitted model without its manners.

    Attributes
    ----------
    network : Network
        Trained.
    norm : float
        What features are divided by.
    features : Tensor, shape (n, D)
        Normalised features of the data.
    outcome : Outcome
        Classes and classifier.
    end : End
        How they were found; reached again for another number of classes.
    steps : list of dict
        Account of the training.
    stopped : str
        Why training ended.
    best_iteration : int
        Step after which the network was kept.
    """

    network: Network
    norm: float
    features: Tensor
    outcome: Outcome
    end: End
    steps: list[dict[str, Any]]
    stopped: str
    best_iteration: int

    def relabeled(self, n_clusters: int, *, choices: Choices, rng: np.random.RandomState) -> Outcome:
        """Label anew with another number of classes, within the user's bounds where there are any."""
        knowledge = self.outcome.knowledge.with_clusters(n_clusters)
        end = self.end
        if end.bounds.given:
            end.bounds.ways[0].check(knowledge.constraints, n_classes=n_clusters, names=knowledge.names)
        else:
            end = replace(end, bounds=Bounds(choose_sizes(knowledge, None, choices)[1], given=False))
        landmarks = choose_landmarks(knowledge, rng)
        knowledge, labelling = end.label(self.features, knowledge, landmarks=landmarks, choices=choices, rng=rng)
        none = np.empty(0, dtype=np.int64)
        return end.classify(self.features, knowledge, labelling, held_out=none, choices=choices, rng=rng)


def fit_model(
    network: Network,
    data: Tensor,
    knowledge: Knowledge,
    settings: Settings,
    *,
    choices: Choices,
    validation: tuple[Tensor, Ints] | None = None,
    rng: np.random.RandomState,
    generator: torch.Generator,
) -> Fitted:
    """Train the network, label all points and make the classifier.

    Parameters
    ----------
    network : Network
        Trained in place.
    data : Tensor, shape (n, ...)
        Prepared data.
    knowledge : Knowledge
        What is known of it.
    settings : Settings
        Options.
    choices : Choices
        Where choices are written down.
    validation : pair of Tensor and array of int, optional
        Prepared data and codes of a validation set that the user gave.
    rng : RandomState
        Source of randomness for what scikit-learn does.
    generator : torch.Generator
        Source of randomness for training.
    """
    given = read_sizes(settings.cluster_size, knowledge.names.tolist(), knowledge.n_clusters)
    if given is not None:
        _refuse_impossible(given, knowledge, np.random.RandomState(0))
    training_sizes, bounds = choose_sizes(knowledge, given, choices)
    held_out = np.empty(0, dtype=np.int64)
    if validation is None:
        held_out = _hold_out(knowledge, settings, choices, rng)
    if len(held_out):
        validation = (data[torch.from_numpy(held_out)], knowledge.codes[held_out])
    trainer = _make_trainer(
        network,
        data,
        knowledge.hiding(held_out) if len(held_out) else knowledge,
        settings,
        points=np.setdiff1d(np.arange(knowledge.n), held_out),
        sizes=training_sizes,
        held=validation,
        choices=choices,
        rng=rng,
        generator=generator,
    )
    landmarks = choose_landmarks(knowledge, rng)
    first_state = copy.deepcopy(network.state_dict())
    trainer.run()
    end = End(settings.ridge, settings.entropy, Bounds(bounds, given=given is not None))
    labels = partial(end.label, landmarks=landmarks, rng=rng)
    Phi, norm = _normalised(network.features(data))
    notes = Choices()
    settled, labelling = labels(Phi, knowledge, choices=notes)
    kept = trainer.best_iteration if trainer.best_score is not None else trainer.iteration
    if kept and knowledge.n_clusters is not None and not (knowledge.constraints.classes >= 0).any():
        # No label says whether training has helped: the groups found with it must not be clearly worse than those
        # found without, both judged by the first features, which no grouping has shaped.
        last_state = copy.deepcopy(network.state_dict())
        network.load_state_dict(first_state)
        first_Phi, first_norm = _normalised(network.features(data))
        first_notes = Choices()
        _, first = labels(first_Phi, knowledge, choices=first_notes)
        judge = make_judge(decompose(first_Phi[torch.from_numpy(landmarks)]), knowledge.n_clusters)
        margin, first_margin = (judge.margin(found.codes[landmarks]) for found in (labelling, first))
        why = f"by the first features, groups found with it have margins of {margin:.3f}, without it {first_margin:.3f}"
        if first_margin > margin + CLEARLY:
            Phi, norm, labelling, notes, kept = first_Phi, first_norm, first, first_notes, 0
        else:
            network.load_state_dict(last_state)
        choices.note("training kept", kept > 0, why)
    choices.made += notes.made
    return Fitted(
        network=network,
        norm=norm,
        features=Phi,
        outcome=end.classify(Phi, settled, labelling, held_out=held_out, choices=choices, rng=rng),
        end=end,
        steps=trainer.history,
        stopped=_why_stopped(trainer),
        best_iteration=kept,
    )


def scaled_features(network: Network, data: Tensor, norm: float) -> Tensor:
    """Features of prepared data at the scale of the fit."""
    return normalize_features(network.features(data), norm=norm)[0]


def _refuse_impossible(sizes: ClassSizes, knowledge: Knowledge, rng: np.random.RandomState) -> None:
    """Raise before training where the bounds that the user gave cannot be met."""
    sizes.check(knowledge.constraints, n_classes=knowledge.n_clusters, names=knowledge.names)
    constraints = knowledge.constraints.restricted(choose_landmarks(knowledge, rng))
    known = constraints.entries()
    size = sizes.among(constraints, known)
    check_feasible(known, *(torch.as_tensor(x) * constraints.n for x in (size.minimum, size.maximum)), cap=None)


def _make_trainer(
    network: Network,
    data: Tensor,
    knowledge: Knowledge,
    settings: Settings,
    *,
    points: Ints,
    sizes: ClassSizes,
    held: tuple[Tensor, Ints] | None,
    choices: Choices,
    rng: np.random.RandomState,
    generator: torch.Generator,
) -> Trainer:
    plan = choose_plan(settings, network, knowledge, choices)
    classes = torch.from_numpy(knowledge.constraints.classes)
    seen = torch.from_numpy(points)
    sample = torch.from_numpy(rng.permutation(points)[:SAMPLE]).sort().values
    dimension = training_dimension(knowledge.n_clusters, len(sample), network.n_features)
    if settings.ridge == "auto" and plan.total:
        choices.note(
            "ridge in training",
            f"effective dimension {dimension:.3g}",
            "five directions per class, as far as points and features allow; chosen again every"
            f" {plan.rechoose_every} steps",
        )

    def choose_ridge(network: Network) -> float:
        if not isinstance(settings.ridge, str):
            return settings.ridge
        return decompose(_normalised(network.features(data[sample]))[0]).ridge_for_dimension(dimension)

    def score(network: Network, _lam: float) -> float:
        assert held is not None  # noqa: S101  a score is only taken where there is a validation set
        labeled = torch.from_numpy(np.flatnonzero(knowledge.codes >= 0))
        both = torch.unique(torch.cat([labeled[:SCORED], sample]))
        Phi, norm = _normalised(network.features(data[both]))
        seeds = torch.isin(both, labeled)
        given = torch.from_numpy(knowledge.codes)[both]
        codes = torch.where(seeds, given, nearest_labels(Phi, Phi[seeds], given[seeds]).cpu())
        classifier = fit_classifier(decompose(Phi), codes, n_classes=len(knowledge.names))
        predicted = classifier.scores(scaled_features(network, held[0], norm)).argmax(1).cpu().numpy()
        return float((predicted == held[1]).mean())

    return Trainer(
        network,
        data,
        constraints=knowledge.constraints,
        batches=Batches(
            seen[classes[seen] >= 0],
            seen[classes[seen] < 0],
            settings.labeled_batch_size,
            settings.batch_size,
            copies=settings.copies,
        ),
        plan=plan,
        labeler=settings.labeler,
        sizes=sizes,
        choose_ridge=choose_ridge,
        score=None if held is None else score,
        augment=settings.augment,
        callbacks=_callbacks(settings),
        generator=generator,
    )


def _hold_out(knowledge: Knowledge, settings: Settings, choices: Choices, rng: np.random.RandomState) -> Ints:
    """Choose labels that training does not see, to score it by."""
    share = settings.validation
    labeled = np.flatnonzero(knowledge.codes >= 0)
    counts = np.bincount(knowledge.codes[labeled], minlength=1)
    counts = counts[counts > 0]
    none = np.empty(0, dtype=np.int64)
    if share is None or isinstance(share, tuple):
        return none
    if share == "auto":
        if len(labeled) < ENOUGH_TO_HOLD_OUT or counts.min() < 10:
            if settings.patience is not None:
                raise InvalidInputError(
                    f"patience needs a validation set; {len(labeled)} labels are too few to hold some out unasked. Set"
                    " validation to a fraction of them, or to a pair (X, y)."
                )
            choices.note(
                "validation",
                None,
                f"fewer than {ENOUGH_TO_HOLD_OUT} labels or fewer than ten of a class: all of them train",
            )
            return none
        share = HELD_OUT
        choices.note("validation", share, f"{len(labeled)} labels suffice to hold some out of training")
    size = round(float(share) * len(labeled))
    if size < 1 or len(labeled) - size < max(2, len(counts)):
        raise InvalidInputError(
            f"validation={share} of {len(labeled)} labels leaves too few to train with or none to score by. Give a pair"
            " (X, y), or None."
        )
    stratify = knowledge.codes[labeled] if counts.min() >= 2 and size >= len(counts) else None
    _, held_out = train_test_split(labeled, test_size=size, stratify=stratify, random_state=rng)
    return np.sort(held_out)


def _callbacks(settings: Settings) -> list[Callback]:
    show = sys.stderr.isatty() if settings.progress == "auto" else settings.progress
    return [*settings.callbacks, *([Progress()] if show else [])]


def _why_stopped(trainer: Trainer) -> str:
    if trainer.interrupted or trainer.diverged:
        return "interrupted" if trainer.interrupted else "features lost their meaning"
    return "all steps made" if trainer.iteration >= trainer.plan.total else "no better score"


def _normalised(Phi: Tensor) -> tuple[Tensor, float]:
    """Features at the scale of the paper; features that are all alike stay as they are."""
    norm = float(torch.linalg.vector_norm(Phi - Phi.mean(1, keepdim=True), dim=1).mean())
    norm = norm if norm > 0 else 1.0
    return normalize_features(Phi, norm=norm)[0], norm
