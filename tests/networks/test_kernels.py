from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xsdc.errors import InvalidInputError
from xsdc.networks import RBF, Linear, SphereRBF, median_bandwidth


def test_kernels_by_hand():
    X = torch.tensor([[3.0, 4.0]], dtype=torch.float64)
    V = torch.tensor([[0.0, 0.0], [3.0, 3.0]], dtype=torch.float64)
    assert Linear()(X, V).tolist() == [[0.0, 21.0]]
    expected = [math.exp(-25 / 8), math.exp(-1 / 8)]  # sigma = 2, squared distances 25 and 1
    assert RBF(2.0)(X, V)[0].tolist() == pytest.approx(expected, rel=1e-14)
    unit = torch.tensor([[0.6, 0.8]], dtype=torch.float64)
    axes = torch.eye(2, dtype=torch.float64)
    expected = [math.exp(-0.4 / 0.25), math.exp(-0.2 / 0.25)]
    assert SphereRBF(0.5)(unit, axes)[0].tolist() == pytest.approx(expected, rel=1e-14)


def test_rbf_and_sphere_are_one_kernel_on_unit_vectors(generator):
    X = torch.nn.functional.normalize(torch.randn(9, 4, generator=generator, dtype=torch.float64), dim=1)
    torch.testing.assert_close(RBF(0.7)(X, X), SphereRBF(0.7)(X, X), rtol=1e-13, atol=1e-14)


def test_sphere_default_is_the_papers():
    assert SphereRBF().bandwidth == 0.6


@settings(deadline=None)
@given(shift=st.floats(-1e4, 1e4), seed=st.integers(0, 1000))
def test_rbf_keeps_its_digits_far_from_the_origin(shift, seed):
    g = torch.Generator().manual_seed(seed)
    X, V = torch.randn(6, 3, generator=g), torch.randn(4, 3, generator=g)
    X, V = X + shift, V + shift
    exact = torch.exp(-torch.cdist(X.double(), V.double()).square() / 2)
    torch.testing.assert_close(RBF(1.0)(X, V).double(), exact, rtol=0, atol=1e-5)


def test_median_bandwidth_by_hand():
    # Distances 1, 3, 4, 2, 3, 1 in order of pairs: sorted 1 1 2 3 3 4; torch takes the lower middle.
    assert median_bandwidth(np.array([[0.0], [1.0], [3.0], [4.0]])) == 2.0


def test_median_bandwidth_uses_the_first_points_only():
    X = np.concatenate([np.array([[0.0], [1.0], [2.0]]), np.full((5, 1), 99.0)])
    assert median_bandwidth(X, n_points=3) == 1.0


def test_median_bandwidth_with_mostly_equal_points():
    X = np.zeros((10, 2))
    X[0, 0] = 5.0
    assert median_bandwidth(X) == 5.0


def test_median_bandwidth_of_equal_points_asks_for_one():
    with pytest.raises(InvalidInputError, match="all equal"):
        median_bandwidth(np.ones((4, 2)))


@pytest.mark.parametrize("kernel", [RBF, SphereRBF])
@pytest.mark.parametrize("bandwidth", [0.0, -1.0, float("nan")])
def test_bandwidth_must_be_positive(kernel, bandwidth):
    with pytest.raises(InvalidInputError, match="bandwidth"):
        kernel(bandwidth)
