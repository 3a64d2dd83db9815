"""How much memory a file would take if it were read whole, told without reading it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from xsdc.data.h5ad import open_h5ad
from xsdc.data.images import LONGEST_SIDE, ImageSize, open_images
from xsdc.data.stored import StoredArray, open_npy, open_npz
from xsdc.data.tables import parquet_size
from xsdc.data.text import COPIES

PACKED = 5  # times that text shrinks when it is gzipped, roughly
PREPARED = 2 * 8  # bytes of a number that is filled in and scaled


def estimated_size(path: Path, kind: str, image_size: ImageSize = None) -> int:
    """Estimate the bytes that points take, read and prepared.

    Parameters
    ----------
    path : Path
        A file or folder.
    kind : {"table", "parquet", "npz", "npy", "h5ad", "images"}
        What it is.
    image_size : int or pair of int, optional
        Size to which images are brought.

    Returns
    -------
    int
    """
    if kind == "images":
        return _images(path, image_size)
    if kind == "parquet":
        return 2 * parquet_size(path)
    if kind == "h5ad":
        with open_h5ad(path) as file:
            return (4 + PREPARED) * int(np.prod(file.shape, dtype=object))
    if kind == "npy":
        return _array(open_npy(path))
    if kind == "npz":
        return sum(map(_array, open_npz(path).values()))
    with path.open("rb") as text:
        packed = text.read(2) == b"\x1f\x8b"
    return COPIES * path.stat().st_size * (PACKED if packed else 1)


def _array(array: StoredArray) -> int:
    more = PREPARED * (array.nbytes // max(1, array.dtype.itemsize)) if array.ndim == 2 else 0
    return array.nbytes + more


def _images(path: Path, image_size: ImageSize) -> int:
    with open_images(path) as source:
        n = len(source.names)
    if isinstance(image_size, tuple):
        return 3 * image_size[0] * image_size[1] * n
    return 3 * (image_size or LONGEST_SIDE) ** 2 * n
