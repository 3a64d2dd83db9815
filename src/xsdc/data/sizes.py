"""How much memory a file would take if it were read whole, told without reading it."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from xsdc.data.h5ad import open_h5ad
from xsdc.data.images import LONGEST_SIDE, ImageSize, open_images
from xsdc.data.sheets import parquet_size
from xsdc.data.stored import StoredArray, open_npy, open_npz
from xsdc.data.tables import COPIES
from xsdc.data.text import unpacked_size

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
    sizes: dict[str, Callable[[Path], int]] = {
        "images": lambda path: _images(path, image_size),
        "texts": _texts,
        "parquet": lambda path: 2 * parquet_size(path),
        "h5ad": _matrix,
        "npy": lambda path: _array(open_npy(path)),
        "npz": lambda path: sum(map(_array, open_npz(path).values())),
        "sheet": _zipped,
        "sparse": _zipped,
    }
    return sizes[kind](path) if kind in sizes else COPIES * unpacked_size(path)


def _texts(path: Path) -> int:
    if not path.is_dir():
        return _zipped(path)
    return COPIES * sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _zipped(path: Path) -> int:
    with zipfile.ZipFile(path) as packed:
        return 2 * sum(info.file_size for info in packed.infolist())


def _matrix(path: Path) -> int:
    with open_h5ad(path) as file:
        return (4 + PREPARED) * int(np.prod(file.shape, dtype=object))


def _array(array: StoredArray) -> int:
    more = PREPARED * (array.nbytes // max(1, array.dtype.itemsize)) if array.ndim == 2 else 0
    return array.nbytes + more


def _images(path: Path, image_size: ImageSize) -> int:
    with open_images(path) as source:
        n = len(source.names)
    if isinstance(image_size, tuple):
        return 3 * image_size[0] * image_size[1] * n
    return 3 * (image_size or LONGEST_SIDE) ** 2 * n
