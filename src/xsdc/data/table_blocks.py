"""Tables in blocks: CSV and its relatives, and Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from xsdc.data.blocks import Blocks, Rows, unlabeled
from xsdc.data.dataset import Dataset
from xsdc.data.frames import Frames, look_at_csv, look_at_parquet
from xsdc.data.roles import Roles
from xsdc.data.tables import column_ids, require_columns, with_cells


class TableBlocks(Blocks):
    """A table that is read block by block.

    Parameters
    ----------
    frames : Frames
        The table in pieces.
    roles : Roles
        What its columns are.
    """

    kind = "table"

    def __init__(self, frames: Frames, roles: Roles) -> None:
        require_columns(frames.columns, roles, n=frames.n, name=frames.name)
        self.frames, self.roles = frames, roles
        self.name, self.notes = frames.name, frames.notes
        self.doubts, self.numerals = frames.doubts, frames.numerals

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.frames.columns)

    def read(self, rows: int) -> Iterator[Dataset]:
        """Yield so many rows at a time, with their ids and without labels."""
        done = 0
        for frame in self.frames.read(rows):
            places = np.arange(done, done + len(frame))
            column = self.roles.id
            yield Dataset(
                name=self.name,
                kind="table",
                X=frame.drop(columns=list(self.roles.named)).reset_index(drop=True),
                ids=places if column is None else column_ids(frame[column], column=column, begin=done),
                id_name=column or "row",
                labels=unlabeled(len(frame)),
            )
            done += len(frame)

    def known(self) -> Dataset:
        """Return ids, labels and truth of all rows; the columns are read later."""
        wanted = [column for column in (self.roles.label, self.roles.truth, self.roles.id) if column is not None]
        cells = pd.DataFrame()
        if wanted:
            cells = pd.concat([frame[wanted] for frame in self.frames.read(self.rows())], ignore_index=True)
        columns = [column for column in self.frames.columns if column not in self.roles.named]
        dataset = with_cells(
            Rows(self, self.frames.n), cells, self.roles, name=self.name, columns=columns, notes=self.notes
        )
        return replace(dataset, doubts=list(self.doubts), numerals=self.numerals)


def csv_blocks(path: Path, roles: Roles) -> TableBlocks:
    """Open a table in text."""
    return TableBlocks(look_at_csv(path, roles), roles)


def parquet_blocks(path: Path, roles: Roles) -> TableBlocks:
    """Open a table in Parquet."""
    return TableBlocks(look_at_parquet(path), roles)
