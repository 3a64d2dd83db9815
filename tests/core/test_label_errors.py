from __future__ import annotations

import numpy as np
import pytest

from xsdc.core.label_errors import find_label_errors
from xsdc.defaults import DEFAULTS
from xsdc.errors import InvalidInputError


def test_labels_far_less_probable_than_another_class_are_found_worst_first():
    p = np.array([[0.9, 0.1], [0.97, 0.03], [0.5, 0.5], [0.999, 0.001], [0.03, 0.97]])
    assert find_label_errors(p, np.array([1, 1, 1, 1, 1])).tolist() == [3, 1]
    assert find_label_errors(p, p.argmax(axis=1)).tolist() == []


def test_it_is_the_ratio_that_counts():
    """Among many classes a label may be improbable, and yet no other one far more probable."""
    vague = np.full((1, 100), 0.01)
    assert find_label_errors(vague, np.array([3])).tolist() == []
    odds = np.array([[DEFAULTS.suspicious_ratio + 1, 1.0], [DEFAULTS.suspicious_ratio - 1, 1.0]])
    p = odds / odds.sum(axis=1, keepdims=True)
    assert find_label_errors(p, np.array([1, 1])).tolist() == [0]


def test_no_labels_and_one_class():
    assert find_label_errors(np.empty((0, 3)), np.empty(0, dtype=np.int64)).tolist() == []
    assert find_label_errors(np.ones((4, 1)), np.zeros(4, dtype=np.int64)).tolist() == []


@pytest.mark.parametrize(("shape", "n"), [((3, 2), 2), ((3,), 3)])
def test_a_row_for_each_label(shape, n):
    with pytest.raises(InvalidInputError, match="a row for each label"):
        find_label_errors(np.ones(shape), np.zeros(n, dtype=np.int64))
