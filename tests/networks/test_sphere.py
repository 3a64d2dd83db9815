from __future__ import annotations

import math

import torch
from torch.autograd import gradcheck

from xsdc.networks.sphere import patch_norms, sphere_response, sphere_response_identity

F64 = torch.float64


def rand(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def test_response_by_hand():
    # ||x|| = 5, products 3 and 5 with unit filters: 5 exp((3/5 - 1)/4) and 5 exp(0).
    y = sphere_response(torch.tensor([[3.0, 5.0]], dtype=F64), torch.tensor([[5.0]], dtype=F64), bandwidth=2.0)
    assert math.isclose(float(y[0, 0]), 5 * math.exp(-0.1), rel_tol=1e-14)
    assert math.isclose(float(y[0, 1]), 5.0, rel_tol=1e-14)


def test_response_gradients():
    c = rand(4, 3, 2, 2).requires_grad_()
    rho = (rand(4, 1, 2, 2, seed=1).abs() + 0.5).requires_grad_()
    assert gradcheck(lambda a, b: sphere_response(a, b, bandwidth=0.9), (c, rho))
    assert gradcheck(lambda z: sphere_response_identity(z, bandwidth=0.9), (c,))


def test_identity_response_is_the_general_one():
    z = rand(5, 4)
    general = sphere_response(z, z.norm(dim=1, keepdim=True), bandwidth=0.6)
    torch.testing.assert_close(sphere_response_identity(z, bandwidth=0.6), general, rtol=1e-14, atol=0)


def test_zero_input_gives_exact_zero_in_both_types():
    for dtype in (torch.float32, F64):
        z = torch.zeros(2, 3, dtype=dtype, requires_grad=True)
        y = sphere_response_identity(z, bandwidth=0.6)
        y.sum().backward()
        assert torch.equal(y, torch.zeros_like(z))
        assert z.grad is not None
        assert torch.equal(z.grad, torch.zeros_like(z))


def test_response_survives_very_small_and_large_inputs():
    z = rand(6, 4).float()
    y = sphere_response_identity(z, bandwidth=0.6)
    for scale in (1e-12, 1e12):
        torch.testing.assert_close(sphere_response_identity(scale * z, bandwidth=0.6), scale * y, rtol=1e-4, atol=0)


def test_patch_norms_by_hand():
    x = torch.tensor([[[[1.0, 2.0], [2.0, 0.0]], [[0.0, 0.0], [0.0, 4.0]]]], dtype=F64)
    assert patch_norms(x, patch=2).flatten().tolist() == [5.0]
    assert patch_norms(x, patch=1).flatten().tolist() == [1.0, 2.0, 2.0, 4.0]
    assert patch_norms(x, patch=2, padding=1)[0, 0, 0].tolist() == [1.0, math.sqrt(5), 2.0]


def test_patch_norms_gradient():
    x = rand(2, 2, 6, 7).requires_grad_()
    for patch, stride, padding in ((2, 1, 0), (3, 2, 1), (3, 3, 2), (1, 2, 0)):
        assert gradcheck(lambda z, p=patch, s=stride, q=padding: patch_norms(z, patch=p, stride=s, padding=q), (x,))
