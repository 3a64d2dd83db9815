"""The training loop: a number of steps on labeled data, then on all, with the best state kept."""

from __future__ import annotations

import copy
import hashlib
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from xsdc import validation
from xsdc.core.constraints import Constraints
from xsdc.core.sizes import ClassSizes
from xsdc.errors import DivergedError, InvalidInputError, NotConvergedWarning
from xsdc.labelers import Labeler, WholeData
from xsdc.networks import Network, adaptive_steps, make_steps, normalize_features
from xsdc.networks.rows import Rows
from xsdc.training.batches import Augment, Batch, Batches
from xsdc.training.callbacks import Callback
from xsdc.training.memory import Memory
from xsdc.training.processes import Processes, SharedFeatures
from xsdc.training.step import batch_features, batch_objective

Floats = npt.NDArray[np.float64]
FINGERPRINTED = 1000  # rows that tell data on disk from other data
FAR_APART = 1_000_003  # seeds of two processes
WARM_UP = 0.1  # of a plan, over which adaptive steps grow to their full length
Score = Callable[[Network, float], float]
ChooseRidge = Callable[[Network], float]
Answer = Callable[[Network, bool], Floats]


@dataclass(frozen=True)
class Plan:
    """What to do, and for how long.

    Attributes
    ----------
    supervised_iter, max_iter : int
        Steps on labeled points alone, then on all.
    supervised_learning_rate, learning_rate : float or None
        In each stage the length of the step of a filter on the sphere, and the factor of the gradient elsewhere. None,
        for both, for steps that adapt (see `xsdc.networks.adaptive_steps`); their lengths rise over the first tenth of
        the plan and then fall to zero.
    filter_penalty : float
        zeta.
    rechoose_every : int
        Steps after which the ridge is chosen again, where it is chosen.
    evaluate_every : int
        Steps between two evaluations, where there is a score.
    patience : int or None
        Evaluations without a better score after which to stop.
    """

    supervised_iter: int
    max_iter: int
    supervised_learning_rate: float | None = None
    learning_rate: float | None = None
    filter_penalty: float = 0.0
    rechoose_every: int = 100
    evaluate_every: int = 10
    patience: int | None = None

    def __post_init__(self) -> None:
        for name in ("supervised_iter", "max_iter"):
            validation.as_count(getattr(self, name), name=name, minimum=0)
        for name in ("rechoose_every", "evaluate_every"):
            validation.as_count(getattr(self, name), name=name)
        if (self.supervised_learning_rate is None) != (self.learning_rate is None):
            raise InvalidInputError("Give both learning rates, or none of them for steps that adapt.")
        for name in ("supervised_learning_rate", "learning_rate", "filter_penalty"):
            if getattr(self, name) is not None:
                validation.as_positive(getattr(self, name), name=name, allow_zero=True)
        if self.patience is not None:
            validation.as_count(self.patience, name="patience")

    @property
    def total(self) -> int:
        """All steps."""
        return self.supervised_iter + self.max_iter

    def share_of_rate(self, iteration: int) -> float:
        """Share of the full length that an adaptive step has."""
        warm = min(1.0, (iteration + 1) / (WARM_UP * self.total))
        return warm * (1 + math.cos(math.pi * iteration / self.total)) / 2


class Trainer:
    """Runs a plan; everything that a continued run needs is in its ``state_dict``.

    Where torch.distributed has a process group, all its processes run the plan together, see
    :mod:`xsdc.training.processes`: given the same, they end with the same network.

    Parameters
    ----------
    network : Network
        Trained in place.
    data : Tensor of shape (n, ...), or Rows
        Prepared inputs.
    constraints : Constraints
        What is known of the points.
    batches : Batches
        How batches are drawn.
    plan : Plan
        What to do.
    labeler : Labeler
        Fills in M.
    sizes : ClassSizes
        Bounds on the classes.
    n_clusters : int, optional
        Number of classes; open by default.
    choose_ridge : callable
        Network to lambda; asked at the start and every so often.
    score : callable, optional
        Network and lambda to a number, the higher the better; the state with the best one is kept.
    answer : callable, optional
        Network, and whether to look at the inputs alone, to the probability of each class for each point, for a labeler
        that asks for it (see :class:`xsdc.labelers.WholeData`).
    augment : callable, optional
        Inputs and a generator to changed inputs.
    piece_size : int, optional
        Points of a batch that go through the network at a time; by default all.
    memory_size : int
        Unlabeled points of earlier steps whose features are balanced along with a batch.
    callbacks : sequence of Callback
        Observers.
    generator : torch.Generator
        The only source of randomness.
    """

    def __init__(
        self,
        network: Network,
        data: Tensor | Rows,
        *,
        constraints: Constraints,
        batches: Batches,
        plan: Plan,
        labeler: Labeler,
        sizes: ClassSizes,
        choose_ridge: ChooseRidge,
        generator: torch.Generator,
        n_clusters: int | None = None,
        score: Score | None = None,
        answer: Answer | None = None,
        augment: Augment | None = None,
        piece_size: int | None = None,
        memory_size: int = 0,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        if plan.total and not network.trainable:
            raise InvalidInputError("The network has nothing to train. Plan no steps, or choose another network.")
        if plan.supervised_iter and len(batches.labeled) < 2:
            raise InvalidInputError(
                f"supervised_iter is {plan.supervised_iter}, but there are {len(batches.labeled)} labeled points; such"
                " steps need 2 or more. Set it to 0."
            )
        self.network, self.data, self.constraints, self.batches = network, data, constraints, batches
        self.plan, self.labeler, self.sizes, self.augment = plan, labeler, sizes, augment
        self.n_clusters, self.answer = n_clusters, answer
        self.choose_ridge, self.score, self.callbacks, self.generator = choose_ridge, score, callbacks, generator
        self.piece_size = None if piece_size is None else validation.as_count(piece_size, name="piece_size")
        self.memory = Memory(memory_size)
        self.processes = Processes.here()
        self.processes.copy_module(network)  # machines may round filters from data differently
        # The first optimizer of a process imports the compiler of torch, which takes seconds.
        self.optimizers: list[Optimizer] = _make_optimizers(network, plan) if plan.total else []
        self.iteration = 0
        self.lam = float("nan")
        self.history: list[dict[str, Any]] = []
        self.best_score: float | None = None
        self.best_iteration = 0
        self.interrupted = self.diverged = self.discarded = False
        self._first_state = _copied(network)
        self._best_state: dict[str, Tensor] | None = None
        self._evaluations_since_best = 0

    def run(self) -> None:
        """Make the steps that are left, then put the best state back.

        Ctrl-C ends training early, and so do features that have lost all meaning: the best state so far is put back,
        in the second case the first one where none was scored, and a warning tells of it. Of many processes Ctrl-C may
        reach each at another step, so that there is no common state to end with; it then ends the run.

        Raises
        ------
        DivergedError
            Where the features mean nothing from the start.
        """
        shared = self._start()
        try:
            if self.iteration == 0:
                self._evaluate()
            while shared is not None and not self.finished:
                self._step(shared)
        except KeyboardInterrupt:
            if self.processes.count > 1:
                raise
            self.interrupted = True
            warnings.warn(
                f"Training was interrupted after {self.iteration} of {self.plan.total} steps; the best state so far is"
                " kept.",
                UserWarning,
                stacklevel=2,
            )
        except DivergedError as error:
            if self.iteration == 0:
                raise
            self.diverged = True
            self._best_state = self._best_state or self._first_state
            warnings.warn(
                f"Training came to a bad end after {self.iteration} of {self.plan.total} steps; an earlier state is"
                f" kept. {error}",
                NotConvergedWarning,
                stacklevel=2,
            )
        finally:
            for callback in self.callbacks:
                callback.on_end(self)
        if self._best_state is not None:
            self.network.load_state_dict(self._best_state)

    def _start(self) -> SharedFeatures | None:
        """Make ready for the steps; None where there are none."""
        if self.processes.count > 1 and self.iteration == 0:
            self.processes.require_same(self.fingerprint())
        for callback in self.callbacks:
            callback.on_start(self)
        return None if self.finished else SharedFeatures(self.network, self.processes, piece_size=self.piece_size)

    def _step(self, shared: SharedFeatures) -> None:
        plan = self.plan
        supervised = self.iteration < plan.supervised_iter
        first_of_stage = self.iteration in (0, self.plan.supervised_iter)
        if first_of_stage or self.iteration % self.plan.rechoose_every == 0:
            self.lam = self.processes.agree(lambda: self.choose_ridge(self.network))
        if not supervised:
            self.labeler.look(self._view())
        batch = self._draw(supervised=supervised)
        self.network.train()
        with self._chance_of_modules():
            Phi = batch_features(
                shared, self.data, batch, augment=self.augment, generator=self.generator, memory=self.memory
            )
        objective = batch_objective(
            Phi,
            batch,
            constraints=self.constraints,
            labeler=self.labeler,
            sizes=self.sizes,
            lam=self.lam,
            n_clusters=self.n_clusters,
            generator=self.generator,
        )
        if not objective.flat:
            rate = plan.supervised_learning_rate if supervised else plan.learning_rate
            self._descend(objective.value, shared, rate=rate)
        self.iteration += 1
        record = {
            "iteration": self.iteration,
            "stage": "supervised" if supervised else "joint",
            "objective": float(objective.value.detach()),
            "ridge": self.lam,
        }
        if objective.eigengap is not None:
            record["eigengap"] = objective.eigengap
        if not objective.bounded:
            record["unbounded"] = True
        if self.iteration % self.plan.evaluate_every == 0 or self.iteration == self.plan.total:
            record |= self._evaluate()
        self.history.append(record)
        for callback in self.callbacks:
            callback.on_step(self, record)

    def _descend(self, value: Tensor, shared: SharedFeatures, *, rate: float | None) -> None:
        """Change the parameters along the gradient."""
        if not bool(value.detach().isfinite()):
            raise DivergedError("The objective is not finite. Lower the learning rate, or check the data.")
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        shared.add_gradients()
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["full_lr"] * self.plan.share_of_rate(self.iteration) if rate is None else rate
            optimizer.step()

    @contextmanager
    def _chance_of_modules(self) -> Iterator[None]:
        """Let dropout and the like, which draw from torch's own generator, depend on our seed and on the step alone."""
        device = self.network.device
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(self.generator.initial_seed() + self.iteration + FAR_APART * self.processes.rank)
            yield

    def _draw(self, *, supervised: bool) -> Batch:
        batch = self.batches.draw(
            self.generator,
            labeled_only=supervised,
            together=self.labeler.draws_together,
            weights=self.labeler.draw_weights(),
        )
        if self.processes.count > 1:  # all draw alike, unless machines differ and a labeler's weights with them
            parts = [self.processes.copy_from_first(part) for part in (batch.labeled, batch.unlabeled)]
            batch = replace(batch, labeled=parts[0], unlabeled=parts[1])
        return batch if supervised else replace(batch, remembered=self.memory.beside(batch.unlabeled))

    def _view(self) -> WholeData:
        return WholeData(
            iteration=self.iteration - self.plan.supervised_iter,
            features=lambda: normalize_features(self.network.features(self.data))[0],
            constraints=self.constraints,
            sizes=self.sizes,
            n_clusters=self.n_clusters,
            generator=self.generator,
            answer=None if self.answer is None else self._answer,
        )

    def _answer(self, first: bool) -> Floats:
        """Ask for the probabilities of all points; of many processes the first one finds them."""
        assert self.answer is not None  # noqa: S101  it is only called where there is one
        return self.processes.agree(partial(self.answer, self.network, first))

    def _evaluate(self) -> dict[str, float]:
        if self.score is None:
            return {}
        value = self.processes.agree(partial(self._score, self.score))
        self._evaluations_since_best += 1
        if self.best_score is None or value > self.best_score:
            self.best_score, self.best_iteration, self._evaluations_since_best = value, self.iteration, 0
            self._best_state = _copied(self.network)
        return {"score": value}

    def _score(self, score: Score) -> float:
        return score(self.network, self.lam if self.iteration else self.choose_ridge(self.network))

    def discard(self) -> None:
        """Put the first state of the network back, and count no step as kept."""
        self.network.load_state_dict(self._first_state)
        self.discarded = True

    @property
    def finished(self) -> bool:
        """Whether all steps are made, or those made without a better score are enough."""
        patience = self.plan.patience
        if patience is not None and self.score is not None and self._evaluations_since_best >= patience:
            return True
        return self.iteration >= self.plan.total

    def state_dict(self) -> dict[str, Any]:
        """Everything a continued run needs to end as the uninterrupted one would."""
        return {
            "iteration": self.iteration,
            "lam": self.lam,
            "network": _copied(self.network),
            "optimizers": [copy.deepcopy(optimizer.state_dict()) for optimizer in self.optimizers],
            "generator": self.generator.get_state(),
            "history": copy.deepcopy(self.history),
            "best": (self.best_score, self.best_iteration, self._evaluations_since_best),
            "best_state": copy.deepcopy(self._best_state),
            "first_state": copy.deepcopy(self._first_state),
            "labeler": copy.deepcopy(self.labeler.state_dict()),
            "memory": self.memory.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.iteration, self.lam = state["iteration"], state["lam"]
        self.network.load_state_dict(state["network"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(copy.deepcopy(saved))
        self.generator.set_state(state["generator"])
        self.history = copy.deepcopy(state["history"])
        self.best_score, self.best_iteration, self._evaluations_since_best = state["best"]
        self._best_state = copy.deepcopy(state["best_state"])
        self._first_state = copy.deepcopy(state["first_state"])
        self.labeler.load_state_dict(copy.deepcopy(state["labeler"]))
        self.memory.load_state_dict(state["memory"])

    def fingerprint(self) -> str:
        """Digest of what makes this training what it is: data, knowledge, first parameters, plan, source of chance.

        Only before the first step, for the generator moves on.
        """
        batches, facts, kind = self.batches, self.constraints, type(self.labeler)
        shown = kind.__qualname__ if kind.__repr__ is object.__repr__ else repr(self.labeler)
        sizes = [batches.labeled_size, batches.unlabeled_size, batches.copies, self.n_clusters]
        sizes += [self.piece_size, self.memory.size]
        digest = hashlib.sha256(repr((astuple(self.plan), sizes, shown)).encode())
        spread = slice(None, None, 1 if isinstance(self.data, Tensor) else max(1, len(self.data) // FINGERPRINTED))
        tensors = [self.data[spread], self.generator.get_state(), batches.labeled, batches.unlabeled]
        tensors += self._first_state.values()
        arrays = [facts.group, facts.classes, facts.allowed, facts.group_set, facts.apart.indices, facts.apart.indptr]
        arrays += [tensor.detach().cpu().numpy() for tensor in tensors] + [self.sizes.minimum, self.sizes.maximum]
        for array in arrays:
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


def _make_optimizers(network: Network, plan: Plan) -> list[Optimizer]:
    """Make one optimizer for each kind of parameter; adaptive ones remember their full length of step."""
    if plan.learning_rate is not None:
        return make_steps(network, lr=1.0, zeta=plan.filter_penalty)
    optimizers = adaptive_steps(network, zeta=plan.filter_penalty)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["full_lr"] = group["lr"]
    return optimizers


def _copied(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in module.state_dict().items()}
