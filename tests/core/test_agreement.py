from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xsdc.core.agreement import agreement, align, share_right, wilson_interval
from xsdc.errors import InvalidInputError


def test_align_renames_by_hand():
    assert align([5, 5, 7, 7, 9], [1, 1, 0, 0, 0]).tolist() == [1, 1, 0, 0, -1]
    assert align([0, 1, 2], [7, 7, 7]).tolist().count(7) == 1


def test_agreement_by_hand():
    result = agreement([0, 0, 1, 1], [1, 1, 0, 1])
    assert result.accuracy == 0.75
    perfect = agreement(["b", "b", "a"], [0, 0, 4])
    assert (perfect.accuracy, perfect.nmi, perfect.ari) == (1.0, pytest.approx(1.0), 1.0)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30), st.permutations(range(5)))
@settings(deadline=None)
def test_agreement_ignores_names(pairs, names):
    labels, truth = np.array(pairs).T
    one, two = agreement(labels, truth), agreement(np.array(names)[labels], truth)
    assert one.accuracy == two.accuracy
    assert one.nmi == pytest.approx(two.nmi)
    assert one.accuracy >= max(np.mean(labels == truth), np.bincount(truth).max() / len(truth) / 5)
    if len(np.unique(labels)) <= len(np.unique(truth)):
        assert np.mean(align(labels, truth) == truth) == pytest.approx(one.accuracy)


def test_names_of_classes_are_not_cut_short():
    with pytest.raises(InvalidInputError, match="classes as integers"):
        align([0, 1], ["a", "b"])
    with pytest.raises(InvalidInputError, match="classes as integers"):
        align([0, 1], [0.5, 1.5])


def test_bad_input_is_named():
    with pytest.raises(InvalidInputError, match="one length"):
        agreement([0, 1], [0])
    with pytest.raises(InvalidInputError, match="empty"):
        agreement([], [])


@pytest.mark.parametrize("kind", [list, lambda y: np.array(y, dtype=object)])
def test_share_right_compares_whole_words_that_are_known(kind):
    predicted = np.array(["abc", "abd", "b", "b"])
    assert share_right(predicted, kind(["ab", "abd", "b", None]), named=True) == pytest.approx(2 / 3)
    weighted = share_right(predicted, kind(["ab", "abd", "b", None]), named=True, sample_weight=[2, 1, 1, 9])
    assert weighted == pytest.approx(0.5)


def test_share_right_of_clusters_is_the_best_naming():
    assert share_right(np.array([0, 0, 1, 1]), ["b", "b", "a", "b"], named=False) == 0.75
    with pytest.raises(InvalidInputError, match="sample_weight"):
        share_right(np.array([0, 1]), [0, 1], named=False, sample_weight=[1, 1])


def test_share_right_needs_a_label():
    with pytest.raises(InvalidInputError, match="no labeled row"):
        share_right(np.array([0, 1]), [-1, -1], named=True)


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [(1, 2, 0.0945, 0.9055), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_interval_as_in_tables(right, n, low, high):
    """The last is an example of Newcombe, Statistics in Medicine 17 (1998)."""
    assert wilson_interval(right, n) == pytest.approx((low, high), abs=1e-4)


def test_wilson_interval_covers():
    rng = np.random.default_rng(0)
    for share in (0.5, 0.9, 0.98):
        counts = rng.binomial(60, share, size=1000)
        inside = [low <= share <= high for low, high in (wilson_interval(int(c), 60) for c in counts)]
        assert np.mean(inside) > 0.91
