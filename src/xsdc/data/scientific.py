"""Images as instruments write them: of more than 8 bits, and with several pages.

A data set holds pixels of 8 bits. What a microscope or a telescope counts goes from anywhere to anywhere: an image of
16 bits may hold nothing above 200, one of fractions nothing above 1. Each such image is brought to 8 bits from its own
darkest to its own brightest value. Nothing is learned from other images, so that a fit and a prediction do the same.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image

from xsdc.data.roles import listed

# What Pillow and zipfile raise where the data end too soon or make no sense.
BROKEN = (
    *(OSError, SyntaxError, ValueError, IndexError, EOFError, NotImplementedError),
    *(struct.error, zlib.error, zipfile.BadZipFile),
)
PAGED = frozenset({"TIFF", "GIF", "PNG", "WEBP"})  # further images in a JPEG are previews of the first
SPARE = 0.001  # share of pixels at either end that may be flaws of a camera, at least one
NAMED = 3  # files that a note names

Depth = Literal["8 bits", "deep", "halved"]


@dataclass(frozen=True)
class Look:
    """What an image says of itself before it is decoded: bits, width and height as one sees them, pages."""

    depth: Depth
    size: tuple[int, int]
    pages: int


@dataclass(frozen=True)
class Levels:
    """The values that become black (0) and white (255); what is beyond is cut off."""

    low: float
    high: float

    def as_bytes(self, values: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
        """Bring values to whole numbers from 0 to 255."""
        if self.high <= self.low:
            return np.where(values > self.high, 255, 0).astype(np.uint8)
        shares = (values.astype(np.float64) - self.low) / (self.high - self.low)
        scaled: npt.NDArray[np.uint8] = np.rint(255 * shares.clip(0, 1)).astype(np.uint8)
        return scaled


def levels_of(values: npt.NDArray[Any]) -> Levels:
    """Return from where to where an image goes, but for one pixel of a thousand at either end, which may be a flaw."""
    ordered = np.sort(values, axis=None)
    spare = max(1, int(SPARE * ordered.size))
    if ordered.size > 2 * spare and ordered[-1 - spare] > ordered[spare]:
        return Levels(float(ordered[spare]), float(ordered[-1 - spare]))
    return Levels(float(ordered[0]), float(ordered[-1]))


def depth_of(image: Image.Image) -> Depth:
    """Tell how many bits the pixels of an image have that is opened and not yet decoded.

    Returns
    -------
    {"8 bits", "deep", "halved"}
        "deep" for gray images of more than 8 bits, whole numbers or fractions; "halved" for colours of 16 bits, of
        which Pillow gives the upper 8.
    """
    if is_deep(image):
        return "deep"
    tiles = getattr(image, "tile", [])
    packed = tiles[0][3] if tiles else ""  # how pixels are stored: "RGB;16B", or a tuple that begins with it
    if isinstance(packed, tuple):
        packed = packed[0] if packed else ""
    return "halved" if ";16" in str(packed) else "8 bits"


def is_deep(image: Image.Image) -> bool:
    """Tell whether an image is gray of more than 8 bits."""
    return image.mode.startswith("I") or image.mode == "F"


def as_fractions(image: Image.Image) -> Image.Image:
    """Return a gray image of more than 8 bits in fractions, which Pillow can scale; what is no number is darkest."""
    values = np.asarray(image).astype(np.float32)
    finite = np.isfinite(values)
    if not finite.all():
        values[~finite] = values[finite].min() if finite.any() else 0
    return Image.fromarray(values)


def count_pages(image: Image.Image) -> int:
    """Count the pages of an image, or the pictures of an animation; 1 where later ones are broken."""
    if image.format not in PAGED:
        return 1
    try:
        return int(getattr(image, "n_frames", 1))
    except (*BROKEN, TypeError, KeyError):  # these where a page lacks what it needs
        return 1


def look_notes(looks: Mapping[str, Look]) -> list[str]:
    """Say what is lost of images that have several pages or more than 8 bits."""
    return [*_pages_note(looks), *_deep_note(looks), *_halved_note(looks)]


def _pages_note(looks: Mapping[str, Look]) -> list[str]:
    several = [f"`{name}` ({look.pages} pages)" for name, look in looks.items() if look.pages > 1]
    if not several:
        return []
    more = f" and {len(several) - NAMED} more" if len(several) > NAMED else ""
    note = (
        f"{len(several)} file(s) have several pages, of which the first was read: {', '.join(several[:NAMED])}{more}."
        " Save each page as a file of its own to have them all."
    )
    return [note]


def _deep_note(looks: Mapping[str, Look]) -> list[str]:
    deep = [name for name, look in looks.items() if look.depth == "deep"]
    if not deep:
        return []
    others = len(looks) - len(deep)
    rest = f" The other {others} have 8 bits and are as they came; the two kinds hardly compare." if others else ""
    note = (
        f"{len(deep)} image(s) of more than 8 bits were brought to 8, each from its own darkest to its own brightest"
        f" value: {listed(deep, limit=NAMED)}. Which of them is brighter than another is lost; where that matters,"
        f" bring them to 8 bits yourself, all in one way.{rest}"
    )
    return [note]


def _halved_note(looks: Mapping[str, Look]) -> list[str]:
    halved = [name for name, look in looks.items() if look.depth == "halved"]
    if not halved:
        return []
    note = (
        f"Of {len(halved)} coloured image(s) of 16 bits only the upper 8 are read: {listed(halved, limit=NAMED)}."
        " If they are dark, bring them to 8 bits yourself."
    )
    return [note]
