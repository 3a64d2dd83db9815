from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.problems import blobs
from xsdc.core.balancing import balance
from xsdc.core.number import largest_number, suggest_number
from xsdc.core.objective import decompose
from xsdc.core.problem import Fractions
from xsdc.core.rounding import spectral_embedding
from xsdc.core.sizes import ClassSizes


def one_bound(low: float, high: float) -> ClassSizes:
    return ClassSizes(np.array([low]), np.array([high]))


@pytest.mark.parametrize(
    ("values", "bound", "number"),
    [
        ([1.0, 0.98, 0.95, 0.3, 0.28, 0.1], (0.1, 1.0), 3),
        ([1.0, 0.2, 0.19, 0.1, 0.08, 0.07], (0.1, 1.0), 1),
        ([1.0, 0.2, 0.19, 0.1, 0.08, 0.07], (0.1, 0.5), 3),  # two groups or more
        ([1.0, 0.98, 0.95, 0.3, 0.28, 0.1], (0.5, 1.0), 2),  # no more than two
        ([1.0, 0.99, 0.98, 0.9, 0.2, 0.1], (1 / 3, 1.0), 3),
        ([1.0, 0.99, 0.98, 0.9, 0.2, 0.1], (0.0, 1.0), 4),
        ([1.0, 0.5, 0.4, 0.0], (1 / 3, 1 / 3), 3),  # the bounds leave no choice
        ([1.0, 0.9, 0.8, 0.2, 0.1], (0.0, 0.3333333333333), 3),  # three groups hold all but rounding
    ],
)
def test_the_number_is_where_the_eigenvalues_fall_most_within_the_bounds(values, bound, number):
    assert suggest_number(torch.tensor(values), one_bound(*bound)) == number


@given(st.lists(st.floats(0, 1), min_size=6, max_size=12), st.floats(0.1, 0.3), st.floats(0.4, 1.0))
@settings(deadline=None)
def test_the_suggested_number_is_one_that_the_bounds_allow(values, low, high):
    number = suggest_number(torch.tensor(sorted(values, reverse=True)), one_bound(low, high))
    assert number * low <= 1 + 1e-6
    assert number * high >= 1 - 1e-6
    assert number < len(values)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_number_of_separate_blobs_is_found(k):
    X, _ = blobs(120, k)
    spectrum = decompose(X)
    # Bounds that leave room for other numbers on both sides.
    bound = one_bound(0.1, 0.9)
    M = balance(spectrum.cost(0.1).dense(), size=Fractions(0.1, 0.9)).M
    eigenvalues, _ = spectral_embedding(M, 10, random_state=np.random.RandomState(0))
    assert suggest_number(eigenvalues, bound) == k


def test_the_largest_number_of_groups():
    assert largest_number(one_bound(0.1, 1), 50) == 10
    assert largest_number(one_bound(0.3, 1), 50) == 3
    assert largest_number(one_bound(0.3333333333334, 1), 50) == 3  # too much by rounding alone
    assert largest_number(one_bound(0.1, 1), 7) == 7
    assert largest_number(one_bound(0.0, 1), 7) == 7
