"""Reading image arrays: which axis is the channel, which scale the pixels have. What is unclear is asked for."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from xsdc.errors import InvalidInputError
from xsdc.validation import require_finite

CHANNEL_COUNTS = (1, 2, 3, 4)
CHANNEL_AXES = (None, "first", "last")


def is_image_array(X: object) -> bool:
    """Whether X, an array, tensor or nested list, has the axes of a batch of images, (n, H, W) or (n, ., ., .)."""
    ndim = getattr(X, "ndim", None)
    if ndim is None:
        try:
            ndim = np.asarray(X).ndim
        except ValueError:  # lists of unequal lengths: no array at all, which the reader of vectors explains
            return False
    return ndim in (3, 4)


def as_images(X: object, *, channels: str | None = None, dtype: torch.dtype = torch.float32, name: str = "X") -> Tensor:
    """Bring a batch of images into the one layout the networks use.

    Parameters
    ----------
    X : array or tensor (n, H, W), (n, H, W, C) or (n, C, H, W)
        Images, uint8 or floating point. uint8 is scaled from 0..255 to [0, 1]; floats are taken as they are.
    channels : {None, "first", "last"}
        Where the channel axis of a 4-D array stands. None finds it as the only axis, of the second and the
        last, that has 1 to 4 entries, and raises when that holds for both or for neither.
    dtype : torch.dtype, default float32
        Type of the result.
    name : str
        Name of X in messages.

    Returns
    -------
    Tensor (n, C, H, W)
    """
    if channels not in CHANNEL_AXES:
        raise InvalidInputError(f"channels must be 'first', 'last' or None; it is {channels!r}.")
    images = _as_pixels(X, name=name)
    if images.ndim not in (3, 4) or 0 in images.shape:
        raise InvalidInputError(
            f"{name} must hold images, as (n, H, W), (n, H, W, C) or (n, C, H, W); it has shape {tuple(images.shape)}."
        )
    if images.ndim == 3:
        if channels is not None:
            raise InvalidInputError(
                f"{name} has shape {tuple(images.shape)}, gray images (n, H, W) without a channel axis;"
                f" channels={channels!r} does not apply. Leave it out, or add the axis."
            )
        _refuse_single_image(tuple(images.shape), name=name)
        images = images.unsqueeze(1)
    elif (channels or _channel_axis(tuple(images.shape), name=name)) == "last":
        images = images.permute(0, 3, 1, 2)
    images = images.to(dtype) / 255 if images.dtype == torch.uint8 else images.to(dtype)
    require_finite(images, name=name)
    return images


def _refuse_single_image(shape: tuple[int, ...], *, name: str) -> None:
    if shape[2] in CHANNEL_COUNTS and shape[1] > max(CHANNEL_COUNTS):
        raise InvalidInputError(
            f"{name} has shape {shape}: one image (H, W, C), or {shape[0]} gray images that are {shape[2]} pixel(s)"
            " wide? Add the batch axis for the former, (1, H, W, C); for the latter pass (n, 1, H, W) and"
            " channels='first'."
        )


def _channel_axis(shape: tuple[int, ...], *, name: str) -> str:
    first, last = shape[1] in CHANNEL_COUNTS, shape[3] in CHANNEL_COUNTS
    if first != last:
        return "first" if first else "last"
    reason = "either end could be" if first else "neither end looks like"
    raise InvalidInputError(
        f"{name} has shape {shape}: {reason} the channel axis (1 to 4 entries)."
        " Say which it is with channels='first' or channels='last'."
    )


def _as_pixels(X: object, *, name: str) -> Tensor:
    if isinstance(X, Tensor):
        images = X
    else:
        array = np.asarray(X)
        if array.dtype.kind not in "biuf":
            raise InvalidInputError(f"{name} must hold images of numbers; it holds {array.dtype}.")
        if array.dtype.itemsize > 1 and not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        if array.dtype == bool:
            array = array.astype(np.float32)
        if not array.flags.writeable or any(stride < 0 for stride in array.strides):
            array = array.copy()
        if array.dtype not in (np.uint8, np.float16, np.float32, np.float64):
            raise InvalidInputError(_type_message(name, str(array.dtype)))
        images = torch.from_numpy(array)
    if images.dtype == torch.bool:
        images = images.to(torch.float32)
    if images.dtype != torch.uint8 and not images.is_floating_point():
        raise InvalidInputError(_type_message(name, str(images.dtype)))
    return images


def _type_message(name: str, dtype: str) -> str:
    return (
        f"{name} must hold uint8 (0 to 255, scaled to [0, 1]) or floating-point pixels; it holds {dtype}, whose"
        " scale is not known. Convert it to one of them."
    )


def gradient_map(x: Tensor) -> Tensor:
    """Compute the input of the paper's network for CIFAR-10: the image gradient of the green channel.

    Parameters
    ----------
    x : Tensor (n, C, H, W)
        Images in [0, 1]; the green channel is the second of three or four, and the only one of gray images.

    Returns
    -------
    Tensor (n, 2, H, W)
        Vertical and horizontal differences: central inside, one-sided at the border.
    """
    C, H, W = x.shape[1:]
    if C not in (1, 3, 4) or min(H, W) < 2:
        raise InvalidInputError(
            "The gradient map needs gray (1 channel) or colour (3 or 4) images of at least 2×2 pixels; these have"
            f" {C} channel(s) of {H}×{W}."
        )
    green = x[:, 0 if C == 1 else 1]  # (n, H, W)
    vertical, horizontal = torch.gradient(green, dim=(1, 2))
    return torch.stack((vertical, horizontal), dim=1)


def channels_last(x: Tensor) -> Tensor:
    """Return x (n, C, H, W) with channels last in memory, also for one channel.

    With C = 1 every layout is contiguous in every sense and a convolution takes it for channels-first: its
    output, and all maps after it, then lie the slow way round (three times slower for the whole network).
    Strides that say "last" decide it.
    """
    if x.shape[1] == 1:
        n, _, H, W = x.shape
        return x.reshape(n, H, W, 1).permute(0, 3, 1, 2)
    return x.contiguous(memory_format=torch.channels_last)
