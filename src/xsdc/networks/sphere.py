"""The response of unit filters on the sphere, with gradients written by hand to touch memory little.

On a CPU these layers are bound by memory, not arithmetic: an elementwise chain left to autograd writes one
fresh tensor per operation and keeps most of them. Each function here writes its answer once, updates it in
place, and keeps only what the gradient needs. Channels come last in memory, so the sums over channels run
along the cache line.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable


def sphere_response(c: Tensor, rho: Tensor, *, bandwidth: float) -> Tensor:
    """Evaluate y_j = rho exp((c_j / rho - 1) / sigma²) from products c = <x, v_j> and norms rho = ||x||.

    Parameters
    ----------
    c : Tensor (n, m, ...)
        Products of each input with each filter.
    rho : Tensor (n, 1, ...)
        Norms of the inputs. Where rho is zero, y and all gradients are zero.
    bandwidth : float
        sigma.

    Returns
    -------
    Tensor (n, m, ...)
    """
    y: Tensor = _SphereResponse.apply(c, rho, bandwidth)  # type: ignore[no-untyped-call]
    return y


def sphere_response_identity(z: Tensor, *, bandwidth: float) -> Tensor:
    """Evaluate y_j = r exp((z_j / r - 1) / sigma²), r = ||z||: the filters are the coordinate axes.

    Equals `sphere_response` of ``c = z`` and ``rho = ||z||`` without a product or a second gradient pass.
    """
    y: Tensor = _IdentityResponse.apply(z, bandwidth)  # type: ignore[no-untyped-call]
    return y


def patch_norms(x: Tensor, *, patch: int, stride: int = 1, padding: int = 0) -> Tensor:
    """Compute the norm of every patch of x (n, C, H, W) without cutting the patches out; (n, 1, H', W').

    The squares are summed over channels, then over a box. Zero patches have gradient zero.
    """
    rho: Tensor = _PatchNorms.apply(x, patch, stride, padding)  # type: ignore[no-untyped-call]
    return rho


def _respond(c: Tensor, rho: Tensor, bandwidth: float) -> Tensor:
    # rho exp((c/rho - 1)/sigma²) = exp(c s + t): one fused multiply-add and one exponential. At rho = 0,
    # s is finite and t = -inf, so the answer is exactly zero.
    s = _slope(rho, bandwidth)
    t = rho.log().sub_(1 / bandwidth**2)
    return torch.addcmul(t, c, s).exp_()


def _slope(rho: Tensor, bandwidth: float) -> Tensor:
    tiny = torch.finfo(rho.dtype).tiny ** 0.5
    return rho.clamp_min(tiny).mul_(bandwidth**2).reciprocal_()  # 1 / (sigma² rho)


def _over(numerator: Tensor, rho: Tensor) -> Tensor:
    return torch.where(rho > 0, numerator / rho, 0.0)


def _pull_back(grad: Tensor, c: Tensor, rho: Tensor, y: Tensor, bandwidth: float) -> tuple[Tensor, Tensor]:
    """Return the gradients with respect to c and rho, with h = grad y / rho.

    dc = h / sigma² and drho = sum_j h_j - sum_j h_j c_j / (rho sigma²).
    """
    h = grad * y  # rho times the h above
    total = h.sum(1, keepdim=True)
    dc = h.mul_(_slope(rho, bandwidth))
    drho = _over(total - (dc * c).sum(1, keepdim=True), rho)
    return dc, drho


class _SphereResponse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, c: Tensor, rho: Tensor, bandwidth: float) -> Tensor:
        y = _respond(c, rho, bandwidth)
        ctx.save_for_backward(c, rho, y)
        ctx.bandwidth = bandwidth
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        c, rho, y = ctx.saved_tensors
        dc, drho = _pull_back(grad, c, rho, y, ctx.bandwidth)
        return dc, drho, None


class _IdentityResponse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, bandwidth: float) -> Tensor:
        r = torch.linalg.vector_norm(z, dim=1, keepdim=True)
        y = _respond(z, r, bandwidth)
        ctx.save_for_backward(z, r, y)
        ctx.bandwidth = bandwidth
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        z, r, y = ctx.saved_tensors
        dz, dr = _pull_back(grad, z, r, y, ctx.bandwidth)
        return dz.addcmul_(z, _over(dr, r)), None


class _PatchNorms(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, patch: int, stride: int, padding: int) -> Tensor:
        squares = F.pad(x.square().sum(1, keepdim=True), [padding] * 4)
        # Pooling adds what is there; a convolution may go through a transform that turns zero into 1e-9.
        rho = F.avg_pool2d(squares, patch, stride=stride, divisor_override=1).sqrt_()
        ctx.save_for_backward(x, rho)
        ctx.patch, ctx.stride, ctx.padding = patch, stride, padding
        return rho

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        x, rho = ctx.saved_tensors
        # The transpose of the sum over a box: every patch hands its share back to each of its positions.
        box = x.new_ones(1, 1, ctx.patch, ctx.patch)
        spread = F.conv_transpose2d(_over(grad, rho), box, stride=ctx.stride)
        H, W = x.shape[2] + 2 * ctx.padding, x.shape[3] + 2 * ctx.padding
        spread = F.pad(spread, (0, W - spread.shape[3], 0, H - spread.shape[2]))  # what no patch reached
        inner = spread[:, :, ctx.padding : H - ctx.padding, ctx.padding : W - ctx.padding]
        return x * inner, None, None, None
