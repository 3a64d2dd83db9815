from __future__ import annotations

import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader

from xsdc.data import ImageRows, TableRows, read_data
from xsdc.errors import InvalidInputError

RNG = np.random.default_rng(0)
N = 50


@pytest.fixture(params=["csv", "parquet"])
def table(tmp_path, request):
    frame = pd.DataFrame(
        {"x": RNG.random(N), "word": ["a", "b"] * 25, "count": range(N), "kind": ["p", "", "q", "p", "?"] * 10}
    )
    frame.loc[40, "x"] = np.nan
    path = tmp_path / f"a.{request.param}"
    frame.to_parquet(path) if request.param == "parquet" else frame.to_csv(path, index=False)
    return path, frame


def test_rows_of_a_table(table, monkeypatch):
    monkeypatch.setattr("xsdc.data.blocks.MOST_ROWS", 7)
    path, frame = table
    rows = TableRows(path, label_column="kind")
    expected = frame[["x", "count"]].to_numpy(dtype=np.float32)
    for _ in range(2):  # it can be gone through again
        np.testing.assert_array_equal(np.stack(list(rows)), expected)
    assert (rows.columns, len(rows)) == (["x", "count"], N)
    assert rows.labels == ["p", None, "q", "p", None] * 10
    assert rows.ids.tolist() == list(range(N))
    batches = list(DataLoader(rows, batch_size=8))
    assert all(batch.dtype == torch.float32 for batch in batches)
    np.testing.assert_array_equal(torch.cat(batches).numpy(), expected)
    some = TableRows(path, ["count"], id_column="word")
    np.testing.assert_array_equal(np.stack(list(some)), expected[:, 1:])
    assert (some.labels, some.ids.tolist()) == (None, frame["word"].tolist())


def test_workers_share_the_rows(table, monkeypatch):
    monkeypatch.setattr("xsdc.data.blocks.MOST_ROWS", 7)
    path, _ = table
    loader = DataLoader(TableRows(path, ["count"]), batch_size=4, num_workers=2, multiprocessing_context="fork")
    assert sorted(torch.cat(list(loader)).flatten().tolist()) == list(range(N))


def test_what_is_no_table_of_numbers(table, tmp_path):
    path, _ = table
    with pytest.raises(InvalidInputError, match=r"no column of numbers `word`.*`x`, `count`"):
        TableRows(path, ["word"])
    with pytest.raises(InvalidInputError, match="none were asked for"):
        TableRows(path, [])
    with pytest.raises(InvalidInputError, match="no column `kid`"):
        TableRows(path, label_column="kid")
    with pytest.raises(InvalidInputError, match="There is no file"):
        TableRows(tmp_path)
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    with pytest.raises(InvalidInputError, match="must be a table"):
        TableRows(tmp_path / "a.npy")


def test_one_block_of_a_table_is_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("xsdc.data.blocks.MOST_ROWS", 500)
    monkeypatch.setattr("xsdc.data.blocks.MOST_CELLS", 10000)
    monkeypatch.setattr("xsdc.data.streams.LEAST", 500)
    peaks = []
    for n in (4000, 32000):
        pd.DataFrame(RNG.random((n, 20))).to_csv(tmp_path / "a.csv", index=False)
        rows = TableRows(tmp_path / "a.csv")
        tracemalloc.start()
        assert sum(1 for _ in rows) == n
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 16 * 32000 < 32000 * 20 * 8  # ids are held, points are not


@pytest.fixture(params=["folder", "zip"])
def photos(tmp_path, request):
    for i in range(12):
        folder = tmp_path / "photos" / ("cat", "dog", "unlabeled")[i % 3]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(RNG.integers(0, 256, (8, 9, 3) if i == 7 else (8, 9), dtype=np.uint8)).save(
            folder / f"{i:02d}.png"
        )
    (tmp_path / "photos" / "cat" / "03.png").write_bytes(b"broken")
    if request.param == "folder":
        return tmp_path / "photos"
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as file:
        for path in sorted((tmp_path / "photos").rglob("*.png")):
            file.write(path, path.relative_to(tmp_path))
    return tmp_path / "photos.zip"


@pytest.mark.parametrize("workers", [0, 2])
def test_images(photos, workers):
    whole = read_data(photos)
    images = ImageRows(photos)
    assert (len(images), images.shape) == (11, (8, 9, 3))
    assert images[-1].dtype == np.uint8
    np.testing.assert_array_equal(np.stack(images.__getitems__([4, 0, 4])), whole.X[[4, 0, 4]])
    assert images.ids.tolist() == whole.ids.tolist()
    assert images.labels == whole.labels.tolist()
    assert "1 broken image(s)" in " ".join(images.notes)
    context = "fork" if workers else None
    loader = DataLoader(images, batch_size=4, num_workers=workers, multiprocessing_context=context)
    np.testing.assert_array_equal(torch.cat(list(loader)).numpy(), whole.X)
    with pytest.raises(IndexError):
        images[11]


def test_images_that_are_gray_or_have_no_labels(tmp_path):
    for i in range(4):
        Image.fromarray(np.full((6, 6), i, dtype=np.uint8)).save(tmp_path / f"{i}.png")
    images = ImageRows(tmp_path, size=(3, 5))
    assert (images.shape, images.labels) == ((3, 5, 1), None)
    assert [int(image.max()) for image in images.__getitems__(range(4))] == [0, 1, 2, 3]
    (tmp_path / "2.png").write_bytes(b"gone")
    with pytest.raises(InvalidInputError, match=r"`2.png` of .* cannot be read any more"):
        images[2]
    with pytest.raises(InvalidInputError, match="There is no folder"):
        ImageRows(tmp_path / "nowhere")
