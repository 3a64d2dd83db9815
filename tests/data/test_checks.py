from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.data.cases import fit_preparation
from xsdc.data import Dataset
from xsdc.data.checks import (
    edit_distance,
    find_absurd,
    find_choices,
    find_partly,
    find_typos,
    find_unknown,
    is_called_code,
    looks_like_ids,
    names_rows,
)

N = 40


def dropped(column):
    table = pd.DataFrame({"x": np.arange(len(column)) % 7, "count": column})
    data = Dataset("t.csv", "table", table, np.arange(len(table)), "row", np.full(len(table), None, dtype=object))
    return " ".join(fit_preparation(data)[0].notes_)


@pytest.mark.parametrize(
    "label", ["-1", "-", "--", ".", "n.d.", "n. d.", "ND", "na", "none", "Null", "not known", "???", "…", "tbd", "NaN."]
)
def test_labels_that_look_like_unknown(label):
    assert find_unknown(["cat", label]) == [label]


@pytest.mark.parametrize("label", ["Na", "Nd", "K", "cat", "no", "0", "+", "x", "-2", "A1", "北"])
def test_labels_that_do_not(label):
    assert find_unknown(["cat", label, 4]) == []


@pytest.mark.parametrize("labels", [["-", "+"], ["-1", "1", "x"], ["-1", "+1"], ["--", "++", "x"]])
def test_signs_are_labels_where_both_are(labels):
    assert find_unknown(labels) == []


def test_labels_that_name_others():
    assert find_choices(["a", "b", "a or b", "a/b", "a or c", "b, a"]) == {
        "a or b": ["a", "b"],
        "a/b": ["a", "b"],
        "b, a": ["b", "a"],
    }
    assert find_choices([4, 9, "4 OR 9"]) == {"4 OR 9": ["4", "9"]}


@pytest.mark.parametrize("sign", ["<{}", "{}%", "{} mm"])
def test_numbers_beside_other_cells_are_told(sign):
    column = pd.Series([sign.format(i) if i % 3 == 0 else f"{i}.5" for i in range(N)])
    partly = find_partly(column)
    assert (partly.numbers, partly.filled, partly.role) == (26, 40, None)
    assert partly.others[0] == sign.format(0)
    assert "Left out because nearly every row has another word (ids or names): `count`." in dropped(column)


def test_different_units_are_told():
    column = pd.Series([f"{i} {['mm', 'cm'][i % 2]}" for i in range(N)])
    assert find_partly(column).numbers == 0
    assert "Left out because different things stand beside their numbers (`0 mm`): `count`." in dropped(column)


def test_typing_errors():
    counts = {
        "Grignolino": 9,
        "Grignolno": 1,
        "Barolo": 8,
        "Barola": 7,
        "class 1": 9,
        "class 2": 1,
        "ABBA": 9,
        "abba": 1,
    }
    assert find_typos(counts) == {"Grignolno": "Grignolino"}
    assert edit_distance("Grignolino", "Grignolno") == edit_distance("ab", "ba") == 1
    assert edit_distance("", "abc") == 3
    assert edit_distance("kitten", "sitting") == 3


def test_absurd_values():
    numbers = np.random.default_rng(0).normal(13, 1, 100)
    assert find_absurd(numbers) == []
    numbers[7] = 1337
    assert find_absurd(numbers) == [7]
    assert find_absurd(np.exp(np.random.default_rng(0).normal(0, 1, 1000))) == []


def test_columns_that_name_the_rows():
    codes = np.random.default_rng(0).permutation(900)[:N]
    assert names_rows("patient id", pd.Series(codes))
    assert names_rows("n", pd.Series(np.arange(N)))
    assert not names_rows("width", pd.Series(codes))
    assert names_rows("who", pd.Series([f"P{i:03}" for i in range(N)]))
    assert not names_rows("who", pd.Series(["a", "b"] * (N // 2)))
    assert not names_rows("text", pd.Series([f"a text of {i} words" for i in range(N)]))


@pytest.mark.parametrize(
    "cells",
    [
        [f"{i}.5" for i in range(N)],
        [f"{i}.5" if i else "<1" for i in range(N)],  # one in forty counts as missing, and is told of elsewhere
        [f"P{i:03}" for i in range(N)],
        [f"{i}{chr(97 + i % 26)}" for i in range(N)],
        [f"10.0.{i}.{i + 3}" for i in range(N)],
        [f"{1 + i % 28:02}.01.2016" for i in range(N)],
        [f"{i}/2/2016" for i in range(N)],
        ["S", "M", "38", "40"] * 10,
        list(range(N)),
        [True, False] * 20,
        [None] * N,
    ],
)
def test_columns_that_are_what_they_are(cells):
    assert find_partly(pd.Series(cells)) is None


def test_few_numbers_among_words_are_a_category():
    partly = find_partly(pd.Series(["1", "2", "3", "4", "many"] * 8))
    assert (partly.numbers, partly.others, partly.role) == (32, ["many"], "category")


def test_ids_among_numbers():
    some = np.random.default_rng(0).permutation(9000)[:N]
    assert looks_like_ids(pd.Series(some))
    for column in (some.astype(float), np.arange(N) + 7, some % 20, some[:10], -some):
        assert not looks_like_ids(pd.Series(column))


@pytest.mark.parametrize("name", ["patient_id", "PatientID", "sampleId", "Nr", "zip code", "id", "Code 2", "key"])
def test_columns_that_are_called_codes(name):
    assert is_called_code(name, pd.Series([3, 4, 3]))
    assert is_called_code(name, pd.Series([3, None, 3]))
    assert not is_called_code(name, pd.Series([3.5, 4, 3]))
    assert not is_called_code(name, pd.Series(["a", "b"]))


@pytest.mark.parametrize("name", ["width", "idea", "north", "paid", "noise", "", "400"])
def test_columns_that_are_not(name):
    assert not is_called_code(name, pd.Series([3, 4, 3]))
