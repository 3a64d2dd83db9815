"""The networks that have a name: the paper's three, a small plain one, and the choice by the data."""

from __future__ import annotations

from xsdc.networks.configs import LayerConfig, NetworkConfig

KN = NetworkConfig(
    name="kn",
    input="vectors",
    layers=(LayerConfig(32, kernel="rbf"),),
)

LENET5_CKN = NetworkConfig(
    name="lenet5-ckn",
    layers=(
        LayerConfig(32, patch=5, padding=2, kernel="linear", pooling="average", pool_size=2),
        LayerConfig(32, patch=1, kernel="sphere", init="identity", trained=False),
        LayerConfig(32, patch=5, kernel="linear", pooling="average", pool_size=2),
        LayerConfig(32, patch=1, kernel="sphere", init="identity", trained=False),
        LayerConfig(32, patch=5, kernel="sphere"),
        LayerConfig(32, patch=1, kernel="sphere"),
    ),
)

CKN_GM = NetworkConfig(
    name="ckn-gm",
    input="gradient-map",
    layers=(
        LayerConfig(32, patch=1, kernel="sphere", pooling="gaussian", pool_size=2),
        LayerConfig(32, patch=2, kernel="sphere", pooling="gaussian", pool_size=4),
    ),
)

CNN = NetworkConfig(
    name="cnn",
    layers=(
        LayerConfig(32, patch=3, padding=1, kernel="relu", pooling="max", pool_size=2),
        LayerConfig(64, patch=3, padding=1, kernel="relu", pooling="max", pool_size=2),
        LayerConfig(64, patch=3, padding=1, kernel="relu", pooling="global"),
    ),
)

NETWORKS = {config.name: config for config in (KN, LENET5_CKN, CKN_GM, CNN)}


def ckn_for(height: int, width: int) -> NetworkConfig:
    """Make a kernel network for images of any size, in the manner of ``ckn-gm``.

    3×3 patches of the gradient map and Gaussian poolings, until the map is 8×8 or smaller; then one layer on
    the whole map. The gradient does not see how bright the ground is.
    """
    layers: list[LayerConfig] = []
    size = max(height, width)
    while not layers or size > 8:
        pool_size = 4 if size > 64 else 2
        layers.append(LayerConfig(32, patch=3, padding=1, kernel="sphere", pooling="gaussian", pool_size=pool_size))
        size = -(-size // pool_size)
    layers.append(LayerConfig(64, kernel="sphere"))
    return NetworkConfig(tuple(layers), input="gradient-map", name="ckn")


def choose_config(input_shape: tuple[int, ...]) -> NetworkConfig:
    """Choose a network by the shape of one input, (d,) or (C, H, W).

    ``kn`` for vectors, ``lenet5-ckn`` for gray images of 28×28, `ckn_for` other gray and colour images, and
    ``cnn`` for what has no green channel or is too small for a gradient.
    """
    if len(input_shape) == 1:
        return KN
    C, H, W = input_shape
    if (C, H, W) == (1, 28, 28):
        return LENET5_CKN
    if C in (1, 3, 4) and min(H, W) >= 2:
        return ckn_for(H, W)
    return CNN
