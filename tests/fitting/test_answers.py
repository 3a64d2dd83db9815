"""Classes of all points between two steps of training, for the labeler "graph"."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from xsdc.fitting.steps import StepSolver

from tests.problems import blobs, generator
from xsdc import XSDC
from xsdc.core.agreement import agreement
from xsdc.core.sizes import ClassSizes
from xsdc.fitting import groups, read_knowledge
from xsdc.fitting.bounds import Bounds
from xsdc.networks import build_network
from xsdc.training import Callback

N, K = 150, 3


def solver(X, *, sizes=(0.2, 0.5), **facts) -> StepSolver:
    knowledge = read_knowledge(len(X), n_clusters=K, **facts)
    bounds = Bounds(ClassSizes(*(np.full(K, share) for share in sizes)), given=True)
    return StepSolver(X, knowledge, bounds=bounds, ridge="auto")


def shares(X, *, before=None, network=None, **options) -> np.ndarray:
    network = network or build_network("kn", X.numpy(), generator=generator(), dtype=X.dtype)
    return solver(X, **options)(network, before, np.random.RandomState(0))


@pytest.fixture
def data():
    X, y = blobs(N, K, D=6, spread=3.0)
    return X.double(), y.numpy()


class TestShares:
    @pytest.mark.parametrize("labels", [0, 9])
    def test_tell_the_groups(self, data, labels):
        X, y = data
        found = shares(X, y=np.where(np.arange(N) < labels, y, -1))
        np.testing.assert_allclose(found.sum(1), 1)
        assert found.min() >= 0
        accuracy = (found.argmax(1) == y).mean() if labels else agreement(found.argmax(1), y).accuracy
        assert accuracy > 0.95
        assert found.max(1).min() < 0.99  # they are soft

    def test_what_is_known_holds(self, data):
        X, y = data
        given = np.where(np.arange(N) < 9, (y + np.arange(N) // 3) % K, -1)  # against the features
        known = given >= 0
        found = shares(X, y=given, must_link=[(20, 31)], allowed_labels={40: [0, 1], 41: [0, 1]})
        np.testing.assert_array_equal(found[known], np.eye(K)[given[known]])
        np.testing.assert_array_equal(found[20], found[31])
        assert (found[[40, 41], 2] == 0).all()

    def test_bounds_on_sizes_hold(self):
        X = torch.cat([torch.zeros(120, 2), torch.ones(30, 2)]) * 6
        X = (X + torch.randn(X.shape, generator=generator())).double()
        found = shares(X, sizes=(0.32, 0.35))
        counts = np.bincount(found.argmax(1), minlength=K)
        assert counts.min() >= 40  # the least but some points at the border
        assert counts.max() <= 60

    def test_a_solution_is_improved_with_features(self, data):
        X, y = data
        network = build_network(torch.nn.Linear(6, 3, dtype=X.dtype), X.numpy(), generator=generator(), dtype=X.dtype)
        wrong = np.eye(K)[np.where(np.arange(N) < 15, (y + 1) % K, y)]
        found = shares(X, before=wrong, network=network)
        np.testing.assert_array_equal(found.argmax(1), y)
        assert not np.allclose(found, shares(X, before=wrong))  # other features

    def test_of_many_points_some_are_solved_for(self, data, monkeypatch):
        monkeypatch.setattr(groups, "MOST_STARTED", 60)
        X, y = data
        given = np.where(np.arange(N) < 9, y, -1)
        for before in (None, np.eye(K)[y]):
            found = shares(X, y=given, before=before)
            assert found.shape == (N, K)
            np.testing.assert_array_equal(found[:9], np.eye(K)[y[:9]])
            assert (found.argmax(1) == y).mean() > 0.95


class TestFit:
    def test_the_labeler_looks_at_inputs_first_and_then_at_features_too(self, data, monkeypatch):
        asked = []
        original = StepSolver.__call__

        def spy(self, network, before, rng):
            asked.append(before is None)
            return original(self, network, before, rng)

        monkeypatch.setattr(StepSolver, "__call__", spy)
        X, y = data
        model = XSDC(K, labeler="graph", max_iter=21, random_state=0).fit(X.numpy())
        assert asked == [True, False, False]
        assert agreement(model.labels_, y).accuracy > 0.95

    def test_held_out_labels_are_not_seen(self, data):
        seen = []

        class Watch(Callback):
            def on_step(self, trainer, record):
                held = (trainer.constraints.classes < 0).nonzero()[0]
                seen.append(trainer.labeler._shares.numpy()[held].max(1))

        X, y = data
        XSDC(labeler="graph", validation=0.3, max_iter=1, callbacks=[Watch()], random_state=0).fit(X.numpy(), y)
        assert len(seen[0]) == round(0.3 * N)
        assert (seen[0] < 1).mean() > 0.9  # a label that is seen makes one share 1
