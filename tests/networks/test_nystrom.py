"""The layers against the direct transcription: patches cut out, explicit Gram matrix, float64."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import normalize

from benchmarks import plain_networks as plain
from xsdc.errors import InvalidInputError
from xsdc.networks import RBF, ConvNystromLayer, LayerConfig, Linear, NystromLayer, Pooling, SphereRBF

F64 = torch.float64


def rand(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def conv_layer_of(config: LayerConfig, V: torch.Tensor, **options) -> ConvNystromLayer:
    layer = ConvNystromLayer(
        V.shape[1],
        config.width,
        patch=V.shape[2],
        kernel=config.make_kernel(),
        stride=config.stride,
        padding=config.padding,
        pooling=config.make_pooling(),
        **options,
    ).double()
    with torch.no_grad():
        layer.V.copy_(V)
    return layer


def assert_equal_to_plain(config: LayerConfig, x: torch.Tensor, V: torch.Tensor) -> None:
    """Compare values and gradients, with respect to the input and the filters, at 1e-10 of their size."""
    results = []
    layer = conv_layer_of(config, V)
    for fast in (True, False):
        inputs = x.clone().requires_grad_()
        if fast:
            filters: torch.Tensor = layer.V
            y = layer(inputs)
        else:
            filters = V.clone().requires_grad_()
            y = plain.pool(plain.conv_layer(inputs, filters, config), config)
        weights = rand(*y.shape, seed=5)
        grads = torch.autograd.grad((y * weights).sum(), (inputs, filters))
        results.append((y.detach(), *grads))
    for ours, theirs in zip(*results, strict=True):
        assert ours.shape == theirs.shape
        assert torch.isfinite(ours).all()
        assert (ours - theirs).abs().max() <= 1e-10 * max(1.0, float(theirs.abs().max()))


GEOMETRIES = [  # C, H, W, patch, stride, padding
    (1, 9, 9, 5, 1, 2),
    (3, 8, 11, 3, 1, 0),
    (2, 9, 7, 3, 2, 1),
    (4, 7, 5, 1, 1, 0),
    (2, 6, 6, 5, 1, 0),
    (1, 8, 8, 2, 3, 1),
]


@pytest.mark.parametrize("kernel", ["linear", "sphere"])
@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("pooling", [None, "average", "gaussian", "max", "global"])
def test_conv_layer_equals_the_plain_one(kernel, geometry, pooling):
    C, H, W, patch, stride, padding = geometry
    config = LayerConfig(5, patch=patch, kernel=kernel, stride=stride, padding=padding, pooling=pooling)
    x = rand(3, C, H, W, seed=1)
    if kernel == "sphere":
        x[0] = 0.0  # a blank image: every patch is zero
        x[1, :, : H // 2] = 0.0
    V = normalize(rand(5, C * patch * patch, seed=2), dim=1).view(5, C, patch, patch)
    assert_equal_to_plain(config, x, V)


def test_linear_layer_stays_linear_at_zero():
    # The norm cancels, so the layer has a gradient at zero; the transcription's 0 × (x / tiny) loses it.
    layer = conv_layer_of(LayerConfig(2, patch=1, kernel="linear"), torch.eye(2, dtype=F64).view(2, 2, 1, 1))
    x = torch.zeros(1, 2, 3, 3, dtype=F64, requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert torch.equal(y, torch.zeros_like(y))
    torch.testing.assert_close(x.grad, torch.full_like(x, 1.001**-0.5), rtol=1e-13, atol=0)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_conv_layer_equals_the_plain_one_for_any_geometry(data):
    patch = data.draw(st.integers(1, 4))
    config = LayerConfig(
        data.draw(st.integers(1, 6)),
        patch=patch,
        kernel=data.draw(st.sampled_from(["linear", "sphere"])),
        stride=data.draw(st.integers(1, 3)),
        padding=data.draw(st.integers(0, patch - 1)),
        pooling=data.draw(st.sampled_from([None, "gaussian", "global"])),
    )
    C, H, W = (data.draw(st.integers(low, 9)) for low in (1, patch, patch))
    V = normalize(rand(config.width, C * patch**2, seed=3), dim=1).view(-1, C, patch, patch)
    assert_equal_to_plain(config, rand(2, C, H, W, seed=data.draw(st.integers(0, 99))), V)


@pytest.mark.parametrize("q", [2, 3])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", range(8, 14))
def test_fused_average_pooling_for_every_remainder(q, stride, size):
    config = LayerConfig(3, patch=3, kernel="linear", stride=stride, padding=1, pooling="average", pool_size=q)
    V = normalize(rand(3, 18, seed=2), dim=1).view(3, 2, 3, 3)
    assert_equal_to_plain(config, rand(2, 2, size, size + 1), V)


def test_identity_filters_equal_the_plain_layer():
    config = LayerConfig(4, patch=1, kernel="sphere", init="identity", trained=False)
    V = torch.eye(4, dtype=F64).view(4, 4, 1, 1)
    x = rand(2, 4, 3, 5)
    x[:, :, 1] = 0.0
    layer = conv_layer_of(config, V, trained=False)
    assert layer.weights().filters is None
    outputs, grads = [], []
    for function in (layer, lambda z: plain.conv_layer(z, V, config)):
        z = x.clone().requires_grad_()
        y = function(z)
        grads.append(torch.autograd.grad((y * rand(*y.shape, seed=4)).sum(), z)[0])
        outputs.append(y)
    torch.testing.assert_close(outputs[0], outputs[1], rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(grads[0], grads[1], rtol=1e-10, atol=1e-12)


def test_zero_patches_give_zero_and_finite_gradients():
    layer = conv_layer_of(LayerConfig(4, patch=3, kernel="sphere"), normalize(rand(4, 18), dim=1).view(4, 2, 3, 3))
    x = torch.zeros(2, 2, 6, 6, dtype=F64, requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert torch.equal(y, torch.zeros_like(y))
    assert x.grad is not None
    assert torch.equal(x.grad, torch.zeros_like(x))
    assert layer.V.grad is not None
    assert torch.isfinite(layer.V.grad).all()


@pytest.mark.parametrize("kernel", [Linear(), SphereRBF(0.8)])
def test_conv_gradients_by_finite_differences(kernel):
    def function(x: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = torch.func.functional_call(layer, {"V": V}, (x,))
        return y

    layer = ConvNystromLayer(2, 3, patch=2, kernel=kernel, padding=1, pooling=Pooling("average", 2)).double()
    x, V = rand(2, 2, 5, 4).requires_grad_(), normalize(rand(3, 8), dim=1).view(3, 2, 2, 2).requires_grad_()
    assert torch.autograd.gradcheck(function, (x, V))


@pytest.mark.parametrize("kernel", [Linear(), RBF(1.3), SphereRBF(0.6)])
def test_vector_gradients_by_finite_differences(kernel):
    layer = NystromLayer(3, 4, kernel=kernel).double()

    def function(X: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = torch.func.functional_call(layer, {"V": V}, (X,))
        return y

    assert torch.autograd.gradcheck(function, (rand(5, 3).requires_grad_(), rand(4, 3, seed=1).requires_grad_()))


def test_vector_layer_equals_the_plain_one():
    layer = NystromLayer(6, 5, kernel=RBF(2.0)).double()
    V = rand(5, 6, seed=1)
    with torch.no_grad():
        layer.V.copy_(V)
    V.requires_grad_()
    results = []
    for function, filters in ((layer, layer.V), (lambda X: plain.vector_layer(X, V, bandwidth=2.0), V)):
        X = rand(20, 6, seed=2).requires_grad_()
        y = function(X)
        results.append((y, *torch.autograd.grad((y * rand(20, 5, seed=3)).sum(), (X, filters))))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("root", ["eigh", "newton"])
def test_vector_layer_by_hand(root):
    # One filter: phi(x) = k(v, x) / sqrt(1 + eps) with the Gaussian kernel.
    layer = NystromLayer(2, 1, kernel=RBF(1.0), eps=3.0, root=root).double()
    with torch.no_grad():
        layer.V.copy_(torch.tensor([[1.0, 0.0]]))
    y = layer(torch.tensor([[0.0, 0.0], [1.0, 0.0]], dtype=F64))
    expected = torch.tensor([[-0.5], [0.0]], dtype=F64).exp() / 2
    torch.testing.assert_close(y, expected, rtol=1e-13, atol=0)


@pytest.mark.parametrize("kernel", [RBF(2.0), SphereRBF(0.9)])
def test_inner_products_approach_the_kernel_as_filters_grow(kernel):
    X = rand(40, 2)
    if kernel.on_sphere:
        norms = X.norm(dim=1)
        exact = norms[:, None] * norms * kernel(normalize(X, dim=1), normalize(X, dim=1))
    else:
        exact = kernel(X, X)
    errors = []
    for width in (2, 8, 32):
        layer = NystromLayer(2, width, kernel=kernel, eps=1e-6).double()
        V = rand(width, 2, seed=1)
        with torch.no_grad():
            layer.V.copy_(normalize(V, dim=1) if kernel.on_sphere else V)
            Phi = layer(X)
        errors.append(float((Phi @ Phi.T - exact).norm() / exact.norm()))
    assert errors[0] > 3 * errors[1]
    assert errors[1] > 3 * errors[2]
    assert errors[2] < 1e-3


def test_inner_products_are_exact_at_the_filters():
    V = normalize(rand(6, 4), dim=1)
    layer = NystromLayer(4, 6, kernel=SphereRBF(), eps=1e-12).double()
    with torch.no_grad():
        layer.V.copy_(V)
        Phi = layer(V)
    torch.testing.assert_close(Phi @ Phi.T, SphereRBF()(V, V), rtol=1e-8, atol=1e-8)


@settings(deadline=None)
@given(scale=st.floats(1e-3, 1e3), seed=st.integers(0, 99))
def test_conv_layers_are_homogeneous(scale, seed):
    layer = conv_layer_of(LayerConfig(4, patch=3, kernel="sphere", padding=1), rand(4, 2, 3, 3, seed=seed))
    x = rand(2, 2, 5, 5, seed=seed + 1)
    with torch.no_grad():
        torch.testing.assert_close(layer(scale * x), scale * layer(x), rtol=1e-10, atol=1e-10)


def test_untrained_filters_are_no_parameters():
    assert list(ConvNystromLayer(1, 2, patch=1, kernel=Linear(), trained=False).parameters()) == []
    assert len(list(ConvNystromLayer(1, 2, patch=1, kernel=Linear()).parameters())) == 1


def test_inputs_are_not_modified():
    layer = conv_layer_of(LayerConfig(4, patch=3, kernel="sphere"), rand(4, 2, 3, 3))
    x = rand(2, 2, 5, 5)
    before, filters = x.clone(), layer.V.detach().clone()
    layer(x).sum().backward()
    assert torch.equal(x, before)
    assert torch.equal(layer.V, filters)


def test_gaussian_kernel_on_patches_points_to_the_sphere():
    with pytest.raises(InvalidInputError, match="SphereRBF"):
        ConvNystromLayer(1, 2, patch=3, kernel=RBF(1.0))
