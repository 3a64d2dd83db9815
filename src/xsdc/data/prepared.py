"""Preparing data too large for memory: learned from a sample, done block by block, kept in a file."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xsdc.data.blocks import SAMPLE, Rows, spread
from xsdc.data.dataset import Dataset
from xsdc.data.fitting import Scale, learn_preparation, with_losses
from xsdc.data.preparation import Preparation
from xsdc.data.remarks import Remarks
from xsdc.errors import InvalidInputError

SAMPLE_CELLS = 50_000_000
SAMPLE_IMAGES = 2000  # nothing is learned from them; they are looked at for what is suspicious


@dataclass(frozen=True)
class Prepared:
    """A data set, prepared.

    Attributes
    ----------
    preparation : Preparation
        How it was.
    Z : array
        What a fit takes: in memory, or a map of the file that holds it.
    """

    preparation: Preparation
    Z: npt.NDArray[Any]


def draw_sample(dataset: Dataset) -> Dataset:
    """Take points evenly over a data set that is read block by block: at most 200,000 of them, or 50 million cells."""
    if dataset.kind == "images":
        return dataset.taken(spread(dataset.n, SAMPLE_IMAGES))
    width = max(1, dataset.X.blocks.width)
    return dataset.taken(spread(dataset.n, max(1, min(SAMPLE, SAMPLE_CELLS // width))))


def prepare_large(dataset: Dataset, learned: Preparation, path: Path, *, again: bool = False) -> Prepared:
    """Make numbers of a data set block by block.

    Parameters
    ----------
    dataset : Dataset
        Whose X is `Rows`.
    learned : Preparation
        How to make them, as `learn_preparation` learned it from a sample, or as it was saved.
    path : Path
        The npy file to write.
    again : bool
        Whether it was done before, so that the notes say already which cells are missing.

    Returns
    -------
    Prepared
        Its preparation also says which cells are missing, counted over all points.
    """
    remarks = Remarks(learned)
    write_blocks(dataset.X, learned, path, remarks)
    preparation = learned if again else with_losses(learned, remarks.lost)
    return Prepared(preparation, np.load(path, mmap_mode="r", allow_pickle=False))


def learn_from_sample(dataset: Dataset, sample: Dataset, *, scale: Scale = "auto") -> Preparation:
    """Learn how to make numbers of a data set from some of its points, and say so."""
    learned = learn_preparation(sample, scale=scale)
    return replace(learned, notes=[_note(dataset, sample), *learned.notes])


def write_blocks(rows: Rows, preparation: Preparation, path: Path, remarks: Remarks) -> None:
    """Write prepared points as one npy file; one block at a time is in memory."""
    dtype: np.dtype[Any] | None = None
    with path.open("wb") as file:
        for block in rows:
            Z = np.ascontiguousarray(preparation.transform(block))
            remarks.add(block)
            if dtype is None:
                dtype = Z.dtype
                _require_room(len(rows) * Z[:1].nbytes, path)
                shape = (len(rows), *Z.shape[1:])
                header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_2_0(file, header)
            file.write(Z.astype(dtype, copy=False).data)


def _require_room(needed: int, path: Path) -> None:
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise InvalidInputError(
            f"The prepared points take {needed / 2**30:.1f} GB and {free / 2**30:.1f} GB are free in {path.parent}."
            " Make room there, or take a part of the data."
        )


def _note(dataset: Dataset, sample: Dataset) -> str:
    how = "The data are large and were prepared block by block"
    if dataset.kind == "images" or sample.n == dataset.n:
        return f"{how}."
    return (
        f"{how}; what columns are, their medians, deviations and categories were learned from {sample.n:,} of"
        f" {dataset.n:,} rows, drawn evenly."
    )
