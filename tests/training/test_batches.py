from __future__ import annotations

import torch

from tests.problems import generator
from xsdc.training import Batches

LABELED, UNLABELED = torch.arange(5), torch.arange(5, 100)


def test_sizes_and_parts():
    batches = Batches(LABELED, UNLABELED, labeled_size=3, unlabeled_size=20)
    batch = batches.draw(generator())
    assert len(batch.labeled) == 3
    assert len(batch.unlabeled) == len(set(batch.unlabeled.tolist())) == 20
    assert set(batch.labeled.tolist()) <= set(range(5))
    assert torch.equal(batch.index, torch.cat([batch.labeled, batch.unlabeled]))
    alone = batches.draw(generator(), labeled_only=True)
    assert len(alone.unlabeled) == 0


def test_fewer_points_than_the_size_are_all_taken():
    batch = Batches(LABELED, UNLABELED, labeled_size=1000, unlabeled_size=1000).draw(generator())
    assert torch.equal(batch.index.sort().values, torch.arange(100))


def test_copies_keep_the_size_of_the_batch():
    batch = Batches(LABELED, UNLABELED, labeled_size=5, unlabeled_size=20, copies=4).draw(generator())
    values, counts = batch.unlabeled.unique(return_counts=True)
    assert len(values) == 5
    assert (counts == 4).all()
    assert torch.equal(batch.labeled.sort().values, LABELED)  # their batch has no room for copies


def test_labeled_points_are_copied_as_far_as_there_is_room():
    for room, times in ((4, 1), (9, 1), (10, 2), (14, 2), (20, 4), (1000, 4)):
        batches = Batches(LABELED, UNLABELED, labeled_size=room, unlabeled_size=20, copies=4)
        for batch in (batches.draw(generator()), batches.draw(generator(), labeled_only=True)):
            values, counts = batch.labeled.unique(return_counts=True)
            assert len(values) == min(room, 5)
            assert (counts == times).all()
    none = Batches(LABELED[:0], UNLABELED, labeled_size=8, unlabeled_size=20, copies=4)
    assert len(none.draw(generator()).labeled) == 0


def test_same_generator_same_batches():
    batches = Batches(LABELED, UNLABELED, labeled_size=3, unlabeled_size=20)
    one, two = generator(1), generator(1)
    for _ in range(3):
        assert torch.equal(batches.draw(one).index, batches.draw(two).index)
    assert not torch.equal(batches.draw(one).index, batches.draw(generator(2)).index)


def test_weights_rule_the_draw():
    weights = torch.ones(100)
    weights[30:] = 1e-9
    batches = Batches(torch.arange(0), torch.arange(100), labeled_size=1, unlabeled_size=20)
    drawn = batches.draw(generator(), weights=weights).unlabeled
    assert len(drawn.unique()) == 20
    assert (drawn < 30).all()


def test_weighted_draws_come_in_proportion():
    weights = torch.tensor([3.0, 1.0])
    batches = Batches(torch.arange(0), torch.arange(2), labeled_size=1, unlabeled_size=1)
    g = generator()
    first = sum(int(batches.draw(g, weights=weights).unlabeled == 0) for _ in range(2000))
    assert 1400 < first < 1600
