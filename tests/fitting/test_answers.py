"""Answers before and after training, and the better of both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from tests.problems import blobs, generator
from xsdc import XSDC
from xsdc.core.agreement import agreement
from xsdc.fitting import answers as module
from xsdc.fitting.answers import Answers
from xsdc.fitting.automatic import choose_bounds
from xsdc.fitting.choices import Choices
from xsdc.fitting.knowledge import read_knowledge
from xsdc.networks import build_network

N, K = 150, 3


class Shuffle(nn.Module):
    """A representation that training can only make worse: rows become what they are not."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(6, dtype=torch.float64))

    def forward(self, x):
        moved = (self.scale - 1).detach().abs().sum() > 0
        noise = torch.sin(1e4 * x.roll(1, 1)) if moved else x
        return noise * self.scale


@pytest.fixture
def data():
    X, y = blobs(N, K, D=6, spread=3.0)
    return X.double(), y.numpy()


def make_answers(X, **facts) -> Answers:
    knowledge = read_knowledge(len(X), n_clusters=K, **facts)
    settings = XSDC(K)._settings()
    return Answers(
        X,
        knowledge,
        settings,
        bounds=choose_bounds(knowledge),
        before=None,
        learned=False,
        choices=Choices(),
        rng=np.random.RandomState(0),
    )


def probabilities(X, *, first: bool = True, **facts) -> np.ndarray:
    answers = make_answers(X, **facts)
    network = build_network("kn", X.numpy(), generator=generator(), dtype=X.dtype)
    return answers.probabilities(answers.knowledge, network, first)


class TestProbabilities:
    @pytest.mark.parametrize("labels", [0, 9])
    @pytest.mark.parametrize("first", [True, False])
    def test_tell_the_classes(self, data, labels, first):
        X, y = data
        found = probabilities(X, first=first, y=np.where(np.arange(N) < labels, y, -1))
        np.testing.assert_allclose(found.sum(1), 1)
        assert found.min() >= 0
        accuracy = (found.argmax(1) == y).mean() if labels else agreement(found.argmax(1), y).accuracy
        assert accuracy > 0.95
        assert found.max(1).min() < 0.9999  # they are soft

    def test_what_is_known_holds(self, data):
        X, y = data
        given = np.where(np.arange(N) < 9, (y + np.arange(N) // 3) % K, -1)  # against the features
        known = given >= 0
        found = probabilities(X, y=given, must_link=[(20, 31)], allowed_labels={40: [0, 1], 41: [0, 1]})
        np.testing.assert_array_equal(found[known], np.eye(K)[given[known]])
        np.testing.assert_array_equal(found[20], found[31])
        assert (found[[40, 41], 2] == 0).all()

    def test_the_answer_before_training_is_found_once(self, data, monkeypatch):
        X, y = data
        asked = []
        original = module.label_points
        monkeypatch.setattr(module, "label_points", lambda *a, **o: asked.append(1) or original(*a, **o))
        answers = make_answers(X, y=np.where(np.arange(N) < 9, y, -1))
        network = build_network("kn", X.numpy(), generator=generator(), dtype=X.dtype)
        answers.before_training(network)
        answers.probabilities(answers.knowledge, network, True)
        assert len(asked) == 1
        answers.probabilities(answers.knowledge.hiding(np.arange(3)), network, True)  # labels that training may not see
        answers.probabilities(answers.knowledge, network, False)
        assert len(asked) == 3


class TestBetter:
    @pytest.mark.parametrize("labels", [0, 3, 30])
    def test_training_that_harms_is_dropped(self, data, labels):
        X, y = data
        given = np.where(np.arange(N) < labels, y, -1)
        fit = {
            steps: XSDC(K, network=Shuffle(), max_iter=steps, random_state=0).fit(X.numpy(), given) for steps in (0, 5)
        }
        chosen = {each["option"]: each["value"] for each in fit[5].history_["choices"]}
        assert chosen["training kept"] is False
        assert fit[5].history_["stopped"] == "no better than without training"
        assert fit[5].history_["best_iteration"] == 0
        np.testing.assert_array_equal(fit[5].labels_, fit[0].labels_)
        np.testing.assert_array_equal(fit[5].predict_proba(X.numpy()), fit[0].predict_proba(X.numpy()))
        np.testing.assert_array_equal(fit[5].transform(X.numpy()), fit[0].transform(X.numpy()))

    @pytest.mark.parametrize(("values", "kept"), [((-0.5, -0.4), True), ((-0.4, -0.5), False)])
    def test_by_the_likelihood_of_left_out_labels(self, data, values, kept):
        X, y = data
        answers = make_answers(X, y=np.where(np.arange(N) < 9, y, -1))
        network = build_network("kn", X.numpy(), generator=generator(), dtype=X.dtype)
        answers.before_training(network)
        one, other = (replace(answers.untrained, likelihood=value) for value in values)
        outcome, trained = answers._better(one, other, Choices())
        assert trained == kept
        assert outcome.likelihood == max(values)

    def test_by_what_the_inputs_explain_without_labels(self, data):
        X, y = data
        answers = make_answers(X)
        network = build_network("kn", X.numpy(), generator=generator(), dtype=X.dtype)
        answers.before_training(network)
        worse = replace(answers.untrained, codes=np.where(np.arange(N) < 20, (y + 1) % K, answers.untrained.codes))
        assert answers._better(answers.untrained, worse, Choices()) == (answers.untrained, False)
        assert answers._better(worse, answers.untrained, Choices())[1]

    def test_uneven_classes_are_no_better_for_being_uneven(self, data):
        X, _y = data
        answers = make_answers(X)
        answers.before_training(build_network("kn", X.numpy(), generator=generator(), dtype=X.dtype))
        joined = replace(answers.untrained, codes=np.where(np.arange(N) < N - 2, 0, np.arange(N) % 2 + 1))
        assert answers._better(answers.untrained, joined, Choices()) == (answers.untrained, False)


class TestImages:
    def test_are_trained_by_default_and_not_with_effort_fast(self):
        rng = np.random.default_rng(0)
        images = rng.random((60, 10, 10)).astype(np.float32) * 0.3
        images[::2, :, 4:6] += 0.7
        images[1::2, 4:6, :] += 0.7
        given = np.where(np.arange(60) < 6, np.arange(60) % 2, -1)
        fits = {effort: XSDC(effort=effort, random_state=0).fit(images, given) for effort in ("fast", "normal")}
        assert fits["fast"].n_iter_ == 0
        assert fits["normal"].n_iter_ > 100
        for model in fits.values():
            assert (model.labels_ == np.arange(60) % 2).mean() > 0.9
        chosen = {each["option"]: each["value"] for each in fits["normal"].history_["choices"]}
        assert chosen["augmentation"] == "images"
        assert chosen["learning_rate"] == "adaptive"
        assert fits["normal"].network_.config.name == "cnn"
