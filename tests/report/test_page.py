from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from tests.report.cases import NASTY, VARIANTS, make_findings
from xsdc.report import render_report, write_report
from xsdc.report.wording import at, count, duration, percent, score


class Page(HTMLParser):
    """Elements in order, the text of each script by id, and what is said of each metric."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.metrics: list[tuple[str, str]] = []
        self.text = ""
        self.inside: tuple[str, dict[str, str | None]] = ("", {})
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.inside = (tag, dict(attributes))
        self.elements.append(self.inside)

    def handle_endtag(self, tag):
        self.inside = ("", {})

    def handle_data(self, data):
        tag, attributes = self.inside
        if tag == "script":
            self.scripts[attributes.get("id") or f"script {len(self.scripts)}"] = data
        elif tag != "style":
            self.text += data
        if "data-metric" in attributes and data.strip():
            self.metrics.append((attributes["data-metric"], data))


@pytest.fixture(scope="module", params=VARIANTS)
def case(request):
    findings = make_findings(**VARIANTS[request.param])
    return findings, render_report(findings)


def test_every_figure_is_the_one_of_the_metrics(case):
    findings, html = case
    shown = Page(html).metrics
    assert {"data.n", "found.n_clusters", "found.mean_probability"} <= {path for path, _ in shown}
    for path, text in shown:
        value = at(findings.metrics, path)
        assert text in {write(value) for write in (count, percent, score, duration)}, path


def test_metrics_are_embedded_as_they_are(case):
    findings, html = case
    assert json.loads(Page(html).scripts["metrics"]) == findings.metrics


def test_the_map_holds_every_point_within_its_square(case):
    findings, html = case
    data = json.loads(Page(html).scripts["map-data"])
    for places in (np.array(data["before"]), np.array(data["after"])):
        assert places.shape == (len(findings.points), 2)
        assert ((places >= 0) & (places <= 1)).all()
    assert data["ids"] == findings.ids
    assert data["codes"] == findings.codes.tolist()


def test_names_of_strangers_are_never_markup(case):
    _, html = case
    page = Page(html)
    assert [a for tag, a in page.elements if tag == "script"] == [
        {"type": "application/json", "id": "metrics"},
        {"type": "application/json", "id": "map-data"},
        {},
        {},
    ]
    assert "alert(1)" not in html.replace("&lt;script&gt;alert(1)&lt;/script&gt;", "").replace(
        "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e", ""
    )
    assert NASTY[0] in page.text


def test_nothing_is_asked_of_the_network(case):
    _, html = case
    assert not re.search(r"(https?:)?//[a-z]", re.sub(r"data:image/\w+;base64,[\w+/=]+", "", html))
    for _, attributes in Page(html).elements:
        for name in ("src", "href"):
            assert (attributes.get(name) or "#").startswith(("data:", "#"))
    assert "default-src 'none'" in html


def test_coordinates_are_finite(case):
    _, html = case
    drawn = {"d", "cx", "cy", "r", "x", "y", "x1", "x2", "y1", "y2", "transform", "style"}
    values = [value for _, attributes in Page(html).elements for name, value in attributes.items() if name in drawn]
    assert len(values) > 20
    for value in values:
        assert not re.search(r"nan|inf|none|undefined", value, re.IGNORECASE)


def test_headings_step_by_one_and_pictures_are_described(case):
    _, html = case
    elements = Page(html).elements
    levels = [int(tag[1]) for tag, _ in elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    for tag, attributes in elements:
        if tag == "img":
            assert attributes["alt"]
        if attributes.get("role") == "img" or tag == "canvas":
            assert attributes["aria-label"]


def test_ids_are_unique(case):
    ids = [a["id"] for _, a in Page(case[1]).elements if "id" in a]
    assert len(ids) == len(set(ids))


def test_a_page_is_the_same_each_time_and_small(tmp_path):
    findings = make_findings(look="photographs")
    write_report(findings, tmp_path / "report.html")
    written = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert written == render_report(findings)
    assert len(written) < 500_000


def test_without_truth_the_page_says_why_and_what_to_do():
    text = Page(render_report(make_findings(truth=False))).text
    assert "Not measured: no true label is known. Name a column of them." in text
    assert "interval" not in text


def test_suspicious_labels_are_listed_with_their_pictures():
    findings = make_findings()
    page = Page(render_report(findings))
    text = " ".join(page.text.split())
    assert "Of 12 given labels that could be checked, 2 are probably wrong" in text
    first = re.findall(r"<td>(.*?)</td>", render_report(findings).split('id="suspicious"')[1])[:4]
    assert first == ["zero", "0.2\N{NO-BREAK SPACE}%", "one", "94.3\N{NO-BREAK SPACE}%"]
    assert ("found.n_suspicious", "2") in page.metrics
    assert "suspicious.csv" not in text  # all of them are here
    html = render_report(findings)
    section = html[html.index('id="suspicious"') : html.index('id="measured"')]
    assert section.count('class="thumb"') == 2
    findings.metrics["found"]["n_suspicious"] = 7
    assert "suspicious.csv" in Page(render_report(findings)).text


def test_a_suspicious_label_of_a_point_that_is_not_drawn_has_no_picture():
    findings = make_findings()
    page = render_report(replace(findings, points=findings.points[1:], features_before=findings.features_before[1:],
                                 features_after=findings.features_after[1:], pictures=findings.pictures[1:],
                                 equivalence=None))  # fmt: skip
    section = page[page.index('id="suspicious"') : page.index('id="measured"')]
    assert section.count('class="thumb"') == 1


def test_without_suspicious_labels_the_page_says_nothing_of_them():
    findings = make_findings(n_labeled=0)
    page = Page(render_report(findings))
    assert "uspicious" not in page.text
    assert "found.n_suspicious" not in dict(page.metrics)


def test_without_training_nothing_is_drawn_of_it():
    html = render_report(make_findings(n=6, n_labeled=2, steps=0))
    assert "No training steps were made" in html
    assert "Before training" not in html


def test_stages_and_the_kept_iteration_are_marked():
    text = Page(render_report(make_findings(steps=12))).text
    assert "labels only" in text
    assert "all points" in text
    assert "The model of iteration 12 was kept" in text


def test_a_number_that_is_not_one_does_not_break_the_page():
    findings = make_findings()
    findings.metrics["measured"]["adjusted_rand"] = float("nan")
    probability = findings.probability.copy()
    probability[-1] = np.nan
    page = Page(render_report(replace(findings, probability=probability, equivalence=None)))
    assert ("measured.adjusted_rand", "\N{EN DASH}") in page.metrics
    assert json.loads(page.scripts["metrics"])["measured"]["adjusted_rand"] is None
    assert json.loads(page.scripts["map-data"])["probability"][-1] is None
