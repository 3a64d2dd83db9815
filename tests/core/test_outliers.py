"""Rows far from nearly all others are moved next to them; the others stay as they are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xsdc.core.outliers import MOST_MEASURED, Limits, fit_limits
from xsdc.defaults import DEFAULTS


def normal(n: int = 200, d: int = 5, *, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def limits_of(X: torch.Tensor) -> Limits:
    limits = fit_limits(X)
    assert limits is not None
    return limits


def test_limits_by_hand():
    X = torch.tensor([[float(i)] for i in range(-5, 5)] + [[100.0]], dtype=torch.float64)
    limits = limits_of(X)  # median 0; distances 0 1 1 2 2 3 3 4 4 5 100, of which nine tenths are up to the tenth
    assert limits.center.tolist() == [0.0]
    assert limits.radius == DEFAULTS.far * 5
    assert (limits.low.item(), limits.high.item(), limits.margin) == (-5, 4, 5)
    moved = limits(X)
    assert torch.equal(moved[:-1], X[:-1])
    assert moved[-1].item() == pytest.approx(4 + 5 * 96 / (5 + 96))


def test_data_without_outliers_is_returned_as_it_is():
    X = normal()
    assert limits_of(X)(X) is X


def test_input_is_not_modified():
    X = normal()
    X[3, 1] = 1e6
    before = X.clone()
    moved = limits_of(X)(X)
    assert torch.equal(X, before)
    assert torch.equal(moved[torch.arange(200) != 3], X[torch.arange(200) != 3])
    assert not torch.equal(moved[3], X[3])


@settings(deadline=None)
@given(
    size=st.floats(1e2, 1e300),
    sign=st.sampled_from([-1, 1]),
    row=st.integers(0, 199),
    column=st.one_of(st.none(), st.integers(0, 4)),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_one_absurd_cell_or_row_stays_within_reach(size, sign, row, column, dtype):
    clean = normal()
    X = clean.clone()
    X[row, slice(None) if column is None else column] = sign * size
    X = X.to(dtype)  # may become infinite
    limits = limits_of(X)
    moved = limits(X)
    assert moved.isfinite().all()
    assert (moved[row] <= limits.high + limits.margin).all()
    assert (moved[row] >= limits.low - limits.margin).all()
    near = limits_of(clean)
    assert limits.radius == pytest.approx(near.radius, rel=0.05)
    if column is not None:  # the other cells of the row are as they were, unless they were beyond all others
        others = [j for j in range(5) if j != column]
        torch.testing.assert_close(moved[row, others].double(), clean[row, others], rtol=1e-5, atol=0.5)


@settings(deadline=None)
@given(values=st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=20, unique=True))
def test_order_of_far_values_stays(values):
    limits = limits_of(normal(d=1))
    far = torch.tensor(sorted(x for x in values if abs(x) > limits.radius + 1), dtype=torch.float64)[:, None]
    if len(far) > 1:
        assert (limits(far).diff(dim=0) >= 0).all()


def test_small_classes_far_away_remain_apart():
    """Two classes of 3 % each, in the same direction, must become neither one class nor a part of the large one."""
    X = normal(200, 2)
    X[:6] += 300.0
    X[6:12] += 1000.0
    moved = limits_of(X)(X)
    large, one, two = moved[12:], moved[:6], moved[6:12]
    assert torch.cdist(one, large).min() > 1
    assert torch.cdist(one, two).min() > 10 * max(torch.pdist(one).max(), torch.pdist(two).max())


def test_a_tenth_of_the_rows_may_be_far():
    X = normal(200)
    X[:20] = -9999.0
    limits = limits_of(X)
    assert limits.far(X).nonzero().flatten().tolist() == list(range(20))
    X[:21] = -9999.0
    assert not limits_of(X).far(X).any()


def test_of_fewer_than_ten_rows_none_is_far():
    X = normal(9)
    X[0] = 1e9
    assert not limits_of(X).far(X).any()
    X = normal(10)
    X[0] = 1e9
    assert limits_of(X).far(X).tolist() == [True] + 9 * [False]


def test_rows_that_are_nearly_all_equal_set_no_limits():
    X = torch.ones(50, 3)
    X[0] = 7.0
    assert fit_limits(X) is None


def test_sparse_columns_stay_as_they_are():
    """In a column that is nearly always zero any other value is rare, but not far as distances go."""
    rng = np.random.default_rng(0)
    X = torch.from_numpy(rng.random((300, 400)) * (rng.random((300, 400)) < 0.02))
    assert limits_of(X)(X) is X


def test_pixels_of_images_have_one_range():
    X = torch.rand(50, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    X[:, :, 0] = 0.0  # an edge that is empty, so far
    limits = limits_of(X)
    assert limits.low.unique().tolist() == [0.0]
    assert len(limits.high.unique()) == 1
    X[4, 0, 2, 2] = 1e9
    moved = limits_of(X)(X)
    assert moved.shape == X.shape
    assert moved[4, 0, 2, 2] < 2
    torch.testing.assert_close(moved[4, 0, 3:], X[4, 0, 3:])


def test_rows_in_another_order_have_the_same_limits():
    X = normal(300)
    X[7] = 1e5
    one, other = limits_of(X), limits_of(X[torch.randperm(300, generator=torch.Generator().manual_seed(1))])
    assert one.radius == pytest.approx(other.radius, rel=1e-12)
    assert torch.equal(one.low, other.low)
    assert torch.equal(one.high, other.high)


def test_many_rows_are_measured_by_some_of_all():
    X = torch.cat([normal(MOST_MEASURED), 10 + normal(3 * MOST_MEASURED, seed=1)])
    limits = limits_of(X)
    assert not limits.far(X).any()
    within = (torch.linalg.vector_norm(X - limits.center, dim=1) <= limits.radius / DEFAULTS.far).double().mean()
    assert within == pytest.approx(DEFAULTS.near_share, abs=0.02)
