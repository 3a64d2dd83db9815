"""From files of every kind to labels, as a user would."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tests.cli.conftest import QUICK, ROLES, make_table
from xsdc import XSDC

FILES = {"config.json", "history.json", "labels.csv", "manifest.json", "metrics.json"}
FILES |= {"model.xsdc", "points.npz", "preparation.xsdc"}


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def check_run(run, n: int, *, report: bool = True) -> tuple[pd.DataFrame, dict]:
    """Check that the files of a run are there and agree with each other."""
    names = {path.name for path in run.iterdir()}
    metrics = read(run / "metrics.json")
    sometimes = {"report.html": report, "suspicious.csv": metrics["found"]["n_checked"] > 0}
    assert names == FILES | {name for name, there in sometimes.items() if there}
    labels = pd.read_csv(run / "labels.csv", keep_default_na=False)
    assert list(labels.columns) == ["id", "label", "probability", "source"]
    assert len(labels) == n == metrics["data"]["n"]
    assert labels["probability"].between(0, 1).all()
    assert (labels["source"] == "given").sum() == metrics["data"]["n_labeled"]
    assert labels["label"].astype(str).value_counts().to_dict() == {
        name: size for name, size in metrics["found"]["sizes"].items() if size
    }
    model = XSDC.load(run / "model.xsdc")
    assert [str(name) for name in model.labels_] == labels["label"].astype(str).tolist()
    assert read(run / "history.json")["stopped"] == metrics["training"]["stopped"]
    return labels, metrics


def images(n_each: int = 12):
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 60, size=(2 * n_each, 12, 12)).astype(np.uint8)
    pictures[:n_each, :, 3:6] += 150
    pictures[n_each:, 3:6, :] += 150
    return pictures, np.repeat(["upright", "lying"], n_each)


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_table(xsdc, tmp_path, kind):
    table = make_table()
    path = tmp_path / f"flowers.{kind}"
    if kind == "parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    ended = xsdc("fit", path, *ROLES, *QUICK, "--out", "run")
    assert ended.code == 0, ended.err
    labels, metrics = check_run(tmp_path / "run", 90)
    assert labels["id"].tolist() == table["name"].tolist()
    given = labels["source"] == "given"
    assert labels["label"][given].tolist() == table["kind"][given].tolist()
    right = (labels["label"] == table["truth"])[~given].mean()
    assert metrics["measured"]["accuracy"] == pytest.approx(right)
    assert right > 0.95
    low, high = metrics["measured"]["interval"]
    assert low < right <= high <= 1
    assert f"{right:.3f} (95 % interval {low:.3f} to {high:.3f}) on 72 true labels" in ended.out
    assert "report.html" in ended.out


def test_npz_of_vectors(xsdc, tmp_path):
    table = make_table()
    X = table[["height", "width", "weight"]].to_numpy()
    y = pd.factorize(table["truth"])[0]
    np.savez(tmp_path / "flowers.npz", X=X, y=np.where(np.arange(90) % 5, -1, y))
    ended = xsdc("fit", "flowers.npz", *QUICK, "--out", "run", "--no-report")
    assert ended.code == 0, ended.err
    labels, metrics = check_run(tmp_path / "run", 90, report=False)
    assert metrics["data"]["n_labeled"] == 18
    assert (labels["label"] == y).mean() > 0.95


@pytest.mark.parametrize("packed", [False, True])
def test_folder_and_zip_of_images(xsdc, tmp_path, packed):
    pictures, kinds = images()
    names = []
    for i, (picture, kind) in enumerate(zip(pictures, kinds, strict=True)):
        folder = kind if i % 4 == 0 else "unlabeled"
        names.append(f"{folder}/{i:02d}.png")
        (tmp_path / "photos" / folder).mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(tmp_path / "photos" / names[-1])
    source = tmp_path / "photos"
    if packed:
        source = tmp_path / "photos.zip"
        with zipfile.ZipFile(source, "w") as file:
            for name in names:
                file.write(tmp_path / "photos" / name, name)
    ended = xsdc("fit", source, *QUICK, "--out", "run")
    assert ended.code == 0, ended.err
    labels, metrics = check_run(tmp_path / "run", 24)
    assert metrics["data"]["kind"] == "images"
    found = labels.set_index("id")["label"]
    assert np.mean([found[name] == kind for name, kind in zip(names, kinds, strict=True)]) > 0.9
    assert "data:image/" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    # new images of another size, in colour, are brought to the size of the run
    (tmp_path / "new").mkdir()
    for i in (0, 23):
        Image.fromarray(pictures[i]).resize((30, 30)).convert("RGB").save(tmp_path / "new" / f"{i}.png")
    ended = xsdc("predict", "run", tmp_path / "new", "--out", "new.csv")
    assert ended.code == 0, ended.err
    new = pd.read_csv(tmp_path / "new.csv").set_index("id")["label"]
    assert (new["0.png"], new["23.png"]) == ("upright", "lying")


@pytest.mark.slow
def test_named_data_set_with_labels_hidden(xsdc, tmp_path):
    ended = xsdc("fit", "digits", "--keep-labels", "40", *QUICK, "--out", "run", "--json", "--no-report")
    assert ended.code == 0, ended.err
    printed = json.loads(ended.out)
    _, metrics = check_run(tmp_path / "run", 1797, report=False)
    files = printed.pop("files")
    assert {Path(path).name for path in files.values()} | {"manifest.json"} == FILES | {"suspicious.csv"}
    assert files["labels"] == str(Path("run", "labels.csv"))
    assert printed == metrics
    assert metrics["data"]["labels_per_class"] == {str(digit): 4 for digit in range(10)}
    assert metrics["measured"]["n"] == 1757
    assert metrics["measured"]["accuracy"] > 0.8


def test_no_labels_at_all(xsdc, tmp_path, table):
    ended = xsdc("fit", table, "--ignore", "kind", *ROLES[2:], "--n-clusters", 3, *QUICK, "--out", "run")
    assert ended.code == 0, ended.err
    _, metrics = check_run(tmp_path / "run", 90)
    assert not metrics["found"]["named"]
    assert metrics["measured"]["matched"]
    assert metrics["measured"]["accuracy"] > 0.9


def test_pairs_choices_and_sizes(xsdc, tmp_path):
    table = make_table()
    table.loc[1, "kind"] = "rose|tulip"
    table.to_csv("flowers.csv", index=False)
    (tmp_path / "same.csv").write_text("id1,id2\nflower 2,flower 3\n")
    (tmp_path / "both.csv").write_text("flower 2,flower 31,different\nflower 61,flower 62,same\n")
    ended = xsdc(
        "fit", "flowers.csv", *ROLES, *QUICK, "--out", "run", "--no-report", "--must-link", "same.csv",
        "--links", "both.csv", "--cluster-size", '{"rose": [0.2, 0.4], "daisy": [0.3, 0.34]}',
    )  # fmt: skip
    assert ended.code == 0, ended.err
    labels, metrics = check_run(tmp_path / "run", 90, report=False)
    found = labels.set_index("id")["label"]
    assert found["flower 2"] == found["flower 3"] != found["flower 31"]
    assert found["flower 1"] in ("rose", "tulip")
    assert (metrics["data"]["n_must_link"], metrics["data"]["n_cannot_link"]) == (2, 1)
    assert metrics["data"]["n_allowed"] == 1
    assert metrics["found"]["bounds"]["kept"]
    assert metrics["found"]["bounds"]["maximum"] == {"daisy": 0.34, "rose": 0.4, "tulip": 1.0}


def test_predictions_of_the_fitted_file_and_of_others(xsdc, tmp_path, table):
    assert xsdc("fit", table, *ROLES, *QUICK, "--out", "run", "--no-report").code == 0
    later = make_table(5, seed=1).drop(columns=["kind"])[["truth", "colour", "weight", "width", "height", "name"]]
    later.loc[0, "colour"] = "never seen"
    later.loc[1, "weight"] = np.nan
    later.to_csv("later.csv", index=False)
    ended = xsdc("predict", "run", "later.csv", "--out", "later-labels.csv", "--all")
    assert ended.code == 0, ended.err
    predicted = pd.read_csv(tmp_path / "later-labels.csv")
    assert predicted["id"].tolist() == later["name"].tolist()
    assert (predicted["label"] == later["truth"]).all()
    shares = predicted[[f"probability of {kind}" for kind in ("daisy", "rose", "tulip")]].to_numpy()
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-5)
    np.testing.assert_allclose(shares.max(1), predicted["probability"])
    assert xsdc("predict", "run", "later.csv", "--out", "later-labels.csv").code == 2
    assert xsdc("predict", "run", "later.csv", "--out", "nowhere/later.csv").code == 2
    later.drop(columns="width").to_csv("narrow.csv", index=False)
    ended = xsdc("predict", "run", "narrow.csv")
    assert ended.code == 2
    assert "`width`" in ended.err
    printed = xsdc("predict", "run", "later.csv", "--id-column", "truth")
    assert printed.code == 0
    assert printed.out.splitlines()[0] == "id,label,probability"
    assert printed.out.splitlines()[1].startswith("rose,rose,")


def test_configuration_runs_again_to_the_same_end(xsdc, tmp_path, table):
    assert xsdc("fit", table, *ROLES, *QUICK, "--out", "run", "--no-report", "--seed", 3).code == 0
    assert xsdc("fit", "--config", "run/config.json", "--out", "again", "--no-report", "-q").code == 0
    assert (tmp_path / "run" / "labels.csv").read_bytes() == (tmp_path / "again" / "labels.csv").read_bytes()
    assert read(tmp_path / "run" / "config.json") == read(tmp_path / "again" / "config.json")


def test_report_is_drawn_again_from_the_files_of_the_run(xsdc, tmp_path, table):
    assert xsdc("fit", table, *ROLES, *QUICK, "--out", "run").code == 0
    first = (tmp_path / "run" / "report.html").read_bytes()
    table.unlink()
    assert xsdc("report", "run").code == 2
    assert xsdc("report", "run", "--force").code == 0
    assert (tmp_path / "run" / "report.html").read_bytes() == first
    assert xsdc("report", "run", "--out", "other.html").code == 0
    assert (tmp_path / "other.html").read_bytes() == first


def start(tmp_path, *arguments):
    command = [sys.executable, "-m", "xsdc", "fit", *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603


def test_killed_run_goes_on_to_the_same_end(xsdc, tmp_path, table):
    steps = ("--max-iter", 60, "--supervised-iter", 0, "--no-report")
    assert xsdc("fit", table, *ROLES, *steps, "--quiet", "--out", "whole").code == 0
    process = start(tmp_path, table, *ROLES, *steps, "--out", "killed")
    states = tmp_path / "killed" / ".unfinished-run" / "checkpoints"
    deadline = time.monotonic() + 120
    while not list(states.glob("*.state")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed" / "metrics.json").exists()
    refused = xsdc("fit", table, *ROLES, *steps, "--out", "killed")
    assert refused.code == 2
    assert "--resume" in refused.err
    other = xsdc("fit", table, *ROLES, *steps, "--out", "killed", "--resume", "--seed", 1)
    assert other.code == 2
    assert "seed" in other.err
    ended = xsdc("fit", "--out", "killed", "--resume", "--quiet", "--no-report")
    assert ended.code == 0, ended.err
    for name in ("labels.csv", "history.json"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    check_run(tmp_path / "killed", 90, report=False)
    again = xsdc("fit", "--out", "killed", "--resume")
    assert again.code == 0
    assert "finished" in again.err


@pytest.mark.slow
def test_interrupted_training_still_labels_and_can_go_on(tmp_path, table, xsdc):
    steps = ("--max-iter", 600, "--supervised-iter", 0, "--no-report")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run in the background it is ignored
    process = start(tmp_path, table, *ROLES, *steps, "--out", "run")
    signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 120
    while (
        not list((tmp_path / "run" / ".unfinished-run" / "checkpoints").glob("*.state")) and time.monotonic() < deadline
    ):
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert b"interrupted" in err
    metrics = read(tmp_path / "run" / "metrics.json")
    assert metrics["training"]["interrupted"]
    assert 10 <= metrics["training"]["steps"] < 600
    assert list((tmp_path / "run" / ".unfinished-run" / "checkpoints").glob("*.state"))
    ended = xsdc("fit", "--out", "run", "--resume", "--no-report", "--quiet")
    assert ended.code == 0, ended.err
    training = read(tmp_path / "run" / "metrics.json")["training"]
    assert (training["steps"], training["interrupted"]) == (600, False)
    check_run(tmp_path / "run", 90, report=False)
