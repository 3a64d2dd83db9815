from __future__ import annotations

import numpy as np
import pytest

from xsdc.data import Dataset, read_links, read_pairs
from xsdc.errors import InvalidInputError


def dataset(ids=None):
    n = 5 if ids is None else len(ids)
    return Dataset(
        name="things",
        kind="vectors",
        X=np.zeros((n, 2)),
        ids=np.arange(n) if ids is None else np.array(ids, dtype=object),
        id_name="row" if ids is None else "key",
        labels=np.full(n, None, dtype=object),
    )


@pytest.fixture
def write(tmp_path):
    def write(content):
        (tmp_path / "pairs.csv").write_text(content)
        return tmp_path / "pairs.csv"

    return write


@pytest.mark.parametrize(
    "content",
    [
        "0,4\n2,1\n",
        "a,b\n0,4\n2,1\n",
        "id_1;id_2\n0;4\n\n2;1\n",
        "0\t4\n2\t1",
        "Sample ID 1,Sample ID 2\n0,4\n2,1\n",
        "cat,dog\n0,4\n2,1\n",
        "0,4\n,\n2,1\n,\n,\n",
        "sep=;\nx1;x2\n0;4\n2;1\n",
    ],
)
def test_rows(write, content):
    pairs = read_pairs(write(content), dataset())
    assert pairs.tolist() == [[0, 4], [2, 1]]
    assert pairs.dtype == np.int64


def test_ids_are_compared_as_text(write):
    data = dataset(["cat/1.png", "007", "7", "a"])
    assert read_pairs(write("7, cat/1.png\na,007\n"), data).tolist() == [[2, 0], [3, 1]]
    assert read_pairs(write("a,7\n"), data).tolist() == [[3, 2]]
    assert read_pairs(write("a,b\n"), dataset(["x"])).shape == (0, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0,1\n0,9\n", r"`9` in line 2 of `pairs.csv` is no point of `things`.*row numbers from 0 to 4"),
        ("7,8\n", "`7` in line 1"),
        ("900,901\n0,1\n", "`900` in line 1"),
        ("1.5,2.5\n0,1\n", "`1.5` in line 1"),
        ("cat,0\n0,1\n", "`cat` in line 1"),
        ("cat,dog\n", "`cat` in line 1"),
        ("cat,dog\n0,1\ncow,2\n", "`cat` in line 1"),
        ("-1,1\n", "`-1` in line 1"),
        ("0,1\n1.0,2\n", "`1.0` in line 2"),
        ("0,1\n2\n", r"Line 2 .* must have 2 cells \(same\); it has 1"),
        ("0,1,same\n", "must have 2 cells"),
        ("", "is empty"),
    ],
)
def test_what_are_no_pairs(write, content, message):
    with pytest.raises(InvalidInputError, match=message):
        read_pairs(write(content), dataset(), name="same")


def test_a_misspelt_id_is_no_header(write):
    data = dataset(["P001", "P002", "P003"])
    assert read_pairs(write("Sample ID 1,Sample ID 2\nP001,P002\n"), data).tolist() == [[0, 1]]
    with pytest.raises(InvalidInputError, match="`P01` in line 1"):
        read_pairs(write("P01,P02\nP001,P002\n"), data)


def test_ids_must_be_unique_where_pairs_use_them(write):
    data = dataset(["a", "b", "b", "c"])
    assert read_pairs(write("a,c\n"), data).tolist() == [[0, 3]]
    with pytest.raises(InvalidInputError, match=r"`b` in line 2.*must name one point; `key` of `things`"):
        read_pairs(write("a,c\na,b\n"), data)


def test_links(write):
    same, different = read_links(write("a,b,kind\n0,1,same\n1,2,Different\n3,4,must\n0,4,cannot\n"), dataset())
    assert same.tolist() == [[0, 1], [3, 4]]
    assert different.tolist() == [[1, 2], [0, 4]]
    with pytest.raises(InvalidInputError, match=r"Line 2 .* must end in `same` or `different`; it ends in `maybe`"):
        read_links(write("0,1,same\n0,2,maybe\n"), dataset())


def test_no_file(tmp_path):
    with pytest.raises(InvalidInputError, match="There is no file"):
        read_pairs(tmp_path / "none.csv", dataset())
