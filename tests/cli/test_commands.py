"""Every command and option, and what goes wrong."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import numpy as np
import pytest
import typer.main

from tests.cli.conftest import QUICK, ROLES, make_table
from xsdc import XSDC, __version__
from xsdc.cli import app
from xsdc.cli.fit import summary
from xsdc.cli.options import DATA, ESTIMATOR
from xsdc.errors import InvalidInputError
from xsdc.runs.configuration import NOT_KEPT, DataOptions


def test_every_option_of_the_estimator_is_on_the_command_line():
    assert set(ESTIMATOR) == set(inspect.signature(XSDC).parameters) - set(NOT_KEPT)
    assert set(DATA) | {"source"} == set(inspect.signature(DataOptions).parameters)


def test_help_needs_no_heavy_import():
    heavy = ("torch", "sklearn", "pandas", "numpy", "scipy")
    code = f"import sys, xsdc.cli; print([name for name in {heavy} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert loaded.stdout.strip() == "[]"


def test_help_of_every_command(xsdc):
    commands = typer.main.get_command(app).commands
    names = "demo fit predict tune doctor report suggest label reproduce datasets info"
    assert set(commands) == set(names.split())
    for name in commands:
        ended = xsdc(name, "--help")
        assert ended.code == 0
        assert "Usage" in ended.out
    assert xsdc("--help").code == 0


BAD = {
    "no data": (["fit"], "Say what to read"),
    "no such file": (["fit", "nothing.csv"], "nothing.csv"),
    "no such column": (["fit", "flowers.csv", "--label-column", "kinds"], "kind"),
    "no such option": (["fit", "flowers.csv", "--labels", "kind"], "No such option"),
    "no such command": (["fitt"], "No such command"),
    "word for a number": (["fit", "flowers.csv", "--max-iter", "many"], "whole number"),
    "negative steps": (["fit", "flowers.csv", "--max-iter", "-3"], "On the command line it is --max-iter"),
    "no such network": (["fit", "flowers.csv", "--network", "resnet"], "network"),
    "no such labeler": (["fit", "flowers.csv", "--labeler", "magic"], "labeler"),
    "no such network file": (["fit", "flowers.csv", "--network", "net.json"], "net.json"),
    "bounds in disorder": (
        ["fit", "flowers.csv", "--n-clusters", "3", "--cluster-size", "0.5,0.2"],
        "On the command line it is --cluster-size",
    ),
    "bounds that are words": (["fit", "flowers.csv", "--cluster-size", "small"], "MIN,MAX"),
    "bounds that cannot be met": (["fit", "flowers.csv", "--n-clusters", "3", "--cluster-size", "0.1,0.2"], "Raise"),
    "too many labels kept": (["fit", "flowers.csv", "--label-column", "kind", "--keep-labels", "50"], "18"),
    "no such scale": (["fit", "flowers.csv", "--scale", "big"], "scale"),
    "no such device": (["fit", "flowers.csv", "--device", "toaster"], "device"),
    "config and data": (["fit", "flowers.csv", "--config", "x.json"], "--config"),
    "no config": (["fit", "--config", "x.json"], "x.json"),
    "config and seed": (["fit", "--config", "x.json", "--seed", "1"], "--config"),
    "resume with a seed": (["fit", "--out", "nowhere", "--resume", "--seed", "1"], "DATA"),
    "resume by force": (["fit", "flowers.csv", "--resume", "--force"], "one of them"),
    "held-out labels that are not used": (
        ["tune", "flowers.csv", "--n-clusters", "3", "--criterion", "label-free", "--hold-out", "0.2"],
        "label-free",
    ),
    "not a config": (["fit", "--config", "flowers.csv"], "not the configuration"),
    "resume of nothing": (["fit", "--out", "nowhere", "--resume"], "holds no run"),
    "resume without data": (["fit", "--out", "nowhere", "--resume", "--max-iter", "3"], "DATA"),
    "out is a file": (["fit", "flowers.csv", "--out", "flowers.csv"], "is a file"),
    "pairs of strangers": (["fit", "flowers.csv", "--must-link", "pairs.csv"], "900"),
    "no pairs": (["fit", "flowers.csv", "--cannot-link", "none.csv"], "none.csv"),
    "predict without a run": (["predict", "nowhere", "flowers.csv"], "nowhere"),
    "predict from another file": (["predict", "flowers.csv", "flowers.csv"], "not a model"),
    "report without a run": (["report", "empty"], "holds no run"),
    "info of nothing": (["info", "nowhere"], "nowhere"),
    "no such data set": (["datasets", "--fetch", "mnits"], "mnist"),
    "doctor of nothing": (["doctor", "nothing.csv"], "nothing.csv"),
    "tune without trials": (["tune", "flowers.csv", "--trials", "0"], "trials"),
    "tune what is not there": (["tune", "flowers.csv", "--n-clusters", "3", "--search", "rigde"], "ridge"),
    "tune by words": (["tune", "flowers.csv", "--n-clusters", "3", "--search", "ridge=a:b"], "LOW:HIGH"),
    "tune by no labels": (["tune", "flowers.csv", "--n-clusters", "3", "--criterion", "validation"], "label"),
    "tune holding out much": (["tune", "flowers.csv", "--n-clusters", "3", "--hold-out", "most"], "--hold-out"),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_input_ends_with_code_2_and_a_sentence(xsdc, tmp_path, table, case):
    (tmp_path / "pairs.csv").write_text("0,900\n")
    (tmp_path / "empty").mkdir()
    arguments, expected = BAD[case]
    before = {path.name for path in tmp_path.rglob("*")}
    ended = xsdc(*arguments)
    assert ended.code == 2, ended.err
    assert expected in ended.err.replace("\n", " ")
    assert ended.out == ""
    assert {path.name for path in tmp_path.rglob("*")} - before <= {"tuned", "study.db"}


BROKEN = {
    "empty.csv": b"",
    "header.csv": b"a,b\n",
    "junk.csv": bytes(range(256)) * 20,
    "short.parquet": b"PAR1 and no more",
    "text.parquet": b"a,b\n1,2\n",
    "cut.npz": b"PK\x03\x04 cut off",
    "text.npy": b"not an array",
    "text.zip": b"not a zip",
    "cut.h5ad": b"\x89HDF\r\n\x1a\n cut off",
    "strange.xyz": b"?",
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("command", ["fit", "doctor"])
def test_broken_files_end_with_code_2_and_a_sentence(xsdc, tmp_path, name, command):
    (tmp_path / name).write_bytes(BROKEN[name])
    ended = xsdc(command, name)
    assert ended.code == 2, ended.err
    assert name in ended.err.replace("\n", "")
    assert len(ended.err) < 600
    assert not (tmp_path / "run").exists()


def test_nothing_is_replaced_unasked(xsdc, tmp_path, table):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("mine")
    fit = ("fit", table, *ROLES, *QUICK, "--out", "run", "--no-report")
    assert xsdc(*fit).code == 0
    before = (tmp_path / "run" / "labels.csv").read_bytes()
    ended = xsdc(*fit, "--seed", 5)
    assert ended.code == 2
    assert "--force" in ended.err
    assert (tmp_path / "run" / "labels.csv").read_bytes() == before
    assert xsdc(*fit, "--force", "--seed", 5).code == 0
    assert json.loads((tmp_path / "run" / "config.json").read_text())["seed"] == 5
    assert (tmp_path / "run" / "mine.txt").read_text() == "mine"
    (tmp_path / "run" / "replaced").mkdir()
    (tmp_path / "run" / "replaced" / "mine too.txt").write_text("mine")
    files = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    for wrong in (("--network", "lenet5"), ("--patience", 3)):
        assert xsdc(*fit, "--force", *wrong).code == 2
        assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == files
    assert xsdc(*fit, "--force").code == 0
    assert {path for path in (tmp_path / "run").rglob("*") if path.is_file()} == set(files)


def test_bounds_of_clusters_by_number(xsdc, tmp_path, table):
    bounds = '{"0": [0.1, 0.5], "1": [0.1, 0.5], "2": [0.1, 0.5]}'
    fit = ("fit", table, "--ignore", "kind", *ROLES[2:], "--n-clusters", 3, "--max-iter", 2, "--no-report", "-q")
    ended = xsdc(*fit, "--cluster-size", bounds, "--out", "run")
    assert ended.code == 0, ended.err


def test_options_reach_the_estimator(xsdc, tmp_path, table):
    options = {
        "--n-clusters": ("4", 4),
        "--algorithm": ("published", "published"),
        "--cluster-size": ("0.1,0.6", [0.1, 0.6]),
        "--network": ("kn", "kn"),
        "--labeler": ("hard", "hard"),
        "--max-iter": ("3", 3),
        "--supervised-iter": ("2", 2),
        "--batch-size": ("40", 40),
        "--labeled-batch-size": ("10", 10),
        "--learning-rate": ("0.2", 0.2),
        "--supervised-learning-rate": ("0.1", 0.1),
        "--ridge": ("0.01", 0.01),
        "--filter-penalty": ("0.5", 0.5),
        "--entropy": ("0.3", 0.3),
        "--copies": ("1", 1),
        "--validation": ("0.3", 0.3),
        "--patience": ("2", 2),
        "--evaluate-every": ("1", 1),
        "--device": ("cpu", "cpu"),
        "--dtype": ("float64", "float64"),
    }
    words = [word for name, (value, _) in options.items() for word in (name, value)]
    ended = xsdc("fit", table, *ROLES, *words, "--out", "run", "--no-report", "-q")
    assert ended.code == 0, ended.err
    stored = json.loads((tmp_path / "run" / "config.json").read_text())["options"]
    params = XSDC.load(tmp_path / "run" / "model.xsdc").get_params()
    for name, (_, value) in options.items():
        key = name[2:].replace("-", "_")
        assert stored[key] == value
        assert params[key] == (tuple(value) if isinstance(value, list) else value)
    assert params["random_state"] == 0


def test_validation_none_is_none(xsdc, tmp_path, table):
    ended = xsdc("fit", table, *ROLES, *QUICK, "--validation", "none", "--no-report")
    assert ended.code == 0, ended.err
    assert json.loads((tmp_path / "run" / "config.json").read_text())["options"]["validation"] is None


def test_json_is_the_only_output(xsdc, table):
    ended = xsdc("fit", table, *ROLES, "--max-iter", 2, "--json", "--no-report")
    assert json.loads(ended.out)["data"]["n"] == 90
    assert ended.err == ""


def test_doctor_finds_what_is_wrong(xsdc, tmp_path):
    sick = make_table()
    sick["row"] = np.arange(90)
    sick["always"] = 1
    sick["hollow"] = np.where(np.arange(90) < 20, 1.5, np.nan)
    sick["code"] = sick["truth"].str.upper()
    sick.loc[len(sick)] = {**sick.loc[0], "name": "copy", "kind": "Rose", "code": "other"}
    sick.to_csv("sick.csv", index=False)
    (tmp_path / "same.csv").write_text("flower 0,flower 1\nflower 1,flower 30\n")
    roles = ("--label-column", "kind", "--id-column", "name", "--ignore", "truth")
    ended = xsdc("doctor", "sick.csv", *roles, "--must-link", "same.csv", "--json")
    assert ended.code == 2
    said = {symptom["what"]: symptom for symptom in json.loads(ended.out)["symptoms"]}
    assert said["contradiction"]["level"] == "error"
    chain = "flower 30 is tulip, flower 30=flower 1, flower 1=flower 0, but flower 0 is rose"
    assert chain in said["contradiction"]["detail"]
    assert "Rose (1)" in said["classes with few labels"]["detail"]
    assert "'Rose' and 'rose'" in said["labels that look alike"]["detail"]
    assert "always" in said["constant columns"]["detail"]
    assert "hollow" in said["hollow columns"]["detail"]
    assert "code" in said["columns that tell the label"]["detail"]


def test_doctor_finds_equal_rows_with_different_labels_and_sizes_that_cannot_be(xsdc):
    table = make_table().drop(columns=["truth", "name"])
    table.loc[len(table)] = {**table.loc[0], "kind": "tulip"}
    table.to_csv("twice.csv", index=False)
    ended = xsdc("doctor", "twice.csv", "--label-column", "kind", "--cluster-size", "0.1,0.2")
    assert ended.code == 2
    assert "same row, different labels: 0 is rose, 90 is tulip" in ended.out
    assert "Raise the maximum" in ended.out
    assert "1 of 91 points repeat" in ended.out


def test_doctor_is_content_with_what_is_well(xsdc, table):
    ended = xsdc("doctor", table, *ROLES)
    assert ended.code == 0
    assert "All is well." in ended.out


def test_tune_writes_a_configuration_that_fit_takes(xsdc, tmp_path, table):
    tune = ("tune", table, "--ignore", "kind", *ROLES[2:], "--n-clusters", 3, "--max-iter", 3, "--out", "tuned", "-q")
    search = ("--search", "learning_rate=0.05:0.5:log", "--search", "labeler=balancing,eigen-kmeans")
    ended = xsdc(*tune, *search, "--trials", 3)
    assert ended.code == 0, ended.err
    assert "label-free" in ended.out
    result = json.loads((tmp_path / "tuned" / "tuning.json").read_text())
    assert len(result["trials"]) == 3
    assert result["best_value"] >= result["first_value"]
    more = xsdc(*tune, *search, "--trials", 4, "--json")
    assert more.code == 0, more.err
    assert len(json.loads(more.out)["trials"]) == 4
    options = json.loads((tmp_path / "tuned" / "config.json").read_text())["options"]
    assert options["max_iter"] == 3
    assert all(options[name] == value for name, value in json.loads(more.out)["best_options"].items())
    assert len((tmp_path / "tuned" / "trials.csv").read_text().splitlines()) == 5
    assert xsdc("fit", "--config", "tuned/config.json", "--out", "run", "--no-report", "-q").code == 0


def test_tune_with_the_papers_search_and_labels(xsdc, tmp_path):
    make_table(60).assign(kind=lambda t: t["truth"]).to_csv("all.csv", index=False)
    ended = xsdc(
        "tune", "all.csv", *ROLES[:2], "--ignore", "truth", "--ignore", "name", "--max-iter", 2, "--sampler",
        "sequential", "--search", "learning_rate=0.1,0.3", "--hold-out", "0.3", "--json", "--out", "tuned",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    result = json.loads(ended.out)
    assert result["criterion"] == "validation"
    assert result["complete"]


def test_info_and_datasets(xsdc, tmp_path, table):
    assert json.loads(xsdc("info", "--json").out)["xsdc"] == __version__
    assert "torch" in xsdc("info").out
    assert xsdc("fit", table, *ROLES, *QUICK, "--no-report").code == 0
    facts = json.loads(xsdc("info", "run", "--json").out)
    assert facts["classes"] == ["daisy", "rose", "tulip"]
    assert facts["points"] == 90
    assert facts["options that are not the default"]["max_iter"] == 4
    assert json.loads(xsdc("info", "run/model.xsdc", "--json").out)["steps"] == 4
    named = {row["name"]: row for row in json.loads(xsdc("datasets", "--json").out)}
    assert set(named) == {"digits", "mnist", "cifar10", "magic", "gisette"}
    assert named["digits"]["at"]
    assert "digits" in xsdc("datasets", "--fetch", "digits").out


def test_unexpected_errors_are_told_in_a_line(xsdc, monkeypatch, table):
    def broken(*_args, **_kwargs):
        raise ZeroDivisionError("by chance")

    monkeypatch.setattr("xsdc.runs.fit.read_given", broken)
    ended = xsdc("fit", table)
    assert ended.code == 1
    assert "ZeroDivisionError: by chance" in ended.err


def test_reproduce_runs_goes_on_and_draws(xsdc, tmp_path):
    assert "accuracy-vs-labels" in xsdc("reproduce").out
    quick = ("reproduce", "accuracy-vs-labels", "--quick", "--labels", 50, "--out", "trials")
    first = xsdc(*quick)
    assert first.code == 0, first.err
    assert "1/1" in first.err
    again = xsdc(*quick, "--json", "--plot")
    assert again.code == 0, again.err
    assert "1/1" not in again.err
    (record,) = json.loads(again.out)
    assert record["setting"]["dataset"] == "digits"
    assert (tmp_path / "trials" / "accuracy-vs-labels-quick.svg").exists()
    tuned = xsdc(*quick, "--tune")
    assert tuned.code == 0, tuned.err
    assert "learning_rate = 0.25" in tuned.err


def test_reproduce_refuses_what_there_is_not(xsdc):
    for words, expected in (
        (("accuracy",), "accuracy-vs-labels"),
        (("labelers", "--dataset", "iris"), "no data set iris"),
        (("labelers", "--labels", 7), "no number of labels 7"),
        (("accuracy-vs-labels", "--tune", "--protocol", "honest"), "nothing to tune"),
        (("labelers", "--plot", "--out", "empty"), "no trial"),
        (("labelers", "--protocol", "mine"), "protocol"),
        (("labelers", "--protocol", "honest"), "accuracy-vs-labels"),
        (("labelers", "--quick", "--dataset", "mnist"), "leave out --dataset"),
        (("labelers", "--tune", "--jobs", 2), "leave out --jobs"),
        (("labelers", "--tune", "--plot"), "leave out --plot"),
        (("sensitivity", "--tune"), "leave out --tune"),
        (("feature-maps", "--trials", 2), "leave out --trials"),
        (("feature-maps", "--plot"), "leave out --plot"),
    ):
        ended = xsdc("reproduce", *words)
        assert ended.code == 2
        assert expected in ended.err.replace("\n", " ")


NONSENSE = {
    "source": ({"data": {"source": 5}}, "source must be"),
    "column": ({"data": {"label_column": 3}}, "On the command line it is --label-column"),
    "scale": ({"data": {"scale": [1]}}, "scale must be"),
    "ignore": ({"data": {"ignore": "age"}}, "ignore must be a list"),
    "keep": ({"data": {"keep_labels": "all"}}, "On the command line it is --keep-labels"),
    "seed": ({"seed": -4}, "seed must be"),
    "word": ({"seed": "x"}, "seed must be"),
    "option": ({"options": {"colour": 1}}, "no option 'colour'"),
    "key": ({"data": {"file": "x"}}, "'file'"),
    "list": ([], "has no"),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_configuration_edited_by_hand(xsdc, tmp_path, table, case):
    change, expected = NONSENSE[case]
    whole = {"data": {"source": str(table)}, "options": {"max_iter": 1}, "seed": 0}
    if isinstance(change, dict):
        for key, value in change.items():
            whole[key] = {**whole[key], **value} if isinstance(value, dict) else value
    (tmp_path / "c.json").write_text(json.dumps(whole if isinstance(change, dict) else change))
    ended = xsdc("fit", "--config", "c.json", "--no-report")
    assert ended.code == 2, ended.err
    assert expected in ended.err.replace("\n", " ")


def test_other_kinds_of_data_and_damaged_runs_are_refused(xsdc, tmp_path, table):
    assert xsdc("fit", table, *ROLES, *QUICK, "--no-report").code == 0
    np.savez(tmp_path / "vectors.npz", X=np.random.default_rng(0).normal(size=(30, 3)))
    assert xsdc("fit", "vectors.npz", "--n-clusters", 2, *QUICK, "--no-report", "--out", "vectors").code == 0
    for run, data in (("run", "vectors.npz"), ("vectors", "flowers.csv")):
        ended = xsdc("predict", run, data)
        assert ended.code == 2, ended.err
        assert "kind that was fitted" in ended.err.replace("\n", " ")
    (tmp_path / "run" / "points.npz").write_bytes(b"junk")
    assert "damaged" in xsdc("report", "run", "--force").err
    (tmp_path / "run" / "metrics.json").write_text("{}")
    for command in (("info", "run"), ("report", "run", "--force")):
        ended = xsdc(*command)
        assert ended.code == 2
        assert "damaged" in ended.err
    (tmp_path / "run" / "metrics.json").unlink()
    assert "--resume" in xsdc("info", "run").err.replace("\n", " ")


def test_empty_names_are_not_the_present_folder(xsdc, tmp_path, table):
    for command in (("doctor", ""), ("fit", ""), ("fit", table, "--out", "")):
        assert xsdc(*command).code == 2
    assert {path.name for path in tmp_path.iterdir()} == {"flowers.csv"}


def test_fit_warns_of_what_doctor_warns_of(xsdc, tmp_path, table):
    ended = xsdc("fit", table, "--label-column", "kind", "--id-column", "name", *QUICK)
    assert ended.code == 0
    assert "columns that tell the label: truth" in ended.err.replace("\n", " ")
    assert "columns that tell the label" in (tmp_path / "run" / "report.html").read_text()
    ended = xsdc("fit", table, "--ignore", "kind", *ROLES[2:], *QUICK, "--out", "open", "--no-report")
    assert "was not given and is" in ended.err.replace("\n", " ")


def test_doctor_tells_what_preparation_does_and_refuses(xsdc, table):
    ended = xsdc("doctor", table, "--label-column", "kind", "--n-clusters", 2)
    assert "there will be 3" in ended.out
    assert "one of these" not in ended.out
    assert "columns: 3 columns of numbers were scaled to mean 0 and deviation 1: `height`" in ended.out
    assert xsdc("doctor", table, "--scale", "log").code == 2


def test_states_of_training_outlive_an_error_after_it(xsdc, tmp_path, monkeypatch):
    make_table(10).to_csv(tmp_path / "a.csv", index=False)

    def fail(*_args, **_options):
        raise InvalidInputError("No labels can be found.")

    with monkeypatch.context() as patch:
        patch.setattr("xsdc.fitting.answers.Answers.after_training", fail)
        ended = xsdc("fit", "a.csv", *ROLES, "--max-iter", 20, "--out", "run", "--no-report")
    assert ended.code == 2
    assert "No labels can be found" in ended.err
    assert list((tmp_path / "run" / ".unfinished-run" / "checkpoints").glob("step-*"))
    assert xsdc("fit", "--resume", "--out", "run", "--no-report").code == 0
    with monkeypatch.context() as patch:  # but where there was no training, nothing is left
        patch.setattr("xsdc.fitting.answers.label_points", fail)
        none = ("--max-iter", 0, "--supervised-iter", 0)
        assert xsdc("fit", "a.csv", *ROLES, *none, "--out", "other", "--no-report").code == 2
    assert not (tmp_path / "other").exists()


def test_one_of_a_kind_is_told_in_the_singular():
    data = {"n": 9, "kind": "table", "shape": [2], "n_labeled": 1, "n_allowed": 1, "n_must_link": 1, "n_cannot_link": 1}
    found = {"n_clusters": 2, "sizes": {"a": 4, "b": 5}, "n_doubtful": 0, "bounds": None, "violated_links": 0}
    found |= {"n_checked": 0, "n_suspicious": 0, "suspicious": []}
    training = {"steps": 1, "stopped": "all steps made"}
    metrics = {"data": data | {"notes": []}, "found": found, "measured": None, "training": training}
    metrics["unmeasured"] = "no true label is known."
    told = dict(summary(metrics | {"seconds": {"total": 1.0}}))
    said = "1 label, 1 row with a choice of labels, 1 pair that belongs together, 1 pair that does not"
    assert told["known"] == said


def test_resume_with_another_option_names_it_as_it_is_typed(xsdc, tmp_path, table):
    assert xsdc("fit", table, *ROLES, *QUICK, "--no-report").code == 0
    (tmp_path / "pairs.csv").write_text("flower 0,flower 1\n")
    ended = xsdc("fit", table, *ROLES, *QUICK, "--must-link", "pairs.csv", "--resume", "--no-report")
    assert ended.code == 2
    assert "was begun with --must-link = None" in ended.err.replace("\n", " ")
