"""Labels spread over a graph, beside dense solutions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from xsdc.core import propagation as module
from xsdc.core.graph import NeighborIndex
from xsdc.core.propagation import Propagation
from xsdc.defaults import DEFAULTS


def weights(n=60, *, seed=0):
    return NeighborIndex.of(torch.from_numpy(np.random.default_rng(seed).normal(size=(n, 3)))).graph()


def laplacian(W, leak):
    dense = W.toarray()
    return np.diag((1 + leak) * dense.sum(axis=1)) - dense


@pytest.mark.parametrize("leak", [0.03, 1e-3])
def test_visits_solve_the_equation(leak):
    W = weights()
    sources = np.random.default_rng(1).random((60, 4)) * (np.arange(60) < 9)[:, None]
    found = Propagation(W, leak=leak).visits(sources)
    np.testing.assert_allclose(found, np.linalg.solve(laplacian(W, leak), sources), rtol=1e-3, atol=1e-6)


def test_interpolation_solves_the_equation():
    W, known = weights(), (np.arange(60) < 9).astype(float)[:, None]
    values = np.random.default_rng(1).random((60, 4)) * known
    found = Propagation(W).interpolate(values, known, fidelity=2.0)
    held = np.diag(2 * W.toarray().sum(axis=1) * known[:, 0])
    np.testing.assert_allclose(
        found, np.linalg.solve(laplacian(W, DEFAULTS.leak) + held, held @ values), rtol=1e-3, atol=1e-5
    )


def test_what_no_label_reaches_gets_nothing():
    W = np.zeros((6, 6))
    W[:3, :3] = W[3:5, 3:5] = 1  # and a point that has no neighbour
    np.fill_diagonal(W, 0)
    sources = np.zeros((6, 2))
    sources[0, 1] = 1
    spread = Propagation(csr_matrix(W)).visits(sources)
    assert (spread[:3, 1] > 0).all()
    assert not spread[3:].any()
    assert not spread[:, 0].any()


def test_nearer_points_get_more():
    W = csr_matrix(np.diag(np.ones(9), 1) + np.diag(np.ones(9), -1))  # a path
    sources = np.zeros((10, 1))
    sources[0] = 1
    assert (np.diff(Propagation(W).visits(sources)[:, 0]) < 0).all()


def test_says_when_it_did_not_converge(monkeypatch):
    monkeypatch.setattr(module, "MOST_STEPS", 2)
    with pytest.warns(UserWarning, match="Labels were not spread to the end in 2 steps"):
        Propagation(weights()).visits(np.eye(60)[:, :3])
