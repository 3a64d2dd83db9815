"""Reading data of any kind, named data sets, and making numbers of them."""

from typing import TYPE_CHECKING, Any

from xsdc.data.blocks import Blocks, Rows
from xsdc.data.dataset import Dataset
from xsdc.data.limits import Limits
from xsdc.data.named import DATASETS, available, cache_folder, load_dataset, load_split
from xsdc.data.pairs import read_links, read_pairs
from xsdc.data.preparation import Preparation
from xsdc.data.prepared import Prepared, draw_sample, learn_from_sample, prepare
from xsdc.data.reading import holds_image_files, open_blocks, read_data
from xsdc.data.remarks import Remarks
from xsdc.data.roles import Reading

if TYPE_CHECKING:
    from xsdc.data.streams import ImageRows, TableRows

__all__ = [
    "DATASETS",
    "Blocks",
    "Dataset",
    "ImageRows",
    "Limits",
    "Preparation",
    "Prepared",
    "Reading",
    "Remarks",
    "Rows",
    "TableRows",
    "available",
    "cache_folder",
    "draw_sample",
    "holds_image_files",
    "learn_from_sample",
    "load_dataset",
    "load_split",
    "open_blocks",
    "prepare",
    "read_data",
    "read_links",
    "read_pairs",
]


def __getattr__(name: str) -> Any:
    if name in ("ImageRows", "TableRows"):  # they need torch, which takes a second
        from xsdc.data import streams  # noqa: PLC0415

        return getattr(streams, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
