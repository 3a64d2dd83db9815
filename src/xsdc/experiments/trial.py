"""One trial of one setting."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.preprocessing import StandardScaler

from xsdc import XSDC, __version__
from xsdc.baselines import SeededKMeans
from xsdc.core.agreement import agreement
from xsdc.core.constraints import close
from xsdc.core.sizes import ClassSizes
from xsdc.errors import InvalidInputError, NotConvergedWarning
from xsdc.experiments.evaluation import Evaluation
from xsdc.experiments.facts import WithRandomFacts
from xsdc.experiments.setting import Setting
from xsdc.experiments.splits import Splits, make_splits
from xsdc.labelers import DeepClustering, Eigen, Labeler, PseudoLabels, resolve_labeler
from xsdc.networks import Network, NetworkConfig, build_network, median_bandwidth
from xsdc.networks.zoo import KN
from xsdc.training import Batches, Callback, Checkpoints, Plan, Trainer
from xsdc.training.augmentation import resolve_augmentation
from xsdc.training.checkpoints import Stateful

SPECIFIC = (4, 9)
KMEANS = "seeded k-means: "
MARK = "best of all evaluations on the test set: optimistic"


class Stopwatch:
    """Seconds that a trial took, those before it was cut off included."""

    def __init__(self) -> None:
        self._begun, self._before = time.perf_counter(), 0.0

    @property
    def seconds(self) -> float:
        """Until now."""
        return self._before + time.perf_counter() - self._begun

    def state_dict(self) -> dict[str, float]:
        """Seconds until now."""
        return {"seconds": self.seconds}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Go on from the seconds before."""
        self._before = state["seconds"]


class SupervisedStart(Callback):
    """Scores the network after the steps on labeled points with a lambda chosen after them.

    The evaluation at that step still has the lambda chosen before the first of them, by labeled points alone; all later
    ones have one chosen by all points. So a part of what follows is the choice of lambda, and this is without it.
    """

    def __init__(self, evaluation: Evaluation, burn_in: int) -> None:
        self.evaluation, self.burn_in = evaluation, burn_in
        self.accuracy: float | None = None

    def on_step(self, trainer: Trainer, record: dict[str, Any]) -> None:
        """Score it when these steps are made."""
        if record["iteration"] == self.burn_in:
            lam = self.evaluation.choose_ridge(trainer.network, labeled_only=False)
            self.accuracy = self.evaluation.classify(trainer.network, lam).test

    def state_dict(self) -> dict[str, float | None]:
        """The score, if it is made."""
        return {"accuracy": self.accuracy}

    def load_state_dict(self, state: dict[str, float | None]) -> None:
        """Go on with the score made before."""
        self.accuracy = state["accuracy"]


def run_trial(
    setting: Setting,
    *,
    seed: int,
    protocol: str = "authors",
    states: Path | None = None,
    callbacks: tuple[Callback, ...] = (),
) -> dict[str, Any]:
    """Run a setting with a seed.

    Parameters
    ----------
    setting : Setting
        What to run.
    seed : int
        Of the split, the labels given and the training.
    protocol : {"authors", "honest"}
        "authors": their values, lambda and best iteration by the labels of the whole validation set, and without labels
        the best on the test set. "honest": `XSDC` with its defaults and no label but those given.
    states : Path, optional
        Folder of this trial alone for the last states of training; one that was cut off goes on from there.
    callbacks : tuple of Callback
        Observers of training.

    Returns
    -------
    dict
        Plain data: ``accuracy``, ``iterations``, ``validation``, ``test``, ``seconds`` ...

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C: half a trial is none.
    """
    watch = Stopwatch()
    splits = make_splits(setting, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # ten iterations of balancing are the authors' recipe
        warnings.filterwarnings("ignore", "Training was interrupted")  # it says that a state is kept; here none is
        if setting.method.startswith(KMEANS):
            said = _fixed(setting, splits, seed)
        elif protocol == "honest":
            said = _honest(splits, seed=seed, callbacks=(*_keepers(states, watch), *callbacks))
        else:
            said = _authors(setting, splits, seed=seed, states=states, watch=watch, callbacks=callbacks)
    return {
        "setting": setting.as_dict(),
        "seed": seed,
        "protocol": protocol,
        **said,
        "seconds": round(watch.seconds, 2),
        "version": __version__,
    }


def _authors(
    setting: Setting,
    splits: Splits,
    *,
    seed: int,
    states: Path | None,
    watch: Stopwatch,
    callbacks: tuple[Callback, ...],
) -> dict[str, Any]:
    trainer, evaluation = make_trainer(setting, splits, seed=seed)
    supervised = bool(len(splits.labeled))
    start = SupervisedStart(evaluation, setting.burn_in)
    observers = (start, *_keepers(states, evaluation, start, watch), *callbacks)
    trainer.callbacks = observers if supervised else observers[1:]
    trainer.run()
    if trainer.interrupted:
        raise KeyboardInterrupt
    total, every = setting.iterations, setting.evaluate_every
    iterations = [i for i in range(total + 1) if i % every == 0 or i == total][: len(evaluation.test)]
    scores = evaluation.validation if supervised else evaluation.test
    best = int(np.argmax(scores))
    said = {
        "accuracy": evaluation.test[best],
        "random_initialization": evaluation.test[0],
        "supervised_initialization": None,
        "supervised_initialization_new_ridge": start.accuracy,
        "chosen": "best of all evaluations on the validation set" if supervised else MARK,
        "best_iteration": iterations[best],
        "iterations": iterations,
        "validation": [round(x, 5) for x in evaluation.validation],
        "test": [round(x, 5) for x in evaluation.test],
        "ridges": evaluation.ridges,
        "eigengaps": [step.get("eigengap") for step in trainer.history],
        "stopped": "diverged" if trainer.diverged else "all steps made",
    }
    if supervised and setting.burn_in in iterations:
        said["supervised_initialization"] = evaluation.test[iterations.index(setting.burn_in)]
    return said


def _keepers(states: Path | None, *also: Stateful) -> tuple[Callback, ...]:
    """Keep states of training and of what goes along with it, if there is a folder for them."""
    return () if states is None else (Checkpoints(states, resume=True, about=__version__, also=also),)


def make_trainer(
    setting: Setting, splits: Splits, *, seed: int, callbacks: tuple[Callback, ...] = ()
) -> tuple[Trainer, Evaluation]:
    """Put the training of a setting together as the authors did."""
    generator = torch.Generator().manual_seed(seed)
    data = splits.train.X
    network = build_network(_network(splits), data, generator=generator, dtype=data.dtype, channels=_channels(data))
    evaluation = Evaluation(splits, setting.ridge)
    given = np.zeros(len(data), dtype=bool)
    given[splits.labeled] = True

    def choose_ridge(network: Network) -> float:
        return evaluation.choose_ridge(network, labeled_only=trainer.iteration == 0)

    k = splits.n_classes
    low, high = setting.sizes or (1 / k, 1 / k)
    trainer = Trainer(
        network,
        data,
        constraints=close(len(data), n_classes=k, **_facts(setting, splits, given)),
        batches=Batches(
            torch.from_numpy(np.flatnonzero(given)),
            torch.from_numpy(np.flatnonzero(~given)),
            splits.batch_size,
            splits.batch_size,
            copies=setting.copies,
        ),
        plan=Plan(
            supervised_iter=setting.burn_in if len(splits.labeled) else 0,
            max_iter=setting.iterations - (setting.burn_in if len(splits.labeled) else 0),
            supervised_learning_rate=setting.supervised_learning_rate,
            learning_rate=setting.learning_rate,
            filter_penalty=setting.filter_penalty,
            evaluate_every=setting.evaluate_every,
        ),
        labeler=make_labeler(setting, splits, given),
        sizes=ClassSizes(np.full(k, low), np.full(k, high)),
        n_clusters=k,
        choose_ridge=choose_ridge,
        score=evaluation,
        augment=resolve_augmentation("images") if setting.copies > 1 else None,
        callbacks=callbacks,
        generator=generator,
    )
    return trainer, evaluation


def _network(splits: Splits) -> str | NetworkConfig:
    """Declare the network; the authors take the bandwidth of ``kn`` from the first 1,000 points."""
    if splits.network != KN.name:
        return splits.network
    (layer,) = KN.layers
    return replace(KN, layers=(replace(layer, bandwidth=median_bandwidth(splits.train.X)),))


def make_labeler(setting: Setting, splits: Splits, given: np.ndarray[Any, np.dtype[np.bool_]]) -> Labeler:
    """Make the labeler of a setting."""
    labeler = resolve_labeler(setting.method)
    if isinstance(labeler, DeepClustering):
        labeler = replace(labeler, n_groups=setting.n_groups, every=setting.every or labeler.every)
    if isinstance(labeler, Eigen):
        labeler = replace(labeler, weight=setting.weight)
    if isinstance(labeler, PseudoLabels):
        labeler = replace(labeler, lam=setting.ridge or labeler.lam)
    return WithRandomFacts(labeler, splits.train.y, given) if setting.constraints == "random" else labeler


def _facts(setting: Setting, splits: Splits, given: np.ndarray[Any, np.dtype[np.bool_]]) -> dict[str, Any]:
    """Labels and, where it is known whether a digit is a 4 or a 9, what follows for the others."""
    y = splits.train.y
    facts: dict[str, Any] = {"labels": np.where(given, y, -1)}
    if setting.constraints == "specific":
        rest = [c for c in range(splits.n_classes) if c not in SPECIFIC]
        facts["allowed"] = {int(i): list(SPECIFIC) if y[i] in SPECIFIC else rest for i in np.flatnonzero(~given)}
    return facts


def _honest(splits: Splits, *, seed: int, callbacks: tuple[Callback, ...]) -> dict[str, Any]:
    """XSDC as it comes, with the labels that are given and no others."""
    y = np.full(len(splits.train.y), -1)
    y[splits.labeled] = splits.train.y[splits.labeled]
    model = XSDC(
        splits.n_classes,
        random_state=seed,
        progress=False,
        channels=_channels(splits.train.X),
        callbacks=callbacks,
    )
    model.fit(splits.train.X.numpy(), y if len(splits.labeled) else None)
    if model.history_["stopped"] == "interrupted":
        raise KeyboardInterrupt
    found = model.predict(splits.test.X.numpy())
    if len(splits.labeled):
        accuracy = float((found == splits.test.y).mean())
    else:
        accuracy = agreement(found, splits.test.y).accuracy
    return {
        "accuracy": accuracy,
        "chosen": "the defaults of XSDC, with no label but those given",
        "steps": model.n_iter_,
    }


def _fixed(setting: Setting, splits: Splits, seed: int) -> dict[str, Any]:
    """Seeded k-means on the inputs, each coordinate standardised."""
    similarity: Any = setting.method.removeprefix(KMEANS)
    X, test = (part.X.flatten(1).numpy().astype(np.float64) for part in (splits.train, splits.test))
    scaler = StandardScaler().fit(X)
    X, test = scaler.transform(X), scaler.transform(test)
    y = np.full(len(X), -1)
    y[splits.labeled] = splits.train.y[splits.labeled]
    model = SeededKMeans(splits.n_classes, similarity=similarity, random_state=seed)
    model.fit(X, y if len(splits.labeled) else None)
    found = model.predict(test)
    if len(splits.labeled):
        accuracy = float((found == splits.test.y).mean())
    else:
        accuracy = agreement(found, splits.test.y).accuracy
    return {"accuracy": accuracy, "chosen": "nothing to choose"}


def _channels(data: torch.Tensor) -> str | None:
    return "first" if data.ndim == 4 else None


def check_protocol(protocol: str) -> str:
    """Refuse a protocol that does not exist."""
    if protocol not in ("authors", "honest"):
        raise InvalidInputError(f'protocol must be "authors" or "honest"; it is {protocol!r}.')
    return protocol
