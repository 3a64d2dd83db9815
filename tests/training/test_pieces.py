from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tests.problems import blobs, generator
from tests.training.test_loop import make_trainer, parameters
from xsdc import XSDC
from xsdc.errors import InvalidInputError
from xsdc.labelers import Balancing
from xsdc.networks import build_network
from xsdc.training import Plan
from xsdc.training.pieces import features_in_pieces


class Watched(nn.Module):
    """A module that keeps how many rows it was given in training, and changes them at random where asked to."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 4, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.rows: list[int] = []

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.rows.append(len(X))
        return self.dropout(self.layer(X))


def watched(dropout: float = 0.0):
    X, _ = blobs(23, 3, D=6)
    network = build_network(Watched(dropout), X.numpy(), generator=generator())
    (module,) = (m for m in network.modules() if isinstance(m, Watched))
    module.rows.clear()
    return network, module, network.prepare(X.numpy())


@pytest.mark.parametrize("name", ["kn", "lenet5-ckn"])
@pytest.mark.parametrize("size", [1, 7, 22, 23, 100])
def test_features_and_gradients_are_those_of_all_at_once(name, size):
    X = torch.rand(23, *((6,) if name == "kn" else (1, 28, 28)), generator=generator(), dtype=torch.float64)
    network = build_network(name, X, generator=generator(), dtype=torch.float64)
    found = []
    for rows in (None, size):
        Phi = features_in_pieces(network, X, rows)
        weights = torch.rand(Phi.shape, generator=generator(1), dtype=Phi.dtype)
        (Phi * weights).sum().backward()
        found.append((Phi.detach(), [p.grad.clone() for p in network.parameters()]))
        network.zero_grad()
    torch.testing.assert_close(found[0], found[1], rtol=1e-8, atol=1e-9)


def test_the_network_never_sees_more_than_a_piece_and_sees_it_again_for_the_gradient():
    network, module, X = watched()
    Phi = features_in_pieces(network, X, 10)
    assert module.rows == [8, 8, 7]
    Phi.sum().backward()
    assert sorted(module.rows) == [7, 7, 8, 8, 8, 8]
    module.rows.clear()
    features_in_pieces(network, X, 23).sum().backward()
    assert module.rows == [23]


def test_what_layers_keep_for_the_gradient_is_forgotten():
    X = torch.rand(64, 1, 28, 28, generator=generator())
    network = build_network("lenet5-ckn", X, generator=generator(), dtype=torch.float32)
    kept = []
    for size in (None, 8):
        sizes = []
        with torch.autograd.graph.saved_tensors_hooks(lambda x, s=sizes: s.append(x.numel()) or x, lambda x: x):
            features_in_pieces(network, X, size)
        kept.append(sum(sizes))
    assert kept[1] < kept[0] / 10


def test_chance_inside_the_network_is_the_same_on_the_way_back():
    network, module, X = watched(dropout=0.5)
    network.train()
    torch.manual_seed(0)
    Phi = features_in_pieces(network, X, 5)
    Phi.sum().backward()
    passed = (Phi.detach() != 0).to(X)
    assert 0 < passed.mean() < 1
    torch.testing.assert_close(module.layer.weight.grad, 2 * passed.T @ X)


@pytest.mark.parametrize("options", [{}, {"labels": 0, "plan": Plan(0, 9, 0.05, 0.05)}, {"memory_size": 20}])
def test_training_in_pieces_ends_as_training_without(options):
    whole, pieces = make_trainer(**options), make_trainer(**options, piece_size=7)
    for trainer in (whole, pieces):  # rounding, which training lets grow, is another where rows come in pieces
        trainer.network.to(torch.float64)
        trainer.data, trainer.labeler = trainer.data.to(torch.float64), Balancing(dtype=torch.float64)
    start = parameters(whole)
    assert pieces.fingerprint() != whole.fingerprint()
    whole.run()
    pieces.run()
    assert float((parameters(whole) - start).norm()) > 1e-3
    torch.testing.assert_close(parameters(pieces), parameters(whole), rtol=1e-8, atol=1e-10)


def test_estimator_trains_in_pieces():
    X, y = blobs(60, 3, D=6, spread=2.0)
    given = np.where(np.arange(60) < 9, y.numpy(), -1)
    options = {"max_iter": 4, "supervised_iter": 2, "random_state": 0, "dtype": "float64"}
    options["labeler"] = Balancing(dtype=torch.float64)
    models = [XSDC(piece_size=size, **options).fit(X.numpy(), given) for size in (None, 8)]
    np.testing.assert_allclose(models[0].transform(X.numpy()), models[1].transform(X.numpy()), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("size", "most"), [(None, 51), (8, 8)])
def test_estimator_passes_the_size_of_pieces_on(size, most):
    X, y = blobs(60, 3, D=6)
    given = np.where(np.arange(60) < 9, y.numpy(), -1)
    model = XSDC(network=Watched(), labeler="balancing", piece_size=size, max_iter=3, supervised_iter=1, random_state=0)
    model.fit(X.numpy(), given)
    (module,) = (m for m in model.network_.modules() if isinstance(m, Watched))
    assert max(module.rows) == most


@pytest.mark.parametrize("size", [0, -1, 1.5, "many", True])
def test_sizes_that_make_no_sense_are_refused(size):
    with pytest.raises(InvalidInputError, match="piece_size must be"):
        make_trainer(piece_size=size)
    X, _ = blobs(20, 2, D=3)
    with pytest.raises(InvalidInputError, match="piece_size must be"):
        XSDC(2, piece_size=size).fit(X.numpy())
