from __future__ import annotations

import numpy as np
import pytest
import torch

from xsdc.errors import InvalidInputError
from xsdc.networks import Pooling, as_images, gradient_map
from xsdc.networks.images import channels_last

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("shape", "channels", "expected"),
    [
        ((5, 8, 9), None, (5, 1, 8, 9)),
        ((5, 8, 9, 3), None, (5, 3, 8, 9)),
        ((5, 3, 8, 9), None, (5, 3, 8, 9)),
        ((5, 8, 9, 1), None, (5, 1, 8, 9)),
        ((5, 1, 8, 9), None, (5, 1, 8, 9)),
        ((10, 3, 32, 3), "first", (10, 3, 32, 3)),
        ((10, 3, 32, 3), "last", (10, 3, 3, 32)),
        ((2, 8, 8, 16), "last", (2, 16, 8, 8)),
    ],
)
def test_layouts(shape, channels, expected):
    X = RNG.random(shape)
    assert tuple(as_images(X, channels=channels).shape) == expected


def test_pixels_land_where_they_belong():
    X = RNG.integers(0, 256, (2, 5, 6, 3), dtype=np.uint8)
    images = as_images(X, dtype=torch.float64)
    assert images[1, 2, 3, 4] == X[1, 3, 4, 2] / 255
    assert torch.equal(images, as_images(np.moveaxis(X, 3, 1), dtype=torch.float64))


def test_uint8_is_scaled_and_floats_are_not():
    assert as_images(np.full((1, 5, 5), 255, dtype=np.uint8)).max() == 1.0
    assert as_images(torch.full((1, 5, 5), 255, dtype=torch.uint8)).max() == 1.0
    assert as_images(np.full((1, 5, 5), 255.0)).max() == 255.0


@pytest.mark.parametrize("shape", [(10, 3, 32, 3), (4, 4, 4, 4), (4, 16, 16, 16)])
def test_ambiguous_layouts_are_asked_about(shape):
    with pytest.raises(InvalidInputError, match=r"channels='first' or channels='last'"):
        as_images(np.zeros(shape))


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.zeros((3, 4)), {}, r"\(n, H, W\).*shape \(3, 4\)"),
        (np.zeros((0, 8, 8)), {}, "must hold images"),
        (np.zeros((2, 8, 8), dtype=np.int64), {}, "uint8"),
        (torch.zeros(2, 8, 8, dtype=torch.int32), {}, "uint8"),
        (np.array([[["a"]]]), {}, "numbers"),
        (np.full((2, 8, 8), np.nan), {}, "finite"),
        (np.zeros((32, 32, 3)), {}, r"one image \(H, W, C\)"),
        (np.zeros((2, 8, 8)), {"channels": "last"}, "without a channel axis"),
        (np.zeros((2, 8, 8, 3)), {"channels": "middle"}, "'first', 'last' or None"),
    ],
)
def test_what_is_not_images(X, options, message):
    with pytest.raises(InvalidInputError, match=message):
        as_images(X, **options)


def test_reading_accepts_any_memory_and_modifies_nothing():
    X = RNG.random((3, 8, 8))
    X.flags.writeable = False
    assert as_images(X).shape == (3, 1, 8, 8)
    swapped = RNG.random((3, 8, 8)).astype(">f4")[:, ::-1]
    torch.testing.assert_close(as_images(swapped)[:, 0], torch.from_numpy(swapped.astype("f4").copy()))
    pixels = torch.full((1, 4, 4), 9, dtype=torch.uint8)
    as_images(pixels)
    assert (pixels == 9).all()


def test_gradient_map_by_hand():
    green = torch.tensor([[0.0, 1.0, 4.0], [2.0, 3.0, 6.0]])
    x = torch.stack([torch.full((2, 3), 9.0), green, torch.zeros(2, 3)])[None]
    vertical, horizontal = gradient_map(x)[0]
    assert vertical.tolist() == [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]
    assert horizontal.tolist() == [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    assert torch.equal(gradient_map(green[None, None])[0, 0], vertical)


@pytest.mark.parametrize("shape", [(2, 2, 8, 8), (2, 3, 1, 8)])
def test_gradient_map_needs_an_image(shape):
    with pytest.raises(InvalidInputError, match="gradient map"):
        gradient_map(torch.zeros(shape))


@pytest.mark.parametrize("C", [1, 3])
def test_channels_last_changes_memory_only(C):
    x = torch.rand(2, C, 4, 5)
    y = channels_last(x)
    assert torch.equal(x, y)
    assert y.stride() == (20 * C, 1, 5 * C, C)


def test_gaussian_pooling_by_hand():
    # Size 1 has weights exp(-1), 1, exp(-1) over their sum, at every position.
    x = torch.zeros(1, 1, 3, 3, dtype=torch.float64)
    x[0, 0, 1, 1] = 1.0
    side = np.exp(-1) / (1 + 2 * np.exp(-1))
    weights = torch.tensor([side, 1 - 2 * side, side], dtype=torch.float64)
    torch.testing.assert_close(Pooling("gaussian", 1)(x)[0, 0], weights[:, None] * weights, rtol=1e-14, atol=0)


@pytest.mark.parametrize("kind", ["average", "gaussian", "max", "global"])
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("length", [3, 4, 7, 8])
def test_output_size_is_what_comes_out(kind, size, length):
    pooling = Pooling(kind, size)
    y = pooling(torch.rand(1, 2, length, length + 1))
    assert tuple(y.shape[2:]) == (pooling.output_size(length), pooling.output_size(length + 1))


def test_unknown_pooling():
    with pytest.raises(InvalidInputError, match="average, gaussian"):
        Pooling("median")
