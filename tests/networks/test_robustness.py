"""Data and modules as they come: outliers, duplicates, frozen parts, other types, numbers that explode."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from xsdc.errors import InvalidInputError
from xsdc.networks import (
    RBF,
    LayerConfig,
    NystromLayer,
    SphereRBF,
    SphereStep,
    build_network,
    load_network,
    median_bandwidth,
    save_network,
)


@pytest.mark.parametrize("offset", [1e2, 1e3, 1e4, 1e5])
def test_outliers_do_not_cost_float32_its_digits(offset, generator):
    X = np.random.default_rng(0).normal(size=(220, 5))
    X[-20:] += offset
    fast = build_network("kn", X, generator=generator)
    exact = build_network("kn", X, generator=generator, dtype=torch.float64)
    exact.load_state_dict(fast.state_dict())  # filters and bandwidth
    found, true = fast.features(fast.prepare(X)).double(), exact.features(fast.prepare(X).double())
    assert (found - true).norm() / true.norm() < 1e-4
    K = RBF(1.0)(fast.prepare(X), fast.prepare(X[:30]))
    assert K.max() <= 1


def test_state_carries_the_bandwidth(generator):
    X = np.random.default_rng(0).normal(size=(60, 4))
    one, two = build_network("kn", X, generator=generator), build_network("kn", 10 * X, generator=generator)
    two.load_state_dict(one.state_dict())
    batch = one.prepare(X)
    assert torch.equal(one.features(batch), two.features(batch))
    assert one.description() == two.description()


def test_frozen_parts_of_a_module_stay_frozen(generator):
    module = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 3))
    module.train()
    module[1].eval()
    X = np.random.default_rng(0).normal(size=(20, 4))
    network = build_network(module, X, generator=generator)
    network.features(network.prepare(X))
    assert [part.training for part in module] == [True, False, True]


def test_repeated_points_do_not_make_twin_filters(generator):
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 4)), 50, axis=0)
    network = build_network({"input": "vectors", "layers": [{"width": 8, "kernel": "sphere"}]}, X, generator=generator)
    (filters,) = network.parameters()
    assert len(torch.unique(filters.detach(), dim=0)) == 8


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_modules_come_back(dtype, tmp_path, generator):
    X = np.random.default_rng(0).normal(size=(5, 4))
    network = build_network(nn.Linear(4, 3).to(dtype), X, generator=generator)
    save_network(network, tmp_path / "half.safetensors")
    again = load_network(tmp_path / "half.safetensors", module=nn.Linear(4, 3).to(dtype))
    assert again.dtype == dtype
    assert torch.equal(again.features(again.prepare(X)), network.features(network.prepare(X)))


def test_data_goes_where_the_network_is(generator):
    X = np.random.default_rng(0).normal(size=(40, 4))
    network = build_network("kn", X, generator=generator)
    assert network.device == torch.device("cpu")
    assert network.to("meta").prepare(X).device == torch.device("meta")


def test_a_gradient_that_is_not_finite_is_told():
    p = nn.Parameter(torch.eye(2))
    p.grad = torch.tensor([[float("nan"), 0.0], [0.0, 1.0]])
    with pytest.raises(InvalidInputError, match="gradient is not finite"):
        SphereStep([p], lr=0.1).step()


def test_batches_of_another_type_are_named(generator):
    X = np.random.default_rng(0).normal(size=(40, 4))
    network = build_network("kn", X, generator=generator)
    for batch in (torch.from_numpy(X), X, torch.ones(3, 4, dtype=torch.int64)):
        with pytest.raises(InvalidInputError, match="Pass data through `prepare`"):
            network(batch)


def test_options_that_do_not_fit_are_refused(generator):
    with pytest.raises(InvalidInputError, match="norm one"):
        LayerConfig(8, kernel="rbf", init="spherical-kmeans")
    with pytest.raises(InvalidInputError, match="root must be one of"):
        NystromLayer(4, 3, kernel=SphereRBF(), root="qr")
    with pytest.raises(InvalidInputError, match="root_iter"):
        NystromLayer(4, 3, kernel=SphereRBF(), root_iter=0)
    with pytest.raises(InvalidInputError, match="kernel must be"):
        NystromLayer(4, 3, kernel="rbf")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="n_points"):
        median_bandwidth(np.ones((5, 2)), n_points=1)
    with pytest.raises(InvalidInputError, match=r"torch\.Generator"):
        build_network("kn", np.ones((5, 2)), generator=None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="BatchNorm2d does not take"):
        build_network(nn.BatchNorm2d(4), np.ones((5, 4)), generator=generator)
