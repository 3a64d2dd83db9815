"""Tables written block by block; they appear under their name once they are whole."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import TracebackType
from typing import Any

import pandas as pd

from xsdc.errors import InvalidInputError

PARQUET = (".parquet", ".pq")


class TableWriter:
    """Writes a CSV file, or Parquet where the name says so. What fails or is interrupted leaves nothing behind.

    Parameters
    ----------
    path : Path
        The file.
    packed : bool
        Whether it is Parquet whatever its name.
    """

    def __init__(self, path: Path, *, packed: bool = False) -> None:
        self.path = path
        self.n = 0
        self._partial = path.with_name(f".{path.name}.partial")
        self._packed: Any = None
        self._arrow: Any = _pyarrow() if packed or path.suffix.lower() in PARQUET else None

    def __enter__(self) -> TableWriter:
        return self

    def add(self, table: pd.DataFrame) -> None:
        """Write some rows."""
        if self._arrow is None:
            table.to_csv(self._partial, mode="a" if self.n else "w", header=self.n == 0, index=False)
        else:
            self._add_packed(table)
        self.n += len(table)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._packed is not None:
            self._packed.close()
        if kind is None:
            self._partial.replace(self.path)
        else:
            self._partial.unlink(missing_ok=True)

    def _add_packed(self, table: pd.DataFrame) -> None:
        texts = {name: _as_text(table[name]) for name in table.columns if table[name].dtype == object}
        packed = self._arrow.Table.from_pandas(table.assign(**texts), preserve_index=False)
        if self._packed is None:
            parquet = importlib.import_module("pyarrow.parquet")
            self._packed = parquet.ParquetWriter(self._partial, packed.schema)
        self._packed.write_table(packed.cast(self._packed.schema))


def _as_text(column: pd.Series) -> pd.Series:
    return column.map(str, na_action="ignore").astype("string")


def _pyarrow() -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ImportError as error:
        raise InvalidInputError(
            'Writing Parquet needs pyarrow, which is not installed: pip install "xsdc[parquet]". Or name a .csv file.'
        ) from error
