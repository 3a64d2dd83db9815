"""Nearest neighbours and the graph that joins them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestNeighbors

from xsdc.core import graph as module
from xsdc.core.graph import NeighborIndex, nearest
from xsdc.errors import InvalidInputError


def cloud(n=200, d=5, *, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, d)))


class TestNearest:
    @pytest.mark.parametrize("block", [1 << 25, 700])
    def test_agrees_with_scikit_learn(self, block, monkeypatch):
        monkeypatch.setattr(module, "BLOCK_NUMBERS", block)
        X = cloud().float()
        distances, neighbors = nearest(X, None, 7)
        wanted = NearestNeighbors(n_neighbors=7).fit(X.double().numpy()).kneighbors()
        np.testing.assert_allclose(distances, wanted[0], atol=1e-6)
        np.testing.assert_array_equal(neighbors, wanted[1])

    def test_new_points_may_be_points_of_the_data(self):
        X = cloud().float()
        distances, neighbors = nearest(X, X[:3], 1)
        np.testing.assert_array_equal(neighbors[:, 0], [0, 1, 2])
        np.testing.assert_array_equal(distances[:, 0], 0)

    def test_single_precision_does_not_decide(self):
        """Points a millionth apart around one far from the origin: squared distances in float32 are all the same."""
        X = (1 + 1e-6 * torch.arange(20, dtype=torch.float64)[:, None] ** 1.5).float()
        distances, _ = nearest(X - X.mean(0), None, 3)
        wanted, _ = NearestNeighbors(n_neighbors=3).fit(X.double().numpy()).kneighbors()
        np.testing.assert_allclose(distances, wanted, rtol=1e-3)


class TestGraph:
    def test_weights_by_hand(self):
        """On a line at 0, 1, 3 with two neighbours each: the nearer one of 0 is at half of its radius of 3."""
        W = NeighborIndex.of(torch.tensor([[0.0], [1.0], [3.0]]), n_neighbors=2).graph().toarray()
        far = np.exp(-4)
        near = {(0, 1): max(np.exp(-4 / 9), np.exp(-4 / 4)), (1, 2): max(far, np.exp(-16 / 9)), (0, 2): far}
        for (i, j), weight in near.items():
            assert W[i, j] == W[j, i] == pytest.approx(weight, rel=1e-5)
        assert not W.diagonal().any()

    @pytest.mark.parametrize("metric", ["euclidean", "cosine"])
    def test_is_symmetric_and_follows_the_order_of_the_points(self, metric):
        X, order = cloud(), np.random.default_rng(1).permutation(200)
        W = NeighborIndex.of(X, metric=metric).graph()
        moved = NeighborIndex.of(X[order], metric=metric).graph()
        assert abs(W - W.T).max() == 0
        np.testing.assert_allclose(moved.toarray(), W.toarray()[np.ix_(order, order)], atol=1e-6)

    def test_cosine_sees_directions_alone(self):
        X = cloud()
        scaled = X * torch.rand(200, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64).add(0.1)
        W, V = (NeighborIndex.of(Y, metric="cosine").graph().toarray() for Y in (X, scaled))
        np.testing.assert_allclose(W, V, atol=1e-4)

    def test_units_do_not_matter(self):
        X = cloud()
        W, V = (NeighborIndex.of(Y).graph().toarray() for Y in (X, 1e6 * X + 1e6))
        np.testing.assert_allclose(W, V, atol=1e-3)

    def test_duplicates_weigh_one(self):
        X = torch.cat([torch.zeros(15, 2), torch.ones(15, 2)])
        W = NeighborIndex.of(X, n_neighbors=3).graph().toarray()
        assert set(np.unique(W)) == {0.0, 1.0}
        assert not W[:15, 15:].any()

    def test_a_row_far_from_everything_has_neighbours(self):
        X = torch.cat([cloud(), torch.full((1, 5), 1e6, dtype=torch.float64)])
        W = NeighborIndex.of(X).graph()
        assert W[[200]].nnz >= 10
        assert np.isfinite(W.data).all()

    def test_few_points_have_few_neighbours(self):
        assert NeighborIndex.of(cloud(3)).graph().nnz == 6
        assert NeighborIndex.of(cloud(1)).graph().nnz == 0

    def test_unknown_metric(self):
        with pytest.raises(InvalidInputError, match='metric must be "euclidean" or "cosine"'):
            NeighborIndex.of(cloud(), metric="manhattan")

    def test_weights_of_new_points_sum_to_one_and_are_those_of_the_nearest(self):
        index = NeighborIndex.of(cloud())
        weights = index.weights(cloud(30, seed=2))
        np.testing.assert_allclose(weights.sum(axis=1), 1)
        np.testing.assert_array_equal(np.diff(weights.indptr), 10)
        itself = index.weights(cloud()).toarray()
        np.testing.assert_array_equal(itself.argmax(axis=1), np.arange(200))
