"""Whole networks: by name, by the data, in both types, in parts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from benchmarks import plain_networks as plain
from xsdc.errors import InvalidInputError
from xsdc.networks import (
    NETWORKS,
    LayeredNetwork,
    NetworkConfig,
    build_network,
    gradient_map,
    group_parameters,
    median_bandwidth,
    normalize_features,
)
from xsdc.networks.zoo import NAMES

F64 = torch.float64


def digit_like(n: int, size: int = 28, seed: int = 0) -> torch.Tensor:
    """Blurred random strokes on an empty ground, as handwritten digits are."""
    g = torch.Generator().manual_seed(seed)
    strokes = (torch.rand(n, 1, size // 4, size // 4, generator=g, dtype=F64) > 0.7).to(F64)
    x = torch.nn.functional.interpolate(strokes, size=(size, size), mode="bilinear")
    return (x - 0.1307) / 0.3081


def vectors(n: int) -> torch.Tensor:
    return torch.randn(n, 7, generator=torch.Generator().manual_seed(0), dtype=F64)


def plain_of(network: LayeredNetwork, x: torch.Tensor, filters: list[torch.Tensor]) -> torch.Tensor:
    if network.config.input == "gradient-map":
        x = gradient_map(x)
    return plain.conv_network(x, filters, network.config.layers)


def build(spec, X, *, seed: int = 0, dtype: torch.dtype = F64) -> LayeredNetwork:
    network = build_network(spec, X, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    assert isinstance(network, LayeredNetwork)
    return network


@pytest.mark.parametrize(("name", "size", "n_features"), [("lenet5-ckn", 28, 32), ("ckn-gm", 32, 512)])
def test_the_papers_networks_equal_the_plain_ones(name, size, n_features):
    x = digit_like(20, size)
    network = build(name, x)
    filters = [layer.V.detach().clone() for layer in network.layers]  # type: ignore[operator]
    trained = [i for i, layer in enumerate(network.config.layers) if layer.trained]
    for i in trained:
        filters[i].requires_grad_()
    results = []
    for Phi, V in (
        (network(x), group_parameters(network).sphere),
        (plain_of(network, x, filters), [filters[i] for i in trained]),
    ):
        assert Phi.shape == (20, n_features)
        weights = torch.randn(Phi.shape, generator=torch.Generator().manual_seed(1), dtype=F64)
        results.append((Phi.detach(), *torch.autograd.grad((Phi * weights).sum(), V)))
    for ours, theirs in zip(*results, strict=True):
        assert (ours - theirs).abs().max() <= 1e-10 * theirs.abs().max()


@pytest.mark.parametrize("name", list(NAMES))
def test_float32_features_agree_with_float64(name):
    X = vectors(400) if name == "kn" else digit_like(200)
    exact, fast = build(name, X), build(name, X, dtype=torch.float32)
    fast.load_state_dict(exact.state_dict())
    with torch.no_grad():
        theirs = exact(exact.prepare(X))
        ours = fast(fast.prepare(X))
    assert ours.dtype == torch.float32
    assert (ours.double() - theirs).norm() <= 1e-4 * theirs.norm()
    assert ((ours.double() - theirs).norm(dim=1) <= 1e-4 * theirs.norm(dim=1)).all()


def test_newton_and_eigh_give_the_same_network():
    x = digit_like(20)
    config = NETWORKS["lenet5-ckn"]
    newton = NetworkConfig(config.layers, root="newton")
    a, b = build(config, x)(x), build(newton, x)(x)
    assert (a - b).abs().max() <= 1e-9 * a.abs().max()


def test_kn_is_the_papers():
    X = np.random.default_rng(0).normal(size=(300, 5))
    network = build("kn", X)
    bandwidth = network.config.layers[0].bandwidth
    assert bandwidth == median_bandwidth(X)
    V = network.layers[0].V.detach()  # type: ignore[operator]
    assert V.shape == (32, 5)
    assert (V[:, None] == torch.from_numpy(X)).all(2).any(1).all()  # filters are points of the data
    expected = plain.vector_layer(torch.from_numpy(X), V, bandwidth=bandwidth)
    torch.testing.assert_close(network(network.prepare(X)).detach(), expected, rtol=1e-9, atol=1e-10)


def test_filters_start_on_the_sphere():
    network = build("lenet5-ckn", digit_like(50))
    for p in group_parameters(network).sphere:
        torch.testing.assert_close(p.detach().flatten(1).norm(dim=1), torch.ones(32, dtype=F64))


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ((40, 6), "kn"),
        ((40, 28, 28), "cnn"),
        ((40, 8, 8), "cnn"),
        ((40, 2, 2), "cnn"),
        ((20, 32, 32, 3), "cnn"),
        ((20, 3, 21, 34), "cnn"),
        ((6, 3, 90, 9), "cnn"),
        ((6, 3, 80, 170), "cnn"),
        ((20, 2, 16, 16), "cnn"),
    ],
)
def test_auto_chooses_by_the_data(shape, name):
    X = np.random.default_rng(0).random(shape)
    network = build("auto", X, dtype=torch.float32)
    assert network.config.name == name
    Phi = network(network.prepare(X))
    assert Phi.shape == (shape[0], network.n_features)
    assert Phi.requires_grad
    assert torch.isfinite(Phi).all()


def test_auto_features_of_digits_hold_the_digits():
    X, y = load_digits(return_X_y=True)
    network = build("auto", X.reshape(-1, 8, 8) / 16, dtype=torch.float32)
    Phi = network.features(network.prepare(X.reshape(-1, 8, 8) / 16)).double()
    Phi = torch.cat([Phi, torch.ones(len(Phi), 1, dtype=F64)], dim=1)
    Y = torch.nn.functional.one_hot(torch.from_numpy(y)).double()
    W = torch.linalg.lstsq(Phi[:1000], Y[:1000]).solution
    accuracy = ((Phi[1000:] @ W).argmax(1).numpy() == y[1000:]).mean()
    assert accuracy > 0.9


@pytest.mark.parametrize("name", list(NAMES))
def test_parts_do_not_change_the_features(name):
    X = vectors(50) if name == "kn" else digit_like(50)
    network = build(name, X)
    whole = network(X)
    grads = torch.autograd.grad(whole.square().sum(), list(network.parameters()))
    network.part_size = 16
    parts = network(X)
    torch.testing.assert_close(parts, whole, rtol=1e-12, atol=1e-12)
    for a, b in zip(torch.autograd.grad(parts.square().sum(), list(network.parameters())), grads, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9 * float(b.abs().max()))
    torch.testing.assert_close(network.features(X, batch_size=7), whole.detach(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", list(NAMES))
def test_order_of_the_batch_is_kept(name, generator):
    X = vectors(40) if name == "kn" else digit_like(40)
    network = build(name, X)
    order = torch.randperm(40, generator=generator)
    torch.testing.assert_close(network.features(X[order]), network.features(X)[order], rtol=1e-10, atol=1e-10)


def test_the_generator_decides_and_the_global_one_is_left():
    X = digit_like(60)
    state = torch.random.get_rng_state()
    for name in ("lenet5-ckn", "cnn"):
        a, b, c = (build(name, X, seed=s).state_dict() for s in (0, 0, 1))
        assert all(torch.equal(a[k], b[k]) for k in a)
        assert any(not torch.equal(a[k], c[k]) for k in a)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_cnn_outputs_are_scaled_to_the_data():
    X = 40 * digit_like(100) + 300
    network = build("cnn", X)
    z = network.layers[0].products(X, network.layers[0].weights())  # type: ignore[operator]
    torch.testing.assert_close(z.mean((0, 2, 3)).detach(), torch.zeros(32, dtype=F64), rtol=0, atol=1e-6)
    torch.testing.assert_close(z.std((0, 2, 3)).detach(), torch.ones(32, dtype=F64), rtol=1e-3, atol=0)


def test_cnn_survives_blank_images():
    network = build("cnn", torch.zeros(10, 8, 8))
    assert torch.isfinite(network(torch.rand(3, 1, 8, 8, dtype=F64))).all()


def test_few_points_are_enough():
    for X in (np.random.default_rng(0).normal(size=(3, 4)), np.random.default_rng(0).random((2, 28, 28))):
        assert torch.isfinite(build("auto", X).features(build("auto", X).prepare(X))).all()


def test_type_follows_the_module():
    network = build("kn", np.random.default_rng(0).random((40, 5)), dtype=torch.float32)
    assert network.double().dtype == F64
    assert network(network.prepare(np.ones((2, 5)))).dtype == F64


def test_nested_lists_are_read():
    X = np.random.default_rng(0).random((40, 8, 8)).tolist()
    assert build("auto", X).input_shape == (1, 8, 8)
    with pytest.raises(InvalidInputError, match="numbers"):
        build("auto", [[1.0, 2.0], [3.0]])


def test_data_is_not_modified():
    X = np.random.default_rng(0).random((30, 28, 28))
    before = X.copy()
    network = build("lenet5-ckn", X)
    network(network.prepare(X)).sum().backward()
    assert np.array_equal(X, before)


def test_blank_images_name_the_layer(generator):
    with pytest.raises(InvalidInputError, match=r"layer 1: .* zero"):
        build_network("lenet5-ckn", np.zeros((9, 28, 28)), generator=generator)


@pytest.mark.parametrize(
    ("spec", "X", "options", "message"),
    [
        ("lenet-6", np.ones((4, 3)), {}, "auto, kn, lenet5-ckn"),
        ("kn", np.ones((4, 8, 8)), {}, "takes vectors"),
        ("cnn", np.ones((4, 8)), {}, "takes images"),
        ("kn", np.ones((4, 3)), {"channels": "last"}, "is for images"),
        ("kn", np.ones((4, 3)), {"dtype": torch.float16}, "float32 or torch.float64"),
        (3.0, np.ones((4, 3)), {}, "of type float"),
        (torch.nn.Linear, np.ones((4, 3)), {}, "the class Linear"),
        ("lenet5-ckn", np.ones((4, 8, 8)), {}, "layer 3: patch 5"),
    ],
)
def test_bad_requests(spec, X, options, message, generator):
    with pytest.raises(InvalidInputError, match=message):
        build_network(spec, X, generator=generator, **options)


def test_other_data_must_have_the_same_shape():
    network = build("kn", np.random.default_rng(0).random((40, 5)))
    with pytest.raises(InvalidInputError, match=r"shape \(5,\) each"):
        network.prepare(np.ones((3, 4)))
    with pytest.raises(InvalidInputError, match=r"shape \(n, 5\)"):
        network(torch.ones(3, 4))


def test_normalize_features_by_hand():
    Phi = torch.tensor([[1.0, 3.0], [10.0, 4.0]], dtype=F64)  # centred (-1, 1), (3, -3): norms r2, 3 r2, mean 2 r2
    ours, norm = normalize_features(Phi)
    assert float(norm) == pytest.approx(2 * 2**0.5)
    torch.testing.assert_close(ours, torch.tensor([[-1.0, 1.0], [3.0, -3.0]], dtype=F64) / (2 * 2**0.5))
    torch.testing.assert_close(normalize_features(Phi, norm=2.0)[0][0], torch.tensor([-0.5, 0.5], dtype=F64))
    assert torch.autograd.gradcheck(lambda P: normalize_features(P)[0], (Phi.clone().requires_grad_(),))


def test_normalize_features_refuses_constant_ones():
    with pytest.raises(InvalidInputError, match="constant"):
        normalize_features(torch.ones(3, 4))
    with pytest.raises(InvalidInputError, match="matrix"):
        normalize_features(torch.ones(3))
