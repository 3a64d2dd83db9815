from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xsdc.errors import InvalidInputError, NotConvergedWarning
from xsdc.networks import inverse_sqrt

F64 = torch.float64


def gram(m: int, d: int, seed: int) -> torch.Tensor:
    V = torch.nn.functional.normalize(
        torch.randn(m, d, generator=torch.Generator().manual_seed(seed), dtype=F64), dim=1
    )
    return V @ V.T


@pytest.mark.parametrize("method", ["eigh", "newton"])
def test_by_hand(method):
    # [[5, 4], [4, 5]] has eigenvalues 9 and 1 on (1, 1) and (1, -1): the inverse root has 1/3 and 1.
    root = inverse_sqrt(torch.tensor([[5.0, 4.0], [4.0, 5.0]], dtype=F64), eps=0.0, method=method)
    expected = torch.tensor([[2.0, -1.0], [-1.0, 2.0]], dtype=F64) / 3
    torch.testing.assert_close(root, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("method", ["eigh", "newton"])
@settings(deadline=None)
@given(m=st.integers(1, 12), d=st.integers(1, 12), seed=st.integers(0, 10**6))
def test_is_the_inverse_root(method, m, d, seed):
    G = gram(m, d, seed)  # rank-deficient where d < m: eigenvalues coincide at eps
    B = inverse_sqrt(G, method=method)
    A = G + 1e-3 * torch.eye(m, dtype=F64)
    torch.testing.assert_close(B @ A @ B, torch.eye(m, dtype=F64), rtol=0, atol=1e-9)
    torch.testing.assert_close(B, B.T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", ["eigh", "newton"])
def test_gradient_by_finite_differences(method):
    def root(B: torch.Tensor) -> torch.Tensor:
        return inverse_sqrt(B @ B.T, eps=0.1, method=method, n_iter=30)

    B = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=F64, requires_grad=True)
    assert torch.autograd.gradcheck(root, (B,), rtol=1e-5)


@pytest.mark.parametrize("G", [torch.eye(5, dtype=F64), torch.zeros(4, 4, dtype=F64), gram(8, 3, 1)])
def test_gradients_agree_where_eigenvalues_coincide(G):
    S = torch.randn(G.shape, generator=torch.Generator().manual_seed(3), dtype=F64)
    grads = []
    for method in ("eigh", "newton"):
        A = G.clone().requires_grad_()
        (inverse_sqrt(A, method=method) * S).sum().backward()
        assert A.grad is not None
        grads.append((A.grad + A.grad.T) / 2)
    assert torch.isfinite(grads[0]).all()
    assert (grads[0] - grads[1]).abs().max() <= 1e-9 * grads[0].abs().max()


def test_gradient_at_a_multiple_of_the_identity_by_hand():
    # d(a^{-1/2}) = -a^{-3/2}/2 da for every direction when A = a I.
    A = (4.0 * torch.eye(3, dtype=F64)).requires_grad_()
    inverse_sqrt(A, eps=0.0).diagonal().sum().backward()
    torch.testing.assert_close(A.grad, -torch.eye(3, dtype=F64) / 16, rtol=1e-13, atol=1e-15)


def test_newton_says_when_it_has_not_converged():
    G = torch.diag(torch.tensor([1.0, 1e-9], dtype=F64))
    with pytest.warns(NotConvergedWarning, match="3 iterations"):
        inverse_sqrt(G, eps=0.0, method="newton", n_iter=3)


def test_input_is_not_modified():
    G = gram(5, 3, 2)
    before = G.clone()
    inverse_sqrt(G)
    inverse_sqrt(G, method="newton")
    assert torch.equal(G, before)


def test_bad_inputs():
    with pytest.raises(InvalidInputError, match="square"):
        inverse_sqrt(torch.zeros(2, 3))
    with pytest.raises(InvalidInputError, match="eigh, newton"):
        inverse_sqrt(torch.eye(2), method="cholesky")
    with pytest.raises(InvalidInputError, match="eps"):
        inverse_sqrt(torch.eye(2), eps=-1.0)
