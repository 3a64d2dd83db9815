"""Networks declared as data: a list of layers, each with its width, patch, kernel and pooling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass, fields
from typing import Any

from xsdc.errors import InvalidInputError
from xsdc.networks.kernels import RBF, Kernel, Linear, SphereRBF
from xsdc.networks.pooling import POOLINGS, Pooling
from xsdc.networks.roots import ROOT_METHODS
from xsdc.validation import as_count, as_positive

NYSTROM_KERNELS = ("linear", "rbf", "sphere")
PLAIN_KERNELS = ("relu", "affine")
INPUTS = ("vectors", "images", "gradient-map")
NYSTROM_INITS = ("samples", "kmeans", "spherical-kmeans", "identity")
PLAIN_INITS = ("scaled",)


@dataclass(frozen=True)
class LayerConfig:
    """One layer of a network.

    Parameters
    ----------
    width : int
        Number of filters, and of outputs per position.
    patch : int, optional
        Height and width of the patches of an image; None for a layer on vectors (a map before it is flattened).
    kernel : {"linear", "rbf", "sphere", "relu", "affine"}
        A Nyström layer with one of the first three kernels (``rbf`` for vectors only), or a plain layer of
        weights and bias, with rectification (``relu``) or without (``affine``).
    bandwidth : float, optional
        sigma of ``rbf`` (None: the median distance between points) and ``sphere`` (None: 0.6).
    pooling : {None, "average", "gaussian", "max", "global"}
        What follows the layer; see `Pooling`.
    pool_size : int, optional
        Size of the pooling; None for 2.
    stride, padding : int
        Step between patches, and zeros around the map.
    trained : bool, default True
        Whether the filters are trained.
    init : str, optional
        How filters start: ``samples`` (the default), ``kmeans``, ``spherical-kmeans`` or ``identity`` for Nyström
        layers; ``scaled`` for plain ones: random, with outputs of mean zero and variance one on the data.
    """

    width: int
    _: KW_ONLY
    patch: int | None = None
    kernel: str = "sphere"
    bandwidth: float | None = None
    pooling: str | None = None
    pool_size: int | None = None
    stride: int = 1
    padding: int = 0
    trained: bool = True
    init: str | None = None

    def __post_init__(self) -> None:
        _whole(self.width, name="width")
        _one_of(self.kernel, NYSTROM_KERNELS + PLAIN_KERNELS, name="kernel")
        _whole(self.stride, name="stride")
        _whole(self.padding, name="padding", minimum=0)
        if not isinstance(self.trained, bool):
            raise InvalidInputError(f"trained must be true or false; it is {self.trained!r}.")
        self._check_init()
        self._check_bandwidth()
        self._check_pooling()
        self._check_patch()

    def _check_init(self) -> None:
        inits = PLAIN_INITS if self.is_plain else NYSTROM_INITS
        if self.init is not None:
            _one_of(self.init, inits, name=f"init of a layer with kernel {self.kernel!r}")
        if self.init == "spherical-kmeans" and self.kernel == "rbf":
            raise InvalidInputError("init 'spherical-kmeans' is for filters of norm one; kernel 'rbf' has free ones.")
        if self.init == "identity" and self.patch not in (None, 1):
            raise InvalidInputError(f"init 'identity' needs patch 1; patch is {self.patch}.")

    def _check_bandwidth(self) -> None:
        if self.bandwidth is None:
            return
        if self.kernel not in ("rbf", "sphere"):
            raise InvalidInputError(f"bandwidth does not apply to kernel {self.kernel!r}. Leave it out.")
        _number(self.bandwidth, name="bandwidth")

    def _check_pooling(self) -> None:
        if self.pooling is not None:
            _one_of(self.pooling, POOLINGS, name="pooling")
        if self.pool_size is not None:
            if self.pooling in (None, "global"):
                raise InvalidInputError(f"pool_size does not apply to pooling {self.pooling!r}. Leave it out.")
            _whole(self.pool_size, name="pool_size")

    def _check_patch(self) -> None:
        if self.patch is not None:
            _whole(self.patch, name="patch")
            if self.kernel == "rbf":
                raise InvalidInputError("kernel 'rbf' is for vectors; patches lie on the sphere. Use 'sphere'.")
            if self.padding >= self.patch and self.padding > 0:
                raise InvalidInputError(
                    f"padding must be below patch, or some patches lie outside the image; padding is"
                    f" {self.padding}, patch {self.patch}."
                )
        elif self.pooling is not None or self.stride != 1 or self.padding != 0:
            raise InvalidInputError(
                "pooling, stride and padding need images; this layer has no patch. Give patch, or leave them out."
            )

    @property
    def is_plain(self) -> bool:
        """Whether the layer is weights and bias, not a Nyström layer."""
        return self.kernel in PLAIN_KERNELS

    @property
    def start(self) -> str:
        """How filters start, with the default put in."""
        return self.init or ("scaled" if self.is_plain else "samples")

    def make_kernel(self) -> Kernel:
        """Make the kernel; a bandwidth still to come from the data counts as one until then."""
        if self.kernel == "linear":
            return Linear()
        if self.kernel == "rbf":
            return RBF(self.bandwidth or 1.0)
        return SphereRBF(self.bandwidth or 0.6)

    def make_pooling(self) -> Pooling | None:
        """Make the pooling."""
        return None if self.pooling is None else Pooling(self.pooling, self.pool_size or 2)


@dataclass(frozen=True)
class NetworkConfig:
    """A network: its layers and what it takes as input.

    Parameters
    ----------
    layers : sequence of LayerConfig
        From the input to the features.
    input : {"images", "vectors", "gradient-map"}
        What comes in; ``gradient-map`` takes images and computes the gradient of their green channel first.
    name : str, default "custom"
        Shown in descriptions.
    eps : float, default 0.001
        Added to the diagonal of the filters' Gram matrices.
    root : {"eigh", "newton"}
        How the inverse square root is computed; see `inverse_sqrt`.
    root_iter : int, optional
        Newton iterations; None for the paper's 20.
    """

    layers: tuple[LayerConfig, ...]
    _: KW_ONLY
    input: str = "images"
    name: str = "custom"
    eps: float = 1e-3
    root: str = "eigh"
    root_iter: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(self.layers))
        if not self.layers:
            raise InvalidInputError("layers must hold at least one layer; it is empty.")
        _one_of(self.input, INPUTS, name="input")
        _one_of(self.root, ROOT_METHODS, name="root")
        _number(self.eps, name="eps")
        if self.root_iter is not None:
            _whole(self.root_iter, name="root_iter")
            if self.root != "newton":
                raise InvalidInputError("root_iter is for root 'newton'. Leave it out, or choose that root.")
        vectors = self.input == "vectors"
        for number, layer in enumerate(self.layers, start=1):
            if not isinstance(layer, LayerConfig):
                raise InvalidInputError(f"layer {number}: must be a LayerConfig; it is {layer!r}.")
            if vectors and layer.patch is not None:
                before = "the input is vectors" if number == 1 else "a layer before it flattened the map"
                raise InvalidInputError(f"layer {number}: patch must be left out, since {before}.")
            vectors = layer.patch is None

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration as plain data that JSON can hold; fields at their default are left out."""
        result = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "layers"}
        result["layers"] = [_without_defaults(layer) for layer in self.layers]
        return result

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NetworkConfig:
        """Read a configuration from plain data; errors name the layer and the field."""
        _known_fields(data, cls, where="network")
        layers = data.get("layers")
        if not isinstance(layers, list | tuple):
            raise InvalidInputError(f"layers must be a list, one entry per layer; it is {layers!r}.")
        built = tuple(_read_layer(layer, number) for number, layer in enumerate(layers, start=1))
        return cls(**{**data, "layers": built})


def _read_layer(data: Mapping[str, Any] | LayerConfig, number: int) -> LayerConfig:
    if isinstance(data, LayerConfig):
        return data
    if not isinstance(data, Mapping):
        raise InvalidInputError(f"layer {number}: must be a mapping of fields such as width and patch; it is {data!r}.")
    _known_fields(data, LayerConfig, where=f"layer {number}")
    if "width" not in data:
        raise InvalidInputError(f"layer {number}: width is missing. Give the number of filters.")
    try:
        return LayerConfig(**data)
    except InvalidInputError as error:
        raise InvalidInputError(f"layer {number}: {error}") from error


def _known_fields(data: Mapping[str, Any], cls: type[LayerConfig] | type[NetworkConfig], *, where: str) -> None:
    known = [f.name for f in fields(cls)]
    for key in data:
        if key not in known:
            raise InvalidInputError(f"{where}: unknown field {key!r}. The fields are {', '.join(known)}.")


def _without_defaults(layer: LayerConfig) -> dict[str, Any]:
    defaults = {f.name: f.default for f in fields(LayerConfig)}
    return {key: value for key, value in asdict(layer).items() if value != defaults[key]}


def _one_of(value: object, allowed: tuple[str, ...], *, name: str) -> None:
    if value not in allowed:
        raise InvalidInputError(f"{name} must be one of {', '.join(allowed)}; it is {value!r}.")


def _whole(value: object, *, name: str, minimum: int = 1) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInputError(f"{name} must be a whole number of at least {minimum}; it is {value!r}.")
    as_count(value, name=name, minimum=minimum)


def _number(value: object, *, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInputError(f"{name} must be a number above zero; it is {value!r}.")
    as_positive(value, name=name)
