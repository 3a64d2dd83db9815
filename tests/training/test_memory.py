from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import torch

from tests.problems import blobs, generator
from tests.training.test_loop import SIZES, make_trainer, parameters
from xsdc import XSDC
from xsdc.core.constraints import close
from xsdc.errors import InvalidInputError
from xsdc.labelers import LABELERS, Balancing, resolve_labeler
from xsdc.networks import normalize_features
from xsdc.training import Batch, Batches, Callback, Memory, Plan, batch_objective
from xsdc.training.memory import Remembered
from xsdc.training.step import batch_features

JOINT = Plan(0, 12, 0.05, 0.05)


def features_of(trainer, batch: Batch, memory: Memory | None = None) -> torch.Tensor:
    return batch_features(trainer.network, trainer.data, batch, augment=None, generator=generator(), memory=memory)


def remembered(trainer, points: torch.Tensor) -> Remembered:
    return Remembered(points, trainer.network.features(trainer.data[points]))


class Seen(Balancing):
    """Balancing that keeps what it found."""

    found: ClassVar[list] = []

    def label(self, batch):
        M = super().label(batch)
        self.found.append((batch.points.tolist(), M))
        return M


def test_memory_that_holds_the_rest_of_a_batch_gives_the_M_and_objective_of_the_large_batch():
    trainer = make_trainer()
    whole = Batch(torch.arange(9), torch.arange(20, 60))
    small = Batch(torch.arange(9), torch.arange(20, 28), remembered(trainer, torch.arange(28, 60)))
    assert torch.equal(small.index, whole.index)
    options = {"constraints": trainer.constraints, "sizes": SIZES, "lam": 0.01, "generator": generator()}
    labeler = Seen()
    labeler.found.clear()
    values = [
        batch_objective(features_of(trainer, batch), batch, labeler=labeler, **options).value
        for batch in (whole, small)
    ]
    torch.testing.assert_close(values[0], values[1])
    (points, M), (same, small_M) = labeler.found
    assert points == same
    torch.testing.assert_close(M, small_M)


def test_remembered_points_are_on_one_scale_with_the_unlabeled_ones():
    trainer = make_trainer()
    batch = Batch(torch.arange(9), torch.arange(20, 28), remembered(trainer, torch.arange(28, 60)))
    Phi = features_of(trainer, batch).detach()
    torch.testing.assert_close(Phi[9:].norm(dim=1).mean(), torch.tensor(1.0, dtype=Phi.dtype))
    assert float((Phi[9:17].norm(dim=1).mean() - 1).abs()) > 1e-6


def test_gradient_flows_through_fresh_rows_only():
    trainer = make_trainer(labels=0, plan=JOINT)
    points, network = torch.arange(20, 60), trainer.network
    options = {"constraints": trainer.constraints, "sizes": SIZES, "lam": 0.01, "generator": generator()}
    raw = network(trainer.data[points]).detach().requires_grad_()  # the large batch, its features as variables
    batch_objective(
        normalize_features(raw)[0], Batch(points[:0], points), labeler=Balancing(), **options
    ).value.backward()
    network(trainer.data[points[:8]]).backward(raw.grad[:8])
    (expected,) = (p.grad.clone() for p in network.parameters())
    network.zero_grad()
    batch = Batch(points[:0], points[:8], Remembered(points[8:], raw.detach()[8:]))
    batch_objective(features_of(trainer, batch), batch, labeler=Balancing(), **options).value.backward()
    (found,) = (p.grad for p in network.parameters())
    torch.testing.assert_close(found, expected)


def test_what_is_remembered_has_no_gradient():
    trainer, memory = make_trainer(), Memory(100)
    features_of(trainer, Batch(torch.arange(9), torch.arange(20, 28)), memory)
    kept = memory.beside(torch.arange(0))
    assert torch.equal(kept.points, torch.arange(20, 28))
    assert torch.equal(kept.features, trainer.network.features(trainer.data[20:28]))
    assert not kept.features.requires_grad


def test_memory_keeps_the_last_points_and_each_once():
    memory = Memory(5)
    assert memory.beside(torch.arange(3)) is None
    memory.take(torch.tensor([1, 2, 3]), torch.tensor([[1.0], [2.0], [3.0]]))
    memory.take(torch.tensor([2, 4]), torch.tensor([[20.0], [4.0]]))
    assert len(memory) == 4
    kept = memory.beside(torch.arange(0))
    assert kept.points.tolist() == [1, 3, 2, 4]
    assert kept.features.flatten().tolist() == [1.0, 3.0, 20.0, 4.0]
    assert memory.beside(torch.tensor([3, 4])).points.tolist() == [1, 2]
    assert memory.beside(torch.arange(5)) is None
    memory.take(torch.tensor([7, 7, 8]), torch.tensor([[7.0], [7.5], [8.0]]))  # copies of a point stay together
    assert memory.beside(torch.arange(0)).points.tolist() == [2, 4, 7, 7, 8]
    memory.take(torch.arange(10, 20), torch.arange(10.0)[:, None])
    assert memory.beside(torch.arange(0)).points.tolist() == [15, 16, 17, 18, 19]


def test_no_memory_keeps_nothing():
    memory = Memory(0)
    memory.take(torch.arange(3), torch.ones(3, 2))
    assert len(memory) == 0
    assert memory.state_dict() == {}


@pytest.mark.parametrize("size", [-1, 1.5, "many", True])
def test_sizes_that_make_no_sense_are_refused(size):
    with pytest.raises(InvalidInputError, match="memory_size must be"):
        Memory(size)
    X, _ = blobs(20, 2, D=3)
    with pytest.raises(InvalidInputError, match="memory_size must be"):
        XSDC(2, memory_size=size).fit(X.numpy())


class Sizes(Callback):
    def __init__(self):
        self.seen = []

    def on_step(self, trainer, record):
        self.seen.append(len(trainer.memory))


def test_memory_fills_in_the_joint_stage_and_stays_bounded():
    watch = Sizes()
    trainer = make_trainer(plan=Plan(2, 5, 0.05, 0.05), memory_size=23, callbacks=[watch])
    trainer.batches = replace(trainer.batches, unlabeled_size=10)
    trainer.run()
    assert watch.seen[:3] == [0, 0, 10]
    assert max(watch.seen) <= 23
    assert watch.seen[-1] > 15


def test_memory_changes_training():
    ends = []
    for size in (0, 30):
        trainer = make_trainer(plan=JOINT, memory_size=size)
        trainer.batches = replace(trainer.batches, unlabeled_size=10)
        trainer.run()
        ends.append(parameters(trainer))
    assert not torch.allclose(*ends)


@pytest.mark.parametrize("name", LABELERS)
def test_every_labeler_is_asked_about_remembered_points_too(name):
    n = 60
    _, y = blobs(n, 3, D=6, spread=2.0)
    codes = np.where(np.arange(n) < 6, y.numpy(), -1)
    trainer = make_trainer(labels=6, n=n, plan=Plan(0, 4, 0.05, 0.05), memory_size=20, n_clusters=3)
    labels = dict(must_link=[(10, 11), (20, 23)], cannot_link=[(10, 13)], allowed={14: [0, 1]})  # noqa: C408
    trainer.constraints = close(n, labels=codes, n_classes=3, **labels)
    trainer.batches = Batches(torch.arange(6), torch.arange(6, n), labeled_size=6, unlabeled_size=12)
    trainer.labeler = resolve_labeler(name)
    trainer.answer = lambda _network, _first: np.eye(3)[y.numpy()]
    asked = []
    label = trainer.labeler.label

    def watched(batch):
        M = label(batch)
        asked.append(len(batch.points))
        M = M if isinstance(M, torch.Tensor) else M.dense()
        for i, j in batch.known.ones.tolist():
            assert float(M[i, j]) == pytest.approx(1.0)
        return M

    object.__setattr__(trainer.labeler, "label", watched)
    trainer.run()
    drawn = 12 if trainer.labeler.draws_together else 18  # beside as many labeled points
    assert asked[0] == drawn
    assert drawn < asked[-1] <= drawn + 20
    assert all(np.isfinite(step["objective"]) for step in trainer.history)


def test_copies_are_remembered_and_tied():
    def augment(inputs, g):
        return inputs + 0.01 * torch.randn(inputs.shape, generator=g, dtype=inputs.dtype)

    trainer = make_trainer(labels=0, augment=augment, plan=Plan(0, 3, 0.05, 0.05), memory_size=24)
    trainer.batches = Batches(torch.arange(0), torch.arange(90), labeled_size=8, unlabeled_size=12, copies=4)
    trainer.run()
    kept = trainer.memory.beside(torch.arange(0))
    assert len(kept.points) == 24
    assert (torch.unique(kept.points, return_counts=True)[1] == 4).all()
    known = trainer.constraints.entries(kept.points.numpy())
    assert len(known.ones) == 6 * 6  # six points, six pairs of four copies each


@pytest.mark.parametrize("stop", [1, 4, 9])
def test_a_continued_run_remembers(stop):
    whole = make_trainer(plan=Plan(2, 9, 0.05, 0.05), memory_size=25)
    whole.batches = replace(whole.batches, unlabeled_size=10)
    whole.run()

    class Stop(Callback):
        def on_step(self, trainer, record):
            if trainer.iteration == stop:
                self.saved = trainer.state_dict()

    stopper = Stop()
    first = make_trainer(plan=Plan(2, 9, 0.05, 0.05), memory_size=25, callbacks=[stopper])
    first.batches = whole.batches
    first.run()
    again = make_trainer(plan=Plan(2, 9, 0.05, 0.05), memory_size=25, seed=7)
    again.batches = whole.batches
    again.load_state_dict(stopper.saved)
    again.run()
    assert torch.equal(parameters(again), parameters(whole))
    assert again.history == whole.history


def test_memory_is_part_of_what_a_training_is(tmp_path):
    assert make_trainer().fingerprint() != make_trainer(memory_size=10).fingerprint()

    class Killed(BaseException):
        pass

    class Kill(Callback):
        def on_step(self, trainer, record):
            if trainer.iteration == 17:
                raise Killed

    X, y = blobs(60, 3, D=4, spread=2.0)
    y = np.where(np.arange(60) < 9, y.numpy(), -1)
    options = {"batch_size": 10, "memory_size": 30, "max_iter": 25, "random_state": 0, "progress": False}
    whole = XSDC(**options).fit(X, y)
    with pytest.raises(Killed):
        XSDC(**options, callbacks=[Kill()]).fit(X, y, checkpoints=tmp_path)
    model = XSDC(**options).fit(X, y, checkpoints=tmp_path, resume=True)
    assert np.array_equal(model.transform(X), whole.transform(X))
    assert np.array_equal(model.labels_, whole.labels_)
