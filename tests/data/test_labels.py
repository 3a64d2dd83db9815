from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xsdc.data.labels import UNKNOWN, read_known
from xsdc.errors import InvalidInputError


def read(cells):
    known = read_known(cells, None, n=len(cells))
    return known.labels.tolist(), known.allowed


@pytest.mark.parametrize(
    "cell",
    [
        "",
        " ",
        "?",
        "NA",
        "nan",
        "NaN",
        "None",
        "Unknown",
        "UNKNOWN",
        "unlabeled",
        None,
        math.nan,
        pd.NA,
        pd.NaT,
        -1,
        "-1",
    ],
)
def test_unknown_cells(cell):
    assert read([4, cell, "9"]) == ([4, None, 9], {})


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["4", "9"], [4, 9]),
        ([4.0, 9.0], [4, 9]),
        (["4.0", "-3"], [4, -3]),
        (np.array([4, 9], dtype=np.uint8), [4, 9]),
        ([True, np.False_], ["True", "False"]),
        (["cat", "4"], ["cat", "4"]),
        (["cat", 4.0], ["cat", "4"]),
        (["04", "4"], ["04", "4"]),
        (["1" * 30, "4"], ["1" * 30, "4"]),
        (["1.5", "cat"], ["1.5", "cat"]),
        (["cat", "-1"], ["cat", "-1"]),
        ([b"cat", " dog "], ["cat", "dog"]),
    ],
)
def test_labels_are_whole_numbers_or_words(cells, labels):
    found, allowed = read(cells)
    assert found == labels
    assert [type(x) for x in found] == [type(x) for x in labels]
    assert allowed == {}


def test_choices():
    labels, allowed = read(["4", " 4 | 9 ", "9|9", "", "9|4|4"])
    assert labels == [4, None, 9, None, None]
    assert allowed == {1: [4, 9], 4: [9, 4]}
    assert read(["a|b"]) == ([None], {0: ["a", "b"]})


@pytest.mark.parametrize("cell", ["4|", "|", "4|?", "4|-1", "a||b"])
def test_half_a_choice_is_an_error(cell):
    with pytest.raises(InvalidInputError, match=r"row 1 of column `label`"):
        read(["4", cell])


def test_given_and_true_labels_have_one_type():
    known = read_known(["1", ""], ["1", "x"], n=2)
    assert known.labels.tolist() == ["1", None]
    assert known.truth.tolist() == ["1", "x"]
    known = read_known(None, ["1", "-1"], n=2)
    assert known.labels.tolist() == [None, None]
    assert known.truth.tolist() == [1, None]
    assert known.notes == ["`truth`: taken for unknown, and for no class: `-1` (1 cell)."]


def test_truth_leaves_no_choice():
    with pytest.raises(InvalidInputError, match=r"`kind` holds the truth.*row 1 does: 1\|2"):
        read_known(None, ["1", "1|2"], n=2, truth_name="kind")


@pytest.mark.parametrize("cells", [[0.5, 1.0], ["1", "2.25"], [1.0, math.inf]])
def test_measurements_are_no_labels(cells):
    with pytest.raises(InvalidInputError, match="look like measurements"):
        read(cells)


def test_ids_are_no_labels_but_one_label_for_each_of_many_classes_is_fine():
    with pytest.raises(InvalidInputError, match="60 different ones in 100 rows and looks like ids"):
        read([*range(60), *[0] * 40])
    assert len(set(read([*range(60), *[None] * 60])[0])) == 61
    assert len(set(read(list(range(50)))[0])) == 50


def test_the_note_counts():
    known = read_known(["a", "b", "a|b", "", "a"], None, n=5, label_name="kind")
    assert known.notes == ["`kind`: 3 of 5 points have a label (2 different), 1 a choice of labels, 1 have none."]


@pytest.mark.parametrize("label", ["Na", "na", "none", "Null", "uNknown", "NAN"])
def test_another_spelling_is_a_label(label):
    assert read([label, "K", "NA"]) == ([label, "K", None], {})


def test_written_cells_that_are_taken_for_unknown_are_counted():
    known = read_known(["a", "NA", "", None, math.nan, pd.NA, "?", "NA", " "], None, n=9, label_name="kind")
    assert known.notes[1:] == ["`kind`: taken for unknown, and for no class: `NA` (2 cells), `?` (1 cell)."]
    assert read_known([3, -1, -1.0, "-1", 4], None, n=5).notes[1:] == [
        "`label`: taken for unknown, and for no class: `-1` (3 cells)."
    ]
    many = read_known(["?", "NA", "N/A", "nan", "null", "None", "NULL", "a"], None, n=8).notes[1]
    assert many.endswith("`null` (1 cell) and 2 more.")
    assert len(read_known(["a", "", None], None, n=3).notes) == 1


words = st.text(st.characters(codec="utf-8", exclude_characters="|"), min_size=1).map(str.strip)
labels = words.filter(lambda word: word not in UNKNOWN and word != "NaT" and not _is_number(word))


def _is_number(word):
    try:
        float(word)
    except ValueError:
        return False
    return True


@given(st.lists(st.none() | labels | st.lists(labels, min_size=2, max_size=4, unique=True), max_size=30))
def test_words_come_back_as_they_were_written(cells):
    written = ["|".join(cell) if isinstance(cell, list) else cell for cell in cells]
    found, allowed = read(written)
    assert found == [None if isinstance(cell, list) else cell for cell in cells]
    assert allowed == {i: cell for i, cell in enumerate(cells) if isinstance(cell, list)}


@given(st.lists(st.none() | st.integers(0, 40), max_size=50), st.sampled_from([float, str, int, np.int64]))
def test_whole_numbers_come_back_whatever_their_type(cells, kind):
    found, _ = read([cell if cell is None else kind(cell) for cell in cells])
    assert found == cells
