"""What a fit has read, written again with a label and a probability for each point, in the format it came in."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from xsdc.data import Preparation
from xsdc.data.images import open_images
from xsdc.data.reading import holds_image_files, open_table
from xsdc.data.roles import Roles
from xsdc.data.sheets import JsonTable, ParquetTable, SheetTable, require_module
from xsdc.data.tables import Table
from xsdc.data.text import TextTable
from xsdc.errors import InvalidInputError
from xsdc.runs.configuration import DataOptions
from xsdc.runs.folder import RunFolder
from xsdc.runs.tables import TableWriter

ROWS = 2**12  # at a time
UNFIT = '<>:"/\\|?*'  # letters that no folder may have everywhere

Add = Callable[[pd.DataFrame], None]


def require_free(path: Path, *, force: bool) -> None:
    """Refuse to write over what is there."""
    if path.is_dir() and any(path.iterdir()):
        raise InvalidInputError(f"The folder {path} is not empty. Give another name with --labeled.")
    if path.is_file() and not force:
        raise InvalidInputError(f"{path} exists already. Give another name with --labeled, or --force to replace it.")
    if not path.parent.is_dir():
        raise InvalidInputError(f"There is no folder {path.parent}. Make it, or give another name with --labeled.")


def write_labeled(data: DataOptions, folder: RunFolder, path: Path) -> None:
    """Write the table that was read with two more columns, or images sorted into a folder for each label.

    Parameters
    ----------
    data : DataOptions
        What was read.
    folder : RunFolder
        The finished run.
    path : Path
        The file to write, or the folder.
    """
    found = pd.read_csv(folder.labels, dtype={"id": str, "label": str}, keep_default_na=False)
    if holds_image_files(data.source):
        _sort_images(Path(data.source).expanduser(), found, path)
        return
    roles = Roles(data.label_column, data.truth_column, data.id_column, data.ignore, reading=data.reading())
    table = open_table(data.source, roles).table
    unfinished = path.with_name(f".{path.name}.partial")
    comma = any(form.decimal == "," for form in Preparation.load(folder.preparation).forms_.values())
    with _writer(table, unfinished, comma=comma) as add:
        done = 0
        for frame in table.read(ROWS):
            here = found.iloc[done : done + len(frame)]
            done += len(frame)
            add(_with_labels(frame.reset_index(drop=True), here.reset_index(drop=True)))
    unfinished.replace(path)


def _with_labels(frame: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    names = {name: name if name not in frame.columns else f"{name} (xsdc)" for name in ("label", "probability")}
    return frame.assign(**{new: found[name] for name, new in names.items()})


@contextmanager
def _writer(table: Table, path: Path, *, comma: bool) -> Iterator[Add]:
    """Give a function that adds rows to a file like the one that a table was read from."""
    if isinstance(table, TextTable):
        make: Any = partial(_text_writer, table, comma=comma)
    elif isinstance(table, JsonTable):
        make = _json_writer
    elif isinstance(table, ParquetTable):
        make = _parquet_writer
    elif isinstance(table, SheetTable):
        make = _sheet_writer
    else:  # texts of a folder become one table
        make = partial(_text_writer, TextTable(path, "utf-8", ",", [], 0), comma=False)
    with make(path) as add:
        yield add


@contextmanager
def _text_writer(table: TextTable, path: Path, *, comma: bool) -> Iterator[Add]:
    """Write text with the delimiter, the letters and the decimal sign of the table."""
    with path.open("w", encoding=table.encoding, newline="") as file:
        out = csv.writer(file, delimiter=table.delimiter)
        begun = False

        def add(frame: pd.DataFrame) -> None:
            nonlocal begun
            if not begun:
                out.writerow(frame.columns)
                begun = True
            shares = frame.iloc[:, -1].map(str)
            frame = frame.assign(**{frame.columns[-1]: shares.str.replace(".", ",") if comma else shares})
            out.writerows(frame.itertuples(index=False, name=None))

        yield add


@contextmanager
def _json_writer(path: Path) -> Iterator[Add]:
    with path.open("w", encoding="utf-8") as file:

        def add(frame: pd.DataFrame) -> None:
            for item in frame.to_dict("records"):
                file.write(json.dumps(item, ensure_ascii=False, default=str) + "\n")

        yield add


@contextmanager
def _parquet_writer(path: Path) -> Iterator[Add]:
    with TableWriter(path, packed=True) as writer:
        yield writer.add


@contextmanager
def _sheet_writer(path: Path) -> Iterator[Add]:
    book = require_module("openpyxl", extra="excel", purpose="Writing Excel files").Workbook(write_only=True)
    sheet = book.create_sheet("labels")
    begun = False

    def add(frame: pd.DataFrame) -> None:
        nonlocal begun
        if not begun:
            sheet.append(list(frame.columns))
            begun = True
        for row in frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None):
            sheet.append(row)

    yield add
    book.save(path)


def _sort_images(source: Path, found: pd.DataFrame, path: Path) -> None:
    """Copy images into a folder for each label, under their names; those of one name are numbered."""
    unfinished = path.with_name(f".{path.name}.partial")
    shutil.rmtree(unfinished, ignore_errors=True)
    with open_images(source) as images:
        for name, label in zip(found["id"], found["label"], strict=True):
            place = unfinished / "".join("_" if letter in UNFIT else letter for letter in label)
            place.mkdir(parents=True, exist_ok=True)
            target = place / Path(name).name
            count = 2
            while target.exists():
                target = place / f"{Path(name).stem} ({count}){Path(name).suffix}"
                count += 1
            target.write_bytes(images.read(name))
    if path.is_dir():
        path.rmdir()  # it is empty
    unfinished.replace(path)
