"""Reading data of any kind, named data sets, and making numbers of them."""

from xsdc.data.blocks import Blocks, Rows
from xsdc.data.dataset import Dataset
from xsdc.data.fitting import fit_preparation
from xsdc.data.named import DATASETS, available, cache_folder, load_dataset, load_split
from xsdc.data.pairs import read_links, read_pairs
from xsdc.data.preparation import Preparation
from xsdc.data.prepared import Prepared, draw_sample, prepare_large
from xsdc.data.reading import holds_image_files, open_blocks, read_data
from xsdc.data.remarks import Remarks

__all__ = [
    "DATASETS",
    "Blocks",
    "Dataset",
    "Preparation",
    "Prepared",
    "Remarks",
    "Rows",
    "available",
    "cache_folder",
    "draw_sample",
    "fit_preparation",
    "holds_image_files",
    "load_dataset",
    "load_split",
    "open_blocks",
    "prepare_large",
    "read_data",
    "read_links",
    "read_pairs",
]
