"""Answers for all points before and after training, and the better of both."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from torch import Tensor

from xsdc.core.constraints import Constraints
from xsdc.fitting.bounds import Bounds
from xsdc.fitting.choices import Choices
from xsdc.fitting.features import FeatureRows, features_of_all
from xsdc.fitting.groups import Inputs, beyond_chance
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.labels import JoinedInputs, Outcome, join_inputs, label_points
from xsdc.fitting.settings import Settings
from xsdc.networks import Network
from xsdc.networks.rows import Rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Answers:
    """Labels all points from the inputs and from the features that a network has at that moment.

    Parameters
    ----------
    data : Tensor of shape (n, ...), or Rows
        Prepared data.
    knowledge : Knowledge
        What is known of it; the number of classes among it.
    settings : Settings
        Options.
    bounds : Bounds
        Bounds on the sizes of classes.
    before : array of int, shape (n,), or None
        Classes in an earlier fit, -1 where there are none.
    learned : bool
        Whether the features were learned before training.
    choices : Choices
        Where choices are written down.
    rng : RandomState
        Source of randomness.
    """

    def __init__(
        self,
        data: Tensor | Rows,
        knowledge: Knowledge,
        settings: Settings,
        *,
        bounds: Bounds,
        before: Ints | None,
        learned: bool,
        choices: Choices,
        rng: np.random.RandomState,
    ) -> None:
        self.data, self.knowledge, self.settings, self.bounds = data, knowledge, settings, bounds
        self.before, self.learned, self.choices, self.rng = before, learned, choices, rng
        self.untrained: Outcome | None = None

    @cached_property
    def inputs(self) -> JoinedInputs:
        """Inputs as vectors, with their graphs; the same for all answers."""
        return join_inputs(self.data, self.knowledge, self.rng)

    def before_training(self, network: Network) -> None:
        """Label all points, and remember the answer."""
        Phi = self._features(network, learned=self.learned)
        self.untrained = self._of(self.knowledge, Phi, learned=self.learned, choices=self.choices)

    def after_training(self, network: Network) -> tuple[Outcome, bool]:
        """Label all points by what was learned too; return the better answer, and whether it is this one."""
        assert self.untrained is not None  # noqa: S101  it comes first
        Phi = self._features(network, learned=True)
        notes = Choices()
        trained = self._of(self.knowledge, Phi, learned=True, start=self.untrained.codes, choices=notes)
        return self._better(self.untrained, trained, notes)

    def probabilities(self, knowledge: Knowledge, network: Network, first: bool) -> Floats:
        """Find the probability of each class for each point, shape (n, k), as `labelers.Graph` asks for it.

        Parameters
        ----------
        knowledge : Knowledge
            What may be looked at: without labels that are held out of training.
        network : Network
            Gives the features.
        first : bool
            Whether to leave out what was learned in training.
        """
        Phi = self._features(network, learned=self.learned or not first)
        if first and self.untrained is not None and (knowledge.codes == self.knowledge.codes).all():
            outcome = self.untrained
        else:
            outcome = self._of(knowledge, Phi, learned=self.learned or not first, choices=Choices())
        scores = np.exp(outcome.classifier.log_probabilities(self.inputs.data, Phi))
        return _as_known(scores, knowledge.constraints)

    def _features(self, network: Network, *, learned: bool) -> Tensor | Rows:
        """Features of all points; of images only when they are asked for, where nothing was learned."""
        if self.inputs.images and not learned:
            return FeatureRows(network, self.data, 1.0)
        return features_of_all(network, self.data)[0]

    def _better(self, untrained: Outcome, trained: Outcome, notes: Choices) -> tuple[Outcome, bool]:
        """Choose the answer that makes left-out labels more likely or, without them, that the inputs explain better.

        Training has seen the labels, so that what is left out of the classifiers of features speaks for training if at
        all: an answer that is worse all the same is dropped. Graphs and regressions of the inputs alone have not been
        trained; what they explain is compared beyond chance, for uneven classes are explained easily.

        Parameters
        ----------
        untrained, trained : Outcome
            Answers before and after training.
        notes : Choices
            Those of the answer after training; they replace those of the other where it is taken.
        """
        values = [untrained.likelihood, trained.likelihood]
        by = "mean log-likelihood of left-out labels"
        if None in values:
            inputs, k = self.inputs, len(self.knowledge.names)
            codes = [outcome.codes[inputs.points] for outcome in (untrained, trained)]
            values = [*beyond_chance(Inputs(inputs.view, None, ridge=self.settings.ridge), codes, k)]
            by = "share that the inputs explain, beyond chance"
        before, after = values
        assert before is not None and after is not None  # noqa: S101, PT018  both are there or none
        kept = after > before
        self.choices.note("training kept", bool(kept), f"{by}: {before:.4f} without training, {after:.4f} with")
        if not kept:
            return untrained, False
        replaced = {choice["option"] for choice in notes.made}
        self.choices.made[:] = [each for each in self.choices.made if each["option"] not in replaced] + notes.made
        # The network has seen the labels, and knows their points too well; the answer before it has not.
        return replace(trained, checked=untrained.checked), True

    def _of(
        self,
        knowledge: Knowledge,
        Phi: Tensor | Rows,
        *,
        learned: bool,
        start: Ints | None = None,
        choices: Choices,
    ) -> Outcome:
        return label_points(
            self.inputs,
            Phi,
            knowledge,
            learned=learned,
            bounds=self.bounds,
            ridge=self.settings.ridge,
            before=self.before,
            start=start,
            choices=choices,
            rng=self.rng,
        )


def _as_known(scores: Floats, constraints: Constraints) -> Floats:
    """Turn scores, none below zero, into shares that agree with what is known of single points and of groups."""
    k = scores.shape[1]
    total = np.zeros((len(constraints.group_set), k))
    np.add.at(total, constraints.group, scores)
    total = (total + np.finfo(np.float64).tiny) * constraints.allowed[constraints.group_set][:, :k]
    return np.asarray((total / total.sum(1, keepdims=True))[constraints.group])
