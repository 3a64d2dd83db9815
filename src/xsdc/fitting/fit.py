"""One fit from beginning to end: choose, train, label, classify."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from xsdc.core.balancing import balance
from xsdc.core.classifier import Classifier
from xsdc.core.feasibility import check_feasible
from xsdc.core.labelling import Candidate, Labelling
from xsdc.core.objective import decompose
from xsdc.core.sizes import ClassSizes
from xsdc.errors import InfeasibleError
from xsdc.fitting.automatic import choose_sizes
from xsdc.fitting.choices import Choices
from xsdc.fitting.end import End, Outcome
from xsdc.fitting.everyone import Bounds, check_pairs, make_judge, untried
from xsdc.fitting.features import features_of_all
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.labels import names_every_class
from xsdc.fitting.landmarks import MOST_LANDMARKS, choose_landmarks
from xsdc.fitting.settings import ClusterSize, Settings, read_sizes
from xsdc.fitting.train import hold_out, make_trainer, why_stopped
from xsdc.networks import Network
from xsdc.networks.rows import Rows
from xsdc.training import Trainer
from xsdc.validation import named

Ints = npt.NDArray[np.int64]
CLEARLY = 0.1  # of a margin; the first features are partial to the groups that they themselves have led to


@dataclass(frozen=True)
class Fitted:
    """A fitted model without its manners.

    Attributes
    ----------
    network : Network
        Trained.
    norm : float
        What features are divided by.
    features : Tensor of shape (n, D), or Rows
        Normalised features of the data.
    outcome : Outcome
        Classes and classifier.
    end : End
        How they were found; reached again for another number of classes.
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
    features: Tensor | Rows
    outcome: Outcome
    end: End
    cluster_size: ClusterSize
    steps: list[dict[str, Any]]
    stopped: str
    best_iteration: int

    def named_like(self, names: npt.NDArray[Any], before: npt.NDArray[Any]) -> Fitted:
        """Give clusters that no label names the names under which most of their points went before.

        Parameters
        ----------
        names : array, shape (k,)
            What the classes are called now.
        before : array, shape (n,)
            What each point was called before.
        """
        outcome = self.outcome
        first = outcome.knowledge.n_named
        free = np.arange(first, len(names))
        table = np.array([[(before[outcome.codes == c] == names[d]).sum() for d in free] for c in free])
        if not table.size:
            return self
        place = np.arange(len(names))
        place[free] = free[linear_sum_assignment(table, maximize=True)[1]]
        order = torch.from_numpy(np.argsort(place))
        assert isinstance(outcome.classifier, Classifier)  # noqa: S101  of groups, for some classes have no label
        classifier = replace(outcome.classifier, W=outcome.classifier.W[:, order], b=outcome.classifier.b[order])
        return replace(self, outcome=replace(outcome, codes=place[outcome.codes], classifier=classifier))

    def equivalence(self, points: Ints) -> Tensor:
        """Estimate M among some points as it was for the labels: the cost balanced under what is known.

        They are balanced along with points that stand for all: among a few alone neither the ridge nor the sizes of
        classes, which were chosen for all, would mean anything.
        """
        knowledge = self.outcome.knowledge
        together = np.union1d(points, choose_landmarks(knowledge, np.random.RandomState(0)))
        constraints = knowledge.constraints.restricted(together)
        known = constraints.entries()
        spectrum = decompose(self.features[torch.from_numpy(together)])
        way = self.outcome.way or untried(spectrum, self.end.bounds, self.end.ridge, len(knowledge.names))
        A = spectrum.cost(way.lam).dense(torch.float32)
        size = way.sizes.among_sample(constraints, known, np.arange(len(together)))
        M = balance(A, size=size, known=known, nu=self.end.entropy).M
        place = torch.from_numpy(np.searchsorted(together, points))
        return (M if isinstance(M, Tensor) else M.dense())[place][:, place]

    def relabeled(self, n_clusters: int, *, choices: Choices, rng: np.random.RandomState) -> Outcome:
        """Label anew with another number of classes, within the user's bounds where there are any."""
        knowledge = self.outcome.knowledge.with_clusters(n_clusters)
        given = read_sizes(self.cluster_size, knowledge.names.tolist(), n_clusters)
        if given is not None:
            given.check(knowledge.constraints, n_classes=n_clusters, names=knowledge.names)
        end = replace(self.end, bounds=Bounds(choose_sizes(knowledge, given, choices)[1], given=given is not None))
        landmarks = choose_landmarks(knowledge, rng, most=self.end.n_landmarks)
        knowledge, labelling = end.label(self.features, knowledge, landmarks=landmarks, choices=choices, rng=rng)
        return end.from_groups(self.features, knowledge, labelling, choices=choices, rng=rng)


def fit_model(
    network: Network,
    data: Tensor | Rows,
    knowledge: Knowledge,
    settings: Settings,
    *,
    choices: Choices,
    validation: tuple[Tensor, Ints] | None = None,
    way: Candidate | None = None,
    rng: np.random.RandomState,
    generator: torch.Generator,
) -> Fitted:
    """Train the network, label all points and make the classifier.

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
    choices : Choices
        Where choices are written down.
    validation : pair of Tensor and array of int, optional
        Prepared data and codes of a validation set that the user gave.
    way : Candidate, optional
        How to label, where that is not to be chosen.
    rng : RandomState
        Source of randomness for what scikit-learn does.
    generator : torch.Generator
        Source of randomness for training.
    """
    given = check_sizes(settings.cluster_size, knowledge)
    training_sizes, bounds = choose_sizes(knowledge, given, choices)
    held_out = np.empty(0, dtype=np.int64)
    if validation is None:
        held_out = hold_out(knowledge, settings, choices, rng)
    if len(held_out):
        validation = (data[torch.from_numpy(held_out)], knowledge.codes[held_out])
    trainer = make_trainer(
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
    end = End(
        settings.ridge,
        settings.entropy,
        Bounds(bounds, given=given is not None),
        settings.n_landmarks,
        way,
    )
    landmarks = choose_landmarks(knowledge, rng, most=settings.n_landmarks)
    check_pairs(knowledge.constraints.restricted(landmarks))  # now, and not after training
    first_state = copy.deepcopy(network.state_dict())
    trainer.run()
    unbounded = sum(step.get("unbounded", False) for step in trainer.history)
    if unbounded and given is not None:
        warnings.warn(
            f"In {unbounded} of {len(trainer.history)} steps the points drawn could not meet the bounds on sizes with"
            " what is known of them; these steps were made without bounds.",
            UserWarning,
            stacklevel=3,
        )
    conclude = partial(
        _conclude,
        trainer,
        data,
        knowledge,
        settings,
        end=end,
        landmarks=landmarks,
        first_state=first_state,
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
    end: End,
    landmarks: Ints,
    first_state: dict[str, Tensor],
    choices: Choices,
    rng: np.random.RandomState,
) -> Fitted:
    """Label all points and make the classifier."""
    network = trainer.network
    kept = trainer.best_iteration if trainer.best_score is not None else trainer.iteration
    if trainer.diverged and trainer.best_score is None:
        kept = 0  # the first state was put back
    fitted = partial(
        Fitted,
        network=network,
        end=end,
        cluster_size=settings.cluster_size,
        steps=trainer.history,
        stopped=why_stopped(trainer),
    )
    if names_every_class(knowledge):
        Phi, norm = features_of_all(network, data)
        outcome = end.from_labels(data, Phi, knowledge, choices=choices, rng=rng)
        return fitted(norm=norm, features=Phi, outcome=outcome, best_iteration=kept)
    label = partial(end.label, landmarks=landmarks, rng=rng)
    found = _find(network, data, knowledge, label)
    unguided = knowledge.n_clusters is not None and not (knowledge.constraints.classes >= 0).any()
    if kept and unguided and settings.max_iter == "auto":
        last_state = copy.deepcopy(network.state_dict())
        network.load_state_dict(first_state)
        first = _find(network, data, knowledge, label)
        judged = landmarks if len(landmarks) <= MOST_LANDMARKS else choose_landmarks(knowledge, rng)
        if _has_harmed(found, first, judged, choices):
            found, kept = first, 0
        else:
            network.load_state_dict(last_state)
    choices.made += found.choices.made
    outcome = end.from_groups(found.Phi, found.knowledge, found.labelling, choices=choices, rng=rng)
    return fitted(norm=found.norm, features=found.Phi, outcome=outcome, best_iteration=kept)


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
        del sent["network"], sent["features"]
        return {"sent": sent, "network": network.state_dict(), "choices": choices.made, "rng": rng.get_state()}

    network = trainer.network
    told = trainer.processes.agree(tell)
    if concluded:
        return concluded[0]
    network.load_state_dict(told["network"])
    choices.made[:] = told["choices"]
    rng.set_state(told["rng"])
    outcome = told["sent"].pop("outcome")
    if isinstance(outcome.classifier, Classifier):
        outcome = replace(outcome, classifier=outcome.classifier.to(network.device))
    return Fitted(network=network, features=features_of_all(network, data)[0], outcome=outcome, **told["sent"])


@dataclass(frozen=True)
class _Found:
    """Features and the labels found with them."""

    Phi: Tensor | Rows
    norm: float
    knowledge: Knowledge
    labelling: Labelling
    choices: Choices


def _find(network: Network, data: Tensor | Rows, knowledge: Knowledge, label: Callable[..., Any]) -> _Found:
    Phi, norm = features_of_all(network, data)
    choices = Choices()
    knowledge, labelling = label(Phi, knowledge, choices=choices)
    return _Found(Phi, norm, knowledge, labelling, choices)


def _has_harmed(trained: _Found, first: _Found, points: Ints, choices: Choices) -> bool:
    """Whether groups found after training are clearly worse than those found before.

    No label can tell. Both are judged by the first features, which no grouping has shaped, and by their margins alone,
    which sizes have no say in. The network must be in its first state.
    """
    judge = make_judge(decompose(first.Phi[torch.from_numpy(points)]), len(first.knowledge.names))
    margin, first_margin = (judge.margin(found.labelling.codes[points]) for found in (trained, first))
    harmed = first_margin > margin + CLEARLY
    why = f"by the first features, groups found with it have margins of {margin:.3f}, without it {first_margin:.3f}"
    choices.note("training kept", not harmed, why)
    return harmed


def check_sizes(cluster_size: ClusterSize, knowledge: Knowledge) -> ClassSizes | None:
    """Read bounds on sizes, None for "auto"; raise `InfeasibleError` where they cannot be met."""
    sizes = read_sizes(cluster_size, knowledge.names.tolist(), knowledge.n_clusters)
    if sizes is None:
        return None
    sizes.check(knowledge.constraints, n_classes=knowledge.n_clusters, names=knowledge.names)
    landmarks = choose_landmarks(knowledge, np.random.RandomState(0))
    constraints = knowledge.constraints.restricted(landmarks)
    known = constraints.entries()
    size = sizes.among(constraints, known)
    try:
        check_feasible(known, *(torch.as_tensor(x) * constraints.n for x in (size.minimum, size.maximum)), cap=None)
    except InfeasibleError as error:
        if len(landmarks) == knowledge.n:
            raise
        rows = landmarks[list(error.rows)].tolist()  # it names places among the landmarks, and sizes among them
        raise InfeasibleError(
            f"No grouping meets the bounds on sizes together with what is known of the points {named(rows)} (seen among"
            f" {len(landmarks)} of {knowledge.n} points). Lower the minimum, raise the maximum or drop some"
            " constraints.",
            rows=rows,
        ) from error
    return sizes
