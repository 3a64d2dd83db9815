"""Preparing data: in memory as a whole, or, where they are too large, learned from a sample and done block by block."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xsdc.data.blocks import SAMPLE, SAMPLE_CELLS, Rows, spread
from xsdc.data.dataset import Dataset
from xsdc.data.preparation import Preparation
from xsdc.data.remarks import Remarks
from xsdc.errors import InvalidInputError

COMPARED = 4096  # points at a time
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

    @property
    def varies(self) -> bool:
        """Whether any point differs from the first."""
        blocks = (self.Z[begin : begin + COMPARED] for begin in range(0, len(self.Z), COMPARED))
        return any(bool((block != self.Z[:1]).any()) for block in blocks)


def draw_sample(dataset: Dataset) -> Dataset:
    """Take points evenly over a data set that is read block by block: at most 200,000 of them, or 50 million cells."""
    rows: Rows = dataset.X
    if rows.sample is not None:
        places = rows.sample.index.to_numpy()
        frame = rows.sample
    elif dataset.kind == "images":
        return dataset.taken(spread(dataset.n, SAMPLE_IMAGES))
    else:
        return dataset.taken(spread(dataset.n, max(1, min(SAMPLE, SAMPLE_CELLS // max(1, rows.blocks.width)))))
    return replace(replace(dataset, X=np.zeros((dataset.n, 0))).taken(places), X=frame)


def prepare(dataset: Dataset, preparation: Preparation, path: Path | None = None, *, again: bool = False) -> Prepared:
    """Make numbers of a data set; block by block, in a file, where it is read as it is needed.

    Parameters
    ----------
    dataset : Dataset
        What was read.
    preparation : Preparation
        How to make them, fitted; it learns to say which cells are missing, counted over all points.
    path : Path, optional
        The npy file to write, where X is `Rows`.
    again : bool
        Whether it was done before, so that the notes say already which cells are missing.
    """
    remarks = Remarks(preparation)
    if isinstance(dataset.X, Rows):
        assert path is not None  # noqa: S101  whoever reads in blocks has a place for them
        _write_blocks(dataset.X, preparation, path, remarks)
        Z = np.load(path, mmap_mode="r", allow_pickle=False)
    else:
        Z = preparation.transform(dataset)
        remarks.add(dataset)
    if not again:
        preparation.notes_ = [*preparation.notes_, *remarks.lost()]
    return Prepared(preparation, Z)


def learn_from_sample(dataset: Dataset, sample: Dataset, preparation: Preparation) -> Preparation:
    """Learn how to make numbers of a data set from some of its points, and say so."""
    learned = preparation.fit(sample)
    how = "The data are large and were prepared block by block"
    if dataset.kind != "images" and sample.n < dataset.n:
        how = (
            f"{how}; what columns are, their medians, deviations, categories and texts were learned from"
            f" {sample.n:,} of {dataset.n:,} rows, drawn evenly"
        )
    learned.notes_ = [f"{how}.", *learned.notes_]
    return learned


def _write_blocks(rows: Rows, preparation: Preparation, path: Path, remarks: Remarks) -> None:
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
