"""The networks as the paper writes them: patches cut out, explicit Gram matrices, nothing fused.

The obvious program, in whatever type the data has (float64 in the tests and benchmarks), differentiated by
autograd alone. It is what `xsdc.networks` must agree with and is measured against.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from xsdc.networks import LayerConfig


def newton_inverse_sqrt(A: Tensor, *, n_iter: int = 20) -> Tensor:
    """Compute A^{-1/2} by coupled Newton iterations, A scaled by its norm first."""
    identity = torch.eye(len(A), dtype=A.dtype)
    norm = torch.linalg.matrix_norm(A.detach())
    M = A / norm
    X: Tensor = identity / norm.sqrt()
    for _ in range(n_iter):
        T: Tensor = (3 * identity - M) / 2
        X, M = X @ T, T @ T @ M
    return X


def kernel_of_products(config: LayerConfig) -> Callable[[Tensor], Tensor]:
    """Return the kernel of a convolutional layer as a function of the product of two unit vectors."""
    if config.kernel == "linear":
        return lambda products: products
    sigma = config.bandwidth or 0.6
    return lambda products: torch.exp((products - 1) / sigma**2)


def vector_layer(X: Tensor, V: Tensor, *, bandwidth: float, eps: float = 1e-3) -> Tensor:
    """Map X (n, d) to (k(V, V) + eps I)^{-1/2} k(V, X) with the Gaussian kernel; (n, m)."""

    def kernel(A: Tensor, B: Tensor) -> Tensor:
        return torch.exp(-(A[:, None] - B[None]).square().sum(2) / (2 * bandwidth**2))

    G = kernel(V, V) + eps * torch.eye(len(V), dtype=V.dtype)
    return kernel(X, V) @ newton_inverse_sqrt(G)


def conv_layer(x: Tensor, V: Tensor, config: LayerConfig, *, eps: float = 1e-3) -> Tensor:
    """Map every patch of x (n, C, H, W) by the filters V (m, C, p, p); (n, m, H', W')."""
    n, _, H, W = x.shape
    m, patch = V.shape[0], V.shape[2]
    k = kernel_of_products(config)
    V = V.flatten(1)  # (m, d)
    patches = F.unfold(x, patch, padding=config.padding, stride=config.stride)  # (n, d, L)
    patches = patches.transpose(1, 2).reshape(-1, V.shape[1])  # (n L, d)
    norms = torch.linalg.vector_norm(patches, dim=1, keepdim=True)
    unit = patches / norms.clamp_min(torch.finfo(x.dtype).tiny)
    G = k(V @ V.T) + eps * torch.eye(m, dtype=V.dtype)
    features: Tensor = norms * (k(unit @ V.T) @ newton_inverse_sqrt(G))  # (n L, m)
    height = (H + 2 * config.padding - patch) // config.stride + 1
    width = (W + 2 * config.padding - patch) // config.stride + 1
    return features.reshape(n, height, width, m).permute(0, 3, 1, 2)


def pool(x: Tensor, config: LayerConfig) -> Tensor:
    """Pool a map (n, C, H, W) as the layer says."""
    size = config.pool_size or 2
    if config.pooling == "average":
        return F.avg_pool2d(x, size)
    if config.pooling == "max":
        return F.max_pool2d(x, size)
    if config.pooling == "global":
        return x.mean((2, 3), keepdim=True)
    if config.pooling == "gaussian":
        offsets = torch.arange(-size, size + 1, dtype=x.dtype)
        weights = torch.exp(-offsets.square() / size**2)
        weights = weights / weights.sum()
        window = (weights[:, None] * weights).expand(x.shape[1], 1, -1, -1)
        return F.conv2d(x, window, stride=size, padding=size, groups=x.shape[1])
    return x


def conv_network(x: Tensor, filters: Sequence[Tensor], layers: Sequence[LayerConfig]) -> Tensor:
    """Map images x (n, C, H, W) through convolutional Nyström layers to features (n, D)."""
    for V, config in zip(filters, layers, strict=True):
        x = pool(conv_layer(x, V, config), config)
    return x.flatten(1)
