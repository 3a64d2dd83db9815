"""Reading block by block gives what reading the whole gives."""

from __future__ import annotations

import gzip
import warnings

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tests.data.cases import fit_preparation
from xsdc.data import Preparation, open_blocks, read_data
from xsdc.data.blocks import Rows, spread
from xsdc.data.reading import _kind, _opened
from xsdc.data.roles import Roles
from xsdc.errors import InvalidInputError

RNG = np.random.default_rng(0)
N = 40


def joined(blocks):
    """Put blocks of a table or array together again."""
    parts = list(blocks)
    X = [part.X for part in parts]
    whole = pd.concat(X, ignore_index=True) if isinstance(X[0], pd.DataFrame) else np.concatenate(X)
    return whole, np.concatenate([part.ids for part in parts])


def same(path, rows=7, **options):
    whole = read_data(path)
    X, ids = joined(open_blocks(path, **options).read(rows))
    if isinstance(whole.X, pd.DataFrame):
        pd.testing.assert_frame_equal(X, whole.X)
    else:
        np.testing.assert_array_equal(X, whole.X)
        assert X.dtype == whole.X.dtype.newbyteorder("=")
    assert ids.tolist() == whole.ids.tolist()
    return X


COLUMNS = {
    "whole numbers": [str(i) for i in range(N)],
    "a fraction late": [*map(str, range(N - 1)), "0.5"],
    "a gap late": [*map(str, range(N - 1)), ""],
    "a word late": [*(f"0{i}" for i in range(N - 1)), "x"],
    "a gap early": ["", *map(str, range(N - 1))],
    "empty at first": [""] * 20 + ["1.25"] * 20,
    "words at the end only": [""] * 30 + ["w"] * 10,
    "all empty": ["NA"] * N,
    "truth values": ["True", "false"] * 20,
    "truth values with a gap": ["TRUE", "False"] * 15 + [""] * 10,
    "truth values, then a number": ["True"] * (N - 1) + ["1"],
    "large": ["1"] * (N - 1) + [str(2**64 - 1)],
    "large and negative": [str(2**64 - 1)] + ["-1"] * (N - 1),
    "large with a fraction": ["0.5"] + ["3"] * (N - 2) + [str(2**63 + 5)],
    "small and precise": [repr(x) for x in RNG.random(N)],
    "beyond the precision of floats": [str(2**60 + i) for i in range(N - 1)] + ["0.5"],
    "infinite": ["inf"] + ["1"] * (N - 1),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_types_of_a_table_in_text_do_not_depend_on_blocks(tmp_path, monkeypatch, name, rows):
    monkeypatch.setattr("xsdc.data.blocks.MOST_CELLS", 14)  # seven rows of two cells
    cells = [*(f"{cell},{i}" for i, cell in enumerate(COLUMNS[name]))]
    (tmp_path / "a.csv").write_text("\n".join(["x,y", *cells]))
    same(tmp_path / "a.csv", rows)


def test_layouts_of_text(tmp_path, monkeypatch):
    monkeypatch.setattr("xsdc.data.blocks.MOST_CELLS", 14)
    frame = pd.DataFrame({"x": RNG.random(N), "word, quoted": [f"a\n{i}" for i in range(N)], "g": RNG.random(N)})
    frame.to_csv(tmp_path / "index.csv")  # with a nameless column of row numbers
    assert list(same(tmp_path / "index.csv").columns) == list(frame.columns)
    frame.to_csv(tmp_path / "tab.tsv", sep="\t", index=False)
    frame.to_csv(tmp_path / "comma.csv", sep=";", decimal=",", index=False)
    frame[["x", "g"]].to_csv(tmp_path / "bare.csv", header=False, index=False)
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(frame.to_csv(index=False).encode("utf-16")))
    (tmp_path / "latin.csv").write_bytes((frame.to_csv(index=False) + "1,é,2\n").encode("latin-1"))
    for name in ("tab.tsv", "comma.csv", "bare.csv", "packed.csv.gz", "latin.csv"):
        same(tmp_path / name)
    broken = frame.copy()
    broken.index = [*range(N - 1), 99]
    broken.to_csv(tmp_path / "miscounted.csv")
    assert "column 1" in same(tmp_path / "miscounted.csv").columns


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"x,y\n", "no rows"),
        (b"x,y\n" + b"1,2\n" * 50 + b"1,2,3\n", "line 52 has 3"),
        (b"x,y\n" + b"1,2\n" * 50 + b"1,\x00\n", "bytes that no text has"),
        (gzip.compress(b"x,y\n" + b"1,2\n" * 50, mtime=0)[:-9], "damaged gzip"),
    ],
)
def test_text_that_cannot_be_used(tmp_path, content, message):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        joined(open_blocks(tmp_path / "a.csv").read(7))


def test_parquet(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("xsdc.data.blocks.MOST_CELLS", 14)
    gap = [None if i == 33 else i for i in range(N)]
    frame = pd.DataFrame(
        {
            "i": range(N),
            "gap": pd.array(gap, dtype="Int64"),
            "f": RNG.random(N).astype(np.float32),
            "b": [i % 2 == 0 for i in range(N)],
            "w": [None if i < 20 else "w" for i in range(N)],
            "c": pd.Categorical(["a", "b"] * 20),
            "d": pd.date_range("2020-01-01", periods=N),
            "s": [[i] for i in range(N)],
        }
    )
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=11)
    same(tmp_path / "a.parquet")
    frame.set_index("d").to_parquet(tmp_path / "index.parquet")
    same(tmp_path / "index.parquet")
    frame.rename_axis("counted").to_parquet(tmp_path / "range.parquet")
    assert "counted" in same(tmp_path / "range.parquet").columns
    frame.iloc[:0].to_parquet(tmp_path / "none.parquet")
    with pytest.raises(InvalidInputError, match="no rows"):
        joined(open_blocks(tmp_path / "none.parquet").read(7))
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidInputError, match="not a whole Parquet file"):
        open_blocks(tmp_path / "cut.parquet")


def test_gaps_that_only_parquet_has(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"i": [*range(N - 1), None], "b": [None, *[True] * (N - 1)], "n": [None] * N, "u": [2**63] * N}
    types = [("i", arrow.int32()), ("b", arrow.bool_()), ("n", arrow.null()), ("u", arrow.uint64())]
    parquet.write_table(arrow.table(columns, schema=arrow.schema(types)), tmp_path / "a.parquet", row_group_size=9)
    X = same(tmp_path / "a.parquet")
    assert (X["i"].dtype, X["b"].dtype, X["u"].dtype) == (np.float64, object, np.uint64)


ARRAYS = {
    "vectors": RNG.random((N, 5)),
    "by columns": np.asfortranarray(RNG.random((N, 5))),
    "whole": RNG.integers(0, 9, (N, 5)),
    "big endian": RNG.random((N, 5)).astype(">f4"),
    "gray": RNG.integers(0, 256, (N, 6, 8), dtype=np.uint8),
    "fractions": RNG.random((N, 6, 8)),
    "fractions up to 255": np.concatenate([RNG.random((N - 1, 6, 8)), np.full((1, 6, 8), 200.5)]),
    "colours first": RNG.integers(0, 256, (N, 3, 6, 8), dtype=np.uint8),
    "flags": RNG.random((N, 6, 8)) > 0.5,
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("form", ["npy", "npz", "compressed", "split"])
def test_arrays(tmp_path, name, form):
    X = ARRAYS[name]
    path = tmp_path / ("a.npy" if form == "npy" else "a.npz")
    if form == "npy":
        np.save(path, X)
    elif form == "split":
        np.savez(path, x_train=X[:11], y_train=np.arange(11), x_test=X[11:], y_test=np.arange(N - 11))
    else:
        save = np.savez if form == "npz" else np.savez_compressed
        save(path, X=X, y=np.arange(N) % 2, ids=np.array([f"point {i}" for i in range(N)]))
    same(path)
    assert open_blocks(path).kind == read_data(path).kind


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_that_cannot_be_used(tmp_path, save):
    path = tmp_path / "a.npz"
    save(path, X=RNG.random((500, 50)))
    whole = path.read_bytes()
    path.write_bytes(whole[:50000] + bytes(100) + whole[50100:])
    with pytest.raises(InvalidInputError, match=r"`X` of `a.npz` is damaged"):
        joined(open_blocks(path).read(7))
    save(path, X=np.array([{}]))
    with pytest.raises(InvalidInputError, match="holds Python objects"):
        open_blocks(path)
    save(path, X=RNG.random((5, 2)), ids=np.array(list("ab")))
    with pytest.raises(InvalidInputError, match=r"one entry per point, shape \(5,\)"):
        joined(open_blocks(path).read(7))
    np.save(tmp_path / "a.npy", RNG.random((500, 50)))
    (tmp_path / "a.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-9])
    with pytest.raises(InvalidInputError, match="is damaged: it ends 9 bytes too early"):
        joined(open_blocks(tmp_path / "a.npy").read(7))


@pytest.mark.parametrize("form", ["dense", "csr_matrix", "csc_matrix"])
def test_h5ad(tmp_path, form):
    from tests.data.test_h5ad import X, sparse, write

    write(tmp_path / "a.h5ad", X if form == "dense" else getattr(sparse, form)(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(tmp_path / "a.h5ad", rows=3)


@pytest.fixture
def photos(tmp_path):
    for i in range(N):
        folder = tmp_path / "photos" / ("cat" if i % 2 else "dog")
        folder.mkdir(parents=True, exist_ok=True)
        pixels = RNG.integers(0, 256, (9 + i % 2, 8, *([3] if i == 30 else [])), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{i:02d}.png")
    (tmp_path / "photos" / "cat" / "05.png").write_bytes(b"broken")
    return tmp_path / "photos"


def test_images(photos):
    X = same(photos)
    assert X.shape == (N - 1, 9, 8, 3)
    quick = open_blocks(photos, image_size=(9, 8), thorough=False)
    shapes = {block.X.shape[1:] for block in quick.read(7)}
    assert shapes == {(9, 8), (9, 8, 3)}
    assert "1 broken image(s) were passed over: `cat/05.png`." in quick.notes
    for name in list((photos / "cat").iterdir()) + list((photos / "dog").iterdir())[:2]:
        name.write_bytes(b"broken")
    with pytest.raises(InvalidInputError, match="cannot be read, the first of them"):
        joined(open_blocks(photos, image_size=(9, 8), thorough=False).read(7))


def test_points_that_are_taken_out_of_blocks(tmp_path, photos, monkeypatch):
    monkeypatch.setattr("xsdc.data.blocks.MOST_ROWS", 7)
    table = pd.DataFrame({"x": RNG.random(N), "k": ["a", "b", ""] * 13 + ["a"], "name": [f"p{i}" for i in range(N)]})
    table.to_csv(tmp_path / "a.csv", index=False)
    points = np.array([33, 3, 3, 38])
    for path, roles, options in (
        (tmp_path / "a.csv", Roles("k", None, "name"), {"label_column": "k", "id_column": "name"}),
        (photos, Roles(), {}),
    ):
        whole = read_data(path, **options)
        kind = "images" if path.is_dir() else _kind(path)[0]
        large = _opened(path, kind, roles, image_size=None, thorough=True).known()
        assert isinstance(large.X, Rows)
        assert len(large.X) == large.n == whole.n
        for name in ("ids", "labels"):
            assert getattr(large, name).tolist() == getattr(whole, name).tolist()
        assert large.notes == whole.notes
        some, expected = large.taken(points), whole.taken(points)
        np.testing.assert_array_equal(np.asarray(some.X), np.asarray(expected.X))
        assert some.ids.tolist() == expected.ids.tolist()
        assert (some.pictures is None) == (expected.pictures is None)


def test_a_column_that_counts_is_found_in_a_sample(tmp_path):
    table = pd.DataFrame({"x": RNG.random(N), "count": range(5, 5 + N)})
    table.to_csv(tmp_path / "a.csv", index=False)
    large = _opened(tmp_path / "a.csv", "table", Roles(), image_size=None, thorough=True).known()
    sample = large.taken(spread(N, 15))
    assert sample.n == 15
    preparation, _ = fit_preparation(sample)
    assert preparation.dropped_ == ["count"]
    assert isinstance(preparation, Preparation)


def test_what_is_missing_or_unseen_is_counted_over_blocks(tmp_path):
    from xsdc.data import Remarks

    table = pd.DataFrame({"x": RNG.random(N), "colour": ["red", "blue"] * 20})
    table.to_csv(tmp_path / "a.csv", index=False)
    preparation, _ = fit_preparation(read_data(tmp_path / "a.csv"))
    table.loc[[3, 30], "x"] = np.nan
    table["x"] = table["x"].astype(object)
    table.loc[20, "x"] = "tall"
    table.loc[[4, 34], "colour"] = "green"
    table.to_csv(tmp_path / "b.csv", index=False)
    remarks, blocks = Remarks(preparation), open_blocks(tmp_path / "b.csv")
    for block in blocks.read(7):
        remarks.add(block)
    said = remarks.said()
    whole = read_data(tmp_path / "b.csv")
    assert said == preparation.remarks(whole)
    assert [text.split(" ")[0] for text in said] == ["2", "3"]
    assert blocks.notes == whole.notes == ["`x`: 1 cells are no numbers (`tall`) and count as missing."]
    assert "`colour` hold words that the fit did not have" in said[0]


@pytest.mark.parametrize(("n", "most"), [(5, 10), (10, 10), (1000, 10), (7, 3)])
def test_points_are_spread_evenly(n, most):
    points = spread(n, most)
    assert len(points) == min(n, most) == len(set(points.tolist()))
    assert (points[0], points[-1]) == (0, n - 1)
    assert np.diff(points).max() - np.diff(points).min() <= 1
