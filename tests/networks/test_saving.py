from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sklearn.decomposition import PCA
from torch import nn

from xsdc.errors import InvalidInputError
from xsdc.networks import LayeredNetwork, build_network, load_network, make_steps, save_network

X = np.random.default_rng(0).normal(size=(50, 6))
IMAGES = np.random.default_rng(0).random((40, 28, 28))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["kn", "lenet5-ckn", "ckn-gm", "cnn", "auto"])
def test_round_trip(name, dtype, tmp_path, generator):
    data = X if name == "kn" else IMAGES
    network = build_network(name, data, generator=generator, dtype=dtype)
    batch = network.prepare(data)
    network(batch).square().sum().backward()
    for step in make_steps(network, lr=0.01):
        step.step()  # so that the file holds something no initialisation would give
    save_network(network, tmp_path / "network.safetensors")
    again = load_network(tmp_path / "network.safetensors")
    assert isinstance(again, LayeredNetwork)
    assert again.config == network.config  # type: ignore[comparison-overlap, unused-ignore]
    assert again.input_shape == network.input_shape
    assert torch.equal(again.features(batch), network.features(batch))
    assert [p.requires_grad for p in again.parameters()] == [p.requires_grad for p in network.parameters()]
    assert [f.name for f in tmp_path.iterdir()] == ["network.safetensors"]


def test_module_comes_back_through_an_instance(tmp_path, generator):
    def make() -> nn.Module:
        return nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 3))

    network = build_network(make(), X, generator=generator)
    network(network.prepare(X))  # moves the running mean
    path = tmp_path / "module"
    save_network(network, path)
    again = load_network(path, module=make())
    assert torch.equal(again.features(again.prepare(X)), network.features(network.prepare(X)))
    with pytest.raises(InvalidInputError, match="made from Sequential"):
        load_network(path)
    with pytest.raises(InvalidInputError, match=r"3 features; .* makes 4"):
        load_network(path, module=nn.Linear(6, 4))
    with pytest.raises(InvalidInputError, match="do not fit the network"):
        load_network(path, module=nn.Linear(6, 3))
    with pytest.raises(InvalidInputError, match="torch module"):
        load_network(path, module=PCA(3).fit(X))


def test_transformer_comes_back_through_an_instance(tmp_path, generator):
    pca = PCA(3).fit(X)
    network = build_network(pca, X, generator=generator)
    save_network(network, tmp_path / "fixed")
    again = load_network(tmp_path / "fixed", module=pca)
    assert torch.equal(again(again.prepare(X)), network(network.prepare(X)))
    with pytest.raises(InvalidInputError, match="made from PCA"):
        load_network(tmp_path / "fixed")
    with pytest.raises(InvalidInputError, match="fitted"):
        load_network(tmp_path / "fixed", module=PCA(3))
    with pytest.raises(InvalidInputError, match="transformer or callable"):
        load_network(tmp_path / "fixed", module=3)


class Bomb:
    def __reduce__(self):
        return (Path.touch, (Path("exploded"),))


def test_no_pickled_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "evil"
    for write in (lambda f: pickle.dump(Bomb(), f), lambda f: torch.save(Bomb(), f)):
        with path.open("wb") as file:
            write(file)
        with pytest.raises(InvalidInputError, match="not a network file"):
            load_network(path)
    assert not (tmp_path / "exploded").exists()


def header(**changes) -> str:
    description = {
        "version": 1,
        "kind": "layers",
        "input_shape": [6],
        "n_features": 2,
        "dtype": "float32",
        "config": {"input": "vectors", "layers": [{"width": 2, "kernel": "rbf", "bandwidth": 1.0}]},
    }
    return json.dumps({k: v for k, v in {**description, **changes}.items() if v is not None})


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "holds no network"),
        ({"xsdc_network": "{not json"}, "damaged"),
        ({"xsdc_network": "[]"}, "holds no network"),
        ({"xsdc_network": header(version=99)}, "version 99"),
        ({"xsdc_network": header(kind="spell")}, "unknown kind 'spell'"),
        ({"xsdc_network": header(config=None)}, "no complete description"),
        ({"xsdc_network": header(dtype="int7")}, "no complete description"),
        ({"xsdc_network": header(input_shape=None)}, "no complete description"),
        ({"xsdc_network": header(input_shape=[5])}, "do not fit the network: layers.0.V"),
        ({"xsdc_network": header(config={"layers": [{"width": 0}]})}, "layer 1: width"),
    ],
)
def test_foreign_files_are_refused(metadata, message, tmp_path):
    save_file({"layers.0.V": torch.zeros(2, 6)}, tmp_path / "file", metadata=metadata)
    with pytest.raises(InvalidInputError, match=message):
        load_network(tmp_path / "file")


def test_the_header_of_these_tests_is_a_good_one(tmp_path):
    save_file({"layers.0.V": torch.zeros(2, 6)}, tmp_path / "file", metadata={"xsdc_network": header()})
    assert load_network(tmp_path / "file").n_features == 2
    with pytest.raises(InvalidInputError, match="takes no module"):
        load_network(tmp_path / "file", module=nn.Linear(6, 2))


def test_damaged_and_missing_files(tmp_path, generator):
    path = tmp_path / "network"
    save_network(build_network("kn", X, generator=generator), path)
    whole = path.read_bytes()
    for damaged in (whole[:-9], whole[:40], b"", b"\xff" * 64):
        path.write_bytes(damaged)
        with pytest.raises(InvalidInputError, match="not a network file"):
            load_network(path)
    with pytest.raises(InvalidInputError, match="no file"):
        load_network(tmp_path / "nowhere")
