"""Images in a folder or a zip; sub-folders are labels.

========================================  ==========================================================================
where an image lies                       what is known of it
========================================  ==========================================================================
``cat/1.png``, ``cat/more/2.png``         its label is ``cat``
``4 or 9/3.png`` (or ``4|9/3.png``)       one of these
``unlabeled/4.png``, ``5.png``            nothing; also ``unlabelled`` and ``unknown``
``train/cat/1.png``, ``test/cat/1.png``   its label is ``cat``, where all first folders have such names
========================================  ==========================================================================

A zip may hold everything in one outer folder, which is passed over. Nothing of it is written to disk.
"""

from __future__ import annotations

import io
import os
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from xsdc.data.archives import open_zip
from xsdc.data.dataset import Dataset
from xsdc.data.labels import read_known
from xsdc.data.memory import require_memory
from xsdc.data.roles import Roles, listed
from xsdc.data.scientific import BROKEN, Findings, Levels, Seen, as_fractions, count_pages, depth_of, is_deep
from xsdc.errors import InvalidInputError

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff"})
PARTS = frozenset({"train", "training", "test", "val", "valid", "validation"})
LONGEST_SIDE = 64
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF")  # Pillow opens others by outside programs: EPS by Ghostscript
LARGEST_FILE = 2**28
SIDEWAYS = frozenset({5, 6, 7, 8})  # EXIF orientations that swap width and height
ORIENTATION = 0x0112

T = TypeVar("T")
Pixels = npt.NDArray[np.uint8]
ImageSize = int | tuple[int, int] | None


@dataclass(frozen=True)
class Source:
    """Names of images, sorted, with / between folders, and how to get the bytes of one."""

    names: list[str]
    read: Callable[[str], bytes]


def read_images(path: Path, roles: Roles, *, image_size: ImageSize = None) -> Dataset:
    """Read images of any size as arrays of one size, with labels by folder.

    An image is scaled to cover the common size and cropped at its centre; it is turned as its camera says (EXIF) and
    put on white where it is transparent. Gray comes out only if every image is gray. Those of more than 8 bits are
    brought to 8 by one scale, from the darkest to the brightest value they hold; of a file with several pages the first
    is read.

    Parameters
    ----------
    path : Path
        A folder, or a zip of one.
    roles : Roles
        The folders are a column ``folder``, which can be the label (the default) or the truth.
    image_size : int or pair of int, optional
        Side in pixels, or height and width. By default the most common size, scaled down to a longer side of 64.

    Returns
    -------
    Dataset
        Of kind "images"; ids are paths within the folder.
    """
    require_roles(roles, name=path.name)
    with open_images(path) as source, bombs_are_errors():
        sizes = {name: size for name in source.names if (size := attempt(source, name, read_size)) is not None}
        (width, height), size_notes = common_size(list(sizes.values()), image_size, name=path.name)
        require_memory(3 * width * height * len(sizes), what=f"Reading the images of `{path.name}`")
        use = partial(see, size=(width, height))
        read = {name: seen for name in sizes if (seen := attempt(source, name, use)) is not None}
    refuse_mostly_broken(source.names, read, name=path.name)
    findings = Findings()
    for name, seen in read.items():
        findings.add(name, seen)
    levels = findings.levels
    X = stacked([seen.as_bytes(levels) for seen in read.values()])
    notes = [*size_notes, *findings.notes(), *broken_note(source.names, read)]
    return with_folders(X, list(read), roles, name=path.name, notes=notes, levels=levels)


def with_folders(
    X: Any, names: list[str], roles: Roles, *, name: str, notes: list[str], levels: Levels | None = None
) -> Dataset:
    """Put images together with what their folders say of them; images may be such as are read later."""
    folders = folder_labels(names)
    truth = roles.truth is not None
    known = read_known(
        None if truth else folders, folders if truth else None, n=len(X), label_name="folder", truth_name="folder"
    )
    return Dataset(
        name=name,
        kind="images",
        X=X,
        ids=np.array(names, dtype=object),
        id_name="file",
        labels=known.labels,
        allowed=known.allowed,
        truth=known.truth,
        pictures=X,
        notes=[*notes, *known.notes],
        levels=levels,
    )


def require_roles(roles: Roles, *, name: str) -> None:
    """Refuse roles that folders cannot have."""
    roles.require_in(["folder"], where=f"A folder of images (`{name}`)")
    if roles.id is not None or roles.ignore:
        raise InvalidInputError("The column `folder` of images can be the label or the truth only.")


@contextmanager
def open_images(path: Path, *, most: float | None = None) -> Iterator[Source]:
    """Find the images of a folder or zip; refuse one that has none, or more bytes than it may have."""
    if path.is_dir():
        files = {shown(file.relative_to(path).as_posix()): file for file in _files(path)}
        yield _some(Source(_wanted(files), lambda name: _read_file(files[name], name)), path)
        return
    with open_zip(path, name=path.name, most=most) as file:
        large = [info.filename for info in file.infolist() if info.file_size > LARGEST_FILE]
        if large:
            raise InvalidInputError(f"`{large[0]}` of `{path.name}` is larger than any image should be (256 MB).")
        outer = outer_folder(names := _wanted(file.namelist()))
        yield _some(Source([name.removeprefix(outer) for name in names], lambda name: file.read(outer + name)), path)


def shown(name: str) -> str:
    r"""Return a name that can be written down: bytes that are no UTF-8 as \\xff."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _files(path: Path) -> Iterator[Path]:
    """Yield all files below a folder, also below links to folders; refuse it if a folder cannot be read."""

    def refuse(error: OSError) -> None:
        raise InvalidInputError(
            f"The folder `{error.filename}` cannot be read: {error.strerror}. Its images would be missing."
        ) from error

    seen = set()
    for place, folders, names in os.walk(path, onerror=refuse, followlinks=True):
        if (real := os.path.realpath(place)) in seen:  # a link to a folder above
            folders.clear()
            continue
        seen.add(real)
        yield from (file for name in names if (file := Path(place, name)).is_file())


def _read_file(file: Path, name: str) -> bytes:
    if file.stat().st_size > LARGEST_FILE:
        raise InvalidInputError(f"`{name}` is larger than any image should be (256 MB).")
    return file.read_bytes()


def _some(source: Source, path: Path) -> Source:
    if not source.names:
        raise InvalidInputError(
            f"`{path.name}` holds no images. It needs files that end in {', '.join(sorted(SUFFIXES))}."
        )
    return source


def _wanted(names: Iterable[str]) -> list[str]:
    """Sort the names of images; hidden files and what a Mac adds to a zip are none."""
    return sorted(
        name
        for name in names
        if PurePosixPath(name).suffix.lower() in SUFFIXES
        and not any(part.startswith(".") or part == "__MACOSX" for part in PurePosixPath(name).parts)
    )


def outer_folder(names: list[str]) -> str:
    """Return the one folder that holds everything, or nothing."""
    first = {name.split("/", 1)[0] for name in names}
    return f"{first.pop()}/" if len(first) == 1 and all("/" in name for name in names) else ""


def folder_labels(names: list[str]) -> list[str]:
    """Return the folder that says what an image is; nothing for images outside of any."""
    parents = [PurePosixPath(name).parts[:-1] for name in names]
    if all(parts and parts[0].lower() in PARTS for parts in parents):
        parents = [parts[1:] for parts in parents]
    return [parts[0].replace(" or ", "|") if parts else "" for parts in parents]


@contextmanager
def bombs_are_errors() -> Iterator[None]:
    """Have Pillow raise where an image is small on disk and huge in memory; its other warnings do not matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        yield


def attempt(source: Source, name: str, use: Callable[[Image.Image], T]) -> T | None:
    """Open an image and use it; None if it is broken."""
    try:
        with Image.open(io.BytesIO(source.read(name)), formats=FORMATS) as image:
            return use(image)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise InvalidInputError(
            f"`{name}` has more pixels than any image should ({error}). Remove it, or make it smaller."
        ) from error
    except BROKEN:
        return None


def read_size(image: Image.Image) -> tuple[int, int]:
    """Return width and height as one sees them."""
    sideways = image.getexif().get(ORIENTATION) in SIDEWAYS
    return (image.height, image.width) if sideways else (image.width, image.height)


def see(image: Image.Image, size: tuple[int, int]) -> Seen:
    """Read one image in the size that is asked for, gray (H, W) where it is."""
    depth, pages = depth_of(image), count_pages(image)
    image.draft(None, (max(size), max(size)))  # a large JPEG is decoded at a fraction of its size
    ImageOps.exif_transpose(image, in_place=True)
    image = _gray_or_colour(image)
    if image.size != size:
        image = ImageOps.fit(image, size, method=Image.Resampling.BILINEAR)
    pixels = np.asarray(image)
    gray = pixels.ndim == 3 and bool((pixels == pixels[..., :1]).all())
    return Seen(pixels[..., 0] if gray else pixels, depth, pages)


def _gray_or_colour(image: Image.Image) -> Image.Image:
    if is_deep(image):  # Pillow would clip, not scale
        return as_fractions(image)
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        ground = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(ground, image).convert("RGB")
    return image.convert("L" if image.mode in ("1", "L") else "RGB")


def common_size(sizes: list[tuple[int, int]], image_size: ImageSize, *, name: str) -> tuple[tuple[int, int], list[str]]:
    """Choose (width, height) for all images, and say what happens to the others."""
    if not sizes:
        raise InvalidInputError(f"None of the images in `{name}` can be read; they are broken or not images.")
    counts = Counter(sizes)
    if image_size is None:
        # Of sizes equally common the smallest: nothing is enlarged without need.
        width, height = min(counts, key=lambda size: (-counts[size], size))
        scale = min(1.0, LONGEST_SIDE / max(width, height))
        target = max(1, round(width * scale)), max(1, round(height * scale))
    elif isinstance(image_size, tuple):
        target = image_size[1], image_size[0]
    elif isinstance(image_size, int) and image_size >= 1:
        target = image_size, image_size
    else:
        raise InvalidInputError(f"image_size must be a whole number of at least 1; it is {image_size!r}.")
    changed = len(sizes) - counts[target]
    if not changed:
        return target, []
    how = " Say image_size to have another." if image_size is None else ""
    note = (
        f"{changed} of {len(sizes)} images were scaled and cropped to {target[0]}×{target[1]} pixels"
        f" (width × height; {len(counts)} size(s) came in).{how}"
    )
    return target, [note]


def stacked(images: list[Pixels], *, coloured: bool | None = None) -> Pixels:
    """Put images of one size together, gray where all are, unless it is said whether they are to be coloured."""
    if coloured is None:
        coloured = any(image.ndim == 3 for image in images)
    if not coloured:
        return np.stack(images)
    return np.stack([image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2) for image in images])


def broken_note(names: list[str], read: Collection[str]) -> list[str]:
    """Say which images are passed over."""
    broken = [name for name in names if name not in read]
    return [f"{len(broken)} broken image(s) were passed over: {listed(broken, limit=3)}."] if broken else []


def refuse_mostly_broken(names: list[str], read: Collection[str], *, name: str) -> None:
    """Refuse images of which more than half cannot be read."""
    broken = [image for image in names if image not in read]
    if 2 * len(broken) > len(names):
        raise InvalidInputError(
            f"{len(broken)} of {len(names)} images in `{name}` cannot be read, the first of them"
            f" {listed(broken, limit=3)}. Are they complete?"
        )
