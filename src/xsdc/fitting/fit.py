"""One fit from beginning to end: choose, label, train, label again, and keep the better answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.sizes import ClassSizes
from xsdc.fitting.answers import Answers
from xsdc.fitting.automatic import choose_sizes
from xsdc.fitting.bounds import Bounds
from xsdc.fitting.choices import Choices
from xsdc.fitting.features import features_of_all
from xsdc.fitting.fitted import Fitted, has_learned
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.labels import Outcome
from xsdc.fitting.number import Ranking, settle_number
from xsdc.fitting.published import label_as_published
from xsdc.fitting.settings import Settings
from xsdc.fitting.train import prepare_training, steps_kept, train, why_stopped
from xsdc.networks import Network
from xsdc.networks.rows import Rows
from xsdc.training import Processes, Trainer

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
    knowledge, ranking = _with_number(network, data, knowledge, sizes=sizes, choices=choices, rng=rng)
    training_sizes, bounds = choose_sizes(knowledge, sizes, choices, algorithm=settings.algorithm)
    answers = Answers(
        data,
        knowledge,
        settings,
        bounds=bounds,
        before=codes_before(knowledge, earlier),
        learned=has_learned(network, 0),
        choices=choices,
        rng=rng,
    )
    trainer = prepare_training(
        network,
        data,
        knowledge,
        settings,
        sizes=training_sizes,
        answer=answers.probabilities,
        held=validation,
        choices=choices,
        rng=rng,
        generator=generator,
    )
    if settings.algorithm != "published":
        trainer.processes.agree(lambda: answers.before_training(network))
    train(trainer, sizes=sizes)

    def conclude() -> Fitted:
        outcome = _label(trainer, answers)
        features, norm = features_of_all(trainer.network, data)
        return Fitted(
            network=trainer.network,
            norm=norm,
            data=data,
            features=features,
            outcome=outcome,
            ranking=ranking,
            bounds=bounds,
            settings=settings,
            steps=trainer.history,
            stopped=why_stopped(trainer),
            best_iteration=steps_kept(trainer),
        )

    return end_alike(trainer, answers, conclude)


def _with_number(
    network: Network,
    data: Tensor | Rows,
    knowledge: Knowledge,
    *,
    sizes: ClassSizes | None,
    choices: Choices,
    rng: np.random.RandomState,
) -> tuple[Knowledge, Ranking]:
    """Settle the number of classes; of many processes the first one does."""

    def settle() -> tuple[Knowledge, Ranking, dict[str, Any]]:
        source = features_of_all(network, data)[0] if has_learned(network, 0) else data
        bounds = None if sizes is None else Bounds(sizes, given=True)
        settled, ranking = settle_number(source, knowledge, bounds=bounds, choices=choices, rng=rng)
        return settled, ranking, rng.get_state(legacy=False)

    if knowledge.n_clusters is not None:
        return knowledge, [(knowledge.n_clusters, 1.0)]
    settled, ranking, state = Processes.here().agree(settle)
    rng.set_state(state)
    return settled, ranking


def _label(trainer: Trainer, answers: Answers) -> Outcome:
    """Label all points: as published, or by the better of the answers before and after training."""
    if answers.settings.algorithm == "published":
        return label_as_published(
            features_of_all(trainer.network, answers.data)[0],
            answers.knowledge,
            bounds=answers.bounds,
            ridge=ridge_of_labels(trainer, answers.settings),
            entropy=answers.settings.entropy,
            before=answers.before,
            choices=answers.choices,
            rng=answers.rng,
        )
    if steps_kept(trainer):
        outcome, trained = answers.after_training(trainer.network)
        if not trained:
            trainer.discard()
        return outcome
    assert answers.untrained is not None  # noqa: S101  it was found before training
    return answers.untrained


def ridge_of_labels(trainer: Trainer, settings: Settings) -> float | Literal["auto"]:
    """Lambda for labeling as published: as the user gave it, or by the validation set where there is one."""
    return trainer.choose_ridge(trainer.network) if trainer.score is not None else settings.ridge


def codes_before(knowledge: Knowledge, earlier: npt.NDArray[Any] | None) -> Ints | None:
    """Classes of an earlier fit by their names, -1 where a class is gone."""
    if earlier is None:
        return None
    code_of = {name: code for code, name in enumerate(knowledge.names.tolist())}
    return np.array([code_of.get(name, -1) for name in earlier.tolist()])


def end_alike(trainer: Trainer, answers: Answers, conclude: Callable[[], Fitted]) -> Fitted:
    """Let the first of many processes conclude, and the others end with what it found.

    They compute the features of the data themselves: those are too large to be sent.
    """
    if trainer.processes.count == 1:
        return conclude()
    concluded: list[Fitted] = []

    def tell() -> dict[str, Any]:
        concluded.append(conclude())
        sent = {each.name: getattr(concluded[0], each.name) for each in fields(Fitted)}
        del sent["network"], sent["data"], sent["features"], sent["settings"]
        return {"sent": sent, "network": network.state_dict(), "choices": choices.made, "rng": rng.get_state()}

    network, data, settings = trainer.network, answers.data, answers.settings
    choices, rng = answers.choices, answers.rng
    told = trainer.processes.agree(tell)
    if concluded:
        return concluded[0]
    network.load_state_dict(told["network"])
    choices.made[:] = told["choices"]
    rng.set_state(told["rng"])
    features, _ = features_of_all(network, data)
    return Fitted(network=network, data=data, features=features, settings=settings, **told["sent"])
