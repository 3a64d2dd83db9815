"""Changed copies of images, as the paper makes them of MNIST: turned, narrowed, shifted, with a square erased."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from xsdc.errors import InvalidInputError
from xsdc.training.batches import Augment

TURNED, NARROWED, SHIFTED = 0.5, 0.1, 0.25  # how often
LARGEST_ANGLE = 30.0
ERASED = 4 / 28  # side of the square, as a share of the image's


def augment_images(images: Tensor, generator: torch.Generator) -> Tensor:
    """Change each image at random.

    Half of them are turned by an angle of 30° · clip(N(0, 0.33), ±1), a tenth narrowed by up to a quarter, a quarter
    shifted along each axis by about a pixel in 28; of each a square a seventh as wide loses its content.

    Parameters
    ----------
    images : Tensor, shape (n, C, H, W)
        Images; where a change lets the outside in, it is as bright as the image's darkest point.
    generator : torch.Generator
        Source of randomness, on the CPU.

    Returns
    -------
    Tensor, shape (n, C, H, W)
    """
    if images.ndim != 4:
        raise InvalidInputError(f'augmentation="images" is for images; the data has shape {tuple(images.shape)}.')
    n, _, H, W = images.shape

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator)

    angle = math.radians(LARGEST_ANGLE) * (0.33 * torch.randn(n, generator=generator)).clamp(-1, 1)
    angle = torch.where(uniform(n) < TURNED, angle, 0.0)
    width = torch.where(uniform(n) < NARROWED, 1 - uniform(n) / 4, 1.0)
    shift = torch.where(uniform(n, 2) < SHIFTED, torch.randn(n, 2, generator=generator) * 2 / 28, 0.0)
    # Rows of the map from places in the new image to places in the old one, both from -1 to 1 along each side.
    cos, sin = angle.cos(), angle.sin()
    maps = torch.stack([cos / width, -sin * H / W, shift[:, 0], sin * W / H / width, cos, shift[:, 1]], 1).view(n, 2, 3)
    ground = images.amin((1, 2, 3), keepdim=True)
    grid = torch.nn.functional.affine_grid(maps.to(images), list(images.shape), align_corners=False)
    moved = torch.nn.functional.grid_sample(images - ground, grid, align_corners=False)
    side = max(1, round(ERASED * H)), max(1, round(ERASED * W))
    top, left = uniform(n) * (H - side[0] + 1), uniform(n) * (W - side[1] + 1)
    rows = _within(top.floor(), side[0], H)
    columns = _within(left.floor(), side[1], W)
    erased = (rows[:, :, None] & columns[:, None, :]).to(images.device)
    return torch.where(erased[:, None], torch.zeros_like(moved), moved) + ground


AUGMENTATIONS: dict[str, Augment] = {"images": augment_images}


def resolve_augmentation(augmentation: str | Callable[[Tensor, torch.Generator], Tensor] | None) -> Augment | None:
    """Turn a name into a function; a function, or None, stays as it is."""
    if augmentation is None:
        return None
    if isinstance(augmentation, str):
        if augmentation not in AUGMENTATIONS:
            raise InvalidInputError(
                f"augmentation must be one of {', '.join(AUGMENTATIONS)}, a function or None; it is {augmentation!r}."
            )
        return AUGMENTATIONS[augmentation]
    if not callable(augmentation):
        raise InvalidInputError(
            "augmentation must be a name, None, or a function of a batch and a torch.Generator; it is"
            f" {type(augmentation).__name__}."
        )
    return augmentation


def _within(start: Tensor, length: int, total: int) -> Tensor:
    place = torch.arange(total)
    return (place >= start[:, None]) & (place < start[:, None] + length)
