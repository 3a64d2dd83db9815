from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import known_entries_by_enumeration
from xsdc.core.constraints import close, linked_components
from xsdc.core.known import Known
from xsdc.errors import ContradictionError, InvalidInputError


def dense(known: Known) -> torch.Tensor:
    """-1 where unknown."""
    M = torch.full((known.n, known.n), -1)
    for pairs, value in ((known.ones, 1), (known.zeros, 0)):
        M[pairs[:, 0], pairs[:, 1]] = M[pairs[:, 1], pairs[:, 0]] = value
    return M.fill_diagonal_(1)


def test_must_links_close_and_cannot_links_spread():
    M = dense(close(6, must_link=[(0, 1), (1, 2), (3, 4)], cannot_link=[(2, 4)]).entries())
    expected = torch.tensor(
        [
            [1, 1, 1, 0, 0, -1],
            [1, 1, 1, 0, 0, -1],
            [1, 1, 1, 0, 0, -1],
            [0, 0, 0, 1, 1, -1],
            [0, 0, 0, 1, 1, -1],
            [-1, -1, -1, -1, -1, 1],
        ]
    )
    assert torch.equal(M, expected)


def test_labels_join_and_part_and_spread_over_links():
    closed = close(6, labels=[0, 0, 1, -1, -1, -1], must_link=[(3, 2)])
    assert closed.classes.tolist() == [0, 0, 1, 1, -1, -1]
    M = dense(closed.entries())
    assert M[0].tolist() == [1, 1, 0, 0, -1, -1]
    assert M[3].tolist() == [0, 0, 1, 1, -1, -1]


def test_disjoint_allowed_sets_part():
    # The paper's Figure 10: labels 0 and 9 known, of the others whether they are in {4, 9}.
    rest = [0, 1, 2, 3, 5, 6, 7, 8]
    closed = close(5, labels=[0, 9, -1, -1, -1], allowed={2: [4, 9], 3: rest, 4: rest}, n_classes=10)
    M = dense(closed.entries())
    assert M[2].tolist() == [0, -1, 1, 0, 0]
    assert M[3].tolist() == [-1, 0, 0, 1, -1]
    assert closed.allowed_classes()[2].nonzero()[0].tolist() == [4, 9]


def test_allowed_sets_intersect_over_links_and_decide():
    closed = close(4, labels=[2, -1, -1, -1], must_link=[(1, 3)], allowed={1: [1, 2], 3: [2, 0]}, n_classes=4)
    assert closed.classes.tolist() == [2, 2, -1, 2]
    assert dense(closed.entries())[0].tolist() == [1, 1, -1, 1]


def test_entries_of_a_batch_are_those_of_its_points():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=60)
    labels = np.where(rng.random(60) < 0.3, y, -1)
    pairs = rng.integers(60, size=(40, 2))
    together = y[pairs[:, 0]] == y[pairs[:, 1]]
    closed = close(
        60,
        labels=labels,
        must_link=pairs[together],
        cannot_link=pairs[~together],
        allowed={i: sorted({int(y[i]), int(rng.integers(4))}) for i in range(30, 45)},
    )
    M = dense(closed.entries())
    batch = rng.choice(60, 25, replace=False)
    assert torch.equal(dense(closed.entries(batch)), M[batch][:, batch])
    twice = dense(closed.entries(np.array([7, 3, 7])))
    assert twice[0, 2] == 1


def test_entries_are_listed_once():
    closed = close(
        8,
        labels=[0, 1, 2, -1, -1, -1, -1, -1],
        allowed={3: [0, 1], 4: [2]},
        cannot_link=[(3, 4), (4, 3), (5, 6), (3, 5)],
    )
    known = closed.entries()
    for pairs in (known.ones, known.zeros):
        assert len(pairs) == len(torch.unique(pairs, dim=0))
        assert (pairs[:, 0] < pairs[:, 1]).all()


@given(st.data())
@settings(max_examples=120, deadline=None)
def test_closure_is_sound_and_contradictions_are_real(data):
    """Against every possible assignment: known entries hold in all of them, and there is one unless refused."""
    n, k = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 3))
    point, pair = st.integers(0, n - 1), st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    labels = data.draw(st.lists(st.sampled_from([-1, -1, *range(k)]), min_size=n, max_size=n))
    must_link = data.draw(st.lists(pair, max_size=3))
    cannot_link = data.draw(st.lists(pair.filter(lambda p: p[0] != p[1]), max_size=3))
    allowed = data.draw(
        st.dictionaries(point, st.lists(st.integers(0, k - 1), min_size=1, max_size=k, unique=True), max_size=3)
    )
    facts = {"labels": labels, "must_link": must_link, "cannot_link": cannot_link, "allowed": allowed}
    possible, together, apart = known_entries_by_enumeration(n, k, **facts)
    try:
        M = dense(close(n, n_classes=k, **facts).entries())
    except ContradictionError:
        assert not possible
        return
    if possible:
        assert together[M == 1].all()
        assert apart[M == 0].all()
    if not cannot_link and k > 1:
        # Without cannot-links the closure is complete: nothing else follows.
        assert possible
        assert (M[together] == 1).all()
        assert (M[apart] == 0).all()


@pytest.mark.parametrize(
    ("facts", "chain"),
    [
        ({"must_link": [(3, 8), (8, 12)], "cannot_link": [(3, 12)]}, "3=8, 8=12, but 3≠12"),
        ({"must_link": [(3, 8)], "cannot_link": [(8, 3)]}, "8=3, but 8≠3"),
        ({"cannot_link": [(2, 2)]}, "2≠2"),
        (
            {"must_link": [(0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (5, 4)], "cannot_link": [(0, 4)]},
            "0=5, 5=4, but 0≠4",
        ),
        (
            # The longer chain comes first in the input; the shortest one is told.
            {"must_link": [(0, 1), (1, 2), (2, 3), (6, 7), (7, 8)], "cannot_link": [(0, 3), (6, 8)]},
            "6=7, 7=8, but 6≠8",
        ),
        ({"labels": {0: 0, 1: 1}, "must_link": [(0, 2), (2, 1)]}, "1 is dog, 1=2, 2=0, but 0 is cat"),
        ({"labels": {4: 1, 6: 1}, "cannot_link": [(4, 6)]}, "4 is dog, 6 is dog, but 4≠6"),
        ({"labels": {4: 1}, "allowed": {4: [0, 2]}}, "4 is dog, but 4 is one of {cat, emu}"),
        ({"allowed": {1: [0, 2], 5: [1]}, "must_link": [(1, 5)]}, "5 is one of {dog}, 5=1, but 1 is one of {cat, emu}"),
        (
            {"allowed": {0: [1, 2], 1: [0, 2], 2: [0, 1]}, "must_link": [(0, 1), (1, 2)]},
            "0 is one of {dog, emu}, 0=1, 1 is one of {cat, emu}, 1=2, but 2 is one of {cat, dog}",
        ),
        (
            {"labels": {3: 2}, "allowed": {0: [1, 2], 1: [0, 2]}, "must_link": [(0, 1)], "cannot_link": [(0, 3)]},
            "0 is one of {dog, emu}, 0=1, 1 is one of {cat, emu}, 3 is emu, but 0≠3",
        ),
    ],
)
def test_contradictions_are_told_as_the_shortest_chain(facts, chain):
    labels = np.full(15, -1)
    for i, c in facts.pop("labels", {}).items():
        labels[i] = c
    with pytest.raises(ContradictionError, match=re.escape(chain)) as error:
        close(15, labels=labels, n_classes=3, class_names=["cat", "dog", "emu"], **facts)
    told = ", ".join(error.value.chain[:-1])
    assert chain == (f"{told}, but {error.value.chain[-1]}" if told else error.value.chain[-1])


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_chain_of_links_is_as_short_as_can_be(seed):
    networkx = pytest.importorskip("networkx")
    rng = np.random.default_rng(seed)
    must = rng.integers(20, size=(22, 2))
    cannot = rng.integers(20, size=(4, 2))
    graph = networkx.Graph(must.tolist())
    graph.add_nodes_from(range(20))
    lengths = [networkx.shortest_path_length(graph, i, j) for i, j in cannot.tolist() if networkx.has_path(graph, i, j)]
    if not lengths:
        close(20, must_link=must, cannot_link=cannot)
        return
    with pytest.raises(ContradictionError) as error:
        close(20, must_link=must, cannot_link=cannot)
    assert len(error.value.chain) == min(lengths) + 1


def test_nothing_known():
    closed = close(4)
    known = closed.entries()
    assert len(known.ones) == len(known.zeros) == 0
    assert closed.classes.tolist() == [-1] * 4


def test_one_class_says_nothing_about_unlabeled_points():
    closed = close(4, labels=[0, 0, -1, -1])
    assert closed.classes.tolist() == [0, 0, -1, -1]
    assert dense(closed.entries())[0].tolist() == [1, 1, -1, -1]


def test_a_million_pairs_close():
    n = 100_000
    rng = np.random.default_rng(0)
    truth = rng.integers(20_000, size=n)
    order = np.argsort(truth)
    chain = np.stack([order[:-1], order[1:]], 1)
    must = np.tile(chain[truth[chain[:, 0]] == truth[chain[:, 1]]], (7, 1))[:500_000]
    cannot = rng.integers(n, size=(500_100, 2))
    cannot = cannot[truth[cannot[:, 0]] != truth[cannot[:, 1]]][:500_000]
    closed = close(n, must_link=must, cannot_link=cannot)  # quadratic work or memory would not come back
    assert len(np.unique(closed.group)) == len(np.unique(truth))


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"must_link": [(0, 9)]}, r"must_link must hold indices from 0 to 4; pair \(0, 9\)"),
        ({"cannot_link": [(0, 1, 2)]}, r"cannot_link must be pairs of indices, shape \(m, 2\)"),
        ({"must_link": [(0.5, 1.0)]}, "must hold integers"),
        ({"labels": [0, 1]}, r"one integer per point, shape \(5,\)"),
        ({"labels": [0, 1, -2, -1, -1]}, "points 2 are below"),
        ({"labels": [0.5, 0, 0, 0, 0]}, "whole numbers"),
        ({"labels": [0, 3, -1, -1, -1], "n_classes": 2}, "n_classes is 2, but the facts name class 3"),
        ({"allowed": {7: [0]}}, "allowed names point 7; the points are 0 to 4"),
        ({"allowed": {1: []}}, "give point 1 at least one class"),
        ({"allowed": {1: [-3]}}, "0 or above"),
        ({"n_classes": 0}, "n_classes must be"),
    ],
)
def test_bad_input_is_named(facts, message):
    with pytest.raises(InvalidInputError, match=message):
        close(5, **facts)


def test_the_shortest_chain_counts_facts():
    with pytest.raises(ContradictionError) as error:
        close(
            4, allowed={0: [0, 1], 1: [2, 3], 2: [1]}, labels=[-1, -1, 0, -1], must_link=[(0, 1), (1, 2)], n_classes=4
        )
    assert sorted(error.value.chain) == ["2 is 0", "2 is one of {1}"]


def test_class_numbers_may_be_large():
    closed = close(10, labels=[1_000_000, 7, 1_000_000] + [-1] * 7)
    assert closed.classes.tolist() == [1_000_000, 7, 1_000_000] + [-1] * 7
    assert dense(closed.entries())[0].tolist() == [1, 0, 1] + [-1] * 7


def test_as_many_classes_as_points():
    n = 2000
    closed = close(n, labels=np.arange(n))
    batch = closed.entries(np.arange(100))
    assert len(batch.zeros) == 100 * 99 // 2
    assert len(batch.ones) == 0


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"allowed": {0: [1.7]}}, "all integers"),
        ({"allowed": {0.9: [1]}}, "all integers"),
        ({"allowed": {0: 4}}, "all integers"),
        ({"must_link": [(0, 1), (2,)]}, "differ in length"),
        ({"labels": [0, 1, 2, -1, -1], "class_names": ["a"]}, "name all 3 classes"),
    ],
)
def test_more_bad_input_is_named(facts, message):
    with pytest.raises(InvalidInputError, match=message):
        close(5, **facts)


def test_points_outside_are_named():
    closed = close(5)
    assert closed.entries([]).n == 0
    for points in ([7], [-1], [[0]], [0.5]):
        with pytest.raises(InvalidInputError, match="flat list of numbers from 0 to 4"):
            closed.entries(points)


def test_contradictions_are_told_by_the_names_of_points():
    names = ["ann", "bob", "cid"]
    with pytest.raises(ContradictionError, match="ann=bob, bob=cid, but ann≠cid"):
        close(3, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)], point_names=names)
    with pytest.raises(ContradictionError, match=r"bob is one of \{0, 1\}"):
        close(3, labels=[2, -1, -1], allowed={1: [0, 1]}, must_link=[(0, 1)], point_names=names)


def test_linked_components_follow_chains_of_must_links():
    numbers = linked_components(6, [(0, 3), (3, 5), (1, 1)])
    assert numbers[0] == numbers[3] == numbers[5]
    assert len(np.unique(numbers)) == 4
    assert len(np.unique(linked_components(3, None))) == 3
    with pytest.raises(InvalidInputError, match="must_link must hold indices from 0 to 2"):
        linked_components(3, [(0, 3)])
