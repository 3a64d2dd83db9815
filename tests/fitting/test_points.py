from __future__ import annotations

import numpy as np

from xsdc.fitting.knowledge import read_knowledge
from xsdc.fitting.points import choose_points, in_turn


def test_classes_come_in_turn_and_keep_their_order():
    labels = np.array(["a", "a", "a", "b", "a", "c", "b"], dtype=object)
    assert in_turn(np.arange(7), labels).tolist() == [0, 3, 5, 1, 6, 2, 4]
    assert in_turn(np.array([6, 4, 2]), labels).tolist() == [6, 4, 2]


def test_a_rare_class_is_among_those_chosen():
    y = np.r_[np.zeros(500, int), np.ones(497, int), np.full(3, 2), np.full(1000, -1)]
    knowledge = read_knowledge(2000, y=y, must_link=None, cannot_link=None, allowed_labels=None, n_clusters=3)
    for seed in range(10):
        chosen = choose_points(knowledge, np.random.RandomState(seed), most=150)
        assert len(chosen) == len(np.unique(chosen)) == 150
        counts = np.bincount(y[chosen][y[chosen] >= 0])
        assert counts[2] == 3
        assert abs(counts[0] - counts[1]) <= 1


def test_few_points_are_all_chosen():
    knowledge = read_knowledge(5, y=None, must_link=None, cannot_link=None, allowed_labels=None, n_clusters=2)
    assert choose_points(knowledge, np.random.RandomState(0), most=5).tolist() == [0, 1, 2, 3, 4]
