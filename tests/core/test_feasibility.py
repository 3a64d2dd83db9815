from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tests.problems import label_entries
from xsdc.core.feasibility import check_feasible
from xsdc.core.known import Known
from xsdc.errors import InfeasibleError


def feasible_by_linear_programme(n: int, known: Known, lo: np.ndarray, hi: np.ndarray, cap: float | None) -> bool:
    """One variable per entry, no grouping, no counting."""
    fixed = np.full((n, n), np.nan)
    for pairs, value in ((known.ones, 1.0), (known.zeros, 0.0)):
        for i, j in pairs.tolist():
            fixed[i, j] = fixed[j, i] = value
    np.fill_diagonal(fixed, 1.0)
    bounds = [(0, cap) if np.isnan(x) else (x, x) for x in fixed.ravel()]
    rows = np.kron(np.eye(n), np.ones(n))
    columns = np.kron(np.ones(n), np.eye(n))
    A = np.concatenate([rows, columns, -rows, -columns])
    b = np.concatenate([hi, hi, -lo, -lo])
    return linprog(np.zeros(n * n), A_ub=A, b_ub=b, bounds=bounds).status == 0


@given(st.integers(2, 7), st.sampled_from([None, 1.0, 2.0]), st.integers(0, 10**6))
@settings(max_examples=150, deadline=None)
def test_decides_as_the_linear_programme_over_all_entries(n, cap, seed):
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(n, 1)
    pick = rng.random(len(i)) < rng.random()
    known = Known.from_entries(n, i[pick], j[pick], (rng.random(pick.sum()) < 0.3).astype(int))
    lo = rng.integers(0, n, n).astype(float) if rng.random() < 0.5 else np.full(n, float(rng.integers(0, n)))
    hi = np.maximum(lo + rng.integers(0, 3), 1)
    truth = feasible_by_linear_programme(n, known, lo, hi, cap)
    # Without a cap the package also refuses what no equivalence matrix could reach.
    reach = n - known.zeros_per_row().numpy()
    assume(cap is not None or (reach >= lo).all())
    if truth:
        check_feasible(known, torch.from_numpy(lo), torch.from_numpy(hi), cap=cap)
        return
    with pytest.raises(InfeasibleError) as error:
        check_feasible(known, torch.from_numpy(lo), torch.from_numpy(hi), cap=cap)
    assert error.value.rows


def test_rows_that_compete_for_the_same_places():
    # 40 labeled points in two classes of 20 and one that is open, which every one of them wants.
    y = torch.arange(41) % 2
    known = Known.from_entries(41, *label_entries(y, torch.arange(40)))
    bound = torch.full((41,), 21.0, dtype=torch.float64)
    with pytest.raises(InfeasibleError, match="No matrix meets the bounds"):
        check_feasible(known, bound, bound, cap=None)
    check_feasible(known, bound - 1, bound, cap=None)


def test_large_classes_of_interchangeable_points_are_few():
    # Entry by entry this would be a programme of 810,000 variables. The true sizes are feasible, one more is not:
    # the ten open points would have to be in more groups than they can.
    n, y = 900, torch.arange(900) % 3
    known = Known.from_entries(n, *label_entries(y, torch.arange(n - 10)))
    size = torch.full((n,), 300.0, dtype=torch.float64)
    check_feasible(known, size, size, cap=1.0)
    with pytest.raises(InfeasibleError, match="No matrix meets the bounds"):
        check_feasible(known, size + 1, size + 1, cap=1.0)
