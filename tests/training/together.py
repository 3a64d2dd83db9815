"""What each of several processes does in the tests of many processes; their results go into files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

from tests.problems import blobs
from tests.training.test_loop import make_trainer
from xsdc import XSDC
from xsdc.errors import InvalidInputError
from xsdc.labelers import Balancing
from xsdc.training import Callback, Plan, Processes, Trainer

TIMEOUT = timedelta(seconds=60)
X, Y = (part.numpy() for part in blobs(90, 3, D=6, spread=2.0))
GIVEN = np.where(np.arange(90) < 12, Y, -1)
OPTIONS = {
    "labeler": "balancing",
    "max_iter": 25,
    "supervised_iter": 10,
    "batch_size": 31,
    "memory_size": 20,
    "progress": False,
}
Results = dict[str, Any]


class Killed(BaseException):
    pass


class Kill(Callback):
    def on_step(self, trainer: Trainer, record: dict[str, Any]) -> None:
        if record["iteration"] == 17:
            raise Killed


def shift(inputs: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return inputs + 0.1 * torch.randn(inputs.shape, generator=generator, dtype=inputs.dtype)


def trained(
    unlabeled: int = 40, labeled: int = 8, copies: int = 1, dtype: torch.dtype = torch.float64, **options: Any
) -> Trainer:
    trainer = make_trainer(plan=options.pop("plan", Plan(5, 15, 0.05, 0.05, evaluate_every=5)), **options)
    trainer.batches = replace(trainer.batches, unlabeled_size=unlabeled, labeled_size=labeled, copies=copies)
    trainer.network.to(dtype)
    trainer.data = trainer.data.to(dtype)
    trainer.labeler = Balancing(dtype=dtype)
    trainer.run()
    return trainer


def module() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 5))


JOINT = Plan(0, 20, 0.05, 0.05)
TRAININGS: dict[str, Callable[[], Trainer]] = {
    "even": trained,
    "memory": lambda: trained(memory_size=30),
    "pieces": lambda: trained(piece_size=6),
    "odd": lambda: trained(unlabeled=37, labeled=7, memory_size=11),
    "fewer labeled points than processes": lambda: trained(labels=1, plan=JOINT),
    "no labels": lambda: trained(labels=0, plan=JOINT),
    "copies": lambda: trained(labels=0, plan=JOINT, augment=shift, copies=4, memory_size=16),
    "module": lambda: trained(network=module()),
    "float32": lambda: trained(dtype=torch.float32, memory_size=30, plan=Plan(5, 15, 0.005, 0.005)),
    "adaptive": lambda: trained(plan=Plan(5, 15, evaluate_every=5)),
    "scored": lambda: trained(score=lambda network, lam: -float(sum(p.detach().norm() for p in network.parameters()))),
}


def parameters(network: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten().double() for p in network.parameters()])


def train_all() -> Results:
    ended = {name: train() for name, train in TRAININGS.items()}
    return {name: (parameters(t.network), [r["objective"] for r in t.history]) for name, t in ended.items()}


def fit(**options: Any) -> XSDC:
    return XSDC(**{**OPTIONS, "random_state": 0, **options})


def told(model: XSDC) -> Results:
    return {
        "labels": model.labels_,
        "probabilities": model.predict_proba(X),
        "parameters": parameters(model.network_),
        "choices": model.history_["choices"],
        "equivalence": model.equivalence(np.arange(30)),
    }


def fit_all(folder: Path) -> Results:
    rank = Processes.here().rank
    own = folder / f"states of {rank}"  # no two processes see the same files
    results = {"whole": told(fit().fit(X, GIVEN)), "chance": told(fit(random_state=None).fit(X, GIVEN))}
    try:
        fit(callbacks=[Kill()]).fit(X, GIVEN, checkpoints=own)
    except Killed:
        results["kept"] = sorted(path.name for path in own.glob("*"))
    results["resumed"] = told(fit().fit(X, GIVEN, checkpoints=own, resume=True))
    return results


def fail_all(folder: Path) -> Results:
    processes = Processes.here()
    rank = processes.rank

    def fail() -> None:
        raise InvalidInputError(f"told by {rank}")

    def fail_last() -> int:
        if rank == 1:
            raise InvalidInputError("the file is missing")
        return rank

    attempts: dict[str, Callable[[], Any]] = {
        "agree": lambda: processes.agree(fail),
        "each": lambda: processes.each(fail),
        "last": lambda: processes.each(fail_last),
        "other data": lambda: fit().fit(X + rank * 1e-9, GIVEN),
        "no folder": lambda: fit().fit(X, GIVEN, checkpoints=folder / "file"),
    }
    said = {}
    for name, attempt in attempts.items():
        try:
            attempt()
        except InvalidInputError as error:
            said[name] = str(error)
    said["agreed"] = processes.agree(lambda: rank)
    said["own"] = processes.each(lambda: rank)
    return said


def work(rank: int, count: int, folder: str) -> None:
    """Do everything, as one process of some."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    store = f"file://{folder}/store"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=count, timeout=TIMEOUT)
    path = Path(folder)
    results = {"trained": train_all(), "fitted": fit_all(path), "failed": fail_all(path)}
    torch.save(results, path / f"{rank}.pt")
    dist.destroy_process_group()
    os._exit(0)  # threads of gloo may outlive the group and abort the interpreter while it ends
