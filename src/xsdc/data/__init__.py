"""Reading data of any kind, named data sets, and making numbers of them."""

from xsdc.data.dataset import Dataset
from xsdc.data.fitting import fit_preparation
from xsdc.data.named import DATASETS, available, cache_folder, load_dataset, load_split
from xsdc.data.pairs import read_links, read_pairs
from xsdc.data.preparation import Preparation
from xsdc.data.reading import holds_image_files, read_data

__all__ = [
    "DATASETS",
    "Dataset",
    "Preparation",
    "available",
    "cache_folder",
    "fit_preparation",
    "holds_image_files",
    "load_dataset",
    "load_split",
    "read_data",
    "read_links",
    "read_pairs",
]
