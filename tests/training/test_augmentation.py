from __future__ import annotations

import math

import pytest
import torch

from tests.problems import generator
from xsdc.errors import InvalidInputError
from xsdc.training.augmentation import ERASED, NARROWED, SHIFTED, TURNED, augment_images, resolve_augmentation


@pytest.fixture
def only(monkeypatch):
    """Make all images undergo some of the changes, and none the others; a single point is still erased."""

    def choose(*, turned=0.0, narrowed=0.0, shifted=0.0, erased=0.0):
        changes = {"TURNED": turned, "NARROWED": narrowed, "SHIFTED": shifted, "ERASED": erased}
        for name, value in changes.items():
            monkeypatch.setattr(f"xsdc.training.augmentation.{name}", value)

    return choose


def noise(n: int, *shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.rand(n, *shape, generator=generator(seed), dtype=dtype)


def spot(n: int, x: float, y: float, *, side: int = 41) -> torch.Tensor:
    """Images of a smooth spot, its place in steps from the middle to the right and down."""
    step = torch.arange(side) - side // 2
    spot = torch.exp(-((step[None, :] - x) ** 2 + (step[:, None] - y) ** 2) / 8)
    return spot.expand(n, 1, side, side).clone()


def places(images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Centre of mass of each image, in steps from the middle to the right and down."""
    step = torch.arange(images.shape[-1]) - images.shape[-1] // 2
    mass = images.sum((1, 2, 3))
    return (images * step).sum((1, 2, 3)) / mass, (images * step[:, None]).sum((1, 2, 3)) / mass


def widths(images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Spread of each image around its middle along both axes."""
    step = (torch.arange(images.shape[-1]) - images.shape[-1] // 2) ** 2
    mass = images.sum((1, 2, 3))
    across, along = (images * step).sum((1, 2, 3)) / mass, (images * step[:, None]).sum((1, 2, 3)) / mass
    return across.sqrt(), along.sqrt()


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (2, 9, 17), (1, 1, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shape_and_type_stay_and_the_content_changes(shape, dtype):
    images = noise(6, *shape, dtype=dtype)
    images[:, :, 0, 0] = -1.0  # dark, so that erasing shows
    before = images.clone()
    changed = augment_images(images, generator())
    assert (changed.shape, changed.dtype) == (images.shape, dtype)
    assert torch.equal(images, before)
    if shape != (1, 1, 1):
        assert all(not torch.allclose(a, b) for a, b in zip(changed, images, strict=True))


def test_the_generator_decides():
    images = noise(20, 1, 14, 14)
    source = generator(3)
    one, two = augment_images(images, source), augment_images(images, source)
    assert torch.equal(one, augment_images(images, generator(3)))
    assert not torch.equal(one, two)


def test_other_sources_of_chance_are_left_alone():
    before = torch.get_rng_state()
    augment_images(noise(5, 1, 14, 14), generator())
    assert torch.equal(torch.get_rng_state(), before)


def test_copies_of_an_image_differ():
    images = noise(1, 1, 14, 14).repeat(8, 1, 1, 1)
    changed = augment_images(images, generator())
    assert len(torch.unique(changed.flatten(1), dim=0)) == 8


@pytest.mark.parametrize(("H", "W"), [(28, 28), (14, 21), (5, 9)])
def test_a_square_a_seventh_as_wide_becomes_as_dark_as_the_darkest_point(only, H, W):
    only(erased=ERASED)
    images = 5 + noise(300, 2, H, W)
    changed = augment_images(images, generator())
    erased = ((changed - images).abs() > 1e-4).any(1)  # but for the darkest point of an image itself
    ground = images.amin((1, 2, 3))
    height, width = max(1, round(H / 7)), max(1, round(W / 7))
    tops, lefts = [], []
    for image, mask, dark in zip(changed, erased, ground, strict=True):
        rows, columns = mask.any(1).nonzero().flatten(), mask.any(0).nonzero().flatten()
        assert len(rows) == int(rows[-1] - rows[0]) + 1 == height
        assert len(columns) == int(columns[-1] - columns[0]) + 1 == width
        inside = image[:, rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        torch.testing.assert_close(inside, dark.expand_as(inside))
        tops.append(int(rows[0]))
        lefts.append(int(columns[0]))
    # Every place is drawn, up to the edges.
    assert set(tops) == set(range(H - height + 1))
    assert set(lefts) == set(range(W - width + 1))


def test_what_comes_in_from_outside_is_as_dark_as_the_darkest_point(only):
    images = noise(50, 1, 12, 12) * torch.linspace(1, 10, 50)[:, None, None, None] - 20
    for changes in ({}, {"shifted": 1.0}, {"turned": 1.0, "narrowed": 1.0, "shifted": 1.0}):
        if changes:
            only(**changes)
        changed = augment_images(images, generator())
        assert bool((changed.amin((1, 2, 3)) >= images.amin((1, 2, 3)) - 1e-4).all())
        assert bool((changed.amax((1, 2, 3)) <= images.amax((1, 2, 3)) + 1e-4).all())


def test_brighter_images_change_in_the_same_way():
    images = noise(20, 1, 12, 12, dtype=torch.float64)
    torch.testing.assert_close(
        augment_images(3 * images + 7, generator()), 3 * augment_images(images, generator()) + 7, rtol=1e-6, atol=1e-6
    )


def test_channels_change_alike():
    one = noise(20, 1, 14, 14)
    changed = augment_images(one.repeat(1, 3, 1, 1), generator())
    assert torch.equal(changed[:, 0], changed[:, 1])
    assert torch.equal(changed[:, 0], changed[:, 2])


def test_turning_keeps_the_distance_from_the_middle_and_stays_within_thirty_degrees(only):
    only(turned=1.0)
    right, down = places(augment_images(spot(400, 12, 0), generator()))
    radius, angle = (right**2 + down**2).sqrt(), torch.atan2(down, right).rad2deg()
    assert float((radius - 12).abs().max()) < 0.15
    assert float(angle.abs().max()) < 30.5
    # 30 degrees times a normal number of deviation 0.33, both ways.
    assert float(angle.std()) == pytest.approx(9.9, rel=0.15)
    assert abs(float(angle.mean())) < 2


def test_turning_is_the_same_seen_from_the_side(only):
    only(turned=1.0)
    right, down = places(augment_images(spot(50, 12, 0), generator()))
    below_right, below_down = places(augment_images(spot(50, 0, 12), generator()))
    # A quarter turn clockwise takes (right, down) to (-down, right).
    torch.testing.assert_close(below_right, -down, rtol=0, atol=0.2)
    torch.testing.assert_close(below_down, right, rtol=0, atol=0.2)


def test_narrowing_takes_up_to_a_quarter_of_the_width_and_nothing_of_the_height(only):
    only(narrowed=1.0)
    images = torch.zeros(300, 1, 41, 41)
    images[:, :, 10:31, 8:33] = 1
    across, along = widths(augment_images(images, generator()))
    old_across, old_along = widths(images)
    ratio = across / old_across
    assert 0.73 < float(ratio.min()) < 0.79
    assert 0.97 < float(ratio.max()) < 1.02
    assert float((along / old_along - 1).abs().max()) < 0.01


def test_shifts_are_about_a_pixel_in_28_along_each_axis(only):
    only(shifted=1.0)
    right, down = places(augment_images(spot(500, 0, 0), generator()))
    for moved in (right, down):
        assert float(moved.std()) == pytest.approx(41 / 28, rel=0.15)
        assert abs(float(moved.mean())) < 0.2
    assert abs(float(torch.corrcoef(torch.stack([right, down]))[0, 1])) < 0.15


def test_how_often_images_are_turned_narrowed_and_shifted(only):
    images = 1 + noise(2000, 1, 8, 8)

    def share() -> float:
        changed = (augment_images(images, generator()) - images).abs() > 1e-4
        return float((changed.sum((1, 2, 3)) > 1).float().mean())  # one point is erased in any case

    assert (TURNED, NARROWED, SHIFTED) == (0.5, 0.1, 0.25)  # what the documentation says
    only(turned=TURNED)
    assert share() == pytest.approx(0.5, abs=0.04)
    only(narrowed=NARROWED)
    assert share() == pytest.approx(0.1, abs=0.025)
    only(shifted=SHIFTED)
    assert share() == pytest.approx(1 - 0.75**2, abs=0.04)
    only()
    assert share() == 0


@pytest.mark.parametrize("shape", [(5, 10), (5, 28, 28), (5,)])
def test_what_is_no_image_is_refused(shape):
    with pytest.raises(InvalidInputError, match=r'augmentation="images" is for images; the data has shape \(5,'):
        augment_images(torch.zeros(shape), generator())


def test_names_functions_and_none_are_resolved():
    def blur(batch: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        return batch

    assert resolve_augmentation("images") is augment_images
    assert resolve_augmentation(blur) is blur
    assert resolve_augmentation(None) is None


@pytest.mark.parametrize(
    ("augmentation", "message"),
    [
        ("flips", "must be one of images, a function or None; it is 'flips'"),
        (3, r"a function of a batch and a torch\.Generator; it is int"),
        (["images"], "it is list"),
        (math.nan, "it is float"),
    ],
)
def test_what_is_no_augmentation_is_refused(augmentation, message):
    with pytest.raises(InvalidInputError, match=message):
        resolve_augmentation(augmentation)
