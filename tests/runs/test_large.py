"""Data that do not fit into memory end as those that do."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tests.cli.conftest import make_table
from xsdc.data import memory, prepared, tables
from xsdc.errors import InvalidInputError
from xsdc.runs import Configuration, DataOptions, RunFolder, fit_run
from xsdc.runs.doctor import examine

QUICK = {"max_iter": 4, "supervised_iter": 0}


def write_flowers(path):
    table = make_table()
    table.loc[[3, 50], "height"] = np.nan
    table["number"] = range(90)
    if path.suffix == ".parquet":
        table.to_parquet(path, row_group_size=40)
    else:
        table.to_csv(path, index=False)
    return {"label_column": "kind", "truth_column": "truth", "id_column": "name"}


def write_arrays(path):
    table = make_table()
    X = table[["height", "width", "weight"]].to_numpy()
    if path.suffix == ".npy":
        np.save(path, X)
    else:
        np.savez_compressed(path, X=X, y=np.where(np.arange(90) % 5, -1, pd.factorize(table["truth"])[0]))
    return {}


def write_photos(path):
    rng = np.random.default_rng(0)
    for i in range(24):
        pixels = rng.integers(0, 60, (12, 12, 3) if i == 20 else (12, 12), dtype=np.uint8)
        pixels[(slice(None), slice(3, 6)) if i % 2 else slice(3, 6)] += 150
        folder = path / ("unlabeled" if i % 4 > 1 else "upright" if i % 2 else "lying")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(folder / f"{i:02d}.png")
    return {}


SOURCES = {
    "flowers.csv": write_flowers,
    "flowers.parquet": write_flowers,
    "points.npy": write_arrays,
    "points.npz": write_arrays,
    "photos": write_photos,
}


def run(path, out, columns, **options):
    configuration = Configuration.make(DataOptions(str(path), **columns), QUICK | {"n_clusters": 3} | options)
    if path.is_dir():
        configuration = Configuration.make(DataOptions(str(path), **columns), QUICK | options)
    return configuration, fit_run(configuration, RunFolder(out), report=False)


@pytest.mark.parametrize("name", SOURCES)
def test_the_same_labels_come_out(tmp_path, monkeypatch, name):
    columns = SOURCES[name](tmp_path / name)
    configuration, small = run(tmp_path / name, tmp_path / "small", columns)
    monkeypatch.setattr(memory, "SHARE", 0)
    monkeypatch.setattr("xsdc.data.blocks.MOST_ROWS", 7)
    _, large = run(tmp_path / name, tmp_path / "large", columns)
    for file in ("labels.csv", "history.json"):
        assert (tmp_path / "large" / file).read_bytes() == (tmp_path / "small" / file).read_bytes()
    note = "The data are large and were prepared block by block."
    assert note in large["data"]["notes"]
    assert [text for text in large["data"]["notes"] if text != note] == small["data"]["notes"]
    for key in ("found", "measured", "warnings"):
        assert json.dumps(large[key]) == json.dumps(small[key])
    for stored in ("pictures", "cells"):
        with np.load(tmp_path / "large" / "points.npz") as one, np.load(tmp_path / "small" / "points.npz") as other:
            assert (stored in one) == (stored in other)
            if stored in one:
                np.testing.assert_array_equal(one[stored], other[stored])
    assert not (tmp_path / "large" / "prepared").exists()
    given, symptoms = examine(configuration)
    assert given.sample is not None
    monkeypatch.undo()
    sampled = " (drawn from 90)"
    assert [(s.what, s.detail.replace(sampled, "")) for s in symptoms] == [
        (s.what, s.detail) for s in examine(configuration)[1]
    ]


def test_a_sample_is_said_to_be_one(tmp_path, monkeypatch):
    columns = write_flowers(tmp_path / "flowers.csv")
    monkeypatch.setattr(memory, "SHARE", 0)
    monkeypatch.setattr(tables, "SAMPLE", 45)
    monkeypatch.setattr(tables, "LEAST", 1)
    _, metrics = run(tmp_path / "flowers.csv", tmp_path / "run", columns)
    notes = " ".join(metrics["data"]["notes"])
    assert "learned from 45 of 90 rows, drawn evenly" in notes
    assert "2 cells are missing in `height`" in notes  # counted over all rows
    assert "Left out because they only count the rows: `number`" in notes
    assert metrics["measured"]["accuracy"] > 0.9


def test_nothing_is_left_behind_of_a_fit_that_fails(tmp_path, monkeypatch):
    write_flowers(tmp_path / "flowers.csv")
    monkeypatch.setattr(memory, "SHARE", 0)
    with pytest.raises(InvalidInputError, match="n_clusters"):
        run(tmp_path / "flowers.csv", tmp_path / "run", {}, n_clusters=91)
    assert not (tmp_path / "run" / "prepared").exists()
    monkeypatch.setattr(prepared.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 100}))
    with pytest.raises(InvalidInputError, match=r"are free in .*prepared"):
        run(tmp_path / "flowers.csv", tmp_path / "run", {})
    assert not (tmp_path / "run").exists()


def test_what_fits_stays_in_memory(tmp_path, monkeypatch):
    path = tmp_path / "points.npy"
    write_arrays(path)
    seen = []
    monkeypatch.setattr("xsdc.runs.learned.learn_from_sample", lambda *a, **k: seen.append(a))
    monkeypatch.setattr(memory, "available_memory", lambda: 2 * 90 * 3 * 24)
    run(path, tmp_path / "run", {})
    assert not seen
    monkeypatch.setattr(memory, "available_memory", lambda: 2 * 90 * 3 * 24 - 1)
    with pytest.raises(AttributeError):
        run(path, tmp_path / "again", {})
    assert seen
