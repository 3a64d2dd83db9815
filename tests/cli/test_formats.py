"""Data as people have them, from the command line and from Python."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy import sparse
from sklearn.pipeline import make_pipeline

from xsdc import XSDC
from xsdc.data import Preparation

N = 90
RNG = np.random.default_rng(0)
KIND = RNG.integers(0, 3, N)
TOPICS = [["grape", "cellar", "vintage"], ["engine", "wheel", "brake"], ["violin", "sonata", "cello"]]
QUICK = ("--max-iter", 0, "--no-report", "--quiet")


def mixed() -> pd.DataFrame:
    """Numbers, categories, dates and a text, with a few labels."""
    return pd.DataFrame(
        {
            "size": np.round(KIND + RNG.normal(0, 0.3, N), 3),
            "colour": [["red", "blue", "green"][k if i % 5 else 0] for i, k in enumerate(KIND)],
            "day": [f"{1 + i % 28:02d}.{1 + 4 * k:02d}.2020" for i, k in enumerate(KIND)],
            "note": [f"a {TOPICS[k][i % 3]} and a {TOPICS[k][(i + 1) % 3]} no {i}" for i, k in enumerate(KIND)],
            "kind": [f"kind {k}" if i % 4 == 0 else None for i, k in enumerate(KIND)],
        }
    )


TABLE = mixed()


def write(frame: pd.DataFrame, path) -> None:
    writers = {
        ".csv": lambda: frame.to_csv(path, index=False, sep=";", decimal=","),
        ".xlsx": lambda: frame.to_excel(path, index=False),
        ".jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        ".parquet": lambda: frame.to_parquet(path),
    }
    writers[path.suffix]()


def read(path) -> pd.DataFrame:
    readers = {
        ".csv": lambda: pd.read_csv(path, sep=";", decimal=","),
        ".xlsx": lambda: pd.read_excel(path),
        ".jsonl": lambda: pd.read_json(path, lines=True),
        ".parquet": lambda: pd.read_parquet(path),
    }
    return readers[path.suffix]()


@pytest.fixture(scope="module")
def from_python():
    X, y = TABLE.drop(columns="kind"), TABLE["kind"]
    model = make_pipeline(Preparation(), XSDC(max_iter=0, random_state=0)).fit(X, y)
    return model[-1].labels_


@pytest.mark.parametrize("ending", ["csv", "xlsx", "jsonl", "parquet"])
def test_every_format_gives_the_labels_that_python_gives(xsdc, tmp_path, from_python, ending):
    write(TABLE, tmp_path / f"a.{ending}")
    options = ("--label-column", "kind", *QUICK, "--labeled", f"b.{ending}", "--out", "run")
    ended = xsdc("fit", f"a.{ending}", *options)
    assert ended.code == 0, ended.err
    labels = pd.read_csv(tmp_path / "run" / "labels.csv")["label"]
    assert labels.tolist() == from_python.tolist()
    assert (labels == [f"kind {k}" for k in KIND]).mean() > 0.9
    written = read(tmp_path / f"b.{ending}")
    assert written["label"].tolist() == labels.tolist()
    np.testing.assert_allclose(written["size"], TABLE["size"])
    assert written["probability"].between(0, 1).all()
    assert xsdc("fit", f"a.{ending}", *options).code == 2  # what is there is not written over
    predicted = xsdc("predict", "run", f"a.{ending}", "-o", "c.csv")
    assert predicted.code == 0, predicted.err
    assert len(pd.read_csv(tmp_path / "c.csv")) == N


def test_doctor_says_what_will_be_done(xsdc, tmp_path):
    write(TABLE.assign(size=[1337.0, *TABLE["size"][1:]]), tmp_path / "a.csv")
    ended = xsdc("doctor", "a.csv", "--json")
    said = " ".join(symptom["detail"] for symptom in json.loads(ended.out)["symptoms"])
    for part in (
        "decimal comma",
        "`size`: 1337 in row 0",
        "Dates became numbers of days",
        "`note`: its text became",
        "Column `kind` is used as a feature",
    ):
        assert part in said


def test_standard_input(xsdc, tmp_path, monkeypatch):
    content = TABLE.to_csv(index=False).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    ended = xsdc("doctor", "-", "--label-column", "kind")
    assert ended.code == 0, ended.err
    assert "90 points" in ended.out


def test_options_of_reading_hold_for_predictions_too(xsdc, tmp_path):
    (tmp_path / "a.csv").write_text("by A, B\n" + TABLE[["size", "colour", "kind"]].to_csv(index=False, sep="~"))
    ended = xsdc(
        *("fit", "a.csv", "--label-column", "kind", "--skip-rows", 1, "--delimiter", "~", *QUICK, "--out", "run")
    )
    assert ended.code == 0, ended.err
    assert xsdc("predict", "run", "a.csv", "-o", "b.csv").code == 0
    TABLE.to_csv(tmp_path / "c.csv", index=False, sep=";")
    told = xsdc("predict", "run", "c.csv", "--skip-rows", 0, "--delimiter", ";", "-o", "d.csv")
    assert told.code == 0, told.err
    assert pd.read_csv(tmp_path / "b.csv")["label"].tolist() == pd.read_csv(tmp_path / "d.csv")["label"].tolist()


def test_texts_in_folders(xsdc, tmp_path):
    for i, k in enumerate(KIND):
        folder = tmp_path / "texts" / (f"topic {k}" if i % 4 == 0 else "unlabeled")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i:02d}.txt").write_text(TABLE["note"][i] * 3)
    ended = xsdc("fit", "texts", *QUICK, "--out", "run")
    assert ended.code == 0, ended.err
    found = pd.read_csv(tmp_path / "run" / "labels.csv")
    right = [f"topic {KIND[int(name[-6:-4])]}" for name in found["id"]]
    assert (found["label"] == right).mean() > 0.9


def test_images_sorted_into_folders(xsdc, tmp_path):
    for i in range(40):
        folder = tmp_path / "photos" / (("dark" if i % 2 else "bright") if i < 10 else "unlabeled")
        folder.mkdir(parents=True, exist_ok=True)
        shade = (60 if i % 2 else 190) + RNG.integers(-40, 40, (8, 8))
        Image.fromarray(shade.astype(np.uint8)).save(folder / f"{i:02d}.png")
    ended = xsdc("fit", "photos", *QUICK, "--out", "run", "--labeled", "sorted")
    assert ended.code == 0, ended.err
    found = pd.read_csv(tmp_path / "run" / "labels.csv")
    for name, label in zip(found["id"], found["label"], strict=True):
        assert (tmp_path / "sorted" / label / name.split("/")[-1]).read_bytes()


def test_sparse_counts(xsdc, tmp_path):
    rates = np.where(np.arange(400) % 3 == KIND[:, None], 0.3, 0.02)
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_matrix(RNG.poisson(rates)))
    ended = xsdc("fit", "a.npz", "--n-clusters", 3, *QUICK, "--out", "run", "--json")
    assert ended.code == 0, ended.err
    notes = " ".join(json.loads(ended.out)["data"]["notes"])
    assert "were taken for counts" in notes
    assert "tf-idf" in notes
    named = xsdc("doctor", "a.npz", "--kind", "counts")
    assert "Counts were brought to one sum a row" in " ".join(named.out.split())
    assert xsdc("predict", "run", "a.npz", "-o", "b.csv").code == 0
