"""What the named data sets are, and how their files are read."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL import Image

from xsdc.errors import InvalidInputError

Array = npt.NDArray[Any]
CIFAR_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SCALED_GISETTE = ("gisette_scale", "gisette_scale.t")
MAGIC_COLUMNS = (
    *("fLength", "fWidth", "fSize", "fConc", "fConc1", "fAsym", "fM3Long", "fM3Trans", "fAlpha", "fDist"),
    "class",
)


@dataclass(frozen=True)
class Raw:
    """Points (an array, or a data frame of numbers) and their labels."""

    X: Any
    y: Array

    def write(self, path: Path) -> None:
        """Write one npz file; it appears under its name once it is complete."""
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.stem}.partial.npz")
        columns = {"columns": np.array(self.X.columns, dtype=str)} if isinstance(self.X, pd.DataFrame) else {}
        np.savez_compressed(partial, allow_pickle=False, X=np.asarray(self.X), y=self.y, **columns)
        partial.replace(path)

    @classmethod
    def load(cls, path: Path) -> Raw:
        """Read what `write` wrote."""
        with np.load(path, allow_pickle=False) as file:
            X = file["X"]
            return cls(pd.DataFrame(X, columns=file["columns"].tolist()) if "columns" in file else X, file["y"])

    def require_size(self, entry: NamedData, *, where: str) -> None:
        """Refuse data that are not all there."""
        if self.X.shape != (entry.n, *entry.shape) or self.y.shape != (entry.n,):
            raise InvalidInputError(
                f"The data set `{entry.name}` must have shape {(entry.n, *entry.shape)}; from {where} came"
                f" {self.X.shape} with {len(self.y)} labels. Remove or replace its files."
            )


@dataclass(frozen=True)
class NamedData:
    """A data set that has a name.

    Attributes
    ----------
    name, description : str
        What it is called and what it holds.
    n : int
        Number of points.
    shape : tuple of int
        Shape of one point.
    n_classes : int
        Number of classes.
    source, licence : str
        Where it comes from and on what terms.
    files : tuple of str
        Files that it consists of, as its source gives them; none if it comes with scikit-learn.
    read : callable
        From the folder that has the files to points and labels.
    n_train : int or None
        Number of points for training, which come first, where there is a usual split.
    openml_id : int or None
        Its number at OpenML.
    from_openml : callable
        From what scikit-learn fetches there to points and labels.
    megabytes : int
        Size of what is fetched, roughly.
    test_per_class : int or None
        Number of points of each class for testing, by which a mixed-up order is noticed.
    other_forms : tuple of pairs
        Other files that it comes as, and how they are read.
    pictures : callable
        From the points to images of them, or to None.
    """

    name: str
    description: str
    n: int
    shape: tuple[int, ...]
    n_classes: int
    source: str
    licence: str
    files: tuple[str, ...]
    read: Callable[[Path], Raw]
    n_train: int | None = None
    openml_id: int | None = None
    from_openml: Callable[[Any], Raw] = lambda bunch: Raw(bunch.data, bunch.target)
    megabytes: int = 0
    test_per_class: int | None = None
    other_forms: tuple[tuple[tuple[str, ...], Callable[[Path], Raw]], ...] = ()
    pictures: Callable[[Any], npt.NDArray[np.uint8] | None] = lambda _X: None


def _read_digits(_folder: Path) -> Raw:
    from sklearn.datasets import load_digits  # noqa: PLC0415

    X, y = load_digits(return_X_y=True)
    return Raw(X, y)


def _draw_digits(X: Array) -> npt.NDArray[np.uint8]:
    return np.rint(X.reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)


def _read_mnist(folder: Path) -> Raw:
    with np.load(folder / "mnist.npz", allow_pickle=False) as file:
        return Raw(
            np.concatenate([file["x_train"], file["x_test"]]),
            np.concatenate([file["y_train"], file["y_test"]]),
        )


def _fetched_mnist(bunch: Any) -> Raw:
    return Raw(np.asarray(bunch.data).astype(np.uint8).reshape(-1, 28, 28), np.asarray(bunch.target).astype(np.int64))


def _read_cifar10(folder: Path) -> Raw:
    images, labels = [], []
    with zipfile.ZipFile(folder / "cifar10-images.zip") as file:
        for part in ("train", "test"):
            for name in sorted(name for name in file.namelist() if name.startswith(f"{part}/") and name[-1] != "/"):
                with Image.open(io.BytesIO(file.read(name))) as image:
                    images.append(np.asarray(image.convert("RGB")))
                labels.append(name.split("/")[1])
    return Raw(np.stack(images), np.array(labels))


def _fetched_cifar10(bunch: Any) -> Raw:
    X = np.asarray(bunch.data).astype(np.uint8).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return Raw(np.ascontiguousarray(X), np.array(CIFAR_CLASSES)[np.asarray(bunch.target).astype(np.int64)])


def _read_magic(folder: Path) -> Raw:
    frame = pd.read_csv(folder / "magic04.data", header=None, names=list(MAGIC_COLUMNS))
    return Raw(frame.drop(columns="class"), frame["class"].to_numpy().astype(str))


def _fetched_magic(bunch: Any) -> Raw:
    # OpenML has a column of row numbers before the ten of UCI.
    X = pd.DataFrame(np.asarray(bunch.data, dtype=np.float64)[:, -10:], columns=list(MAGIC_COLUMNS[:-1]))
    return Raw(X, np.asarray(bunch.target).astype(str))


def _read_gisette(folder: Path) -> Raw:
    parts = [np.loadtxt(folder / f"gisette_{part}.data", dtype=np.int16, ndmin=2) for part in ("train", "valid")]
    labels = [np.loadtxt(folder / f"gisette_{part}.labels", dtype=np.int64, ndmin=1) for part in ("train", "valid")]
    return Raw(np.concatenate(parts), _gisette_labels(np.concatenate(labels)))


def _read_scaled_gisette(folder: Path) -> Raw:
    """Read the files of LIBSVM, whose features are scaled to -1 to 1."""
    from sklearn.datasets import load_svmlight_files  # noqa: PLC0415  takes a second

    paths = [str(folder / name) for name in SCALED_GISETTE]
    X, y, X_test, y_test = load_svmlight_files(paths, n_features=5000)
    data = np.concatenate([X.toarray(), X_test.toarray()]).astype(np.float32)
    return Raw(data, _gisette_labels(np.concatenate([y, y_test])))


def _gisette_labels(y: Array) -> Array:
    """Name the classes 1 and -1 by words, since -1 means unknown among whole numbers."""
    return np.where(y.astype(np.float64) > 0, "positive", "negative")


def _fetched_gisette(bunch: Any) -> Raw:
    data = bunch.data.toarray() if hasattr(bunch.data, "toarray") else np.asarray(bunch.data)
    return Raw(data.astype(np.int16), _gisette_labels(np.asarray(bunch.target)))


CATALOGUE = (
    NamedData(
        name="digits",
        description="handwritten digits of 8×8 pixels from 0 to 16, as vectors",
        n=1797,
        shape=(64,),
        n_classes=10,
        source="scikit-learn (UCI, Optical Recognition of Handwritten Digits, test part)",
        licence="CC BY 4.0",
        files=(),
        read=_read_digits,
        pictures=_draw_digits,
    ),
    NamedData(
        name="mnist",
        description="handwritten digits, gray images of 28×28 pixels",
        n=70000,
        shape=(28, 28),
        n_classes=10,
        source="https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz",
        licence="CC BY-SA 3.0",
        files=("mnist.npz",),
        read=_read_mnist,
        n_train=60000,
        openml_id=554,
        from_openml=_fetched_mnist,
        megabytes=15,
    ),
    NamedData(
        name="cifar10",
        description="small photographs of ten kinds of things, colour images of 32×32 pixels",
        n=60000,
        shape=(32, 32, 3),
        n_classes=10,
        source="https://www.cs.toronto.edu/~kriz/cifar.html (as images, train/<class>/ and test/<class>/ in a zip)",
        licence="not stated",
        files=("cifar10-images.zip",),
        read=_read_cifar10,
        n_train=50000,
        openml_id=40927,
        from_openml=_fetched_cifar10,
        megabytes=170,
        test_per_class=1000,
    ),
    NamedData(
        name="magic",
        description="showers of particles seen by the MAGIC telescope, ten measurements each: gamma (g) or hadron (h)",
        n=19020,
        shape=(10,),
        n_classes=2,
        source="https://archive.ics.uci.edu/dataset/159/magic+gamma+telescope",
        licence="CC BY 4.0",
        files=("magic04.data",),
        read=_read_magic,
        openml_id=1120,
        from_openml=_fetched_magic,
        megabytes=2,
    ),
    NamedData(
        name="gisette",
        description="handwritten fours and nines as vectors of pixels, products of pixels and noise",
        n=7000,
        shape=(5000,),
        n_classes=2,
        source="https://archive.ics.uci.edu/dataset/170/gisette",
        licence="CC BY 4.0",
        files=("gisette_train.data", "gisette_train.labels", "gisette_valid.data", "gisette_valid.labels"),
        read=_read_gisette,
        openml_id=41026,
        from_openml=_fetched_gisette,
        megabytes=20,
        other_forms=((SCALED_GISETTE, _read_scaled_gisette),),
    ),
)
