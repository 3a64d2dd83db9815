from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from xsdc.data import DATASETS, read_data
from xsdc.errors import InvalidInputError


def test_content_wins_over_a_name_that_lies(tmp_path):
    frame = pd.DataFrame({"x": [1, 2], "z": [3.5, 4]})
    frame.to_parquet(tmp_path / "a.csv")
    data = read_data(tmp_path / "a.csv")
    pd.testing.assert_frame_equal(data.X, frame)
    assert data.notes == ["`a.csv` is a Parquet file by its content and was read as one."]
    with (tmp_path / "b.npy").open("wb") as file:
        np.savez(file, X=np.eye(3))
    assert read_data(tmp_path / "b.npy").X.shape == (3, 3)
    frame.to_csv(tmp_path / "table", index=False)
    assert read_data(str(tmp_path / "table")).notes == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"x,y\n1,2\n", r"`a.parquet` is not a Parquet file: it begins with the text 'x,y"),
        ("a.npz", b"\x00\x01\x02junk", r"not NumPy arrays \(npz\): it begins with the bytes 00 01 02"),
        ("a.npy", b"x", "not a NumPy array"),
        ("a.h5ad", b"x,y\n", "not an AnnData file"),
        ("a.zip", b"x,y\n", "not images in a folder or zip"),
        ("a.zip", b"PK\x03\x04junk", "not a whole zip file, or it is damaged"),
        ("a.csv", b"\x89PNG\r\n", "PNG image; give the folder"),
        ("a.csv", b"%PDF-1.4", "PDF"),
        ("a.csv", bytes(range(256)), "no text has"),
        ("a.pkl", b"\x80\x04\x95", "pickle, which is not read"),
        ("a.parquet", b"", "`a.parquet` is empty"),
    ],
)
def test_files_that_are_not_what_they_say(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        read_data(tmp_path / name)


def test_a_workbook(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as file:
        file.writestr("[Content_Types].xml", "")
    with pytest.raises(InvalidInputError, match="save the sheet as xlsx or CSV"):
        read_data(tmp_path / "a.xlsx")


def test_an_unknown_source_is_told_what_there_is(tmp_path):
    (tmp_path / "flowers.csv").write_text("x\n")
    with pytest.raises(InvalidInputError, match=r"did you mean `.*flowers.csv`\?.*Parquet.*`digits`"):
        read_data(tmp_path / "flower.csv")
    with pytest.raises(InvalidInputError, match=r"did you mean `digits`"):
        read_data("digit")


def test_a_folder_called_like_a_file(tmp_path):
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(InvalidInputError, match=r"`x.csv` holds no images"):
        read_data(tmp_path / "x.csv")


def test_what_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n")

    def refuse(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InvalidInputError, match=r"a.csv` cannot be read: Permission denied"):
        read_data(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_devices_are_refused():
    with pytest.raises(InvalidInputError, match="must be a file or a folder"):
        read_data("/dev/zero")


def test_a_path_wins_over_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_data("digits").n == DATASETS["digits"].n
    Path("digits").write_text("x,z\n1,2\n")
    assert read_data("digits").n == 1


def test_labels_of_a_named_data_set_can_be_the_truth():
    given, hidden = read_data("digits"), read_data("digits", truth_column="label")
    assert given.truth is None
    assert hidden.truth.tolist() == given.labels.tolist()
    assert set(hidden.labels) == {None}
    for options in ({"label_column": "z"}, {"id_column": "label"}, {"image_size": 3}):
        with pytest.raises(InvalidInputError):
            read_data("digits", **options)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.npz", "a.npy", "a.zip"])
def test_damage_of_any_kind_is_an_error_of_ours_or_none(tmp_path, name):
    path = tmp_path / name
    frame = pd.DataFrame({"x": range(20), "word": list("ab") * 10})
    if name == "a.csv":
        frame.to_csv(path)
    elif name == "a.parquet":
        frame.to_parquet(path)
    elif name == "a.npz":
        np.savez(path, X=np.eye(5), y=np.arange(5))
    elif name == "a.npy":
        np.save(path, np.eye(5))
    else:
        with zipfile.ZipFile(path, "w") as file:
            for i in range(3):
                with file.open(f"{i}.png", "w") as entry:
                    Image.new("RGB", (5, 5), (i, 0, 0)).save(entry, "PNG")
    rng, whole = np.random.default_rng(0), path.read_bytes()
    for _ in range(60):
        raw = np.frombuffer(whole, dtype=np.uint8).copy()
        raw[rng.integers(len(raw), size=rng.integers(1, 9))] = rng.integers(0, 256)
        path.write_bytes(raw[: rng.integers(1, len(raw))].tobytes() if rng.random() < 0.2 else raw.tobytes())
        try:
            read_data(path)
        except InvalidInputError as error:
            assert len(str(error)) > 20  # noqa: PT017


def test_reading_needs_no_torch():
    code = "import sys, xsdc.data; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=os.environ, check=False).returncode == 0  # noqa: S603
