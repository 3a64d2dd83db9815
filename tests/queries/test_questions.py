from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.queries.cases import EACH, blobs, situation
from xsdc import XSDC
from xsdc.errors import InvalidInputError
from xsdc.queries import choose_questions, sheet, suggest
from xsdc.queries.questions import KINDS


def ask(case, n=20, **options):
    return choose_questions(case, n, rng=np.random.RandomState(0), **options)


def test_groups_are_asked_about_first_the_largest_first():
    case = situation(named=(False, False, False))
    found = ask(case)
    assert [question.kind for question in found[:3]] == ["group"] * 3
    sizes = [int((case.codes == case.codes[question.points[0]]).sum()) for question in found[:3]]
    assert sizes == sorted(sizes, reverse=True)
    for question in found[:3]:
        assert len(set(case.codes[list(question.points)])) == 1
        assert set(question.strays) < set(question.points)


@pytest.mark.parametrize("size", [3, 12, 13, 14, 40])
def test_a_sheet_shows_each_member_once(size):
    case = situation(named=(False, False, False))
    codes = np.where(np.arange(120) < size, 0, 1)
    case = replace(case, codes=codes, Z=case.Z.round())
    members, strays = sheet(case, 0)
    assert len(members) == len(set(members)) == min(size, 12)
    assert set(strays) <= set(members) <= set(range(size))


def test_all_kinds_come_up_and_all_are_well_formed():
    found = ask(situation(named=(True, True, False), known=(0, EACH)))
    assert {question.kind for question in found} == set(KINDS)
    for question in found:
        assert len(set(question.points)) == {"label": 1, "set": 1, "pair": 2}.get(question.kind, len(question.points))
        assert question.reason
        assert question.text
        assert 0 <= question.score <= 2
        if question.kind == "set":
            assert 2 <= len(question.choices) <= 3


def test_questions_do_not_repeat():
    asked: set = set()
    for _ in range(4):
        found = ask(situation(known=(0, EACH), asked=frozenset(asked)), n=10)
        keys = {question.key for question in found}
        assert len(keys) == len(found) == 10
        assert not keys & asked
        asked |= keys


def test_pairs_compare_with_the_nearest_known_point():
    case = situation(known=(0, 1, EACH, EACH + 1))
    pairs = [question for question in ask(case, kinds=("pair",)) if question.kind == "pair"]
    assert len(pairs) == 20
    for question in pairs:
        point, other = question.points
        if case.named[case.codes[point]] and (case.known & (case.codes == case.codes[point])).any():
            assert case.known[other]
        assert case.codes[other] == case.probabilities[point].argmax()


def test_suggest_asks_about_a_fitted_model():
    X, _ = blobs()
    y = np.full(len(X), None, dtype=object)
    y[[0, EACH, 2 * EACH]] = ["ant", "bee", "cat"]
    model = XSDC(random_state=0, progress=False).fit(X, y)
    found = suggest(model, X, y, n=6, random_state=0)
    assert len(found) == 6
    assert not {0, EACH, 2 * EACH} & {question.points[0] for question in found}
    again = suggest(model, X, y, n=6, asked=found, random_state=0)
    assert not {question.key for question in found} & {question.key for question in again}
    assert suggest(model, X, y, n=6, random_state=0) == found
    by_chance = suggest(model, X, y, n=6, kinds=("label",), strategy="random", random_state=0)
    assert {question.reason for question in by_chance} == {"drawn by chance"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kinds": ("labels",)}, "kinds must be some of"),
        ({"strategy": "best"}, "strategy must be one of"),
        ({"n": 0}, "n must be at least 1"),
    ],
)
def test_what_cannot_be_asked_is_refused(options, said):
    with pytest.raises(InvalidInputError, match=said):
        suggest(XSDC(), np.zeros((3, 2)), **options)


def test_other_data_are_refused():
    X, _ = blobs()
    model = XSDC(3, random_state=0, progress=False).fit(X)
    with pytest.raises(InvalidInputError, match="the 120 points"):
        suggest(model, X[:50])
