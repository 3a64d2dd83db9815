from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from xsdc.errors import InvalidInputError
from xsdc.networks import NETWORKS, LayerConfig, NetworkConfig, build_network


@pytest.mark.parametrize("name", list(NETWORKS))
def test_named_networks_survive_json(name):
    config = NETWORKS[name]
    assert NetworkConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_lenet_is_the_papers_table():
    layers = NETWORKS["lenet5-ckn"].layers
    assert [layer.width for layer in layers] == [32] * 6
    assert [layer.patch for layer in layers] == [5, 1, 5, 1, 5, 1]
    assert [layer.kernel for layer in layers] == ["linear", "sphere", "linear", "sphere", "sphere", "sphere"]
    assert [layer.padding for layer in layers] == [2, 0, 0, 0, 0, 0]
    assert [layer.start for layer in layers] == ["samples", "identity", "samples", "identity", "samples", "samples"]
    assert [layer.trained for layer in layers] == [True, False, True, False, True, True]
    assert [layer.pooling for layer in layers] == ["average", None, "average", None, None, None]
    assert all(layer.make_kernel().bandwidth == 0.6 for layer in layers if layer.kernel == "sphere")  # type: ignore[union-attr]


def test_a_network_from_a_list_of_layers(generator):
    spec = {
        "layers": [
            {"width": 8, "patch": 3, "kernel": "linear", "pooling": "average", "pool_size": 2},
            {"width": 6, "patch": 3, "kernel": "sphere", "bandwidth": 0.5, "init": "spherical-kmeans"},
            {"width": 5, "kernel": "rbf"},
        ],
        "eps": 0.01,
        "root": "newton",
    }
    network = build_network(spec, np.random.default_rng(0).random((40, 10, 10)), generator=generator)
    assert network.n_features == 5
    assert network(torch.rand(3, 1, 10, 10)).shape == (3, 5)


LAYER_ERRORS = [
    ({"width": 0}, "layer 2: width"),
    ({"width": 2.5}, "layer 2: width"),
    ({"patch": 3}, "layer 2: width is missing"),
    ({"width": 4, "patch": -1}, "layer 2: patch"),
    ({"width": 4, "patch": 3, "kernel": "cosine"}, "layer 2: kernel must be one of linear, rbf, sphere"),
    ({"width": 4, "patch": 3, "kernel": "rbf"}, "layer 2: kernel 'rbf' is for vectors"),
    ({"width": 4, "patch": 3, "kernel": "linear", "bandwidth": 1.0}, "layer 2: bandwidth does not apply"),
    ({"width": 4, "patch": 3, "bandwidth": 0.0}, "layer 2: bandwidth"),
    ({"width": 4, "patch": 3, "bandwidth": "wide"}, "layer 2: bandwidth"),
    ({"width": 4, "patch": 3, "pooling": "median"}, "layer 2: pooling"),
    ({"width": 4, "patch": 3, "pool_size": 2}, "layer 2: pool_size does not apply"),
    ({"width": 4, "patch": 3, "pooling": "global", "pool_size": 2}, "layer 2: pool_size does not apply"),
    ({"width": 4, "patch": 3, "pooling": "max", "pool_size": 0}, "layer 2: pool_size"),
    ({"width": 4, "patch": 3, "stride": 0}, "layer 2: stride"),
    ({"width": 4, "patch": 3, "padding": 3}, "layer 2: padding must be below patch"),
    ({"width": 4, "patch": 3, "trained": "yes"}, "layer 2: trained"),
    ({"width": 4, "patch": 3, "init": "scaled"}, "layer 2: init"),
    ({"width": 4, "patch": 3, "kernel": "relu", "init": "kmeans"}, "layer 2: init"),
    ({"width": 4, "patch": 3, "init": "identity"}, "layer 2: init 'identity' needs patch 1"),
    ({"width": 4, "pooling": "max"}, "layer 2: pooling, stride and padding need images"),
    ({"width": 4, "widht": 4}, "layer 2: unknown field 'widht'"),
    (7, "layer 2: must be a mapping"),
]


@pytest.mark.parametrize(("layer", "message"), LAYER_ERRORS)
def test_errors_name_the_layer_and_the_field(layer, message):
    with pytest.raises(InvalidInputError, match=message):
        NetworkConfig.from_dict({"layers": [{"width": 4, "patch": 3}, layer]})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "layers must be a list"),
        ({"layers": []}, "at least one layer"),
        ({"layers": [{"width": 4}], "input": "sound"}, "input must be one of"),
        ({"layers": [{"width": 4}], "root": "svd"}, "root must be one of"),
        ({"layers": [{"width": 4}], "eps": 0}, "eps"),
        ({"layers": [{"width": 4}], "root_iter": 5}, "root_iter is for root 'newton'"),
        ({"layers": [{"width": 4}], "depth": 3}, "network: unknown field 'depth'"),
        ({"layers": [{"width": 4, "patch": 3}], "input": "vectors"}, "layer 1: patch must be left out"),
        ({"layers": [{"width": 4}, {"width": 4, "patch": 3}]}, "layer 2: patch must be left out"),
    ],
)
def test_errors_of_the_whole(data, message):
    with pytest.raises(InvalidInputError, match=message):
        NetworkConfig.from_dict(data)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([LayerConfig(4, patch=9)], "layer 1: patch 9 .* does not fit a map of 8×8"),
        ([LayerConfig(4, patch=7, pooling="max", pool_size=3)], "layer 1: pool_size 3 does not fit a map of 2×2"),
        ([LayerConfig(4, patch=3), LayerConfig(5, patch=1, init="identity")], "layer 2: .* needs width 4"),
    ],
)
def test_errors_that_need_the_data(layers, message, generator):
    with pytest.raises(InvalidInputError, match=message):
        build_network(NetworkConfig(tuple(layers)), torch.rand(9, 8, 8), generator=generator)


def test_layers_are_checked_when_given_as_objects():
    with pytest.raises(InvalidInputError, match="layer 1: must be a LayerConfig"):
        NetworkConfig(({"width": 3},))  # type: ignore[arg-type]
