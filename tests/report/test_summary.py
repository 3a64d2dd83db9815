from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.report.cases import make_findings
from xsdc.report import render_report, summary
from xsdc.report.apart import columns_apart
from xsdc.report.summary import plain, summarize
from xsdc.report.wording import duration, lead, percent


def test_the_lead_says_what_was_given_and_found():
    metrics = make_findings(n=60, n_labeled=12).metrics
    accuracy = percent(metrics["measured"]["accuracy"], digits=0)
    assert lead(metrics) == (
        f"60 points were put into 3 classes, with 12 labels given. About {accuracy} of the answers are right."
    )
    metrics = make_findings(n_labeled=0, named=False, truth=False, classes=["0"]).metrics
    assert lead(metrics) == "60 points were put into 1 cluster, without any label."


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.9511, "95.1 %"), (1.0, "100 %"), (0.9999, ">99.9 %"), (0.0, "0.0 %"), (None, "–"), (float("nan"), "–")],
)
def test_shares_in_percent(value, text):
    assert percent(value).replace("\N{NO-BREAK SPACE}", " ") == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(1.52, "1.5 s"), (75.2, "75 s"), (600, "10 min"), (9000, "2.5 h"), (None, "–")]
)
def test_durations(seconds, text):
    assert duration(seconds).replace("\N{NO-BREAK SPACE}", " ") == text


def test_typical_and_doubtful_members_are_disjoint_ordered_and_not_given():
    findings = make_findings(n=200)
    for code, card in enumerate(summarize(findings)["classes"]):
        open_ = np.flatnonzero((findings.codes == code) & (findings.given < 0))
        by_probability = [findings.ids[i] for i in open_[np.argsort(-findings.probability[open_])]]
        assert [m["id"] for m in card["typical"]] == by_probability[:8]
        assert [m["id"] for m in card["doubtful"]] == by_probability[:-9:-1]


def test_few_members_are_shown_once():
    findings = make_findings(n=9, n_labeled=0)
    for code, card in enumerate(summarize(findings)["classes"]):
        shown = [m["id"] for m in card["typical"] + card["doubtful"]]
        assert sorted(shown) == sorted(findings.ids[i] for i in np.flatnonzero(findings.codes == code))


def test_more_points_than_the_map_holds_are_sampled_with_all_that_belongs_to_them(monkeypatch):
    monkeypatch.setattr(summary, "MOST_POINTS", 20)
    findings = make_findings(n=60, look="cells")
    shown = summarize(findings)["map"]
    places = [findings.ids.index(name) for name in shown["ids"]]
    assert len(places) == 20
    assert places == sorted(set(places))
    assert shown["codes"] == findings.codes[places].tolist()
    assert [dict(cells)["size"] for cells in shown["cells"]] == [findings.cells[i]["size"] for i in places]


def test_clusters_without_names_are_put_in_the_order_of_the_classes_they_match():
    findings = make_findings(named=False, n_labeled=0)
    findings.metrics["measured"]["confusion"] = {
        "truth": ["0", "1"],
        "found": ["0", "1", "2"],
        "counts": [[1, 9, 0], [8, 0, 2]],
    }
    table = summarize(findings)["measured"]["confusion"]
    assert table["found"] == ["1", "0", "2"]
    assert [[cell["n"] for cell in row["cells"]] for row in table["rows"]] == [[9, 1, 0], [0, 8, 2]]
    assert [[cell["right"] for cell in row["cells"]] for row in table["rows"]] == [
        [True, False, False],
        [False, True, False],
    ]


def test_bars_stand_beside_their_bounds():
    findings = make_findings(bounds=True)
    sizes = summarize(findings)["sizes"]
    longest = max([0.5, *findings.metrics["found"]["share"].values()])
    assert not sizes["kept"]
    for row in sizes["rows"]:
        assert row["bar"] == pytest.approx(findings.metrics["found"]["share"][row["name"]] / longest)
        assert (row["low_at"], row["high_at"]) == pytest.approx((0.1 / longest, 0.5 / longest))


def test_the_matrix_says_how_clear_the_classes_are():
    matrix = summarize(make_findings())["matrix"]
    assert matrix["within"] == pytest.approx(0.9)
    assert matrix["between"] == 0
    assert [span["name"] for span in matrix["spans"]] == ["zero", "one", "two"]
    assert sum(span["size"] for span in matrix["spans"]) == pytest.approx(1)


@pytest.mark.parametrize(("option", "told"), [(None, False), ("ridge of the classifier", False), ("classifier", True)])
def test_classes_that_are_no_groups_are_told_beside_the_matrix(option, told):
    findings = make_findings()
    if option is not None:
        findings.history["choices"].append({"option": option, "value": "trees of inputs 0.40", "why": "labels"})
    html = render_report(findings)
    assert ("not taken from these groups" in html) == told
    assert ("has its class from classifiers of the labels given" in html) == told


def test_points_without_features_before_training_are_drawn_as_they_are():
    findings = make_findings(n=30)
    shown = summarize(replace(findings, features_before=np.empty((0, 0))))["map"]
    assert not shown["moves"]
    assert len(shown["before"]) == 30


def test_findings_are_not_changed():
    findings = make_findings()
    before = plain(vars(findings) | {"equivalence": None})
    summarize(findings)
    assert plain(vars(findings) | {"equivalence": None}) == before


def test_plain_takes_what_json_does_not():
    assert plain({1: (np.float32(0.5), np.int64(3), float("inf"), np.array([True])), "path": None}) == {
        "1": [0.5, 3, None, [True]],
        "path": None,
    }


def test_columns_that_set_a_class_apart_come_first_with_their_means():
    codes = np.repeat([0, 1], 20)
    cells = [
        {"same": "1", "noise": str(i % 2), "far": str(10 * c), "word": "red" if c else "blue", "gap": "missing"}
        for i, c in enumerate(codes)
    ]
    found = columns_apart(cells, codes, 1)
    assert [each.column for each in found] == ["far", "word"]
    assert (found[0].here, found[0].all) == ("mean 10", "5")
    assert found[1].here.replace("\N{NO-BREAK SPACE}", " ") == "red: 100 %"
    assert columns_apart(cells, np.zeros(40, dtype=int), 0) == []


def test_points_to_look_at_first_are_in_doubt_and_not_given():
    findings = make_findings(n=200)
    shown = summarize(findings)["first"]
    places = [findings.ids.index(each["id"]) for each in shown]
    assert len(places) == len(set(places)) == 24
    assert (findings.given[places] < 0).all()
    assert findings.probability[places[:8]].mean() < findings.probability[findings.given < 0].mean()
    assert summarize(make_findings(n=6, n_labeled=2, steps=0))["first"] == []
