from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from torch import nn

from tests.problems import blobs, generator
from xsdc.core.balancing import balance
from xsdc.core.constraints import close
from xsdc.core.objective import decompose, trace_objective
from xsdc.core.operators import LabelEquivalence
from xsdc.core.sizes import ClassSizes
from xsdc.errors import DivergedError, InvalidInputError, NotConvergedWarning
from xsdc.labelers import Balancing
from xsdc.networks import build_network, normalize_features
from xsdc.training import Batch, Batches, Callback, Plan, Progress, Trainer, batch_objective
from xsdc.training.step import batch_features

SIZES = ClassSizes(np.full(3, 0.2), np.full(3, 0.5))


def make_trainer(
    *, labels: int = 12, network: object = "kn", seed: int = 0, n: int = 90, units: float = 1.0, **options
) -> Trainer:
    X, y = blobs(n, 3, D=6, spread=2.0)
    X = X * units
    codes = np.where(np.arange(n) < labels, y.numpy(), -1)
    plan = options.pop("plan", Plan(3, 6, 0.05, 0.05, evaluate_every=2))
    g = generator(seed)
    built = build_network(network, X.numpy(), generator=g)
    return Trainer(
        built,
        built.prepare(X.numpy()),
        constraints=close(n, labels=codes, n_classes=3),
        batches=Batches(torch.arange(labels), torch.arange(labels, n), labeled_size=8, unlabeled_size=40),
        plan=plan,
        labeler=Balancing(),
        sizes=SIZES,
        choose_ridge=options.pop("choose_ridge", lambda network: 0.01),
        generator=g,
        **options,
    )


def objective(trainer: Trainer, Phi: torch.Tensor, batch: Batch) -> torch.Tensor:
    parts = {"constraints": trainer.constraints, "labeler": trainer.labeler, "sizes": SIZES}
    return batch_objective(Phi, batch, lam=0.01, generator=generator(), **parts).value


def parameters(trainer: Trainer) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in trainer.network.parameters()])


def test_objective_of_a_labeled_batch_is_that_of_its_labels():
    trainer = make_trainer()
    batch = Batch(torch.arange(9), torch.arange(0))
    Phi = batch_features(trainer.network, trainer.data, batch, augment=None, generator=generator())
    found = objective(trainer, Phi, batch)
    torch.testing.assert_close(found, trace_objective(Phi, LabelEquivalence(torch.arange(9) % 3), 0.01))


def test_objective_of_a_mixed_batch_is_that_of_the_balanced_M():
    trainer = make_trainer()
    batch = Batch(torch.arange(9), torch.arange(20, 60))
    Phi = batch_features(trainer.network, trainer.data, batch, augment=None, generator=generator())
    found = objective(trainer, Phi, batch)
    known = trainer.constraints.entries(batch.index.numpy())
    size = SIZES.among(trainer.constraints, known, batch.index.numpy())
    A = decompose(Phi.detach()).cost(0.01).dense().to(torch.float32)
    M = balance(A, size=size, known=known).M
    torch.testing.assert_close(found, trace_objective(Phi, M, 0.01))
    for part in (batch.labeled, batch.unlabeled):  # each part on its own scale
        rows = torch.isin(batch.index, part)
        torch.testing.assert_close(Phi[rows].norm(dim=1).mean(), torch.tensor(1.0))


def test_training_lowers_the_objective_and_records_each_step():
    trainer = make_trainer(plan=Plan(15, 5, 1.0, 1.0), labels=8)  # all labels in each batch: one fixed M
    trainer.run()
    assert [r["iteration"] for r in trainer.history] == list(range(1, 21))
    assert [r["stage"] for r in trainer.history] == ["supervised"] * 15 + ["joint"] * 5
    supervised = [r["objective"] for r in trainer.history[:15]]
    assert (np.diff(supervised) < 0).all()


def test_adaptive_steps_do_not_depend_on_the_units_of_the_data():
    found = []
    for units in (1.0, 1e-6, 1e6):
        trainer = make_trainer(plan=Plan(0, 6), units=units)
        before = parameters(trainer)
        trainer.run()
        found.append(parameters(trainer) / units)
        assert not torch.equal(parameters(trainer), before)
    torch.testing.assert_close(found[1], found[0], rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(found[2], found[0], rtol=1e-3, atol=1e-4)


def test_adaptive_steps_grow_and_then_shrink():
    plan = Plan(0, 100)
    shares = [plan.share_of_rate(i) for i in range(100)]
    assert np.argmax(shares) == 9
    assert shares[0] == pytest.approx(0.1)
    assert shares[-1] < 0.001
    assert (np.diff(shares[10:]) < 0).all()


def test_one_learning_rate_alone_is_refused():
    with pytest.raises(InvalidInputError, match="both learning rates"):
        Plan(3, 4, learning_rate=0.1)


def test_a_learning_rate_is_the_factor_of_the_gradient():
    plain = make_trainer(plan=Plan(0, 1, 0.5, 0.1))
    plain.run()
    assert plain.optimizers[0].param_groups[0]["lr"] == 0.1


def test_filters_on_the_sphere_stay_there():
    layers = [{"width": 8, "kernel": "sphere"}]
    trainer = make_trainer(network={"input": "vectors", "layers": layers})
    before = parameters(trainer)
    trainer.run()
    (filters,) = trainer.network.parameters()
    torch.testing.assert_close(filters.norm(dim=1), torch.ones(8))
    assert not torch.equal(parameters(trainer), before)


def test_any_module_is_trained():
    trainer = make_trainer(network=nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 5)))
    before = parameters(trainer)
    trainer.run()
    assert not torch.equal(parameters(trainer), before)


@pytest.mark.parametrize("stop", [1, 3, 4, 8])
def test_a_continued_run_ends_as_the_uninterrupted_one(stop):
    scores = {"score": lambda network, lam: -float(sum(p.detach().norm() for p in network.parameters()))}
    whole = make_trainer(**scores)
    whole.run()

    class Stop(Callback):
        def on_step(self, trainer, record):
            if trainer.iteration == stop:
                self.saved = trainer.state_dict()

    stopper = Stop()
    make_trainer(callbacks=[stopper], **scores).run()
    again = make_trainer(seed=99, **scores)  # other filters, other generator: all comes from the state
    again.load_state_dict(stopper.saved)
    again.run()
    assert torch.equal(parameters(again), parameters(whole))
    assert again.history == whole.history
    assert (again.best_score, again.best_iteration) == (whole.best_score, whole.best_iteration)


def test_best_state_is_put_back():
    values = iter([0.0, 0.3, 0.9, 0.1, 0.2, 0.3, 0.4])
    seen = {}

    def score(network, lam):
        value = next(values)
        seen[value] = torch.cat([p.detach().flatten().clone() for p in network.parameters()])
        return value

    trainer = make_trainer(score=score)
    trainer.run()
    assert trainer.best_score == 0.9
    assert trainer.best_iteration == 4
    assert torch.equal(parameters(trainer), seen[0.9])
    assert not torch.equal(seen[0.9], seen[0.1])


def test_patience_ends_training():
    trainer = make_trainer(score=lambda network, lam: 0.5, plan=Plan(0, 100, 0.05, 0.05, evaluate_every=2, patience=3))
    trainer.run()
    assert trainer.iteration == 6


def test_interruption_keeps_the_best_and_warns():
    class Interrupt(Callback):
        ended = False

        def on_step(self, trainer, record):
            if trainer.iteration == 4:
                raise KeyboardInterrupt

        def on_end(self, trainer):
            self.ended = True

    callback = Interrupt()
    values = iter([0.1, 0.9, 0.2])
    trainer = make_trainer(callbacks=[callback], score=lambda network, lam: next(values))
    with pytest.warns(UserWarning, match="interrupted after 4 of 9 steps"):
        trainer.run()
    assert trainer.interrupted
    assert callback.ended
    assert trainer.best_iteration == 2


def test_ridge_is_chosen_at_each_stage_and_again():
    asked = []

    def choose(network):
        asked.append(None)
        return 0.1 / len(asked)

    trainer = make_trainer(choose_ridge=choose, plan=Plan(3, 6, 0.05, 0.05, rechoose_every=5))
    trainer.run()
    ridges = [r["ridge"] for r in trainer.history]
    assert ridges == [0.1] * 3 + [0.05] * 2 + [0.1 / 3] * 4


def test_copies_are_augmented_and_tied():
    seen = []

    def augment(inputs, g):
        seen.append(len(inputs))
        return inputs + 0.01 * torch.randn(inputs.shape, generator=g, dtype=inputs.dtype)

    trainer = make_trainer(labels=0, augment=augment, plan=Plan(0, 2, 0.05, 0.05))
    trainer.batches = Batches(torch.arange(0), torch.arange(90), labeled_size=8, unlabeled_size=40, copies=4)
    trainer.run()
    assert seen == [40, 40]
    known = trainer.constraints.entries(trainer.batches.draw(generator()).index.numpy())
    assert len(known.ones) == 10 * 6  # ten points, six pairs of four copies each


def test_labeled_and_unlabeled_points_are_augmented():
    trainer = make_trainer()
    batch = Batch(torch.arange(9), torch.arange(20, 60))
    moved = batch_features(trainer.network, trainer.data, batch, augment=lambda x, g: x + 1, generator=generator())
    there = batch_features(trainer.network, trainer.data + 1, batch, augment=None, generator=generator())
    plain = batch_features(trainer.network, trainer.data, batch, augment=None, generator=generator())
    assert torch.equal(moved, there)
    assert not torch.isclose(plain, moved).all(1).any()


def test_progress_writes_a_line_with_the_time_left():
    stream = io.StringIO()
    make_trainer(callbacks=[Progress(stream)]).run()
    text = stream.getvalue()
    assert "9/9" in text
    assert "s left" in text
    assert text.endswith("\n")


def test_features_that_explode_are_told():
    class Exploding(nn.Linear):
        def forward(self, x):
            return super().forward(x) * float("inf")

    trainer = make_trainer(network=Exploding(6, 4))
    with pytest.raises(InvalidInputError, match="Lower the learning rate"):
        trainer.run()


def test_normalisation_is_part_of_the_gradient():
    trainer = make_trainer()
    X = trainer.data[:10]
    Phi, norm = normalize_features(trainer.network(X))
    assert norm.requires_grad
    assert Phi.requires_grad


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"supervised_iter": -1}, "supervised_iter must be"),
        ({"max_iter": "many"}, "max_iter must be"),
        ({"learning_rate": -0.1}, "learning_rate must be"),
        ({"supervised_learning_rate": float("nan")}, "supervised_learning_rate must be"),
        ({"filter_penalty": -1.0}, "filter_penalty must be"),
        ({"evaluate_every": 0}, "evaluate_every must be"),
        ({"rechoose_every": 0}, "rechoose_every must be"),
        ({"patience": 0}, "patience must be"),
    ],
)
def test_plans_that_make_no_sense_are_refused(change, message):
    good = {"supervised_iter": 1, "max_iter": 1, "supervised_learning_rate": 0.1, "learning_rate": 0.1}
    with pytest.raises(InvalidInputError, match=message):
        Plan(**{**good, **change})


def test_what_cannot_be_trained_is_told():
    with pytest.raises(InvalidInputError, match="nothing to train"):
        make_trainer(network=lambda batch: batch)
    with pytest.raises(InvalidInputError, match="there are 1 labeled points"):
        make_trainer(labels=1)
    still = make_trainer(network=lambda batch: batch, plan=Plan(0, 0, 0.1, 0.1))
    still.run()
    assert still.history == []


def test_points_of_one_class_move_nothing_and_set_no_rate():
    trainer = make_trainer(labels=3, plan=Plan(4, 3, 0.5, 0.5))
    classes = np.where(np.arange(90) < 3, 0, -1)
    trainer.constraints = close(90, labels=classes, n_classes=3)
    before = parameters(trainer)
    seen = []

    class Watch(Callback):
        def on_step(self, trainer, record):
            seen.append(parameters(trainer))

    trainer.callbacks = (Watch(),)
    trainer.run()
    for after in seen[:4]:  # the supervised steps
        assert torch.equal(after, before)
    assert not torch.equal(seen[4], before)
    extent = float((before - before.mean()).norm())
    assert float((seen[4] - before).norm()) < 2 * extent


def test_training_that_diverges_keeps_an_earlier_state_and_says_so():
    trainer = make_trainer(plan=Plan(0, 20, 0.5, 1e8))
    before = parameters(trainer)
    with pytest.warns(NotConvergedWarning, match="bad end after .* Lower the learning rate"):
        trainer.run()
    assert trainer.diverged
    assert trainer.iteration < 20
    torch.testing.assert_close(parameters(trainer), before)


def test_a_gradient_that_is_not_finite_ends_training_like_features_that_are_not():
    trainer = make_trainer(plan=Plan(0, 20, 0.5, 0.1))
    before = parameters(trainer)
    passes = []

    def spoil(gradient):
        passes.append(1)
        return gradient * float("nan") if len(passes) == 3 else gradient

    next(trainer.network.parameters()).register_hook(spoil)
    with pytest.warns(NotConvergedWarning, match="bad end after 2 of 20 steps.* gradient is not finite"):
        trainer.run()
    assert trainer.diverged
    torch.testing.assert_close(parameters(trainer), before)


def test_features_without_meaning_from_the_start_are_an_error():
    class Dead(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(6, 4))

        def forward(self, batch):
            return batch @ self.weight

    with pytest.raises(DivergedError, match="constant"):
        make_trainer(network=Dead()).run()
