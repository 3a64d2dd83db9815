"""One fit from beginning to end: choose, train, label."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.balancing import balance
from xsdc.core.feasibility import check_feasible
from xsdc.core.objective import decompose
from xsdc.core.sizes import ClassSizes
from xsdc.errors import InfeasibleError
from xsdc.fitting.automatic import choose_bounds, choose_sizes
from xsdc.fitting.bounds import Bounds
from xsdc.fitting.choices import Choices
from xsdc.fitting.features import features_of_all
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.labels import Outcome, label_points
from xsdc.fitting.number import Ranking, settle_number
from xsdc.fitting.points import choose_points
from xsdc.fitting.published import label_as_published
from xsdc.fitting.settings import ClusterSize, Settings, read_sizes
from xsdc.fitting.train import hold_out, make_trainer, why_stopped
from xsdc.networks import LayeredNetwork, Network
from xsdc.networks.rows import Rows
from xsdc.training import Trainer
from xsdc.validation import named

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
MOST_BALANCED = 3000  # points that stand for all where M is balanced, or sizes are checked


@dataclass(frozen=True)
class Fitted:
    """A fitted model without its manners.

    Attributes
    ----------
    network : Network
        Trained.
    norm : float
        What features are divided by.
    data : Tensor of shape (n, ...), or Rows
        Prepared data.
    features : Tensor of shape (n, D), or Rows
        Normalised features of the data.
    outcome : Outcome
        Classes and classifier.
    ranking : list of pairs
        Numbers of classes and their probabilities.
    bounds : Bounds
        Bounds on sizes.
    ridge : float or "auto"
        lambda, as the user gave it.
    entropy : float or "median"
        nu.
    algorithm : {"ensemble", "published"}
        How points were labeled.
    cluster_size : str, pair, pairs or mapping
        As the user gave it; read again for another number of classes.
    steps : list of dict
        Account of the training.
    stopped : str
        Why training ended.
    best_iteration : int
        Step after which the network was kept.
    """

    network: Network
    norm: float
    data: Tensor | Rows
    features: Tensor | Rows
    outcome: Outcome
    ranking: Ranking
    bounds: Bounds
    ridge: float | Literal["auto"]
    entropy: float | Literal["median"]
    algorithm: str
    cluster_size: ClusterSize
    steps: list[dict[str, Any]]
    stopped: str
    best_iteration: int

    @property
    def learned(self) -> bool:
        """Whether the features were learned."""
        return has_learned(self.network, self.best_iteration)

    def equivalence(self, points: Ints) -> Tensor:
        """Estimate M among some points: the cost balanced under what is known.

        They are balanced along with points that stand for all: among a few alone neither the ridge nor the sizes of
        classes, which were chosen for all, would mean anything.
        """
        knowledge, k = self.outcome.knowledge, len(self.outcome.knowledge.names)
        together = np.union1d(points, choose_points(knowledge, np.random.RandomState(0), most=MOST_BALANCED))
        constraints = knowledge.constraints.restricted(together)
        known = constraints.entries()
        spectrum = decompose(self.features[torch.from_numpy(together)])
        separating = max(k - 1, 1)  # directions that groups apart from each other need
        lam = spectrum.ridge_for_dimension(separating) if self.ridge == "auto" else self.ridge
        A = spectrum.cost(lam).dense(torch.float32)
        bounds = self.bounds if self.bounds.given else choose_bounds(knowledge, algorithm=self.algorithm)
        size = bounds.for_classes(k).among_sample(constraints, known, np.arange(len(together)))
        M = balance(A, size=size, known=known, nu=self.entropy).M
        place = torch.from_numpy(np.searchsorted(together, points))
        return (M if isinstance(M, Tensor) else M.dense())[place][:, place]

    def relabeled(self, n_clusters: int, *, choices: Choices, rng: np.random.RandomState) -> Outcome:
        """Label anew with another number of classes, within the user's bounds where there are any."""
        knowledge = self.outcome.knowledge.with_clusters(n_clusters)
        given = read_sizes(self.cluster_size, knowledge.names.tolist(), n_clusters)
        if given is not None:
            given.check(knowledge.constraints, n_classes=n_clusters, names=knowledge.names)
        _, bounds = choose_sizes(knowledge, given, choices, algorithm=self.algorithm)
        return label(
            self.algorithm,
            self.data,
            self.features,
            knowledge,
            learned=self.learned,
            bounds=bounds,
            ridge=self.ridge,
            entropy=self.entropy,
            choices=choices,
            rng=rng,
        )


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
    held_out = np.empty(0, dtype=np.int64)
    if validation is None:
        held_out = hold_out(knowledge, settings, choices, rng)
    shown = knowledge
    if len(held_out):
        validation = (data[torch.from_numpy(held_out)], knowledge.codes[held_out])
        shown = knowledge.hiding(held_out)
    trainer = make_trainer(
        network,
        data,
        shown,
        settings,
        points=np.setdiff1d(np.arange(knowledge.n), held_out),
        sizes=training_sizes,
        bounds=bounds,
        held=validation,
        choices=choices,
        rng=rng,
        generator=generator,
    )
    trainer.run()
    unbounded = sum(step.get("unbounded", False) for step in trainer.history)
    if unbounded and sizes is not None:
        warnings.warn(
            f"In {unbounded} of {len(trainer.history)} steps the points drawn could not meet the bounds on sizes with"
            " what is known of them; these steps were made without bounds.",
            UserWarning,
            stacklevel=3,
        )

    def conclude() -> Fitted:
        return _conclude(
            trainer,
            data,
            knowledge,
            settings,
            hidden=shown.constraints.classes < 0,
            bounds=bounds,
            earlier=earlier,
            choices=choices,
            rng=rng,
        )

    return end_alike(trainer, data, choices, rng, conclude)


def _conclude(
    trainer: Trainer,
    data: Tensor | Rows,
    knowledge: Knowledge,
    settings: Settings,
    *,
    hidden: Bools,
    bounds: Bounds,
    earlier: npt.NDArray[Any] | None,
    choices: Choices,
    rng: np.random.RandomState,
) -> Fitted:
    """Label all points by the trained features; classes that are hidden were not known in training."""
    Phi, norm = features_of_all(trainer.network, data)
    kept = trainer.best_iteration if trainer.best_score is not None else trainer.iteration
    if trainer.diverged and trainer.best_score is None:
        kept = 0  # the first state was put back
    learned = has_learned(trainer.network, kept)
    knowledge, ranking = settle_number(Phi if learned else data, knowledge, bounds=bounds, choices=choices, rng=rng)
    if not bounds.given:
        bounds = choose_bounds(knowledge, algorithm=settings.algorithm)  # the number of classes may have been open
    before = None
    if earlier is not None:
        code_of = {name: code for code, name in enumerate(knowledge.names.tolist())}
        before = np.array([code_of.get(name, -1) for name in earlier.tolist()])
    ridge = settings.ridge
    if settings.algorithm == "published" and trainer.score is not None:
        ridge = trainer.choose_ridge(trainer.network)  # by the validation set
    outcome = label(
        settings.algorithm,
        data,
        Phi,
        knowledge,
        learned=learned,
        unseen=hidden | (kept == 0),  # the labels made no difference to a network that is as it was before
        bounds=bounds,
        ridge=ridge,
        entropy=settings.entropy,
        before=before,
        choices=choices,
        rng=rng,
    )
    return Fitted(
        network=trainer.network,
        norm=norm,
        data=data,
        features=Phi,
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


def label(
    algorithm: str,
    data: Tensor | Rows,
    Phi: Tensor | Rows,
    knowledge: Knowledge,
    *,
    learned: bool,
    unseen: Bools | None = None,
    bounds: Bounds,
    ridge: float | Literal["auto"],
    entropy: float | Literal["median"],
    before: Ints | None = None,
    choices: Choices,
    rng: np.random.RandomState,
) -> Outcome:
    """Label all points by `label_points`, or as published by `label_as_published`."""
    if algorithm == "published":
        return label_as_published(
            Phi, knowledge, bounds=bounds, ridge=ridge, entropy=entropy, before=before, choices=choices, rng=rng
        )
    return label_points(
        data,
        Phi,
        knowledge,
        learned=learned,
        unseen=unseen,
        bounds=bounds,
        ridge=ridge,
        before=before,
        choices=choices,
        rng=rng,
    )


def has_learned(network: Network, steps: int) -> bool:
    """Whether features were learned: by the steps that were kept, or before, in a network that the user gave."""
    return steps > 0 or not isinstance(network, LayeredNetwork)


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


def check_sizes(cluster_size: ClusterSize, knowledge: Knowledge) -> ClassSizes | None:
    """Read bounds on sizes, None for "auto"; raise `InfeasibleError` where they cannot be met."""
    sizes = read_sizes(cluster_size, knowledge.names.tolist(), knowledge.n_clusters)
    if sizes is None:
        return None
    sizes.check(knowledge.constraints, n_classes=knowledge.n_clusters, names=knowledge.names)
    some = choose_points(knowledge, np.random.RandomState(0), most=MOST_BALANCED)
    constraints = knowledge.constraints.restricted(some)
    known = constraints.entries()
    size = sizes.among(constraints, known)
    try:
        check_feasible(known, *(torch.as_tensor(x) * constraints.n for x in (size.minimum, size.maximum)), cap=None)
    except InfeasibleError as error:
        if len(some) == knowledge.n:
            raise
        rows = some[list(error.rows)].tolist()  # it names places among them, and sizes among them
        raise InfeasibleError(
            f"No grouping meets the bounds on sizes together with what is known of the points {named(rows)} (seen"
            f" among {len(some)} of {knowledge.n} points). Lower the minimum, raise the maximum or drop some"
            " constraints.",
            rows=rows,
        ) from error
    return sizes
