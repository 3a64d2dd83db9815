from __future__ import annotations

import numpy as np
import pytest

from tests.queries.cases import EACH, situation
from xsdc.queries import STRATEGIES, margin, typical, useful


@pytest.mark.parametrize("name", STRATEGIES)
def test_picks_are_open_and_never_repeated(name):
    case = situation(known=range(0, 120, 3), asked=frozenset({("label", (1,)), ("set", (4,))}))
    picks = STRATEGIES[name](case, 30, np.random.RandomState(0))
    assert len(picks.points) == len(picks.scores) == len(picks.reasons) == 30
    assert len(set(picks.points.tolist())) == 30
    assert not case.known[picks.points].any()
    assert not {1, 4} & set(picks.points.tolist())


@pytest.mark.parametrize("name", STRATEGIES)
def test_no_more_points_than_there_are(name):
    case = situation(known=range(117))
    assert sorted(STRATEGIES[name](case, 30, np.random.RandomState(0)).points) == [117, 118, 119]


def test_margin_takes_the_smallest():
    case = situation()
    gaps = np.sort(case.probabilities, axis=1)
    gaps = gaps[:, -1] - gaps[:, -2]
    assert margin(case, 5, np.random.RandomState(0)).points.tolist() == np.argsort(gaps)[:5].tolist()


def test_groups_without_a_name_come_first_and_their_points_are_in_the_middle():
    case = situation(named=(True, False, False))
    picks = useful(case, 4, np.random.RandomState(0))
    assert set(case.codes[picks.points[:2]].tolist()) == {1, 2}
    for point in picks.points[:2]:
        members = case.codes == case.codes[point]
        middle = case.Z[members].mean(0)
        away = np.linalg.norm(case.Z - middle, axis=1)
        assert away[point] < np.median(away[members])
    assert (picks.scores[:2] > 1).all()
    assert (picks.scores[2:] <= 1).all()


def test_doubts_are_where_two_classes_meet_and_spread_out():
    case = situation(known=range(0, 120, 15))  # more than two per class: typical points were asked about
    picks = useful(case, 3, np.random.RandomState(0))
    assert (case.codes[picks.points] != 2).all()  # the third blob is far from both others
    distances = np.linalg.norm(case.Z[picks.points][:, None] - case.Z[picks.points][None], axis=2)
    nearest = np.sort(np.linalg.norm(case.Z - case.Z[picks.points[0]], axis=1))[1]
    assert distances[np.triu_indices(3, 1)].min() > nearest
    assert (np.diff(picks.scores) <= 0).all()


def test_few_answers_are_spent_on_typical_points_and_a_missing_class_keeps_asking_for_them():
    reasons = useful(situation(known=(0, 40, 80)), 5, np.random.RandomState(0)).reasons
    assert ["typical" in reason for reason in reasons] == [True, True, True, False, False]
    missing = situation(known=range(0, 120, 10), named=(True, True, False))
    reasons = useful(missing, 6, np.random.RandomState(0)).reasons
    assert sum("typical" in reason for reason in reasons) == 3
    one_by_one = [
        useful(situation(known=range(m), named=(True, True, False)), 1, np.random.RandomState(0)) for m in (20, 21)
    ]
    assert ["typical" in picks.reasons[0] for picks in one_by_one] == [False, True]


def test_typical_covers_clusters_before_it_asks_again():
    picks = typical(situation(), 3, np.random.RandomState(0))
    assert sorted(picks.points // EACH) in ([0, 1, 2], [0, 0, 2], [1, 1, 2])
