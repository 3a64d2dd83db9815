"""Pixels as data URIs: one sheet of all thumbnails, and the equivalence matrix."""

from __future__ import annotations

import base64
import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

Floats = npt.NDArray[np.floating[Any]]
Pixels = npt.NDArray[np.uint8]

LARGEST_SIDE = 32  # pixels of a thumbnail; 2,000 of them stay below 2 MB
BLUE = (44, 123, 201)  # of the equivalence matrix: seen on white and on near-black


@dataclass(frozen=True)
class Sheet:
    """All thumbnails in one image, row by row.

    Attributes
    ----------
    uri : str
        The image as a data URI.
    columns, rows : int
        How many thumbnails stand side by side and one below the other.
    width, height : int
        Pixels of one.
    ink : str
        "light" or "dark" where they are drawings in that ink on a plain ground, so that the ink can take
        the colour of a class; "" for photographs.
    """

    uri: str
    columns: int
    rows: int
    width: int
    height: int
    ink: str

    def place(self, index: int) -> str:
        """Where a thumbnail stands, as a CSS ``background-position``."""
        row, column = divmod(index, self.columns)
        x = 100 * column / max(self.columns - 1, 1)
        y = 100 * row / max(self.rows - 1, 1)
        return f"{x:.4g}% {y:.4g}%"


def make_sheet(pictures: Pixels) -> Sheet:
    """Put pictures, shape (m, h, w) or (m, h, w, 3), on one sheet."""
    small = _shrink(pictures)
    m, height, width = small.shape[:3]
    columns = max(1, math.ceil(math.sqrt(m)))
    rows = max(1, math.ceil(m / columns))
    padded = np.zeros((rows * columns, *small.shape[1:]), dtype=np.uint8)
    padded[:m] = small
    tiles = padded.reshape(rows, columns, *small.shape[1:])
    sheet = np.swapaxes(tiles, 1, 2).reshape(rows * height, columns * width, *small.shape[3:])
    return Sheet(_uri(Image.fromarray(sheet)), columns, rows, width, height, _ink(small))


def draw_matrix(M: Floats) -> str:
    """Picture of a matrix with entries in [0, 1]: blue, as opaque as an entry is large, to lie on any ground."""
    alpha = np.round(255 * np.clip(np.nan_to_num(M), 0, 1)).astype(np.uint8)
    pixels = np.empty((*M.shape, 4), dtype=np.uint8)
    pixels[..., :3] = BLUE
    pixels[..., 3] = alpha
    return _uri(Image.fromarray(pixels))


def _shrink(pictures: Pixels) -> Pixels:
    """Scale down to the largest side of a thumbnail; smaller ones stay as they are."""
    pictures = pictures[..., 0] if pictures.ndim == 4 and pictures.shape[3] == 1 else pictures
    height, width = pictures.shape[1:3]
    scale = LARGEST_SIDE / max(height, width)
    if scale >= 1:
        return np.asarray(pictures, dtype=np.uint8)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.stack([np.asarray(Image.fromarray(picture).resize(size)) for picture in pictures])


def _ink(pictures: Pixels) -> str:
    """Whether grey pictures are drawings: most of the rim one plain tone, and strokes that differ from it."""
    if pictures.ndim == 4 or not pictures.size:
        return ""
    rim = np.concatenate([pictures[:, [0, -1]].ravel(), pictures[:, :, [0, -1]].ravel()])
    if np.mean(rim < 48) > 0.6:
        return "light"
    return "dark" if np.mean(rim > 207) > 0.6 else ""


def _uri(image: Image.Image) -> str:
    """Encode without loss, unless it is coloured and has no alpha: photographs."""
    kind = "JPEG" if image.mode == "RGB" else "PNG"
    stream = io.BytesIO()
    image.save(stream, kind, optimize=True, **({"quality": 85} if kind == "JPEG" else {}))
    return f"data:image/{kind.lower()};base64,{base64.b64encode(stream.getvalue()).decode()}"
