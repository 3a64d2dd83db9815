from __future__ import annotations

import torch

from benchmarks import evaluations
from benchmarks.evaluations import Score, coarser, score, starts
from tests.experiments.test_experiments import digits
from tests.problems import blobs
from xsdc.experiments.published import Reported
from xsdc.experiments.splits import Part, Splits, make_splits
from xsdc.experiments.trial import make_trainer


def test_separate_groups_are_right_in_every_way():
    X, y = blobs(120, 4, spread=20.0)
    part = Part(X, y.numpy())
    splits = Splits(part, part, part, y.numpy()[:0], 4, "kn", 64)
    assert score(X, splits, 0.01) == score(X, splits, 0.01, dtype=torch.float64, seed=3, steps=50) == 1.0


def test_another_jpeg_changes_images_a_little():
    images = torch.rand(3, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    again = coarser(images)
    assert again.shape == images.shape
    assert 0 < float((again - images).abs().mean()) < 0.2


def test_the_usual_way_is_that_of_the_experiment():
    setting = digits(n_labeled=0, x=0, iterations=2, burn_in=0, evaluate_every=1, ridge=0.01)
    splits = make_splits(setting, seed=0)
    watch = Score(splits)
    trainer, evaluation = make_trainer(setting, splits, seed=0, callbacks=(watch,))
    trainer.run()
    assert watch.scores["as in the experiment"] == evaluation.test[1:]
    assert len(watch.scores) == 5  # gray images are put through no JPEG


def test_starts_are_those_of_the_trials(monkeypatch, capsys):
    setting = digits(n_labeled=0, x=0, iterations=1, burn_in=0, evaluate_every=1, ridge=0.01)
    scored = []
    for seed in (0, 1):
        trainer, evaluation = make_trainer(setting, make_splits(setting, seed=seed), seed=seed)
        trainer.run()
        scored.append(f"{evaluation.test[0]:.3f}")
    monkeypatch.setitem(evaluations.GAINS, "digits", 0.25)
    monkeypatch.setattr(evaluations, "reported", lambda: {("digits", 0): Reported(0.5, 0.1, 10)})
    row = starts(setting, 2).splitlines()[2]
    assert row.startswith(f"| {scored[0]}, {scored[1]} | ")
    assert row.endswith("| 0.400 |")
    capsys.readouterr()
