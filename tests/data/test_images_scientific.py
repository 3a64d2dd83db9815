from __future__ import annotations

import io
import struct
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

from tests.data.cases import fit_preparation
from xsdc.data import ImageRows, Preparation, open_blocks, read_data
from xsdc.data.scientific import Levels, levels_of
from xsdc.errors import InvalidInputError

RNG = np.random.default_rng(0)
SHADES = RNG.random((20, 16))  # what an instrument sees, from 0 to 1
BYTES = np.rint(SHADES * 255).astype(np.uint8)


def tiff(pixels, **options):
    buffer = io.BytesIO()
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    image.save(buffer, "TIFF", **options)
    return buffer.getvalue()


def coloured_png(pixels):
    """Encode colours of 16 bits, which Pillow does not write."""
    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


@pytest.fixture(params=["folder", "zip"])
def put(request, tmp_path):
    """Write files into a folder or a zip, and return its path."""

    def put(files):
        if request.param == "zip":
            with zipfile.ZipFile(tmp_path / "images.zip", "w") as file:
                for name, content in files.items():
                    file.writestr(name, content)
            return tmp_path / "images.zip"
        (tmp_path / "images").mkdir()
        for name, content in files.items():
            (tmp_path / "images" / name).write_bytes(content)
        return tmp_path / "images"

    return put


def read_every_way(path, size):
    """Read images whole, in blocks as a fit and as a prediction does, and one by one; all must agree."""
    dataset = read_data(path, image_size=size)
    whole = dataset.X
    for thorough in (True, False):
        blocks = open_blocks(path, image_size=size, thorough=thorough, levels=None if thorough else dataset.levels)
        np.testing.assert_array_equal(np.concatenate([block.X for block in blocks.read(2)]), whole)
        if thorough:
            large = blocks.known()
            assert (large.levels, large.notes) == (dataset.levels, dataset.notes)
            np.testing.assert_array_equal(large.taken([len(whole) - 1, 0]).X, whole[[-1, 0]])
    singly = ImageRows(path, size=size)
    assert singly.notes == dataset.notes
    np.testing.assert_array_equal(np.stack([singly[i][..., 0] for i in range(len(singly))]), whole)
    return whole


@pytest.mark.parametrize(
    "pixels",
    [
        (SHADES * 200).astype(np.uint16),
        (SHADES * 4095).astype(np.uint16),
        (SHADES * 65535).astype(np.uint16),
        (SHADES * 3000 - 1000).astype(np.int32),
        SHADES.astype(np.float32),
        (SHADES * 1e-6 - 3e-7).astype(np.float32),
    ],
    ids=["200 counts", "12 bits", "16 bits", "below zero", "fractions", "tiny fractions"],
)
def test_depths_keep_their_shades(put, pixels):
    path = put({f"{i}.tif": tiff(pixels) for i in range(3)})
    X = read_every_way(path, (20, 16))
    assert X.dtype == np.uint8
    assert np.abs(X[0].astype(int) - BYTES).max() <= 4  # a few at the ends are cut off
    assert len(np.unique(X)) > 100
    (note,) = [note for note in read_data(path).notes if "bits" in note]
    assert note.startswith("3 image(s) of more than 8 bits were brought to 8 by one scale")


def test_one_scale_for_all(put):
    dim, bright = (tiff((SHADES * most).astype(np.uint16)) for most in (2000, 4000))
    X = read_every_way(put({"a.tif": dim, "b.tif": bright}), (20, 16)).astype(int)
    assert np.abs(X[1] - BYTES).max() <= 4
    assert np.abs(X[0] - X[1] / 2).max() <= 4


def test_images_that_use_hardly_any_shades_are_told_of(put):
    dim, bright = (tiff((SHADES * most).astype(np.uint16)) for most in (200, 60_000))
    path = put({"a.tif": dim, "b.tif": bright, "c.tif": tiff(SHADES.astype(np.float32))})
    (note,) = [note for note in read_data(path).notes if "fewer than 16" in note]
    assert note.startswith("2 image(s) of more than 8 bits use fewer than 16 of the 256 shades: `a.tif`, `c.tif`.")


def test_a_prediction_has_the_scale_of_the_fit(tmp_path):
    for folder, most in (("fit", 4000), ("dimmer", 2000), ("brighter", 8000), ("bytes", None)):
        (tmp_path / folder).mkdir()
        pixels = BYTES if most is None else (SHADES * most).astype(np.uint16)
        (tmp_path / folder / "a.tif").write_bytes(tiff(pixels))
    preparation, X = fit_preparation(read_data(tmp_path / "fit"))
    preparation.save(tmp_path / "preparation")
    again = Preparation.load(tmp_path / "preparation")
    assert again.levels_ == preparation.levels_

    def predicted(folder, levels=again.levels_):
        blocks = open_blocks(tmp_path / folder, image_size=(20, 16), thorough=False, levels=levels)
        (block,) = blocks.read(9)
        return again.transform(block)[0].astype(int), blocks.notes

    dimmer, notes = predicted("dimmer")
    assert np.abs(dimmer - X[0] / 2).max() <= 2
    assert notes == []
    brighter, notes = predicted("brighter")
    assert np.abs(brighter - (2 * X[0].astype(int)).clip(0, 255)).max() <= 4
    (note,) = notes
    assert "1 image(s) of more than 8 bits go beyond the range of the fit" in note
    np.testing.assert_array_equal(predicted("bytes")[0], BYTES)
    with pytest.raises(InvalidInputError, match=r"`a.tif` has more than 8 bits; images of the fit had 8"):
        predicted("fit", levels=None)


def test_eight_bits_stay_as_they_are(put):
    files = {"a.tif": tiff(BYTES), "b.tif": tiff(np.full((20, 16), 7, np.uint8))}
    path = put({**files, "c.tif": tiff((SHADES * 200).astype(np.uint16))})
    X = read_every_way(path, (20, 16))
    np.testing.assert_array_equal(X[0], BYTES)
    assert (X[1] == 7).all()
    (note,) = [note for note in read_data(path).notes if "have 8 bits" in note]
    assert "2 image(s) have 8 bits and stayed as they were beside 1 of more" in note


def test_eight_bits_alone_need_no_note(put):
    assert not any("bits" in note for note in read_data(put({"a.tif": tiff(BYTES)})).notes)


def test_scaling_down_keeps_shades(put):
    large = np.kron(SHADES, np.ones((10, 10)))
    X = read_every_way(put({"a.tif": tiff((large * 200).astype(np.uint16))}), (20, 16))
    assert np.corrcoef(X[0].ravel(), BYTES.ravel())[0, 1] > 0.95


def test_flaws_of_a_camera_do_not_take_all_shades(put):
    counts = (SHADES * 200).astype(np.uint16)
    counts[3, 3] = 65535
    X = read_every_way(put({"a.tif": tiff(counts)}), (20, 16))
    assert X[0, 3, 3] == 255
    assert len(np.unique(X)) > 100


def test_what_is_no_number_is_darkest(put):
    holes = SHADES.astype(np.float32)
    holes[0, 0], holes[1, 1], holes[2, 2] = np.nan, np.inf, -np.inf
    nothing = np.full((20, 16), np.nan, np.float32)
    X = read_every_way(put({"a.tif": tiff(holes), "b.tif": tiff(nothing)}), (20, 16))
    assert X[0, [0, 1, 2], [0, 1, 2]].tolist() == [0, 0, 0]
    assert len(np.unique(X[0])) > 100
    assert not X[1].any()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5.0] * 4, Levels(5, 5)),
        ([0.0] * 99 + [1.0], Levels(0, 1)),  # all it has
        ([-9.0, *[0.0] * 49, *[1.0] * 49, 99.0], Levels(0, 1)),
        (list(range(5001)), Levels(5, 4995)),
        ([2.0], Levels(2, 2)),
    ],
)
def test_levels(values, expected):
    assert levels_of(np.array(values)) == expected


def test_levels_cut_off_what_is_beyond():
    values = np.array([-1.0, 0.0, 1.0, 2.0, 3.0])
    assert Levels(0, 2).as_bytes(values).tolist() == [0, 0, 128, 255, 255]
    assert Levels(1, 1).as_bytes(values).tolist() == [0, 0, 0, 255, 255]


def test_coloured_images_of_16_bits(put):
    colours = RNG.integers(0, 2**16, (20, 16, 3)).astype(np.uint16)
    data = read_data(put({"a.png": coloured_png(colours)}))
    assert np.abs(data.X[0].astype(int) - colours // 256).max() <= 1
    (note,) = [note for note in data.notes if "16 bits" in note]
    assert note.startswith("Of 1 coloured image(s) of 16 bits only the upper 8 are read: `a.png`.")


def test_several_pages(put):
    pages = [Image.fromarray(RNG.integers(0, 256, (20, 16), dtype=np.uint8)) for _ in range(5)]
    animated = io.BytesIO()
    pages[0].save(animated, "GIF", save_all=True, append_images=pages[1:3])
    path = put(
        {
            "a.tif": tiff(pages[0], save_all=True, append_images=pages[1:]),
            "b.tif": tiff(pages[1]),
            "c.gif": animated.getvalue(),
        }
    )
    expected = "2 file(s) have several pages, of which the first was read: `a.tif` (5 pages), `c.gif` (3 pages). Save"
    data = read_data(path)
    np.testing.assert_array_equal(data.X[0], pages[0])
    blocks = open_blocks(path, image_size=(20, 16), thorough=False)
    assert sum(block.n for block in blocks.read(2)) == 3
    for notes in (data.notes, ImageRows(path).notes, blocks.notes):
        (note,) = [note for note in notes if "pages" in note]
        assert note.startswith(expected)


def test_a_stack_that_breaks_off(tmp_path):
    """Its first page is read; that others cannot be counted is no reason to pass it over."""
    pages = [Image.fromarray(RNG.integers(0, 256, (20, 16), dtype=np.uint8)) for _ in range(3)]
    whole = tiff(pages[0], save_all=True, append_images=pages[1:])
    first = tiff(pages[0])
    (tmp_path / "a.tif").write_bytes(whole[: len(first) + 20])
    np.testing.assert_array_equal(read_data(tmp_path).X[0], pages[0])


def test_many_stacks_are_not_all_named(tmp_path):
    page = Image.fromarray(BYTES)
    for i in range(5):
        (tmp_path / f"{i}.tif").write_bytes(tiff(page, save_all=True, append_images=[Image.fromarray(255 - BYTES)]))
    (note,) = [note for note in read_data(tmp_path).notes if "pages" in note]
    assert "`2.tif` (2 pages) and 2 more." in note
