"""Questions of a run, and a fit that takes the answers back."""

from __future__ import annotations

import csv
import json

import pandas as pd
import pytest

from tests.cli.conftest import QUICK

DATA = ("--id-column", "name", "--truth-column", "truth", "--ignore", "kind")


@pytest.fixture
def run(xsdc, table):
    assert xsdc("fit", table, *DATA, "--n-clusters", 3, "--no-report", *QUICK).code == 0
    return table.parent / "run"


def answer(path, table):
    """Fill in a table of questions as somebody who knows the truth."""
    truth = dict(zip(*(pd.read_csv(table)[name] for name in ("name", "truth")), strict=True))
    rows = list(csv.DictReader(path.read_text().splitlines()))
    for row in rows:
        about = [truth[name] for name in row["points"].split("|")]
        row["answer"] = about[0]
        if row["kind"] == "pair":
            row["answer"] = "same" if about[0] == about[1] else "different"
        if row["kind"] == "group":
            most = max(set(about), key=about.count)
            row["answer"] = most
            row["points"] = "|".join(n for n, t in zip(row["points"].split("|"), about, strict=True) if t == most)
    with path.open("w") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return rows


def test_questions_are_written_and_taken_back_when_they_are_answered(xsdc, run, table):
    ended = xsdc("suggest", run, "-n", 8)
    assert ended.code == 0
    questions = run / "questions.csv"
    rows = answer(questions, table)
    assert len(rows) == 8
    assert {row["kind"] for row in rows} >= {"group"}
    ended = xsdc("fit", "--config", run / "config.json", "--corrections", questions, "--out", "again", "-q")
    assert ended.code == 0
    labels = pd.read_csv("again/labels.csv")
    assert (labels["label"] == pd.read_csv(table)["truth"]).mean() > 0.98
    changes = pd.read_csv("again/changes.csv")
    corrected = int((changes["why"] == "corrected").sum())
    assert f"{corrected} corrected, {len(changes)} rows changed" in ended.out
    assert f"{changes['id'][0]}: {changes['before'][0]} -> {changes['after'][0]} (corrected)" in ended.out
    assert xsdc("suggest", run).code == 2  # the answers are not written over


def test_corrections_add_up_and_the_run_can_be_repeated(xsdc, run):
    (first, second) = run.parent / "first.csv", run.parent / "second.csv"
    first.write_text("id,label\nflower 0,rose\nflower 40,tulip\nflower 80,tulip\n")
    second.write_text("id,label\nflower 80,daisy\n")
    fit = ("fit", "--no-report", "-q", "--config")
    assert xsdc(*fit, run / "config.json", "--corrections", first, "--out", "one").code == 0
    ended = xsdc(*fit, "one/config.json", "--corrections", second, "--out", "two")
    assert "1 corrected" in ended.out
    found = pd.read_csv("two/labels.csv").set_index("id")
    assert found.loc[["flower 0", "flower 40", "flower 80"], "label"].tolist() == ["rose", "tulip", "daisy"]
    assert (found["source"] == "given").sum() == 3
    kept = json.loads((run.parent / "two" / "config.json").read_text())["data"]["corrections"]
    assert kept == [str(first), str(second)]
    assert xsdc(*fit, "two/config.json", "--out", "three").code == 0
    assert (run.parent / "two/labels.csv").read_bytes() == (run.parent / "three/labels.csv").read_bytes()


def test_pairs_correct_too_and_the_folder_may_be_that_of_the_run(xsdc, run):
    pairs = run.parent / "pairs.csv"
    pairs.write_text("a,b,how\nflower 0,flower 1,same\nflower 0,flower 35,different\n")
    arguments = ("fit", "--config", run / "config.json", "--corrections", pairs, "--out", run, "--no-report", "-q")
    assert xsdc(*arguments).code == 2
    ended = xsdc(*arguments, "--force")
    assert ended.code == 0
    assert "0 corrected, 0 rows changed" in ended.out
    assert json.loads((run / "metrics.json").read_text())["data"]["n_must_link"] == 1
    assert xsdc("fit", "--config", run / "config.json", "--out", run, "--no-report", "-q", "--force").code == 0
    assert not (run / "changes.csv").exists()  # it was the former run's


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,label\nflower 999,rose\n", "is no point"),
        ("id,label,more\nx\n", "is no point"),
        ("one,two\n1,2\n", "must have the columns id and label"),
        ("a,b,how\nflower 0,flower 1,maybe\n", "must end in `same` or `different`"),
        ("kind,points,answer\npair,flower 0,same\n", "A pair is about 2 point"),
        ("kind,points,answer\nlabels,flower 0,same\n", "kind must be one of"),
        ("kind,points,answer\npair,flower 0|flower 1,rose\n", "must be same or different"),
    ],
)
def test_corrections_that_cannot_be_read_are_refused_by_line(xsdc, run, text, said):
    path = run.parent / "wrong.csv"
    path.write_text(text.replace("x\n", "flower 999,rose,z\n"))
    ended = xsdc("fit", "--config", run / "config.json", "--corrections", path, "--out", "other", "-q")
    assert ended.code == 2
    assert said in ended.err
    assert not (run.parent / "other").exists()


def test_corrections_may_be_given_with_the_data(xsdc, table):
    labels = table.parent / "labels.csv"
    labels.write_text("id,label\nflower 0,rose\nflower 40,tulip\nflower 80,daisy\n")
    ended = xsdc("fit", table, *DATA, "--corrections", labels, "--no-report", "-q", "--out", "named")
    assert ended.code == 0
    assert (pd.read_csv("named/labels.csv")["label"] == pd.read_csv(table)["truth"]).mean() > 0.98
    assert xsdc("fit", table, "--corrections", "absent.csv").code == 2
