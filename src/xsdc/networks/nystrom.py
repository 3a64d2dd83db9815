"""Nyström layers: phi(x) = (k(V^T V) + eps I)^{-1/2} k(V^T x), for vectors and for the patches of images.

A layer works in two parts. `weights` turns the filters into what the data will meet: it costs the same for
one image and for ten thousand, and is done in float64, where the small Gram matrix needs it. `respond` puts
a batch through, in the type of the data. A network calls the first once and the second for each part of a
batch, and may move a mixing matrix from one layer's weights into the next one's in between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from xsdc.errors import InvalidInputError
from xsdc.networks.images import channels_last
from xsdc.networks.kernels import RBF, Kernel, Linear, SphereRBF
from xsdc.networks.pooling import Pooling
from xsdc.networks.roots import ROOT_METHODS, inverse_sqrt
from xsdc.networks.sphere import patch_norms, sphere_response, sphere_response_identity
from xsdc.validation import as_count, as_positive


@dataclass(frozen=True)
class Weights:
    """What a layer's filters come to for the data: products with ``filters``, then mixing by ``mix``.

    ``filters`` None stands for the coordinate axes, ``mix`` None for the identity.
    """

    filters: Tensor | None
    mix: Tensor | None
    stride: int = 1
    pooling: Pooling | None = None


class _NystromBase(nn.Module):
    """The filters V and the inverse square root of their Gram matrix."""

    V: Tensor

    def __init__(
        self, shape: tuple[int, ...], *, kernel: Kernel, eps: float, root: str, root_iter: int, trained: bool
    ) -> None:
        super().__init__()
        if not isinstance(kernel, Linear | RBF | SphereRBF):
            raise InvalidInputError(f"kernel must be a Linear, RBF or SphereRBF object; it is {kernel!r}.")
        if root not in ROOT_METHODS:
            raise InvalidInputError(f"root must be one of {', '.join(ROOT_METHODS)}; it is {root!r}.")
        self.kernel = kernel
        self.eps = as_positive(eps, name="eps")
        self.root = root
        self.root_iter = as_count(root_iter, name="root_iter")
        self.trained = trained
        start = torch.zeros(shape)
        if trained:
            self.V = nn.Parameter(start)
        else:
            self.register_buffer("V", start)

    @property
    def width(self) -> int:
        """Number of filters, and of features each input is mapped to."""
        return int(self.V.shape[0])

    def _filters_and_root(self) -> tuple[Tensor, Tensor]:
        V = self.V.flatten(1).double()  # (m, d)
        root = inverse_sqrt(self.kernel(V, V), eps=self.eps, method=self.root, n_iter=self.root_iter)
        return V, root


class NystromLayer(_NystromBase):
    """Map vectors to features whose inner products approximate a kernel.

    Parameters
    ----------
    n_inputs : int
        d, the length of the vectors.
    width : int
        m, the number of filters; the filters are ``V (m, d)``, zero until set from data.
    kernel : Linear, RBF or SphereRBF
        The kernel to approximate.
    eps : float, default 0.001
        Added to the diagonal of the filters' Gram matrix.
    root, root_iter : str, int
        How the inverse square root is computed; see `inverse_sqrt`.
    trained : bool, default True
        Whether V is a parameter; otherwise it is a buffer, which no gradient reaches.
    """

    def __init__(
        self,
        n_inputs: int,
        width: int,
        *,
        kernel: Kernel,
        eps: float = 1e-3,
        root: str = "eigh",
        root_iter: int = 20,
        trained: bool = True,
    ) -> None:
        shape = (as_count(width, name="width"), as_count(n_inputs, name="n_inputs"))
        super().__init__(shape, kernel=kernel, eps=eps, root=root, root_iter=root_iter, trained=trained)

    def forward(self, X: Tensor) -> Tensor:
        """Map X (n, d) to features (n, m)."""
        return self.respond(X, self.weights())

    def weights(self) -> Weights:
        """Compute what the data meets from the filters."""
        V, root = self._filters_and_root()
        if isinstance(self.kernel, Linear):
            return Weights(filters=(root @ V).to(self.V.dtype), mix=None)
        return Weights(filters=self.V, mix=root.to(self.V.dtype))

    def respond(self, X: Tensor, weights: Weights) -> Tensor:
        """Map X (n, d) to features (n, m), with the weights computed before."""
        filters = weights.filters
        assert filters is not None  # noqa: S101  vector layers always carry their filters
        if isinstance(self.kernel, SphereRBF):
            rho = torch.linalg.vector_norm(X, dim=1, keepdim=True)
            K = sphere_response(X @ filters.T, rho, bandwidth=self.kernel.bandwidth)
        else:
            K = self.kernel(X, filters)
        return K if weights.mix is None else K @ weights.mix


class ConvNystromLayer(_NystromBase):
    """Map every patch of an image to features whose inner products approximate a kernel.

    A patch is scaled to unit norm before the layer and the features are multiplied by its norm after.
    Nothing is unfolded: products of patches and filters are a convolution, norms of patches a sum over a
    box. With the linear kernel the norm cancels, the layer is one convolution, and an average pooling after
    it makes that convolution's filters larger and its stride longer.

    Parameters
    ----------
    n_channels : int
        C, channels of the image.
    width : int
        m, the number of filters; the filters are ``V (m, C, patch, patch)``, zero until set from data.
    patch : int
        Height and width of a patch.
    kernel : Linear or SphereRBF
        The kernel to approximate. Gaussian kernels act on the sphere here, where the patches lie.
    stride, padding : int
        Step between patches, and zeros around the image.
    pooling : Pooling, optional
        Done on the layer's output.
    eps, root, root_iter, trained
        As in `NystromLayer`.
    """

    def __init__(
        self,
        n_channels: int,
        width: int,
        *,
        patch: int,
        kernel: Kernel,
        stride: int = 1,
        padding: int = 0,
        pooling: Pooling | None = None,
        eps: float = 1e-3,
        root: str = "eigh",
        root_iter: int = 20,
        trained: bool = True,
    ) -> None:
        if isinstance(kernel, RBF):
            raise InvalidInputError("Patches lie on the unit sphere: use SphereRBF in place of RBF for images.")
        size = as_count(patch, name="patch")
        shape = (as_count(width, name="width"), as_count(n_channels, name="n_channels"), size, size)
        super().__init__(shape, kernel=kernel, eps=eps, root=root, root_iter=root_iter, trained=trained)
        self.stride = as_count(stride, name="stride")
        self.padding = as_count(padding, name="padding", minimum=0)
        self.pooling = pooling

    def forward(self, x: Tensor) -> Tensor:
        """Map x (n, C, H, W) to features (n, m, H', W')."""
        return self.respond(channels_last(x), self.weights())

    def weights(self) -> Weights:
        """Compute what the data meets from the filters."""
        V, root = self._filters_and_root()
        dtype = self.V.dtype
        if isinstance(self.kernel, Linear):
            filters = (root @ V).to(dtype).view(self.V.shape)
            return fuse_average(Weights(filters, None, stride=self.stride, pooling=self.pooling))
        return Weights(
            filters=None if self._is_identity() else self.V,
            mix=root.to(dtype),
            stride=self.stride,
            pooling=self.pooling,
        )

    def _is_identity(self) -> bool:
        m, C, patch, _ = self.V.shape
        if self.trained or m != C or patch != 1 or self.stride != 1 or self.padding != 0:
            return False
        return torch.equal(self.V.view(m, C), torch.eye(m, dtype=self.V.dtype, device=self.V.device))

    def respond(self, x: Tensor, weights: Weights) -> Tensor:
        """Map x (n, C, H, W) to features (n, m, H', W'), with the weights computed before."""
        y = self._products(x, weights)
        pooling = weights.pooling
        if pooling is not None and pooling.is_linear:  # the mixing then has fewer positions left to do
            return _mix(pooling(y), weights.mix)
        y = _mix(y, weights.mix)
        return y if pooling is None else pooling(y)

    def _products(self, x: Tensor, weights: Weights) -> Tensor:
        filters = weights.filters
        if isinstance(self.kernel, SphereRBF) and filters is None:
            return sphere_response_identity(x, bandwidth=self.kernel.bandwidth)
        assert filters is not None  # noqa: S101  only the sphere's coordinate axes go without filters
        c = F.conv2d(x, channels_last(filters), stride=weights.stride, padding=self.padding)
        if not isinstance(self.kernel, SphereRBF):
            return c
        patch = self.V.shape[-1]
        if patch == 1 and self.padding == 0 and self.stride == 1:
            rho = torch.linalg.vector_norm(x, dim=1, keepdim=True)
        else:
            rho = patch_norms(x, patch=patch, stride=self.stride, padding=self.padding)
        return sphere_response(c, rho, bandwidth=self.kernel.bandwidth)


def _mix(y: Tensor, mix: Tensor | None) -> Tensor:
    """Multiply the channels of y (n, m, H, W) by mix (m, m) at every position."""
    if mix is None:
        return y
    return (y.permute(0, 2, 3, 1) @ mix).permute(0, 3, 1, 2)


def fuse_average(weights: Weights) -> Weights:
    """Merge an average pooling into the convolution before it.

    The mean of q × q neighbouring products with a filter is one product with the mean of q² copies of the
    filter, moved by the stride: a 5×5 convolution and a 2×2 pooling are a 6×6 convolution of stride 2, with
    the same padding and a third of the arithmetic.
    """
    pooling, filters = weights.pooling, weights.filters
    if pooling is None or pooling.kind != "average" or filters is None:
        return weights
    q, s, reach = pooling.size, weights.stride, (pooling.size - 1) * weights.stride
    copies = [F.pad(filters, (a * s, reach - a * s, b * s, reach - b * s)) for a in range(q) for b in range(q)]
    fused = torch.stack(copies).sum(0) / q**2
    return replace(weights, filters=fused, stride=s * q, pooling=None)


def absorb_mixing(before: Weights, after: Weights) -> tuple[Weights, Weights]:
    """Move the mixing of one layer into the filters of the linear convolution that follows it.

    Both are linear in the channels, and so is a pooling between them unless it takes maxima; the data then
    skips one pass over the largest maps.
    """
    movable = before.pooling is None or before.pooling.is_linear
    if before.mix is None or after.filters is None or after.mix is not None or not movable:
        return before, after
    filters = torch.einsum("ocij,cd->odij", after.filters, before.mix)
    return replace(before, mix=None), replace(after, filters=filters)
