"""Modules, transformers and callables brought by the user."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler
from torch import nn

from xsdc import XSDC
from xsdc.errors import InvalidInputError
from xsdc.networks import FixedNetwork, ModuleNetwork, build_network

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 6))
IMAGES = RNG.random((12, 3, 9, 9))


def test_module_of_vectors(generator):
    module = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    network = build_network(module, X, generator=generator)
    assert isinstance(network, ModuleNetwork)
    assert network.n_features == 4
    assert network.trainable
    Phi = network(network.prepare(X))
    torch.testing.assert_close(Phi, module(torch.from_numpy(X).float()))
    Phi.sum().backward()
    assert all(p.grad is not None for p in module.parameters())


def test_maps_are_averaged_over_positions(generator):
    conv = nn.Conv2d(3, 5, 3)
    network = build_network(conv, IMAGES, generator=generator)
    assert network.n_features == 5
    batch = network.prepare(IMAGES)
    torch.testing.assert_close(network(batch), conv(batch).mean((2, 3)))
    flat = build_network(nn.Sequential(conv, nn.Flatten()), IMAGES, generator=generator)
    assert flat.n_features == 5 * 7 * 7


def test_module_keeps_its_type_and_mode(generator):
    module = nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 2)).double()
    statistics = {k: v.clone() for k, v in module.state_dict().items()}
    network = build_network(module, X, generator=generator)
    assert network.dtype == torch.float64
    assert module.training
    network.features(network.prepare(X))
    assert module.training
    assert all(torch.equal(statistics[k], v) for k, v in module.state_dict().items())
    module.eval()
    build_network(module, X, generator=generator)
    assert not module.training


def test_parts_that_are_frozen_stay_so(generator):
    module = nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 2), nn.Dropout())
    module[0].eval()
    network = build_network(module, X, generator=generator)
    network.eval()
    network.train()
    assert [part.training for part in module] == [False, True, True]
    whole = nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 2)).eval()  # as one comes from a file
    assert build_network(whole, X, generator=generator).train().module[0].training


def test_a_network_of_ours_is_used_as_it_is(generator):
    network = build_network("kn", X, generator=generator)
    assert build_network(network, X, generator=generator) is network
    with pytest.raises(InvalidInputError, match="made for inputs of shape"):
        build_network(network, X[:, :4], generator=generator)
    images = RNG.random((40, 12, 12))
    small = {"input": "images", "layers": [{"width": 4, "patch": 3, "pooling": "global"}]}
    sphere = build_network(small, images, generator=generator)
    model = XSDC(2, network=sphere, max_iter=3, learning_rate=0.3, random_state=0).fit(images)
    norms = torch.cat([p.detach().flatten(1).norm(dim=1) for p in model.network_.parameters()])
    torch.testing.assert_close(norms, torch.ones_like(norms))


def test_unfitted_transformer_is_fitted_on_a_copy(generator):
    pca = PCA(2)
    network = build_network(pca, X, generator=generator, dtype=torch.float64)
    assert isinstance(network, FixedNetwork)
    assert not hasattr(pca, "components_")
    assert not network.trainable
    expected = PCA(2).fit_transform(X)
    np.testing.assert_allclose(np.abs(network(network.prepare(X)).numpy()), np.abs(expected), rtol=1e-8, atol=1e-10)


def test_fitted_transformer_is_used_as_it_is(generator):
    scaler = StandardScaler().fit(X + 100)
    network = build_network(scaler, X, generator=generator, dtype=torch.float64)
    np.testing.assert_allclose(network(network.prepare(X)).numpy(), scaler.transform(X))


def test_transformers_see_images_flattened_and_may_return_sparse(generator):
    network = build_network(TfidfTransformer(), IMAGES, generator=generator)
    assert network.n_features == 3 * 9 * 9


@pytest.mark.parametrize("function", [lambda x: x.mean((2, 3)), lambda x: x.mean((2, 3)).numpy().astype("f8")])
def test_callable_is_fixed(function, generator):
    network = build_network(function, IMAGES, generator=generator)
    batch = network.prepare(IMAGES).requires_grad_()
    Phi = network(batch)
    assert Phi.shape == (12, 3)
    assert Phi.dtype == torch.float32
    assert not Phi.requires_grad


def test_transformer_without_scikit_learns_manners(generator):
    class Doubler:
        def fit(self, X):
            return self

        def transform(self, X):
            return 2 * X

    network = build_network(Doubler(), X, generator=generator, dtype=torch.float64)
    np.testing.assert_allclose(network(network.prepare(X)).numpy(), 2 * X)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (nn.Linear(5, 2), r"does not take a batch of shape \(2, 6\)"),
        (nn.Flatten(0), r"must map a batch of 2 to features \(2, D\); it returned shape \(12,\)"),
        (nn.LSTM(6, 2, batch_first=True), "it returned tuple"),
        (lambda x: x.sum(), r"it returned shape \(\)"),
        (lambda x: np.array([["a", "b"]] * len(x)), "must return numbers"),
        (lambda x: x[:1], r"must map a batch of 2"),
    ],
)
def test_what_does_not_fit(spec, message, generator):
    with pytest.raises(InvalidInputError, match=message):
        build_network(spec, X, generator=generator)
