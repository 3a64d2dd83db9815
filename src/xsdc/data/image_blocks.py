"""Images in blocks, decoded as they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from xsdc.data.blocks import Blocks, Ints, Rows, unlabeled
from xsdc.data.dataset import Dataset
from xsdc.data.images import (
    ImageSize,
    Pixels,
    Source,
    attempt,
    bombs_are_errors,
    broken_note,
    common_size,
    open_images,
    read_size,
    refuse_mostly_broken,
    require_roles,
    see,
    stacked,
    with_folders,
)
from xsdc.data.roles import Roles
from xsdc.data.scientific import Findings, Levels, Seen


class ImageBlocks(Blocks):
    """Images of a folder or zip, brought to one size.

    Parameters
    ----------
    path : Path
        A folder, or a zip of one.
    roles : Roles
        Whether the folders are the label or the truth.
    image_size : int or pair of int, optional
        Side in pixels, or height and width; by default the most common size, which takes a look at every image.
    thorough : bool
        Whether to decode every image beforehand, so that broken ones, colours and the levels are known: `known` and
        `take` need it. Otherwise a block is gray where its own images are.
    levels : Levels, optional
        What becomes black and white in images of more than 8 bits, as it was in a fit; of no matter if it is found by a
        thorough look. Without either such images are refused.
    """

    kind = "images"

    def __init__(
        self,
        path: Path,
        roles: Roles,
        *,
        image_size: ImageSize = None,
        thorough: bool = True,
        levels: Levels | None = None,
    ) -> None:
        require_roles(roles, name=path.name)
        self.path, self.roles, self.name, self.levels = path, roles, path.name, levels
        self.coloured: bool | None = None
        with open_images(path) as source, bombs_are_errors():
            self.names = source.names
            if thorough or not isinstance(image_size, tuple):
                sizes = [size for name in self.names if (size := attempt(source, name, read_size)) is not None]
                self.size, self.notes = common_size(sizes, image_size, name=path.name)
            else:
                self.size, self.notes = (image_size[1], image_size[0]), []
            if thorough:
                self._decode_all(source)

    @property
    def width(self) -> int:
        """Number of numbers of one image in colour."""
        return 3 * self.size[0] * self.size[1]

    def read(self, rows: int) -> Iterator[Dataset]:
        """Yield so many images at a time, fewer where some are broken."""
        readable: set[str] = set()
        findings = Findings(self.levels, fixed=True)
        with open_images(self.path) as source:
            for begin in range(0, len(self.names), rows):
                with bombs_are_errors():  # not while a block is used
                    images = self._decode(source, self.names[begin : begin + rows])
                readable |= images.keys()
                for name, seen in images.items():
                    findings.add(name, seen)
                if images:
                    X = self._stacked(images)
                    ids = np.array(list(images), dtype=object)
                    yield Dataset(
                        *(self.name, "images", X, ids, "file", unlabeled(len(X))), pictures=X, levels=self.levels
                    )
        refuse_mostly_broken(self.names, readable, name=self.name)
        if self.coloured is None:
            self.notes = [*self.notes, *findings.notes(), *broken_note(self.names, readable)]

    def known(self) -> Dataset:
        """Return ids and labels of all images; the pixels are read later."""
        points = Rows(self, len(self.names))
        return with_folders(points, self.names, self.roles, name=self.name, notes=self.notes, levels=self.levels)

    def take(self, points: Ints) -> Pixels:
        """Decode some images."""
        with open_images(self.path) as source, bombs_are_errors():
            images = self._decode(source, [self.names[i] for i in points.tolist()])
        return self._stacked(images)

    def _decode(self, source: Source, names: Sequence[str]) -> dict[str, Seen]:
        use = partial(see, size=self.size)
        return {name: seen for name in names if (seen := attempt(source, name, use)) is not None}

    def _stacked(self, images: Mapping[str, Seen]) -> Pixels:
        return stacked([seen.as_bytes(self.levels) for seen in images.values()], coloured=self.coloured)

    def _decode_all(self, source: Source) -> None:
        coloured, readable, findings = False, [], Findings()
        for name in self.names:
            for seen in self._decode(source, [name]).values():
                readable.append(name)
                findings.add(name, seen)
                coloured = coloured or seen.pixels.ndim == 3
        refuse_mostly_broken(self.names, set(readable), name=self.name)
        self.notes = [*self.notes, *findings.notes(), *broken_note(self.names, set(readable))]
        self.names, self.coloured, self.levels = readable, coloured, findings.levels
