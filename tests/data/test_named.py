from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from xsdc.data import DATASETS, available, cache_folder, load_dataset, load_split, named, read_data
from xsdc.errors import InvalidInputError

FOLDER = os.environ.get("XSDC_DATA")


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """No data set is at hand, and the cache is empty."""
    monkeypatch.delenv("XSDC_DATA", raising=False)
    monkeypatch.setattr(named, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **_: pytest.fail("OpenML was asked"))
    return tmp_path


@pytest.fixture
def tiny(monkeypatch):
    """Let data sets be as small as the tests make them."""

    def tiny(name, **changes):
        monkeypatch.setattr(named, "DATASETS", {**DATASETS, name: replace(DATASETS[name], **changes)})

    return tiny


def test_digits_are_always_there(bare):
    data = load_dataset("digits")
    assert (data.kind, data.X.shape, data.name) == ("vectors", (1797, 64), "digits")
    assert data.X.max() == 16
    assert data.pictures.shape == (1797, 8, 8)
    assert data.pictures.dtype == np.uint8
    assert data.pictures.max() == 255
    assert sorted(set(data.labels)) == list(range(10))
    assert available("digits").is_dir()
    assert available("mnist") is None


@pytest.mark.parametrize("name", ["mnist", "magic", "cifar10"])
def test_real_files(name):
    if FOLDER is None or not all((Path(FOLDER) / file).is_file() for file in DATASETS[name].files):
        pytest.skip(f"XSDC_DATA must name a folder with {', '.join(DATASETS[name].files)}")
    assert available(name) == Path(FOLDER)
    if name == "cifar10":  # decoding it takes longer than all other tests
        return
    data = load_dataset(name)
    entry = DATASETS[name]
    assert data.X.shape == (entry.n, *entry.shape)
    assert len(set(data.labels)) == entry.n_classes
    if entry.n_train is not None:
        train, test = load_split(name)
        assert (train.n, test.n) == (60000, 10000)
        np.testing.assert_array_equal(test.X, data.X[60000:])
        assert test.name == "mnist test"


def fetched(**bunch):
    def fetch_openml(*, data_id, data_home, as_frame):
        assert as_frame is False
        fetch_openml.ids.append(data_id)
        return Bunch(**bunch)

    fetch_openml.ids = []
    return fetch_openml


PIXELS = np.random.default_rng(0).integers(0, 256, (6, 3072)).astype(float)


@pytest.mark.parametrize(
    ("name", "data", "target", "X", "labels"),
    [
        ("mnist", PIXELS[:, :784], list("501234"), PIXELS[:, :784].reshape(6, 28, 28), [5, 0, 1, 2, 3, 4]),
        (
            "cifar10",
            PIXELS,
            list("012349"),
            PIXELS.reshape(6, 3, 32, 32).transpose(0, 2, 3, 1),
            ["airplane", "automobile", "bird", "cat", "deer", "truck"],
        ),
        ("magic", PIXELS[:, :11], list("gghhgh"), PIXELS[:, 1:11], list("gghhgh")),
        ("magic", PIXELS[:, :10], list("gghhgh"), PIXELS[:, :10], list("gghhgh")),
        (
            "gisette",
            PIXELS[:, :5],
            ["1", "-1", "1", "1", "-1", "1"],
            PIXELS[:, :5],
            ["positive", "negative", "positive", "positive", "negative", "positive"],
        ),
    ],
)
def test_what_is_not_here_is_fetched_once(bare, tiny, monkeypatch, name, data, target, X, labels):
    tiny(name, n=6, shape=X.shape[1:])
    fetch = fetched(data=data, target=np.array(target, dtype=object))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    first, second = load_dataset(name), load_dataset(name)
    assert fetch.ids == [DATASETS[name].openml_id]
    assert available(name) == bare / "cache"
    for found in (first, second):
        np.testing.assert_array_equal(np.asarray(found.X), X)
        assert found.labels.tolist() == labels
        assert found.kind == ("images" if X.ndim > 2 else "table" if name == "magic" else "vectors")
    if name == "magic":
        pd.testing.assert_frame_equal(first.X, second.X)
        assert first.X.columns[0] == "fLength"


def test_offline(bare, monkeypatch):
    def fetch_openml(**_):
        raise URLError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    with pytest.raises(InvalidInputError, match=r"no route to host.*Put mnist\.npz from https.*cache.*XSDC_DATA"):
        read_data("mnist")


def test_incomplete_data_are_refused_and_not_kept(bare, tiny, monkeypatch):
    fetch = fetched(data=PIXELS[:, :784], target=np.array(list("501234"), dtype=object))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    with pytest.raises(InvalidInputError, match=r"must have shape \(70000, 28, 28\); from OpenML came \(6, 28, 28\)"):
        load_dataset("mnist")
    assert available("mnist") is None


def test_gisette_in_the_form_of_libsvm(bare, tiny, monkeypatch):
    monkeypatch.setenv("XSDC_DATA", str(bare))
    tiny("gisette", n=3, shape=(5000,))
    (bare / "gisette_scale").write_text("1 1:-1 2:0.5 5000:1\n-1 3:0.25\n")
    assert available("gisette") is None
    (bare / "gisette_scale.t").write_text("+1 1:1\n")
    assert available("gisette") == bare
    data = load_dataset("gisette")
    assert data.labels.tolist() == ["positive", "negative", "positive"]
    assert data.X[0, [0, 1, 2, 4999]].tolist() == [-1, 0.5, 0, 1]
    assert (data.X[1, 2], data.X[2, 0]) == (0.25, 1)
    (bare / "gisette_scale.t").write_text("one 1:x\n")
    with pytest.raises(InvalidInputError, match=r"gisette_scale, gisette_scale.t.*cannot be read"):
        load_dataset("gisette")


def test_files_in_a_folder(bare, tiny, monkeypatch):
    monkeypatch.setenv("XSDC_DATA", str(bare))
    tiny("gisette", n=3, shape=(2,))
    for part, rows, labels in (("train", "1 2\n3 4\n", "1\n-1\n"), ("valid", "5 6\n", "1\n")):
        (bare / f"gisette_{part}.data").write_text(rows)
        assert available("gisette") is None
        (bare / f"gisette_{part}.labels").write_text(labels)
    data = load_dataset("gisette")
    assert data.X.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert data.labels.tolist() == ["positive", "negative", "positive"]
    (bare / "gisette_valid.data").write_text("5 x\n")
    with pytest.raises(InvalidInputError, match=r"gisette_train.data.*cannot be read.*Remove or replace"):
        load_dataset("gisette")
    (bare / "mnist.npz").write_bytes(b"junk")
    with pytest.raises(InvalidInputError, match=r"mnist.npz.*cannot be read"):
        load_dataset("mnist")


def test_images_of_cifar_in_a_zip(bare, tiny, monkeypatch):
    import io
    import zipfile

    from PIL import Image

    monkeypatch.setenv("XSDC_DATA", str(bare))
    tiny("cifar10", n=4, n_train=2, test_per_class=1, shape=(2, 2, 3))
    shades = {"test/cat/0.png": 1, "test/dog/0.png": 2, "train/cat/0.png": 3, "train/dog/0.png": 4}
    with zipfile.ZipFile(bare / "cifar10-images.zip", "w") as file:
        for name, shade in shades.items():
            buffer = io.BytesIO()
            Image.new("RGB", (2, 2), (shade, 0, 0)).save(buffer, "PNG")
            file.writestr(name, buffer.getvalue())
    train, test = load_split("cifar10")
    assert train.X[:, 0, 0, 0].tolist() == [3, 4]
    assert test.labels.tolist() == ["cat", "dog"]
    tiny("cifar10", n=4, n_train=1, test_per_class=1, shape=(2, 2, 3))
    with pytest.raises(InvalidInputError, match="not in the order of its usual split"):
        load_split("cifar10")


def test_no_usual_split(bare):
    with pytest.raises(InvalidInputError, match=r"`digits` has no usual split; `mnist`, `cifar10` have one"):
        load_split("digits")


@pytest.mark.parametrize("function", [load_dataset, load_split, available])
def test_unknown_names(function):
    with pytest.raises(InvalidInputError, match=r"no data set `minst` \(did you mean `mnist`\?\)"):
        function("minst")


def test_the_cache_is_where_the_system_has_it(monkeypatch, tmp_path):
    monkeypatch.setattr(named.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "xsdc"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "xsdc"
    monkeypatch.setattr(named.sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "xsdc"
