"""One fit from beginning to end: choose, train, label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.sizes import ClassSizes
from xsdc.fitting.automatic import choose_sizes
from xsdc.fitting.choices import Choices
from xsdc.fitting.features import features_of_all
from xsdc.fitting.fitted import Fitted, has_learned, label
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.number import settle_number
from xsdc.fitting.settings import Settings
from xsdc.fitting.train import prepare_training, steps_kept, train, why_stopped
from xsdc.networks import Network
from xsdc.networks.rows import Rows
from xsdc.training import Trainer

Ints = npt.NDArray[np.int64]


def fit_model(
    network: Network,
    data: Tensor | Rows,
    knowledge: Knowledge,
    settings: Settings,
    *,
    sizes: ClassSizes | None,
    choices: Choices,
    validation: tuple[Tensor, Ints] | None = None,
    earlier: npt.NDArray[Any] | None = None,
    rng: np.random.RandomState,
    generator: torch.Generator,
) -> Fitted:
    """Train the network and label all points.

    Parameters
    ----------
    network : Network
        Trained in place.
    data : Tensor of shape (n, ...), or Rows
        Prepared data.
    knowledge : Knowledge
        What is known of it.
    settings : Settings
        Options.
    sizes : ClassSizes or None
        Bounds on sizes that the user gave, as `check_sizes` returns them.
    choices : Choices
        Where choices are written down.
    validation : pair of Tensor and array of int, optional
        Prepared data and codes of a validation set that the user gave.
    earlier : array, shape (n,), optional
        Names of the points' classes in an earlier fit; groups that no label names keep theirs.
    rng : RandomState
        Source of randomness for what scikit-learn does.
    generator : torch.Generator
        Source of randomness for training.
    """
    training_sizes, bounds = choose_sizes(knowledge, sizes, choices, algorithm=settings.algorithm)
    trainer, unseen = prepare_training(
        network,
        data,
        knowledge,
        settings,
        sizes=training_sizes,
        bounds=bounds,
        held=validation,
        choices=choices,
        rng=rng,
        generator=generator,
    )
    train(trainer, sizes=sizes)

    def conclude() -> Fitted:
        features, norm = features_of_all(trainer.network, data)
        kept = steps_kept(trainer)
        learned = has_learned(trainer.network, kept)
        source = features if learned else data
        known, ranking = settle_number(source, knowledge, bounds=bounds, choices=choices, rng=rng)
        outcome = label(
            settings.algorithm,
            data,
            features,
            known,
            learned=learned,
            unseen=unseen | (kept == 0),  # the labels made no difference to a network that is as it was before
            bounds=bounds,
            ridge=ridge_of_labels(trainer, settings),
            entropy=settings.entropy,
            before=codes_before(known, earlier),
            choices=choices,
            rng=rng,
        )
        return Fitted(
            network=trainer.network,
            norm=norm,
            data=data,
            features=features,
            outcome=outcome,
            ranking=ranking,
            bounds=bounds,
            ridge=settings.ridge,
            entropy=settings.entropy,
            algorithm=settings.algorithm,
            cluster_size=settings.cluster_size,
            steps=trainer.history,
            stopped=why_stopped(trainer),
            best_iteration=kept,
        )

    return end_alike(trainer, data, choices, rng, conclude)


def ridge_of_labels(trainer: Trainer, settings: Settings) -> float | Literal["auto"]:
    """Lambda for labeling: as the user gave it; as published, by the validation set where there is one."""
    by_validation = settings.algorithm == "published" and trainer.score is not None
    return trainer.choose_ridge(trainer.network) if by_validation else settings.ridge


def codes_before(knowledge: Knowledge, earlier: npt.NDArray[Any] | None) -> Ints | None:
    """Classes of an earlier fit by their names, -1 where a class is gone."""
    if earlier is None:
        return None
    code_of = {name: code for code, name in enumerate(knowledge.names.tolist())}
    return np.array([code_of.get(name, -1) for name in earlier.tolist()])


def end_alike(
    trainer: Trainer, data: Tensor | Rows, choices: Choices, rng: np.random.RandomState, conclude: Callable[[], Fitted]
) -> Fitted:
    """Let the first of many processes conclude, and the others end with what it found.

    They compute the features of the data themselves: those are too large to be sent.
    """
    if trainer.processes.count == 1:
        return conclude()
    concluded: list[Fitted] = []

    def tell() -> dict[str, Any]:
        concluded.append(conclude())
        sent = {each.name: getattr(concluded[0], each.name) for each in fields(Fitted)}
        del sent["network"], sent["data"], sent["features"]
        return {"sent": sent, "network": network.state_dict(), "choices": choices.made, "rng": rng.get_state()}

    network = trainer.network
    told = trainer.processes.agree(tell)
    if concluded:
        return concluded[0]
    network.load_state_dict(told["network"])
    choices.made[:] = told["choices"]
    rng.set_state(told["rng"])
    return Fitted(network=network, data=data, features=features_of_all(network, data)[0], **told["sent"])
