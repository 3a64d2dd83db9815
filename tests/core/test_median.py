from __future__ import annotations

import pytest
import torch

from tests.problems import gaussian
from xsdc.core.median import median_abs
from xsdc.core.objective import decompose


@pytest.mark.parametrize("n", [2, 3, 7, 64, 333])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equals_torch(n, dtype):
    A = gaussian(n, n, dtype=dtype)
    assert median_abs(A) == float(A.abs().median())


def test_factors_equal_dense():
    A = decompose(gaussian(150, 5)).cost(0.1)
    assert median_abs(A) == pytest.approx(median_abs(A.dense()), rel=1e-12)


def test_a_misleading_sample_does_not_mislead(monkeypatch):
    monkeypatch.setattr("xsdc.core.median._sample", lambda A, n, size: torch.full((size,), 7.0).numpy())
    A = gaussian(100, 100)
    assert median_abs(A) == float(A.abs().median())


def test_many_equal_values():
    A = torch.ones(100, 100)
    A[:, :30] = 2
    assert median_abs(A) == 1.0


def test_zero_where_the_median_would_be_zero():
    A = torch.zeros(10, 10)
    assert median_abs(A) == 1.0
    A[0, 0] = -5.0
    assert median_abs(A) == pytest.approx(0.05)
