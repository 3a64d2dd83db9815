from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.problems import gaussian
from xsdc.core.labelling import Candidate, label_points
from xsdc.core.objective import decompose
from xsdc.core.sizes import ClassSizes
from xsdc.errors import InfeasibleError
from xsdc.fitting.choices import Choices
from xsdc.fitting.everyone import Bounds, LabelEveryone, make_judge
from xsdc.fitting.knowledge import read_knowledge


def everyone(X: torch.Tensor, ways: list[ClassSizes], **options) -> tuple[LabelEveryone, Choices]:
    choices = Choices()
    defaults = {"ridge": "auto", "entropy": "median", "way": None, "rng": np.random.RandomState(0)}
    bounds = Bounds(ways, given=True) if len(ways) == 1 else Bounds(ways, given=False)
    labels = LabelEveryone(X, landmarks=np.arange(len(X)), bounds=bounds, choices=choices, **(defaults | options))
    return labels, choices


def knowledge(n: int, k: int, **facts):
    given = {"y": None, "must_link": None, "cannot_link": None, "allowed_labels": None}
    return read_knowledge(n, n_clusters=k, **(given | facts))


def test_of_several_ways_the_one_with_most_merit_is_taken():
    X = gaussian(120, 5) * torch.tensor([10.0, 8.0, 5.0, 3.0, 1.0])  # no groups: each way finds others
    ways = [ClassSizes.around(4, low, high) for low, high in ((1, 1), (0.5, 2), (0.2, 3))]
    labels, choices = everyone(X, ways, ridge=0.01)
    y = np.where(np.arange(120) < 8, np.arange(120) % 4, -1)  # labels hold groups in place: none is split or merged
    facts = knowledge(120, 4, y=y)
    _, best = labels.label(facts)
    spectrum = decompose(X)
    options = {"n_clusters": 4, "judge": make_judge(spectrum, 4), "rng": np.random.RandomState(0)}
    merits = [
        label_points(spectrum, facts.constraints, candidate=Candidate(0.01, way), **options).merit for way in ways
    ]
    assert len(set(merits)) > 1
    assert best.merit == pytest.approx(max(merits))
    assert any(choice["option"] == "ridge at the end" for choice in choices.made)


def test_bounds_that_cannot_be_met_are_passed_over_and_told_where_there_are_no_others(monkeypatch):
    X = gaussian(30, 3)
    tight, wide = ClassSizes.around(3, 1, 1), ClassSizes.around(3, 0, 3)

    def refuse(*arguments, candidate, **options):
        if candidate.sizes.minimum[0] > 0:
            raise InfeasibleError("too tight")
        return label_points(*arguments, candidate=candidate, **options)

    monkeypatch.setattr("xsdc.fitting.everyone.label_points", refuse)
    _, found = everyone(X, [tight, wide], ridge=0.1)[0].label(knowledge(30, 3))
    assert found.candidate.sizes.minimum[0] == 0
    with pytest.raises(InfeasibleError, match="too tight"):
        everyone(X, [tight], ridge=0.1)[0].label(knowledge(30, 3))
