from __future__ import annotations

import numpy as np
import pytest

from xsdc.data import memory, read_data
from xsdc.errors import InvalidInputError

RNG = np.random.default_rng(0)
X = RNG.random((5, 3))
GRAY = RNG.integers(0, 256, (5, 8, 9), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (5, 8, 9, 3), dtype=np.uint8)


@pytest.fixture
def save(tmp_path):
    def save(**arrays):
        np.savez(tmp_path / "a.npz", **arrays)
        return tmp_path / "a.npz"

    return save


@pytest.mark.parametrize("name", ["X", "x", "data", "anything"])
def test_points(save, name):
    data = read_data(save(**{name: X}))
    assert data.kind == "vectors"
    np.testing.assert_array_equal(data.X, X)
    assert data.labels.tolist() == [None] * 5
    assert (data.ids.tolist(), data.id_name, data.pictures) == ([0, 1, 2, 3, 4], "row", None)


def test_labels_and_ids(save):
    data = read_data(save(X=X, y=np.array([1, -1, 2, 1, 1]), ids=np.array(list("abcde"))))
    assert data.labels.tolist() == [1, None, 2, 1, 1]
    assert (data.ids.tolist(), data.id_name) == (list("abcde"), "ids")


def test_roles(save):
    path = save(X=X, y=np.arange(5)[:, None], mine=np.array(["p", "", "p|q", "q", "?"]), key=np.arange(5) + 7)
    data = read_data(path, label_column="mine", truth_column="y", id_column="key")
    assert data.labels.tolist() == ["p", None, None, "q", None]
    assert data.allowed == {2: ["p", "q"]}
    assert data.truth.tolist() == list("01234")
    assert data.ids.tolist() == ["7", "8", "9", "10", "11"]
    data = read_data(path, truth_column="y")
    assert data.labels.tolist() == [None] * 5
    assert data.truth.tolist() == [0, 1, 2, 3, 4]


def test_train_and_test_are_joined(save):
    data = read_data(save(x_train=GRAY[:3], y_train=np.arange(3), x_test=GRAY[3:], y_test=np.array([5, 6])))
    assert data.labels.tolist() == [0, 1, 2, 5, 6]
    np.testing.assert_array_equal(data.X, GRAY)
    assert "Rows 0 to 2 are `x_train`" in data.notes[0]


@pytest.mark.parametrize(
    ("array", "expected", "note"),
    [
        (GRAY, GRAY, ""),
        (COLOUR, COLOUR, ""),
        (GRAY[..., None], GRAY, ""),
        (GRAY[:, None], GRAY, ""),
        (np.moveaxis(COLOUR, 3, 1), COLOUR, ""),
        (GRAY.astype(np.int64), GRAY, ""),
        (GRAY.astype(np.float32), GRAY, ""),
        (GRAY / 255, GRAY, "from 0 to 1 were brought to 0 to 255"),
        (GRAY.clip(1, 254) + 0.25, GRAY.clip(1, 254), "rounded"),
        (GRAY > 99, np.where(GRAY > 99, 255, 0), ""),
    ],
)
def test_images_become_bytes(save, array, expected, note):
    data = read_data(save(X=array))
    assert data.kind == "images"
    assert data.X.dtype == np.uint8
    np.testing.assert_array_equal(data.X, expected)
    np.testing.assert_array_equal(data.pictures, expected)
    assert note in " ".join(data.notes)


def test_npy(tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.testing.assert_array_equal(read_data(tmp_path / "a.npy").X, X)
    with pytest.raises(InvalidInputError, match=r"one array and no `y`.*savez"):
        read_data(tmp_path / "a.npy", label_column="y")
    (tmp_path / "a.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-9])
    with pytest.raises(InvalidInputError, match=r"`a.npy` is damaged"):
        read_data(tmp_path / "a.npy")


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ({"y": np.arange(3)}, {}, "must have an array `X`"),
        ({"a": X, "b": X}, {}, r"`a \(5, 3\)`, `b \(5, 3\)`"),
        ({"X": np.arange(5)}, {}, r"must have a row for each point.*\(5,\)"),
        ({"X": np.empty((0, 3))}, {}, "must have a row for each point"),
        ({"X": np.empty((0, 8, 8))}, {}, "it is empty"),
        ({"X": np.array([["a"]])}, {}, "must hold numbers"),
        ({"X": X, "y": np.arange(4)}, {}, r"one entry per point, shape \(5,\); it has shape \(4,\)"),
        ({"X": X, "y": np.eye(5)}, {}, "argmax"),
        ({"X": X, "y": np.arange(5)}, {"label_column": "z"}, r"no array `z`.*`X`, `y`"),
        ({"X": X, "y": np.arange(5)}, {"ignore": ["q"]}, "no array `q`"),
        ({"X": GRAY - 128.0}, {}, "from 0 to 1 or from 0 to 255; they go from -128"),
        ({"X": np.full((2, 8, 8), np.nan)}, {}, "go from nan"),
        ({"X": np.zeros((32, 32, 3))}, {}, "looks like one image"),
        ({"X": np.zeros((5, 3, 8, 3))}, {}, "either end could be"),
        ({"X": np.zeros((5, 8, 8, 4))}, {}, "neither end is"),
        ({"x_train": X, "y_train": X, "x_test": X[:, :2], "y_test": X}, {}, "x_train and x_test.*must agree"),
    ],
)
def test_what_are_no_points(save, arrays, options, message):
    with pytest.raises(InvalidInputError, match=message):
        read_data(save(**arrays), **options)


class Boom:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was run",))


def test_objects_are_never_unpickled(tmp_path):
    trap = np.array([Boom()], dtype=object)
    np.savez(tmp_path / "a.npz", X=X, y=trap)
    np.save(tmp_path / "a.npy", trap)
    for name in ("a.npz", "a.npy"):
        with pytest.raises(InvalidInputError, match="holds Python objects"):
            read_data(tmp_path / name)


def test_damaged_and_too_large(save, monkeypatch):
    path = save(X=RNG.random((500, 50)))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidInputError, match="damaged"):
        read_data(path)
    path.write_bytes(whole[:1000] + bytes(100) + whole[1100:])
    with pytest.raises(InvalidInputError, match="damaged"):
        read_data(path)
    path.write_bytes(whole)
    monkeypatch.setattr(memory, "available_memory", lambda: 10**5)
    with pytest.raises(InvalidInputError, match="are free"):
        read_data(path)
