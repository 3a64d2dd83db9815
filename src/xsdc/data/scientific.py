"""Images as instruments write them: of more than 8 bits, and with several pages.

A data set holds pixels of 8 bits. What a microscope or a telescope counts goes from anywhere to anywhere: an image of
16 bits may hold nothing above 200, one of fractions nothing above 1. Such images are brought to 8 bits by one scale,
from the darkest to the brightest value found in all of them. A run keeps the scale for its predictions.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from xsdc.data.roles import listed
from xsdc.errors import InvalidInputError

# What Pillow and zipfile raise where the data end too soon or make no sense.
BROKEN = (
    *(OSError, SyntaxError, ValueError, IndexError, EOFError, NotImplementedError),
    *(struct.error, zlib.error, zipfile.BadZipFile),
)
PAGED = frozenset({"TIFF", "GIF", "PNG", "WEBP"})  # further images in a JPEG are previews of the first
SPARE = 0.001  # share of pixels at either end that may be flaws of a camera, at least one
NAMED = 3  # files that a note names
FEW_SHADES = 16  # of 256

Depth = Literal["8 bits", "deep", "halved"]


class Levels(NamedTuple):
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

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Seen:
    """One image, decoded.

    Attributes
    ----------
    pixels : array, shape (H, W) or (H, W, 3)
        Of uint8; of float32 where the image is deep.
    depth : {"8 bits", "deep", "halved"}
        How many bits it has.
    pages : int
        How many pages the file has.
    """

    pixels: npt.NDArray[Any]
    depth: Depth
    pages: int

    def as_bytes(self, levels: Levels | None) -> npt.NDArray[np.uint8]:
        """Return pixels of 8 bits, which a deep image becomes by the levels."""
        if self.depth != "deep":
            return self.pixels
        return (levels or levels_of(self.pixels)).as_bytes(self.pixels)


class Findings:
    """What is to be said of images, gathered one by one.

    Parameters
    ----------
    levels : Levels, optional
        Those of a fit, where images are brought to 8 bits for a prediction.
    fixed : bool
        Whether levels are those given, also if there are none, since the images of the fit had 8 bits; else they are
        found in the images.
    """

    def __init__(self, levels: Levels | None = None, *, fixed: bool = False) -> None:
        self._given, self._fixed = levels, fixed
        self._n = 0
        self._deep: dict[str, Levels] = {}
        self._halved: list[str] = []
        self._pages: dict[str, int] = {}

    def add(self, name: str, seen: Seen) -> None:
        """Look at an image; refuse one of more than 8 bits where those of the fit had 8."""
        self._n += 1
        if seen.pages > 1:
            self._pages[name] = seen.pages
        if seen.depth == "halved":
            self._halved.append(name)
        if seen.depth == "deep":
            if self._fixed and self._given is None:
                raise InvalidInputError(
                    f"`{name}` has more than 8 bits; images of the fit had 8, and no scale is known to bring it there."
                    " Save it with 8 bits in the way of those, or fit again to images like it."
                )
            self._deep[name] = levels_of(seen.pixels)

    @property
    def levels(self) -> Levels | None:
        """What becomes black and white; None where no image has more than 8 bits."""
        return self._given if self._fixed else _range(self._deep)

    def notes(self) -> list[str]:
        """Say what was done to images that have several pages or more than 8 bits, and what is lost."""
        return [*_pages_note(self._pages), *self._deep_notes(), *_halved_note(self._halved)]

    def _deep_notes(self) -> list[str]:
        levels = self.levels
        if levels is None or not self._deep:
            return []
        notes = [self._beyond_note(levels)] if self._fixed else [_scale_note(self._deep, levels)]
        if len(self._deep) < self._n:
            notes.append(
                f"{self._n - len(self._deep)} image(s) have 8 bits and stayed as they were beside {len(self._deep)} of"
                " more; the two kinds may hardly compare."
            )
        return [*(note for note in notes if note), *_dim_note(self._deep, levels)]

    def _beyond_note(self, levels: Levels) -> str:
        shade = (levels.high - levels.low) / 255
        beyond = [
            name for name, own in self._deep.items() if own.low < levels.low - shade or own.high > levels.high + shade
        ]
        if not beyond:
            return ""
        return (
            f"{len(beyond)} image(s) of more than 8 bits go beyond the range of the fit, {levels}:"
            f" {listed(beyond, limit=NAMED)}. All together go from {_range(self._deep)}. What is beyond was cut off."
        )


def _range(deep: Mapping[str, Levels]) -> Levels | None:
    if not deep:
        return None
    return Levels(min(own.low for own in deep.values()), max(own.high for own in deep.values()))


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
        image.seek(0)
        return 1


def _pages_note(pages: Mapping[str, int]) -> list[str]:
    if not pages:
        return []
    named = ", ".join(f"`{name}` ({count} pages)" for name, count in list(pages.items())[:NAMED])
    more = f" and {len(pages) - NAMED} more" if len(pages) > NAMED else ""
    note = (
        f"{len(pages)} file(s) have several pages, of which the first was read: {named}{more}."
        " Save each page as a file of its own to have them all."
    )
    return [note]


def _scale_note(deep: Mapping[str, Levels], levels: Levels) -> str:
    return (
        f"{len(deep)} image(s) of more than 8 bits were brought to 8 by one scale, from {levels.low:g} (black) to"
        f" {levels.high:g} (white), which is what they hold; predictions use the same."
    )


def _dim_note(deep: Mapping[str, Levels], levels: Levels) -> list[str]:
    least = (levels.high - levels.low) * FEW_SHADES / 256
    dim = [name for name, own in deep.items() if own.high - own.low < least]
    if not dim:
        return []
    note = (
        f"{len(dim)} image(s) of more than 8 bits use fewer than {FEW_SHADES} of the 256 shades:"
        f" {listed(dim, limit=NAMED)}. If there is more to see in them, others are far brighter, or count in another"
        " unit; bring all to 8 bits yourself, in one way."
    )
    return [note]


def _halved_note(halved: Sequence[str]) -> list[str]:
    if not halved:
        return []
    note = (
        f"Of {len(halved)} coloured image(s) of 16 bits only the upper 8 are read: {listed(halved, limit=NAMED)}."
        " If they are dark, bring them to 8 bits yourself."
    )
    return [note]
