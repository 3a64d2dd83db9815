"""Answers, what follows from them, and taking them back."""

from __future__ import annotations

import numpy as np
import pytest

from tests.app.conftest import entry
from xsdc.app.audits import audit_again, estimate
from xsdc.app.opening import open_run
from xsdc.app.replay import live_entries
from xsdc.app.session import Session
from xsdc.errors import InvalidInputError
from xsdc.runs import Configuration, DataOptions

ROSE, TULIP, DAISY = 0, 30, 60  # first rows of each kind


def names(session):
    solution = session.wait()
    return np.array([each.name for each in solution.classes])[solution.codes]


def members(session, row):
    """The sheet of the group that a row is in."""
    solution = session.wait()
    return session.members(int(solution.codes[row]))[0]


def test_groups_are_there_before_any_answer(session):
    solution = session.solution
    assert [each.name for each in solution.classes] == ["group 1", "group 2", "group 3"]
    assert sorted(np.bincount(solution.codes)) == [30, 30, 30]
    assert len(solution.questions) >= 10


def test_a_name_goes_to_the_whole_group(session):
    session.add([entry("group", members(session, ROSE), "rose")])
    found = names(session)
    assert (found[:30] == "rose").all()
    assert not (found[30:] == "rose").any()
    named = [each for each in session.solution.classes if each.named]
    assert [each.name for each in named] == ["rose"]
    assert named[0].colour == session.opened.groups[ROSE]  # it keeps its colour


def test_one_gesture_one_undo(session):
    sheet = members(session, ROSE)
    session.add(
        [entry("group", sheet, "rose", gesture="gesture-a"), entry("label", [40], "tulip", gesture="gesture-a")]
    )
    assert {"rose", "tulip"} <= set(names(session))
    session.add([entry("undo", (), "gesture-a", gesture="gesture-b")])
    assert not {"rose", "tulip"} & set(names(session))
    session.add([entry("undo", (), "gesture-b")])
    assert {"rose", "tulip"} <= set(names(session))
    assert len(session.opened.store.entries()) == 4  # nothing is ever removed


def test_a_stray_is_kept_apart(session):
    sheet = members(session, ROSE)
    session.add([entry("group", sheet[1:], "rose", strays=sheet[:1])])
    assert names(session)[sheet[0]] != "rose"
    assert (names(session)[sheet[1:]] == "rose").all()


def test_two_groups_with_one_name_are_one_class(session):
    session.add([entry("group", members(session, ROSE), "flower"), entry("group", members(session, TULIP), "flower")])
    assert (names(session)[:60] == "flower").all()
    assert len(session.solution.classes) == 2


def test_groups_are_merged_and_split(session):
    groups = session.opened.groups
    session.add([entry("merge", (), f"{groups[ROSE]}|{groups[TULIP]}", gesture="gesture-m")])
    found = names(session)
    assert len(set(found)) == 2
    assert (found[:60] == found[0]).all()
    session.add([entry("split", tuple(range(30)), "0")])
    found = names(session)
    assert len(set(found)) == 3
    assert (found[:30] == found[0]).all()
    assert found[0] != found[30]


def test_a_contradiction_is_told_as_the_shortest_chain_and_any_of_it_undone(session):
    session.add([entry("pair", (0, 1), "same"), entry("pair", (1, 2), "same", gesture="gesture-12")])
    session.add([entry("pair", (0, 5), "same"), entry("pair", (0, 2), "different")])
    (clash,) = session.wait().known.clashes
    assert clash.said == ("0=1", "1=2", "0≠2")
    assert [e.points for e in clash.entries] == [(0, 1), (1, 2), (0, 2)]
    session.add([entry("undo", (), "gesture-12")])
    assert session.wait().known.clashes == []
    assert session.solution.codes[0] != session.solution.codes[2]


def test_two_contradictions_are_told_both(session):
    session.add([entry("label", (0,), "rose"), entry("set", (0,), "tulip|daisy"), entry("label", (1,), "rose")])
    session.add([entry("pair", (1, 2), "same"), entry("label", (2,), "daisy")])
    session.add([entry("pair", (3, 4), "same"), entry("pair", (3, 4), "different")])
    assert len(session.wait().known.clashes) == 2  # the set came after the label of point 0 and replaced it


def test_not_sure_counts_as_nothing_and_is_not_asked_again(session):
    question = session.solution.questions[0]
    session.add([entry(question.kind, question.points, "unsure")])
    solution = session.wait()
    assert not solution.situation.known.any()
    assert question.key not in {each.key for each in solution.questions}


def test_every_tenth_question_is_an_audit_that_the_model_does_not_see(session):
    truth = session.opened.dataset.truth
    kinds = []
    for _ in range(30):
        question = session.wait().questions[0]
        audit = question.reason == "audit"
        kinds.append(audit)
        answer = truth[question.points[0]]
        if question.kind == "pair":
            answer = "same" if answer == truth[question.points[1]] else "different"
        session.add([entry(question.kind, question.points, answer, **({"audit": True} if audit else {}))])
    assert kinds == [i % 10 == 9 for i in range(30)]
    solution = session.wait()
    assert solution.estimate.n == 3
    for audited in solution.known.audits:
        assert audited.points[0] not in solution.known.facts.labels
    assert solution.estimate.interval[0] < solution.estimate.accuracy <= solution.estimate.interval[1]


def test_an_audit_that_disagrees_is_asked_a_second_time_later():
    first, second, third = (entry("label", (i,), name, audit=True) for i, name in ((0, "b"), (1, "a"), (0, "a")))
    codes = np.array([0, 0])
    assert audit_again([first], ["a", "b"], codes) is None  # not right after its answer
    assert audit_again([first, second], ["a", "b"], codes) == 0
    assert audit_again([first, second, third], ["a", "b"], codes) is None


def test_the_estimate_compares_with_what_the_model_says_now(session):
    audits = [entry("label", (i,), name, audit=True) for i, name in ((0, "a"), (1, "b"), (2, "unsure"), (1, "a"))]
    assert estimate(audits, ["a", "b"], np.array([0, 0, 1])).right == 2
    assert estimate(audits, ["a", "b"], np.array([1, 0, 1])).right == 1
    assert estimate([], ["a"], np.array([0])).interval is None


def test_opened_again_everything_is_found(asked, folder):
    first = Session(open_run(asked, folder))
    first.add(
        [entry("group", first.members(int(first.solution.codes[ROSE]))[0], "rose"), entry("label", [45], "tulip")]
    )
    before = names(first)
    first.stop()
    again = Session(open_run(None, folder))
    try:
        assert (names(again) == before).all()
        assert [e.answer for e in live_entries(again.entries())] == ["rose", "tulip"]
    finally:
        again.stop()


def test_other_data_are_refused(session, asked, folder, tmp_path):
    session.stop()
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n3,4\n5,6\n")
    with pytest.raises(InvalidInputError, match="is about"):
        open_run(Configuration.make(DataOptions(str(other)), {}), folder)
    with pytest.raises(InvalidInputError, match="holds no run"):
        open_run(None, type(folder)(tmp_path / "nothing"))


def test_labels_of_the_data_count(asked, folder, fitted):
    data = DataOptions(str(fitted / "flowers.csv"), id_column="name", label_column="kind", truth_column="truth")
    session = Session(open_run(Configuration.make(data, {"effort": "fast"}), folder))
    try:
        assert {each.name for each in session.solution.classes} == {"rose", "tulip", "daisy"}
        truth = session.opened.dataset.truth
        assert np.mean(names(session) == truth) > 0.98
    finally:
        session.stop()
