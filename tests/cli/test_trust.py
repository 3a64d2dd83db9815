"""What a user is told: how accurate the labels are, which given ones look wrong, and one answer everywhere."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from tests.cli.conftest import QUICK, ROLES, make_table

UNTRAINED = ("--max-iter", 0, "--supervised-iter", 0, "--quiet", "--no-report")
WITHOUT_TRUTH = ("--label-column", "kind", "--ignore", "truth", "--id-column", "name")


def metrics_of(run):
    return json.loads((run / "metrics.json").read_text(encoding="utf-8"))


@pytest.fixture
def wrong(tmp_path):
    """Flowers of which two in three have a label, and two a wrong one; return their rows and names."""
    table = make_table()
    table["kind"] = [kind if i % 3 != 1 else None for i, kind in enumerate(table["truth"])]
    rows = [6, 63]
    table.loc[rows, "kind"] = ["daisy", "tulip"]
    table.to_csv(tmp_path / "flowers.csv", index=False)
    return rows, table.loc[rows, "name"].tolist()


class TestSuspicious:
    def test_wrong_labels_are_listed_everywhere(self, xsdc, tmp_path, wrong):
        rows, names = wrong
        ended = xsdc("fit", "flowers.csv", *ROLES, *UNTRAINED[:-1], "--out", "run")
        assert ended.code == 0, ended.err
        listed = pd.read_csv(tmp_path / "run" / "suspicious.csv")
        assert sorted(listed["row"]) == rows
        assert sorted(listed["id"]) == sorted(names)
        assert dict(zip(listed["row"], listed["label"], strict=True)) == {6: "daisy", 63: "tulip"}
        assert dict(zip(listed["row"], listed["likelier"], strict=True)) == {6: "rose", 63: "daisy"}
        assert listed["probability"].is_monotonic_increasing
        assert (listed["probability"] < listed["likelier_probability"]).all()
        found = metrics_of(tmp_path / "run")["found"]
        assert (found["n_checked"], found["n_suspicious"]) == (60, 2)
        assert found["suspicious"] == listed.to_dict("records")
        said = " ".join(ended.out.split())
        assert "suspicious 2 of 60 labels checked, see suspicious.csv" in said
        assert re.search(r"flower 6: given daisy \(0\.0\d\d\), likelier rose \(0\.\d{3}\)", said)
        report = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
        section = report[report.index('id="suspicious"') : report.index('id="measured"')]
        assert all(name in section for name in names)
        labels = pd.read_csv(tmp_path / "run" / "labels.csv")
        assert labels["label"][rows].tolist() == ["daisy", "tulip"]  # nothing was corrected unasked

    def test_none_is_told_from_not_checked(self, xsdc, tmp_path, table):
        ended = xsdc("fit", table, *ROLES, *UNTRAINED, "--out", "run")
        assert (tmp_path / "run" / "suspicious.csv").read_text() == (
            "id,row,label,probability,likelier,likelier_probability\n"
        )
        assert "suspicious" not in ended.out
        ended = xsdc(
            "fit", table, "--ignore", "kind", *ROLES[2:], "--n-clusters", 3, *UNTRAINED, "--out", "run", "--force"
        )
        assert ended.code == 0, ended.err
        assert not (tmp_path / "run" / "suspicious.csv").exists()
        found = metrics_of(tmp_path / "run")["found"]
        assert (found["n_checked"], found["n_suspicious"], found["suspicious"]) == (0, 0, [])


class TestAccuracy:
    def test_after_training_it_is_that_before(self, xsdc, tmp_path, table):
        for out, options in (("trained", QUICK), ("untrained", UNTRAINED)):
            assert xsdc("fit", table, *WITHOUT_TRUTH, *options, "--out", out).code == 0
        trained, untrained = (metrics_of(tmp_path / out)["measured"] for out in ("trained", "untrained"))
        assert trained["accuracy"] == untrained["accuracy"]
        if metrics_of(tmp_path / "trained")["training"]["best_iteration"]:
            assert trained["note"].startswith("Measured without training")

    def test_without_training_the_labels_given_do(self, xsdc, tmp_path, table):
        ended = xsdc("fit", table, *WITHOUT_TRUTH, *UNTRAINED, "--out", "run")
        assert ended.code == 0, ended.err
        metrics = metrics_of(tmp_path / "run")
        assert metrics["unmeasured"] is None
        assert metrics["measured"]["n"] == 18
        assert metrics["measured"]["on"].startswith("18 given labels, each held out of the classifiers")
        said = " ".join(ended.out.split())
        low, high = metrics["measured"]["interval"]
        assert f"{metrics['measured']['accuracy']:.3f} (95 % interval {low:.3f} to {high:.3f}) on 18 given" in said
        assert "random sample" in said
        assert "interval" in xsdc("info", "run").out

    def test_classes_that_follow_from_links_are_not_counted(self, xsdc, tmp_path, table):
        links = "".join(f"flower {5 * i},flower {5 * i + 1},same\n" for i in range(18))  # one of each has a label
        (tmp_path / "links.csv").write_text(links)
        ended = xsdc("fit", table, *ROLES, *UNTRAINED, "--links", "links.csv", "--out", "run")
        assert ended.code == 0, ended.err
        assert metrics_of(tmp_path / "run")["measured"]["n"] == 90 - 36
        ended = xsdc("fit", table, *WITHOUT_TRUTH, *UNTRAINED, "--links", "links.csv", "--out", "other")
        assert ended.code == 0, ended.err
        assert metrics_of(tmp_path / "other")["measured"] is None  # each label is shown by another point


class TestOneAnswer:
    """``labels.csv`` and the run's own predictions of the same rows."""

    def compare(self, xsdc, tmp_path, table, *options):
        assert xsdc("fit", table, *ROLES, *options, "--out", "run").code == 0
        assert xsdc("predict", "run", table, "--out", "predicted.csv", "--force").code == 0
        return pd.read_csv(tmp_path / "run" / "labels.csv"), pd.read_csv(tmp_path / "predicted.csv")

    @pytest.mark.usefixtures("wrong")
    @pytest.mark.parametrize("options", [QUICK, UNTRAINED])
    def test_they_agree_where_nothing_was_given(self, xsdc, tmp_path, options):
        labels, predicted = self.compare(xsdc, tmp_path, "flowers.csv", *options)
        assert labels["id"].tolist() == predicted["id"].tolist()
        same = labels["label"] == predicted["label"]
        assert same[labels["source"] == "inferred"].all()
        np.testing.assert_allclose(labels["probability"][same], predicted["probability"][same], atol=2e-6)

    def test_without_labels(self, xsdc, tmp_path, table):
        options = (*UNTRAINED, "--n-clusters", 3, "--ignore", "kind")
        assert xsdc("fit", table, *ROLES[2:], *options, "--out", "run").code == 0
        assert xsdc("predict", "run", table, "--out", "predicted.csv").code == 0
        labels, predicted = (pd.read_csv(tmp_path / name) for name in ("run/labels.csv", "predicted.csv"))
        assert (labels["label"] == predicted["label"]).all()

    def test_they_differ_only_where_a_fact_or_a_bound_decides(self, xsdc, tmp_path):
        table = make_table()
        table.loc[31, "kind"] = "rose|daisy"  # a tulip
        table.to_csv("flowers.csv", index=False)
        (tmp_path / "links.csv").write_text("flower 2,flower 33,same\nflower 0,flower 1,different\n")
        labels, predicted = self.compare(xsdc, tmp_path, "flowers.csv", *UNTRAINED, "--links", "links.csv")
        differing = np.flatnonzero(labels["label"] != predicted["label"])
        given = np.flatnonzero(labels["source"] == "given")
        assert set(differing) - set(given) <= {1, 2, 31, 33}
        assert {1, 31} <= set(differing)
        bounds = ("--cluster-size", '{"rose": [0.4, 0.6]}', "--force")
        labels, predicted = self.compare(xsdc, tmp_path, "flowers.csv", *UNTRAINED, *bounds)
        differing = (labels["label"] != predicted["label"]) & (labels["source"] == "inferred")
        assert (labels["label"] == "rose").sum() == 36
        assert set(labels["label"][differing & (labels.index != 31)]) == {"rose"}
