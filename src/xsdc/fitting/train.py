"""The training of a fit: which points, which steps, and what they are scored by."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from sklearn.model_selection import train_test_split
from torch import Tensor

from xsdc.core.classifier import fit_classifier
from xsdc.core.objective import decompose
from xsdc.core.rounding import nearest_labels
from xsdc.core.sizes import ClassSizes
from xsdc.defaults import DEFAULTS
from xsdc.errors import InvalidInputError
from xsdc.fitting.automatic import choose_augmentation, choose_batch_size, choose_plan, training_dimension
from xsdc.fitting.choices import Choices
from xsdc.fitting.features import normalised, scaled_features
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.published import Validation
from xsdc.fitting.settings import Settings
from xsdc.networks import Network
from xsdc.networks.rows import Rows
from xsdc.training import Batches, Callback, Processes, Progress, Trainer

Ints = npt.NDArray[np.int64]
Answer = Callable[[Knowledge, Network, bool], npt.NDArray[np.float64]]
SAMPLE = 2048  # points by which the ridge is chosen
SCORED = 5000  # labeled points that take part in a score
MOST_HELD_OUT = 20_000


def make_trainer(
    network: Network,
    data: Tensor | Rows,
    knowledge: Knowledge,
    settings: Settings,
    *,
    points: Ints,
    sizes: ClassSizes,
    answer: Answer,
    held: tuple[Tensor, Ints] | None,
    choices: Choices,
    rng: np.random.RandomState,
    generator: torch.Generator,
) -> Trainer:
    """Put a training together.

    Parameters
    ----------
    network : Network
        To be trained in place.
    data : Tensor of shape (n, ...), or Rows
        Prepared data.
    knowledge : Knowledge
        What training may know.
    settings : Settings
        Options.
    points : array of int
        Points that take part.
    sizes : ClassSizes
        Bounds on the classes.
    answer : callable
        What is known, network, and whether to look at the inputs alone, to the probability of each class for each
        point; for labelers that ask for it.
    held : pair of Tensor and array of int, or None
        Data and codes to score by.
    choices : Choices
        Where choices are written down.
    rng, generator : RandomState, torch.Generator
        Sources of randomness.
    """
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

    labeled = np.flatnonzero(knowledge.codes >= 0)
    if len(labeled) > SCORED:  # any of them: rows are often sorted by class
        labeled = rng.permutation(labeled)[:SCORED]
    scored = torch.from_numpy(labeled)

    validation = None
    if settings.algorithm == "published" and held is not None:
        both = torch.unique(torch.cat([scored, sample]))
        validation = Validation(data, both, torch.from_numpy(knowledge.codes)[both], held, len(knowledge.names))

    def choose_ridge(network: Network) -> float:
        if not isinstance(settings.ridge, str):
            return settings.ridge
        if validation is not None:
            return validation.choose_ridge(network, labeled_only=trainer.iteration == 0)
        return decompose(normalised(network.features(data[sample]))[0]).ridge_for_dimension(dimension)

    def score(network: Network, lam: float) -> float:
        if validation is not None:
            return validation.score(network, lam)
        assert held is not None  # noqa: S101  a score is only taken where there is a validation set
        both = torch.unique(torch.cat([scored, sample]))
        Phi, norm = normalised(network.features(data[both]))
        given = torch.from_numpy(knowledge.codes)[both]
        seeds = given >= 0
        codes = torch.where(seeds, given, nearest_labels(Phi, Phi[seeds], given[seeds]).cpu())
        classifier = fit_classifier(decompose(Phi), codes, n_classes=len(knowledge.names))
        predicted = classifier.scores(scaled_features(network, held[0], norm)).argmax(1).cpu().numpy()
        return float((predicted == held[1]).mean())

    trainer = Trainer(
        network,
        data,
        constraints=knowledge.constraints,
        batches=Batches(
            seen[classes[seen] >= 0],
            seen[classes[seen] < 0],
            settings.labeled_batch_size,
            choose_batch_size(settings, network, choices) if plan.total else DEFAULTS.batch,
            copies=settings.copies,
        ),
        plan=plan,
        labeler=settings.labeler,
        sizes=sizes,
        n_clusters=knowledge.n_clusters,
        choose_ridge=choose_ridge,
        score=None if held is None else score,
        answer=partial(answer, knowledge),
        augment=choose_augmentation(settings, network, choices) if plan.total else None,
        piece_size=settings.piece_size,
        memory_size=settings.memory_size,
        callbacks=_callbacks(settings),
        generator=generator,
    )
    return trainer


def prepare_training(
    network: Network,
    data: Tensor | Rows,
    knowledge: Knowledge,
    settings: Settings,
    *,
    sizes: ClassSizes,
    answer: Answer,
    held: tuple[Tensor, Ints] | None,
    choices: Choices,
    rng: np.random.RandomState,
    generator: torch.Generator,
) -> Trainer:
    """Hold labels out, unless the user gave a validation set, and put the training together.

    Takes what `make_trainer` takes.
    """
    held_out = hold_out(knowledge, settings, choices, rng) if held is None else np.empty(0, dtype=np.int64)
    shown = knowledge
    if len(held_out):
        held = (data[torch.from_numpy(held_out)], knowledge.codes[held_out])
        shown = knowledge.hiding(held_out)
    return make_trainer(
        network,
        data,
        shown,
        settings,
        points=np.setdiff1d(np.arange(knowledge.n), held_out),
        sizes=sizes,
        answer=answer,
        held=held,
        choices=choices,
        rng=rng,
        generator=generator,
    )


def train(trainer: Trainer, *, sizes: ClassSizes | None) -> None:
    """Make all steps; warn of those that could not meet the bounds on sizes that the user gave."""
    trainer.run()
    unbounded = sum(step.get("unbounded", False) for step in trainer.history)
    if unbounded and sizes is not None:
        warnings.warn(
            f"In {unbounded} of {len(trainer.history)} steps the points drawn could not meet the bounds on sizes with"
            " what is known of them; these steps were made without bounds.",
            UserWarning,
            stacklevel=4,
        )


def steps_kept(trainer: Trainer) -> int:
    """Number of the step after which the network was kept."""
    if trainer.discarded:
        return 0
    if trainer.best_score is not None:
        return trainer.best_iteration
    return 0 if trainer.diverged else trainer.iteration  # after divergence the first state is put back


def hold_out(knowledge: Knowledge, settings: Settings, choices: Choices, rng: np.random.RandomState) -> Ints:
    """Choose labels that training does not see, to score it by."""
    share = settings.validation
    labeled = np.flatnonzero(knowledge.codes >= 0)
    counts = np.bincount(knowledge.codes[labeled], minlength=1)
    counts = counts[counts > 0]
    none = np.empty(0, dtype=np.int64)
    if share is None or isinstance(share, tuple):
        return none
    if share == "auto" and settings.labeler.draws_together and settings.patience is None:
        choices.note("validation", None, "all labels train: the answer without training is the one to compare with")
        return none
    if share == "auto":
        if len(labeled) < DEFAULTS.enough_to_hold_out or counts.min() < 10:
            if settings.patience is not None:
                raise InvalidInputError(
                    f"patience needs a validation set; {len(labeled)} labels are too few to hold some out unasked. Set"
                    " validation to a fraction of them, or to a pair (X, y)."
                )
            choices.note(
                "validation",
                None,
                f"fewer than {DEFAULTS.enough_to_hold_out} labels or fewer than ten of a class: all of them train",
            )
            return none
        share = min(DEFAULTS.held_out, MOST_HELD_OUT / len(labeled))
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


def why_stopped(trainer: Trainer) -> str:
    """Say why training ended."""
    if trainer.discarded:
        return "no better than without training"
    if trainer.interrupted or trainer.diverged:
        return "interrupted" if trainer.interrupted else "features lost their meaning"
    return "all steps made" if trainer.iteration >= trainer.plan.total else "no better score"


def _callbacks(settings: Settings) -> list[Callback]:
    show = sys.stderr.isatty() if settings.progress == "auto" else settings.progress
    return [*settings.callbacks, *([Progress()] if show and Processes.here().first else [])]
