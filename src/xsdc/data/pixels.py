"""Arrays of images to the one form that data sets use: uint8, gray (n, H, W) or colour (n, H, W, 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xsdc.errors import InvalidInputError

COLOURS = (1, 3)
LUMA = np.array([0.299, 0.587, 0.114])  # ITU-R BT.601, as Pillow has it


def as_pixels(array: npt.NDArray[Any], *, name: str) -> tuple[npt.NDArray[np.uint8], list[str]]:
    """Bring an array of images into the form of a data set, and say what was done.

    Parameters
    ----------
    array : array, shape (n, H, W), (n, H, W, C) or (n, C, H, W), where C is 1 or 3
        Pixels: uint8, other numbers from 0 to 255, fractions from 0 to 1, or booleans.
    name : str
        What to call the array in messages.

    Returns
    -------
    pixels : array of uint8, shape (n, H, W) or (n, H, W, 3)
    notes : list of str
    """
    if 0 in array.shape:
        raise InvalidInputError(f"{name} must hold images; it is empty, of shape {array.shape}.")
    images = channels_last(array, name=name)
    shades = Shades()
    shades.add(array)
    notes = shades.check(array.dtype, name=name)
    return as_bytes(images, shades.high), notes


class Shades:
    """From where to where pixels go, gathered over the blocks of an array."""

    def __init__(self) -> None:
        self.low, self.high = np.inf, -np.inf
        self.exact = True

    def add(self, array: npt.NDArray[Any]) -> None:
        """Look at a block."""
        if array.dtype == np.uint8 or array.dtype.kind == "b":
            return
        self.low = float(np.minimum(self.low, array.min()))  # NaN stays NaN
        self.high = float(np.maximum(self.high, array.max()))
        self.exact = self.exact and (array.dtype.kind != "f" or bool((np.rint(array) == array).all()))

    def check(self, dtype: np.dtype[Any], *, name: str) -> list[str]:
        """Refuse what are no pixels; say what is done to them."""
        if dtype == np.uint8 or dtype.kind == "b":
            return []
        if not (self.low >= 0 and self.high <= 255):  # also where either is NaN
            raise InvalidInputError(
                f"{name} must hold pixels from 0 to 1 or from 0 to 255; they go from {self.low:g} to {self.high:g}."
                " Shift and scale them, or flatten them to (n, d) if they are not images."
            )
        if dtype.kind == "f" and self.high <= 1:
            return [f"Pixels of {name} from 0 to 1 were brought to 0 to 255."]
        return [] if self.exact else [f"Pixels of {name} were rounded to whole numbers from 0 to 255."]


def channels_last(array: npt.NDArray[Any], *, name: str) -> npt.NDArray[Any]:
    """Put colours last; refuse shapes that are none of images."""
    if array.ndim == 3:
        if array.shape[2] in (*COLOURS, 4) and array.shape[1] > 4:
            raise InvalidInputError(
                f"{name} has shape {array.shape} and looks like one image; images need a first axis that counts them."
            )
        return array
    first, last = array.shape[1] in COLOURS, array.shape[3] in COLOURS
    if first == last:
        raise InvalidInputError(
            f"{name} has shape {array.shape}: images must be (n, H, W, C) or (n, C, H, W) with 1 or 3 channels C, and"
            f" {'either end could be C' if first else 'neither end is'}. Save them as (n, H, W, 3) or (n, H, W)."
        )
    moved = np.moveaxis(array, 1, 3) if first else array
    return moved[..., 0] if moved.shape[3] == 1 else moved


def as_bytes(array: npt.NDArray[Any], high: float) -> npt.NDArray[np.uint8]:
    """Bring pixels, the highest of which is known, to whole numbers from 0 to 255."""
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    if array.dtype.kind == "b":
        return array.astype(np.uint8) * np.uint8(255)
    scaled = array * 255 if array.dtype.kind == "f" and high <= 1 else array
    rounded: npt.NDArray[np.uint8] = np.rint(scaled).astype(np.uint8)
    return rounded


def as_coloured(pixels: npt.NDArray[np.uint8], *, coloured: bool) -> npt.NDArray[np.uint8]:
    """Bring images to gray or to colour; those that are so already are returned as they are."""
    if coloured and pixels.ndim == 3:
        return np.repeat(pixels[..., None], 3, axis=3)
    if not coloured and pixels.ndim == 4:
        gray: npt.NDArray[np.uint8] = np.rint(pixels @ LUMA).astype(np.uint8)
        return gray
    return pixels
