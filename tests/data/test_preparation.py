from __future__ import annotations

import json
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.tree import DecisionTreeClassifier

from tests.data.cases import fit_preparation
from xsdc.data import Dataset, Preparation, load_dataset
from xsdc.data.storage import FACTS, TRANSFORMERS
from xsdc.errors import InvalidInputError

RNG = np.random.default_rng(0)


def table(**columns):
    X = pd.DataFrame(columns)
    n = len(X)
    return Dataset("t.csv", "table", X, np.arange(n), "row", np.full(n, None, dtype=object))


def vectors(X, kind="vectors"):
    n = len(X)
    return Dataset("v.npz", kind, X, np.arange(n), "row", np.full(n, None, dtype=object))


def mixed(n=40):
    return table(
        size=RNG.normal(5, 3, n),
        count=RNG.integers(0, 9, n),
        flag=RNG.random(n) < 0.5,
        colour=RNG.choice(["red", "green", "blue"], n),
        when=pd.date_range("2020-01-01", periods=n),
    )


def test_numbers_by_hand():
    preparation, X = fit_preparation(table(x=[1.0, np.nan, 3.0, 5.0]))
    filled = np.array([1.0, 3.0, 3.0, 5.0])
    np.testing.assert_allclose(X[:, 0], (filled - 3) / filled.std())
    assert preparation.feature_names_ == ["x"]
    assert preparation.notes_[0] == "1 column of numbers was scaled to mean 0 and deviation 1: `x`."
    assert "1 cells are missing in `x`" in preparation.notes_[1]
    assert fit_preparation(table(x=[1.0, np.nan, 3.0, 5.0]), scale="none")[1].tolist() == [[1], [3], [3], [5]]


def test_words_by_hand():
    preparation, X = fit_preparation(table(c=["red", None, "blue", "red"], b=[True, False, True, True]))
    assert preparation.feature_names_ == ["c=(missing)", "c=blue", "c=red", "b=False", "b=True"]
    assert X.tolist() == [[0, 0, 1, 0, 1], [1, 0, 0, 1, 0], [0, 1, 0, 0, 1], [0, 0, 1, 0, 1]]
    new = preparation.transform(table(b=[False, None], c=["green", "blue"]))
    assert new.tolist() == [[0, 0, 0, 1, 0], [0, 1, 0, 0, 0]]


@pytest.mark.parametrize(
    "cells",
    [
        ["2020-01-01", "2020-01-02", "2020-01-05T12:00:00"],
        pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-05T12:00:00"], format="ISO8601"),
        pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-05T12:00:00"], format="ISO8601", utc=True),
        pd.to_timedelta([18262, 18263, 18266.5], unit="D"),
    ],
)
def test_dates_are_days(cells):
    preparation, X = fit_preparation(table(when=cells), scale="none")
    np.testing.assert_allclose(X[:, 0], [18262, 18263, 18266.5], rtol=1e-12)
    assert "days" in preparation.notes_[0]


def test_rare_categories_share_a_column():
    words = [f"w{i:02}" for i in range(30) for _ in range(31 - i)]
    preparation, X = fit_preparation(table(c=words))
    assert X.shape[1] == 20
    assert preparation.feature_names_[-1] == "c=(rare)"
    assert X[-1].tolist() == [0] * 19 + [1]
    assert "20 columns of 0 and 1, one of them for all rare ones" in preparation.notes_[0]
    assert preparation.transform(table(c=["never seen"])).tolist() == X[-1:].tolist()


def test_stray_texts_and_infinities_count_as_missing():
    cells = [str(i) for i in range(99)] + ["oops"]
    preparation, X = fit_preparation(table(x=cells, y=[np.inf, *np.arange(99.0) ** 2]), scale="none")
    assert X[99, 0] == 49
    assert X[0, 1] == 49**2
    assert any("2 cells are infinite, too large or no number in `x`, `y`" in note for note in preparation.notes_)
    assert "x=oops" in fit_preparation(table(x=["1"] * 5 + ["2"] * 5 + ["oops"] * 5))[0].feature_names_


def test_useless_columns_are_left_out():
    n = 30
    preparation, X = fit_preparation(
        table(
            x=RNG.random(n),
            constant=[3] * n,
            same=["a"] * n,
            empty=[None] * n,
            nothing=[np.nan] * n,
            name=[f"n{i}" for i in range(n)],
            row=np.arange(7, n + 7),
            lists=[[1, 2]] * n,
        )
    )
    assert preparation.feature_names_ == ["x"]
    assert X.shape == (n, 1)
    notes = " ".join(preparation.notes_)
    for part in (
        "constant: `constant`, `same`",
        "empty: `empty`, `nothing`",
        "(ids or names): `name`",
        "count the rows: `row`",
        "value: `lists`",
    ):
        assert part in notes
    with pytest.raises(InvalidInputError, match=r"nothing to learn from.*`constant`"):
        fit_preparation(table(constant=[3, 3]))


@pytest.mark.parametrize("dtype", ["Int64", "Float32", "boolean", "string", "category", "float32", "int8", "object"])
def test_types_of_columns(dtype):
    cells = [1, 0, 1, 1, 0, 0]
    words = [["no", "yes"][cell] for cell in cells]
    column = pd.Series(words if dtype in ("string", "category") else cells, dtype=dtype)
    X = fit_preparation(table(c=column))[1]
    groups = {tuple(row) for row in X.tolist()}
    assert len(groups) == 2
    assert [tuple(row) == tuple(X[0]) for row in X.tolist()] == [cell == 1 for cell in cells]


def test_further_data():
    data = mixed()
    preparation, X = fit_preparation(data)
    shuffled = replace(data, X=data.X[["when", "colour", "size", "flag", "count"]].assign(extra=1, label="a"))
    np.testing.assert_array_equal(preparation.transform(shuffled), X)
    assert preparation.remarks(shuffled) == ["Columns that the fit did not have are passed over: `extra`, `label`."]
    assert preparation.remarks(data) == []
    np.testing.assert_array_equal(preparation.transform(data.taken([3, 1])), X[[3, 1]])
    with pytest.raises(InvalidInputError, match=r"`colour` are not there \(did you mean `color`"):
        preparation.transform(replace(data, X=data.X.rename(columns={"colour": "color"})))
    with pytest.raises(InvalidInputError, match="must be of the kind that was fitted, table; it is vectors"):
        preparation.transform(vectors(np.eye(3)))


def test_nothing_is_modified():
    data = mixed()
    before = data.X.copy()
    fit_preparation(data)
    pd.testing.assert_frame_equal(data.X, before)
    X = np.array([[1.0, np.nan], [2.0, np.inf]])
    fit_preparation(vectors(X))
    np.testing.assert_array_equal(X, [[1, np.nan], [2, np.inf]])


def test_vectors_of_one_unit_are_divided_by_one_number():
    X = RNG.normal(0, [5, 10], (200, 2))
    preparation, scaled = fit_preparation(vectors(X))
    np.testing.assert_allclose(scaled, X / np.sqrt(X.var(axis=0).mean()))
    assert "divided by one number" in preparation.notes_[0]
    digits = load_dataset("digits")
    preparation, scaled = fit_preparation(digits)
    np.testing.assert_allclose(scaled * preparation.factor_, digits.X)


def test_vectors_of_many_units_are_standardised():
    X = RNG.normal(0, [1, 100], (200, 2))
    for X_, scale in ((X, "auto"), (X / [1, 100], "standard")):
        preparation, scaled = fit_preparation(vectors(X_), scale=scale)
        np.testing.assert_allclose(scaled.std(axis=0), 1)
        assert "mean 0 and deviation 1" in preparation.notes_[0]
    assert fit_preparation(vectors(X), scale="none")[1].tolist() == X.tolist()


def test_vectors_are_filled_and_keep_their_precision():
    X = np.array([[1, np.nan, 5], [2, np.nan, 5], [np.inf, np.nan, 5], [4, np.nan, 5]], dtype=np.float32)
    preparation, filled = fit_preparation(vectors(X), scale="none")
    assert filled.tolist() == [[1, 0, 5], [2, 0, 5], [2, 0, 5], [4, 0, 5]]
    assert filled.dtype == np.float32
    assert preparation.notes_[0].startswith("5 missing or infinite numbers")
    assert preparation.remarks(vectors(X[:1])) == [
        "1 missing or infinite numbers were replaced by the median of their column."
    ]
    assert np.isfinite(fit_preparation(vectors(X), scale="standard")[1]).all()
    with pytest.raises(InvalidInputError, match=r"must have shape \(3,\) as in the fit; they have \(2,\)"):
        preparation.transform(vectors(X[:, :2]))
    assert fit_preparation(vectors(np.ones((3, 2))))[1].tolist() == [[1, 1]] * 3


def test_images_are_left_alone(tmp_path):
    X = RNG.integers(0, 256, (5, 8, 8), dtype=np.uint8)
    preparation, same = fit_preparation(vectors(X, "images"))
    assert same is X
    preparation.save(tmp_path / "p")
    loaded = Preparation.load(tmp_path / "p")
    assert (loaded.kind_, loaded.shape_, loaded.notes_) == ("images", (8, 8), preparation.notes_)
    with pytest.raises(InvalidInputError, match="image_size"):
        preparation.transform(vectors(X[:, :4], "images"))


def test_unknown_scale():
    with pytest.raises(InvalidInputError, match="auto, standard, none; it is 'max'"):
        fit_preparation(mixed(), scale="max")


@pytest.mark.parametrize("scale", ["auto", "none"])
@pytest.mark.parametrize(
    "make", [mixed, lambda: vectors(RNG.normal(0, [1, 90], (50, 2))), lambda: table(c=list("aabb"))]
)
def test_saved_and_loaded_it_does_the_same_to_the_bit(tmp_path, make, scale):
    data = make()
    preparation, X = fit_preparation(data, scale=scale)
    preparation.save(tmp_path / "p.zip")
    loaded = Preparation.load(tmp_path / "p.zip")
    assert loaded.transform(data).tobytes() == X.tobytes()
    assert loaded.feature_names_ == preparation.feature_names_
    assert loaded.notes_ == preparation.notes_
    assert loaded.remarks(data) == preparation.remarks(data)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.zip"]


def rewritten(path, **parts):
    with zipfile.ZipFile(path) as file:
        old = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w") as file:
        for name, content in (old | parts).items():
            file.writestr(name, content)


def test_foreign_and_damaged_files(tmp_path):
    path = tmp_path / "p"
    preparation, _ = fit_preparation(mixed())
    with pytest.raises(InvalidInputError, match="There is no file"):
        Preparation.load(path)
    path.write_text("hello")
    with pytest.raises(InvalidInputError, match="not a preparation"):
        Preparation.load(path)
    preparation.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-50])
    with pytest.raises(InvalidInputError, match="not a preparation"):
        Preparation.load(path)
    path.write_bytes(whole)
    rewritten(path, **{TRANSFORMERS: b"junk"})
    with pytest.raises(InvalidInputError, match="damaged"):
        Preparation.load(path)
    for facts, message in (({"format": 99}, "another version"), ({"format": 1}, "not a whole"), ([], "damaged")):
        path.write_bytes(whole)
        rewritten(path, **{FACTS: json.dumps(facts)})
        with pytest.raises(InvalidInputError, match=message):
            Preparation.load(path)


def test_types_that_no_preparation_has_are_not_read(tmp_path):
    fit_preparation(mixed())[0].save(tmp_path / "p")
    rewritten(tmp_path / "p", **{TRANSFORMERS: skops.io.dumps({"imputer": zipfile.ZipFile})})
    with pytest.raises(InvalidInputError, match=r"holds types that no preparation has.*ZipFile"):
        Preparation.load(tmp_path / "p")
    rewritten(tmp_path / "p", **{TRANSFORMERS: skops.io.dumps({"imputer": DecisionTreeClassifier()})})
    with pytest.raises(InvalidInputError, match="its imputer must be SimpleImputer; it is DecisionTree"):
        Preparation.load(tmp_path / "p")


def test_images_become_gray_or_coloured_as_those_of_the_fit_were():
    gray = np.arange(2 * 4 * 5, dtype=np.uint8).reshape(2, 4, 5)
    coloured = np.repeat(gray[..., None], 3, axis=3)

    def dataset(X):
        return Dataset("made", "images", X, np.arange(2), "row", np.full(2, None, dtype=object))

    on_gray, _ = fit_preparation(dataset(gray))
    on_colour, _ = fit_preparation(dataset(coloured))
    assert np.array_equal(on_gray.transform(dataset(coloured)), gray)
    assert np.array_equal(on_colour.transform(dataset(gray)), coloured)
    with pytest.raises(InvalidInputError, match="image_size"):
        on_gray.transform(dataset(gray[:, :3]))


def test_dates_with_dots_and_numbers_too_large():
    n = 20
    preparation, _ = fit_preparation(
        table(
            day=[f"{1 + i % 28:02d}.{1 + i % 12}.20{10 + i % 10} 10:00" for i in range(n)],
            slashed=[f"{1 + i % 28}/{1 + i % 12}/2016" for i in range(n)],
            huge=[1e300 * (1 + i) for i in range(n)],
            x=RNG.random(n),
        )
    )
    notes = " ".join(preparation.notes_)
    assert preparation.roles_["day"] == "date"
    assert preparation.dates_["slashed"] == "%d/%m/%Y"
    assert "no number in them can be used: `huge`" in notes
