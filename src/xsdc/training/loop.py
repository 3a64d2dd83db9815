"""The training loop: a number of steps on labeled data, then on all, with the best state kept."""

from __future__ import annotations

import copy
import hashlib
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
from xsdc.networks import Network, SphereStep, group_parameters, make_steps, normalize_features
from xsdc.networks.rows import Rows
from xsdc.training.batches import Augment, Batch, Batches
from xsdc.training.callbacks import Callback
from xsdc.training.memory import Memory
from xsdc.training.processes import Processes, SharedFeatures
from xsdc.training.step import batch_features, batch_objective

Floats = npt.NDArray[np.float64]
FINGERPRINTED = 1000  # rows that tell data on disk from other data
FAR_APART = 1_000_003  # seeds of two processes
Score = Callable[[Network, float], float]
ChooseRidge = Callable[[Network], float]
Solve = Callable[[Network, Floats | None, np.random.RandomState], Floats]


@dataclass(frozen=True)
class Plan:
    """What to do, and for how long.

    Attributes
    ----------
    supervised_iter, max_iter : int
        Steps on labeled points alone, then on all.
    supervised_learning_rate, learning_rate : float
        Length of step in each stage: of a filter on the sphere, or of the first step relative to the filters (see
        ``relative``).
    supervised_relative, relative : bool
        Whether the rate of a stage says, for free parameters, by what share of their norm its first step moves them;
        of their spread, where they are filters in the space of the data.
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
    supervised_learning_rate: float
    learning_rate: float
    supervised_relative: bool = True
    relative: bool = True
    filter_penalty: float = 0.0
    rechoose_every: int = 100
    evaluate_every: int = 10
    patience: int | None = None

    def __post_init__(self) -> None:
        for name in ("supervised_iter", "max_iter"):
            validation.as_count(getattr(self, name), name=name, minimum=0)
        for name in ("rechoose_every", "evaluate_every"):
            validation.as_count(getattr(self, name), name=name)
        for name in ("supervised_learning_rate", "learning_rate", "filter_penalty"):
            validation.as_positive(getattr(self, name), name=name, allow_zero=True)
        if self.patience is not None:
            validation.as_count(self.patience, name="patience")

    @property
    def total(self) -> int:
        """All steps."""
        return self.supervised_iter + self.max_iter


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
    solve : callable, optional
        Network, shares of classes or None, and a RandomState to the share of each class in each point, for a labeler
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
        solve: Solve | None = None,
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
        self.n_clusters, self.solve = n_clusters, solve
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
        self.interrupted = self.diverged = False
        self._rated: bool | None = None  # the stage whose lengths of step are set: whether it is the supervised one
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
        supervised = self.iteration < self.plan.supervised_iter
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
            self._descend(objective.value, shared, supervised=supervised)
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

    def _descend(self, value: Tensor, shared: SharedFeatures, *, supervised: bool) -> None:
        """Change the parameters along the gradient; the first one of a stage says how long its steps are."""
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        shared.add_gradients()
        if self._rated != supervised:
            self._set_rates(supervised=supervised)
            self._rated = supervised
        for optimizer in self.optimizers:
            optimizer.step()

    @contextmanager
    def _chance_of_modules(self) -> Iterator[None]:
        """Let dropout and the like, which draw from torch's own generator, depend on our seed and on the step alone."""
        device = self.network.device
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(self.generator.initial_seed() + self.iteration + FAR_APART * self.processes.rank)
            yield

    def _draw(self, *, supervised: bool) -> Batch:
        batch = self.batches.draw(self.generator, labeled_only=supervised, weights=self.labeler.draw_weights())
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
            solve=None if self.solve is None else partial(self.solve, self.network),
        )

    def _set_rates(self, *, supervised: bool) -> None:
        plan = self.plan
        rate = plan.supervised_learning_rate if supervised else plan.learning_rate
        relative = plan.supervised_relative if supervised else plan.relative
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                if group["on_sphere"] or not relative:
                    group["lr"] = rate
                    continue
                moved = [p for p in group["params"] if p.grad is not None]
                norms = [(_extent(p.detach(), centred=group["centred"]), p.grad.norm()) for p in moved]
                size = sum(float(p) ** 2 for p, _ in norms) ** 0.5
                slope = sum(float(g) ** 2 for _, g in norms) ** 0.5
                group["lr"] = rate * size / slope if slope > 0 else 0.0

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
            "rated": self._rated,
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
        self._rated = state["rated"]

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
    """Make one optimizer for each kind of parameter, marked by whether its rate is a length on the sphere."""
    optimizers = make_steps(network, lr=1.0, zeta=plan.filter_penalty)
    free_filters = group_parameters(network).penalised
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["on_sphere"] = isinstance(optimizer, SphereStep)
            group["centred"] = any(p is V for p in group["params"] for V in free_filters)
    return optimizers


def _extent(p: Tensor, *, centred: bool) -> float:
    """Size of a parameter; of filters in the space of the data their spread, for zero means nothing there."""
    if centred and len(p) > 1:
        return float((p - p.mean(0)).norm())
    return float(p.norm())


def _copied(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in module.state_dict().items()}
