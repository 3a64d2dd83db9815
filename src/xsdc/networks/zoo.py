"""The networks that have a name: the paper's three, two that are made for the size of the images, and the choice."""

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


def cnn_for(height: int, width: int) -> NetworkConfig:
    """Make a plain convolutional network for images of any size.

    Four layers of 3×3 patches, with maxima over 2×2 after three of them as long as the map has two pixels a side, and
    one mean over what is left. Larger images first pass layers that halve them until they have at most 40 pixels a
    side.
    """
    smaller, larger = sorted((height, width))
    layers: list[LayerConfig] = []

    def add(filters: int, *, halve: bool) -> None:
        nonlocal smaller, larger
        pool = "max" if halve and smaller > 1 else None
        layers.append(LayerConfig(filters, patch=3, padding=1, kernel="relu", pooling=pool))
        if pool:
            smaller, larger = smaller // 2, larger // 2

    while larger > 40 and smaller > 1:
        add(32, halve=True)
    for filters, halve in ((32, True), (64, True), (64, False)):
        add(filters, halve=halve)
    layers.append(LayerConfig(128, patch=3, padding=1, kernel="relu", pooling="global"))
    return NetworkConfig(tuple(layers), name="cnn")


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


NETWORKS = {config.name: config for config in (KN, LENET5_CKN, CKN_GM)}
SIZED = {"ckn": ckn_for, "cnn": cnn_for}  # made for the size of the images
NAMES = (*NETWORKS, *SIZED)


def choose_config(input_shape: tuple[int, ...]) -> NetworkConfig:
    """Choose a network by the shape of one input, (d,) or (C, H, W): ``kn`` for vectors, `cnn_for` images."""
    if len(input_shape) == 1:
        return KN
    _, H, W = input_shape
    return cnn_for(H, W)
