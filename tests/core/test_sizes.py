from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.problems import random_cost
from xsdc.core.balancing import balance
from xsdc.core.constraints import Constraints, close
from xsdc.core.feasibility import check_feasible
from xsdc.core.sizes import ClassSizes
from xsdc.errors import InfeasibleError, InvalidInputError

NAMES = np.array(["cat", "dog", "emu"], dtype=object)


def sizes(*bounds: tuple[float, float]) -> ClassSizes:
    lo, hi = np.array(bounds, dtype=float).T
    return ClassSizes(lo, hi)


def rows(size: ClassSizes, constraints: Constraints, points: object = None) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of each row as numbers of points."""
    points = None if points is None else np.array(points)
    known = constraints.entries(points)
    found = size.among(constraints, known, points)
    return found.minimum.numpy() * known.n, found.maximum.numpy() * known.n


def test_bounds_around_the_equal_share():
    found = ClassSizes.around(4, 0.5, 2)
    assert found.minimum.tolist() == [0.125] * 4
    assert found.maximum.tolist() == [0.5] * 4
    wide = ClassSizes.around(4, 0.5, 8)
    assert wide.maximum.tolist() == [0.625] * 4  # what the others leave
    assert ClassSizes.around(4, 0, 8).maximum.tolist() == [1.0] * 4
    assert ClassSizes.around(4, 3, 8).minimum.tolist() == [0.25] * 4  # all classes cannot be above the equal share


@pytest.mark.parametrize("bound", [(0.5, 0.2), (-0.1, 0.5), (0.0, 0.0), (0.2, 1.1), (float("nan"), 0.5), (0.1, np.nan)])
def test_bounds_that_mean_nothing_are_refused(bound):
    with pytest.raises(InvalidInputError, match=r"0 <= minimum <= maximum <= 1") as error:
        sizes((0.1, 0.9), bound)
    assert f"({bound[0]:g}, {bound[1]:g})" in str(error.value)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_equal_sizes_among_all_points_are_the_equal_share_of_every_row(k):
    n = 21
    y = np.arange(n) % k
    labels = np.where(np.arange(n) < k + 1, y, -1)
    for facts in ({}, {"labels": labels}, {"must_link": [(0, k)], "cannot_link": [(0, 1)]}):
        constraints = close(n, n_classes=k, **facts)
        found = ClassSizes.around(k, 1, 1).among(constraints, constraints.entries())
        torch.testing.assert_close(found.minimum, torch.full((n,), 1 / k, dtype=torch.float64), rtol=1e-12, atol=0)
        torch.testing.assert_close(found.maximum, torch.full((n,), 1 / k, dtype=torch.float64), rtol=1e-12, atol=0)


def test_a_row_has_the_bounds_of_the_classes_it_may_have():
    constraints = close(20, labels=[0, 1, 2] + [-1] * 17, allowed={3: [0, 2], 4: [1, 2]}, n_classes=3)
    lo, hi = rows(sizes((0.1, 0.2), (0.3, 0.5), (0.25, 0.6)), constraints)
    np.testing.assert_allclose(lo, [2, 6, 5, 2, 5] + [2] * 15)
    np.testing.assert_allclose(hi, [4, 10, 12, 12, 12] + [12] * 15)


def test_what_labels_leave_of_a_bound_is_shared_out_to_a_batch():
    # Of class 0, four points are labeled; of 10 · (0.5, 0.6) are left 1 to 2 for six unlabeled points, half of
    # which are here, beside one labeled point. Of class 1 all 5 to 6 are left.
    constraints = close(10, labels=[0] * 4 + [-1] * 6, n_classes=2)
    lo, hi = rows(sizes((0.5, 0.6), (0.5, 0.6)), constraints, [0, 4, 5, 6])
    np.testing.assert_allclose(lo, [1.5, 1.5, 1.5, 1.5])
    np.testing.assert_allclose(hi, [2.0, 3.0, 3.0, 3.0])
    # Two labeled points beside one other: a class is held to be no smaller than its labels here.
    lo, hi = rows(sizes((0.5, 0.6), (0.5, 0.6)), constraints, [0, 1, 9])
    np.testing.assert_allclose(lo, [2 + 1 / 6, 2 + 1 / 6, 5 / 6])
    np.testing.assert_allclose(hi, [2 + 2 / 6, 2 + 2 / 6, 2 + 2 / 6])


def test_one_bound_for_all_groups_is_a_share_of_any_batch():
    constraints = close(40, labels=[0] * 20 + [1] + [-1] * 19, n_classes=2)
    lo, hi = rows(sizes((0.25, 0.75)), constraints, [20, 25, 26, 30])
    np.testing.assert_allclose(lo, [1.0] * 4)
    np.testing.assert_allclose(hi, [3.0] * 4)


def test_bounds_move_to_what_the_known_entries_of_a_row_force():
    constraints = close(10, must_link=[(0, 1), (1, 2), (2, 3)], cannot_link=[(9, i) for i in range(4, 8)], n_classes=3)
    lo, hi = rows(sizes((0.7, 0.7), (0.7, 0.7), (0.7, 0.7)), constraints)
    np.testing.assert_allclose(lo, [7.0] * 9 + [6.0])  # the last can be with five others at most
    np.testing.assert_allclose(hi, [7.0] * 10)
    lo, hi = rows(sizes((0.2, 0.3)), constraints)
    np.testing.assert_allclose(hi, [4.0] * 4 + [3.0] * 6)  # the first four are together
    np.testing.assert_allclose(lo, [2.0] * 10)


def test_a_group_has_room_for_one_point_at_least():
    lo, hi = rows(sizes((0.0, 0.1), (0.0, 0.1)), close(5, n_classes=2))
    np.testing.assert_allclose(lo, 0)
    np.testing.assert_allclose(hi, 1)


def test_a_point_that_comes_twice_is_with_its_copy():
    lo, hi = rows(sizes((0.0, 0.2)), close(10), [3, 7, 3, 3])
    np.testing.assert_allclose(hi, [3, 1, 3, 3])
    np.testing.assert_allclose(lo, 0)


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_classes_that_meet_the_bounds_meet_those_of_their_rows(seed):
    rng = np.random.default_rng(seed)
    n, k = 20, int(rng.integers(1, 5))
    y = rng.integers(k, size=n)
    pairs = rng.integers(n, size=(8, 2))
    together = y[pairs[:, 0]] == y[pairs[:, 1]]
    constraints = close(
        n,
        labels=np.where(rng.random(n) < rng.random(), y, -1),
        must_link=pairs[together],
        cannot_link=pairs[~together],
        allowed={i: sorted({int(y[i]), int(rng.integers(k))}) for i in range(5)},
        n_classes=k,
    )
    count = np.bincount(y, minlength=k)
    lo = np.maximum(count - rng.integers(4, size=k), 0) / n
    hi = np.minimum(count + rng.integers(1, 4, size=k), n) / n
    size = ClassSizes(lo, hi)
    size.check(constraints, n_classes=k, names=np.arange(k).astype(object))
    least, most = rows(size, constraints)
    assert (least <= count[y] + 1e-9).all()
    assert (most >= count[y] - 1e-9).all()
    check_feasible(constraints.entries(), torch.from_numpy(least), torch.from_numpy(most), cap=None)

    order = rng.permutation(n)
    moved = rows(size, constraints, order)
    np.testing.assert_allclose(moved[0], least[order])
    np.testing.assert_allclose(moved[1], most[order])


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_any_batch_can_be_balanced_within_its_bounds(seed):
    rng = np.random.default_rng(seed)
    n, k = 30, 3
    y = rng.integers(k, size=n)
    pairs = rng.integers(n, size=(20, 2))
    together = y[pairs[:, 0]] == y[pairs[:, 1]]
    labels = np.where(rng.random(n) < rng.random(), y, -1)
    constraints = close(n, labels=labels, must_link=pairs[together], cannot_link=pairs[~together], n_classes=k)
    points = rng.choice(n, int(rng.integers(2, n)), replace=False)
    known = constraints.entries(points)
    count = np.bincount(y, minlength=k)
    found = ClassSizes(count / n, np.maximum(count, 1) / n).among_sample(constraints, known, points)
    balance(random_cost(len(points)), size=found, known=known, max_iter=1)  # refuses what cannot be


def test_a_batch_keeps_bounds_that_can_be_met():
    constraints = close(9, labels=[0, 1, 2] + [-1] * 6, n_classes=3)
    points = np.array([0, 1, 4, 5])
    known = constraints.entries(points)
    size = ClassSizes.around(3, 0.5, 2)
    kept, plain = size.among_sample(constraints, known, points), size.among(constraints, known, points)
    assert torch.equal(kept.minimum, plain.minimum)
    assert torch.equal(kept.maximum, plain.maximum)


def test_a_batch_drops_bounds_that_no_grouping_of_it_can_meet():
    # Groups of two in the data; in the batch two points that are apart compete for the third.
    constraints = close(6, cannot_link=[(0, 1)], n_classes=3)
    points = np.array([0, 1, 2])
    known = constraints.entries(points)
    size = sizes((2 / 3, 2 / 3))
    assert size.among(constraints, known, points).minimum.tolist() == pytest.approx([2 / 3] * 3)
    found = size.among_sample(constraints, known, points)
    assert (found.minimum, found.maximum) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("size", "facts", "message", "at"),
    [
        (sizes((0, 0.3)), {}, r"3 clusters hold at most 0\.9 of them\. Raise the maximum to 0\.333", ()),
        (sizes((0.4, 0.8)), {}, r"need at least 1\.2 of the points\. Lower the minimum to 0\.333", ()),
        (
            sizes((0, 1), (0, 0.2), (0, 1)),
            {"labels": [1] * 3 + [0] + [-1] * 6},
            r"3 points are labeled 'dog', but cluster_size allows at most 2 of 10\. Raise the maximum",
            (0, 1, 2),
        ),
        (
            sizes((0, 1), (0.2, 1), (0.5, 1)),
            {"labels": [0] * 5 + [-1] * 5},
            r"leave 5 points free, but cluster_size wants at least 7 more .* Lower the minimum",
            (),
        ),
        (
            sizes((0, 0.4)),
            {"must_link": [(9, i) for i in range(2, 8)]},
            r"7 points are known to be together, but cluster_size allows 0\.4 of 10\. Raise the maximum",
            (2, 3, 4, 5, 6, 7, 9),
        ),
    ],
)
def test_what_cannot_be_met_is_said_with_what_to_change(size, facts, message, at):
    with pytest.raises(InfeasibleError, match=message) as error:
        size.check(close(10, n_classes=3, **facts), n_classes=3, names=NAMES)
    assert error.value.rows == at


def test_a_group_above_the_maximum_is_refused_where_the_number_of_classes_is_open():
    together = close(10, must_link=[(0, i) for i in range(1, 6)])
    with pytest.raises(InfeasibleError, match="6 points are known to be together"):
        sizes((0.1, 0.3)).check(together, n_classes=None, names=NAMES[:0])
    sizes((0.1, 0.6)).check(together, n_classes=None, names=NAMES[:0])


def test_shares_that_are_no_whole_numbers_are_rounded_in_favour_of_the_labels():
    equal = ClassSizes.around(3, 1, 1)  # ten points, three and a third in each class
    equal.check(close(10, labels=[0] * 4 + [-1] * 6, n_classes=3), n_classes=3, names=NAMES)
    equal.check(close(10, labels=[0] * 4 + [1] * 3 + [2] * 3, n_classes=3), n_classes=3, names=NAMES)
    with pytest.raises(InfeasibleError, match="5 points are labeled 'cat'"):
        equal.check(close(10, labels=[0] * 5 + [-1] * 5, n_classes=3), n_classes=3, names=NAMES)


def test_bounds_that_just_suffice_pass():
    sizes((1 / 3, 1 / 3)).check(close(9, n_classes=3), n_classes=3, names=NAMES)
    sizes((0.1, 0.1), (0.2, 0.2), (0.7, 0.7)).check(close(10, n_classes=3), n_classes=3, names=NAMES)
    tight = close(10, labels=[0] * 2 + [-1] * 8, n_classes=3)
    sizes((0.0, 0.2), (0.4, 1.0), (0.4, 1.0)).check(tight, n_classes=3, names=NAMES)


def test_equal_sizes_exist_for_every_number_of_classes():
    for k in range(1, 200):
        sizes = ClassSizes.around(k, 1, 1)
        np.testing.assert_allclose(sizes.minimum, sizes.maximum, rtol=1e-12)
        np.testing.assert_allclose(sizes.maximum, 1 / k)


def test_open_numbers_need_one_that_meets_the_bounds():
    with pytest.raises(InfeasibleError, match="No number of clusters"):
        ClassSizes(np.array([0.4]), np.array([0.45])).check(close(10), n_classes=None, names=np.empty(0, dtype=object))
    ClassSizes(np.array([0.4]), np.array([0.5])).check(close(10), n_classes=None, names=np.empty(0, dtype=object))


def test_bounds_of_a_batch_do_not_exceed_it():
    facts = close(10, labels=[-1] * 5 + [1] * 5, n_classes=2)
    batch = np.arange(3)
    size = ClassSizes(np.zeros(2), np.ones(2)).among(facts, facts.entries(batch), batch)
    assert float(size.maximum.max()) <= 1
