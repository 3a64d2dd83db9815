from __future__ import annotations

import gzip
import importlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xsdc.data import memory, read_data
from xsdc.errors import InvalidInputError

TABLE = "id,x,colour,label\na1,1.5,red,4\n007,2,blue,4|9\nc,?,red,\n"


@pytest.fixture
def write(tmp_path):
    def write(content, name="a.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_columns_have_roles(write):
    data = read_data(write(TABLE), label_column="label", id_column="id")
    assert (data.kind, data.name, data.id_name, data.n) == ("table", "a.csv", "id", 3)
    assert data.ids.tolist() == ["a1", "007", "c"]
    assert data.labels.tolist() == [4, None, None]
    assert data.allowed == {1: [4, 9]}
    assert data.truth is None
    assert list(data.X.columns) == ["x", "colour"]
    assert data.X["x"].tolist()[:2] == [1.5, 2.0]
    assert np.isnan(data.X["x"][2])
    assert "1 of 3 points have a label" in " ".join(data.notes)


def test_no_roles_means_no_labels_and_a_hint(write):
    data = read_data(write(TABLE), ignore=["colour"])
    assert data.labels.tolist() == [None] * 3
    assert (data.ids.tolist(), data.id_name) == ([0, 1, 2], "row")
    assert list(data.X.columns) == ["id", "x", "label"]
    assert any("`label` is used as a feature" in note for note in data.notes)


def test_sodium_is_a_label(write):
    data = read_data(write("x,kind\n1,Na\n2,K\n3,NA\n4,\n5,Na\n"), label_column="kind")
    assert data.labels.tolist() == ["Na", "K", None, None, "Na"]
    assert "`kind`: taken for unknown, and for no class: `NA` (1 cell)." in data.notes


def test_truth_is_kept_apart(write):
    data = read_data(write("x,y\n1,a\n2,b\n3,\n"), truth_column="y")
    assert data.truth.tolist() == ["a", "b", None]
    assert data.labels.tolist() == [None] * 3
    assert data.notes == []


@pytest.mark.parametrize(
    ("content", "x", "y"),
    [
        ("x;y\n1,5;a\n2,5;b\n", [1.5, 2.5], ["a", "b"]),
        ("x;y\n1.5;a\n2.5;b\n", [1.5, 2.5], ["a", "b"]),
        ("x\ty\n1.5\ta,b\n2.5\tc,d\n", [1.5, 2.5], ["a,b", "c,d"]),
        ("x|y\n1|a\n2|b\n", [1, 2], ["a", "b"]),
        ('x,y\n1,"a,b"\n2,"c\nd"\n', [1, 2], ["a,b", "c\nd"]),
        ("\ufeffx,y\r\n1,a\r\n2,b\r\n", [1, 2], ["a", "b"]),
        ("x,y\r1,a\r2,b\r", [1, 2], ["a", "b"]),
        ("\n\nx, y\n1, a\n\n2, b\n  \n", [1, 2], ["a", "b"]),
        ("x,y\n1,é\n2,ü".encode("latin-1"), [1, 2], ["é", "ü"]),
        ("x,y\n1,é\n2,ü".encode("utf-16"), [1, 2], ["é", "ü"]),
        (gzip.compress(b"x,y\n1,a\n2,b\n", mtime=0), [1, 2], ["a", "b"]),
    ],
)
def test_dialects(write, content, x, y):
    data = read_data(write(content))
    assert data.X.columns.tolist() == ["x", "y"]
    assert data.X["x"].tolist() == x
    assert data.X["y"].tolist() == y


def test_assumptions_are_noted(write):
    assert "Windows-1252" in read_data(write("x,z\n1,é\n".encode("latin-1"))).notes[0]
    assert "decimal comma" in read_data(write("x;z\n1,5;2\n")).notes[0]


@pytest.mark.parametrize(
    ("content", "columns", "n"),
    [
        ("5.1,3.5,setosa\n4.9,3,setosa\n", ["column 1", "column 2", "column 3"], 2),
        ("5,a\n6,b\n", ["column 1", "column 2"], 2),
        ("0,1,2\n5,6,7\n", ["0", "1", "2"], 1),
        ("place,2019,2020\nhere,6,7\n", ["place", "2019", "2020"], 1),
        (",a,b\n0,5,x\n1,6,y\n", ["a", "b"], 2),
        (",a,b\n7,5,x\n9,6,y\n", ["column 1", "a", "b"], 2),
    ],
)
def test_headers(write, content, columns, n):
    data = read_data(write(content))
    assert data.X.columns.tolist() == columns
    assert data.n == n


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, "is empty"),
        ("\n \n", {}, "is empty"),
        ('""\n', {}, "is empty"),
        ("x,y\n", {}, "no rows"),
        ("x,y\n1,2\n1,2,3\n", {}, r"2 cells in every row; line 3 has 3"),
        ("x,y\n1,2\n\n1\n", {}, r"2 cells in every row; line 4 has 1"),
        ('x,y\n1,"2\n3,4\n', {}, "in the row of line 2 that opens a cell"),
        (b"x,y\n\x00\x01\x02,3\n", {}, "no text has"),
        (b"\x1f\x8bnonsense", {}, "damaged gzip"),
        (gzip.compress(b"x,y\n1,2\n" * 99, mtime=0)[:-9], {}, "damaged gzip"),
        ("x,y\n1,2\n", {"label_column": "z"}, r"no column `z`.*`x`, `y`"),
        ("colour,y\n1,2\n", {"ignore": ["color"]}, r"no column `color` \(did you mean `colour`\?\)"),
        ("x,y\n1,2\n", {"label_column": "y", "id_column": "y"}, "more than one role"),
        ("x,y\n1,2\n", {"label_column": "y", "ignore": "x"}, "nothing to learn from"),
        ("x,y\n1,a\n2,\n", {"id_column": "y"}, "1 cells are empty, the first in row 1"),
        ("x,y\n1,2\n", {"image_size": 8}, "image_size is for"),
    ],
)
def test_what_is_no_table(write, content, options, message):
    with pytest.raises(InvalidInputError, match=message):
        read_data(write(content), **options)


def test_ids_may_look_missing(write):
    assert read_data(write("x,y\n1,NA\n2,None\n"), id_column="y").ids.tolist() == ["NA", "None"]


def test_a_file_larger_than_memory_is_refused(write, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 20)
    with pytest.raises(InvalidInputError, match=r"would take about .* are free"):
        read_data(write(TABLE))


def test_a_gzip_bomb_is_refused(write, monkeypatch):
    path = write(gzip.compress(b"x,y\n" + b"1,2\n" * 10000, mtime=0))
    monkeypatch.setattr(memory, "available_memory", lambda: 3000)
    with pytest.raises(InvalidInputError, match="unpacked"):
        read_data(path)


def test_memory_is_asked_for_where_the_system_says(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    assert memory.available_memory() is None or memory.available_memory() > 2**20
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    7 kB\n")
    assert memory.available_memory() == 7 * 1024


def test_parquet(tmp_path):
    frame = pd.DataFrame(
        {
            "x": [1.5, None],
            "when": pd.to_datetime(["2020-01-01", "2021-01-01"]),
            "kind": pd.Categorical(["a", None]),
            "key": [7, 8],
        }
    )
    frame.to_parquet(tmp_path / "a.parquet")
    data = read_data(tmp_path / "a.parquet", label_column="kind", id_column="key")
    assert data.X.columns.tolist() == ["x", "when"]
    assert data.labels.tolist() == ["a", None]
    assert data.ids.tolist() == ["7", "8"]
    frame.set_index("key").to_parquet(tmp_path / "b.parquet")
    assert read_data(tmp_path / "b.parquet", id_column="key").ids.tolist() == ["7", "8"]
    frame.iloc[:0].to_parquet(tmp_path / "c.parquet")
    with pytest.raises(InvalidInputError, match="no rows"):
        read_data(tmp_path / "c.parquet")


def test_ids_and_memory_of_parquet(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"x": [1, 2, 3], "key": [1.0, None, 3.0]}).to_parquet(path)
    with pytest.raises(InvalidInputError, match="1 cells are empty, the first in row 1"):
        read_data(path, id_column="key")
    monkeypatch.setattr(memory, "available_memory", lambda: 20)
    with pytest.raises(InvalidInputError, match=r"^Reading `a.parquet` would take"):
        read_data(path)


def test_a_damaged_parquet_file(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"x": range(100)}).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InvalidInputError, match="not a whole Parquet file"):
        read_data(path)


@pytest.mark.parametrize(
    ("module", "name", "start", "extra"),
    [("pyarrow", "a.parquet", b"PAR1", "parquet"), ("anndata", "a.h5ad", b"\x89HDF", "h5ad")],
)
def test_a_missing_extra_is_named(tmp_path, monkeypatch, module, name, start, extra):
    (tmp_path / name).write_bytes(start)
    monkeypatch.setitem(importlib.import_module("sys").modules, module, None)
    with pytest.raises(InvalidInputError, match=rf'needs {module}.*pip install "xsdc\[{extra}\]"'):
        read_data(tmp_path / name)


REALS = st.floats(allow_nan=False, allow_infinity=False)
WHOLES = st.integers(-(2**53), 2**53)
cells = st.text(st.characters(codec="utf-8", categories=["L", "P"]), min_size=1).map(lambda word: f"w{word}")


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(REALS, WHOLES, cells),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(",;\t|"),
)
def test_what_pandas_writes_is_read_back(tmp_path, rows, delimiter):
    frame = pd.DataFrame(rows, columns=["real", "whole", "word"])
    frame.to_csv(tmp_path / "a.csv", index=False, sep=delimiter, quoting=2)
    X = read_data(tmp_path / "a.csv").X
    np.testing.assert_allclose(X["real"].to_numpy(dtype=float), frame["real"], rtol=1e-15)
    assert [int(x) for x in X["whole"]] == frame["whole"].tolist()
    assert X["word"].tolist() == frame["word"].tolist()
