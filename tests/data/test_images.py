from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from PIL import Image

from xsdc.data import images, memory, read_data
from xsdc.errors import InvalidInputError

RNG = np.random.default_rng(0)
GRAY = RNG.integers(0, 256, (12, 10), dtype=np.uint8)
STEPS = np.repeat(np.arange(0, 256, 17, dtype=np.uint8), 8).reshape(16, 8)
COLOUR = RNG.integers(0, 256, (12, 10, 3), dtype=np.uint8)


def encoded(pixels, kind="PNG", **options):
    buffer = io.BytesIO()
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    image.save(buffer, kind, **options)
    return buffer.getvalue()


@pytest.fixture(params=["folder", "zip", "zip with an outer folder"])
def put(request, tmp_path):
    """Write files into a folder or a zip, and return its path."""

    def put(files):
        if request.param == "folder":
            for name, content in files.items():
                path = tmp_path / "pictures" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            return tmp_path / "pictures"
        outer = "pictures/" if "outer" in request.param else ""
        with zipfile.ZipFile(tmp_path / "pictures.zip", "w") as file:
            for name, content in files.items():
                file.writestr(outer + name, content)
        return tmp_path / "pictures.zip"

    return put


def test_folders_are_labels(put):
    data = read_data(
        put(
            {
                "cat/2.png": encoded(GRAY),
                "cat/deep/1.PNG": encoded(GRAY),
                "dog/1.bmp": encoded(GRAY, "BMP"),
                "dog or cat/1.tiff": encoded(GRAY, "TIFF"),
                "Unlabeled/1.gif": encoded(GRAY, "GIF"),
                "root.webp": encoded(GRAY, "WEBP", lossless=True),
                ".hidden.png": b"",
                "__MACOSX/cat/2.png": b"",
                "cat/notes.txt": b"",
            }
        )
    )
    assert data.ids.tolist() == [
        *("Unlabeled/1.gif", "cat/2.png", "cat/deep/1.PNG", "dog or cat/1.tiff", "dog/1.bmp", "root.webp"),
    ]
    assert data.labels.tolist() == [None, "cat", "cat", None, "dog", None]
    assert data.allowed == {3: ["dog", "cat"]}
    assert (data.kind, data.id_name) == ("images", "file")
    assert data.X.shape == (6, 12, 10)
    assert (data.X == GRAY).all()
    np.testing.assert_array_equal(data.pictures, data.X)


def test_folders_can_be_the_truth(put):
    path = put({"1/a.png": encoded(GRAY), "2/a.png": encoded(GRAY)})
    data = read_data(path, truth_column="folder")
    assert data.truth.tolist() == [1, 2]
    assert data.labels.tolist() == [None, None]
    for options in ({"label_column": "kind"}, {"id_column": "folder"}):
        with pytest.raises(InvalidInputError, match="folder"):
            read_data(path, **options)


def test_parts_are_no_labels(put):
    data = read_data(put({"train/a/1.png": encoded(GRAY), "test/b/1.png": encoded(GRAY), "test/2.png": encoded(GRAY)}))
    assert data.ids.tolist() == ["test/2.png", "test/b/1.png", "train/a/1.png"]
    assert data.labels.tolist() == [None, "b", "a"]


def test_colour_if_any_has_it(put):
    data = read_data(put({"1.png": encoded(GRAY), "2.png": encoded(COLOUR)}))
    np.testing.assert_array_equal(data.X, [np.stack([GRAY] * 3, axis=2), COLOUR])


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (Image.fromarray(np.stack([GRAY] * 3, axis=2)), GRAY),
        (Image.fromarray(STEPS.astype(np.uint16) * 257), STEPS),
        (Image.fromarray(GRAY > 99), np.where(GRAY > 99, 255, 0)),
        (Image.fromarray(np.dstack([COLOUR, np.full((12, 10), 255, np.uint8)])), COLOUR),
        (Image.fromarray(np.dstack([COLOUR, np.zeros((12, 10), np.uint8)])), np.full((12, 10), 255)),
    ],
    ids=["gray as RGB", "16 bits", "black and white", "opaque", "transparent on white"],
)
def test_modes(tmp_path, image, expected):
    image.save(tmp_path / "1.png")
    np.testing.assert_array_equal(read_data(tmp_path).X[0], expected)


def test_a_camera_held_sideways(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise
    Image.fromarray(COLOUR).save(tmp_path / "1.png", exif=exif)
    np.testing.assert_array_equal(read_data(tmp_path).X[0], np.rot90(COLOUR, k=-1))


def test_sizes(put):
    path = put(
        {
            "1.png": encoded(np.zeros((200, 100), np.uint8)),
            "2.png": encoded(np.zeros((200, 100), np.uint8)),
            "3.jpg": encoded(np.zeros((900, 900), np.uint8), "JPEG"),
            "4.png": encoded(np.zeros((5, 5), np.uint8)),
        }
    )
    data = read_data(path)
    assert data.X.shape == (4, 64, 32)
    assert data.notes[0].startswith("4 of 4 images were scaled and cropped to 32×64 pixels")
    assert read_data(path, image_size=7).X.shape == (4, 7, 7)
    assert "3 of 4 images" in read_data(path, image_size=5).notes[0]
    for bad in (0, 2.5):
        with pytest.raises(InvalidInputError, match="image_size must be a whole number of at least 1"):
            read_data(path, image_size=bad)


def test_the_centre_is_kept(tmp_path):
    wide = np.zeros((10, 30), np.uint8)
    wide[:, 10:20] = GRAY[:10]
    Image.fromarray(wide).save(tmp_path / "1.png")
    np.testing.assert_array_equal(read_data(tmp_path, image_size=10).X[0], GRAY[:10])


def test_a_few_broken_images_are_passed_over(put):
    whole = encoded(COLOUR, "JPEG")
    files = {f"a/{i}.jpg": whole for i in range(4)}
    data = read_data(put({**files, "a/cut.png": encoded(COLOUR)[:-60], "a/none.png": b"", "b/text.jpg": b"hello"}))
    assert data.n == 4
    assert "3 broken image(s) were passed over: `a/cut.png`, `a/none.png`, `b/text.jpg`." in data.notes


def test_many_broken_images_are_an_error(put):
    with pytest.raises(InvalidInputError, match=r"2 of 3 images.*`b.png`, `c.png`"):
        read_data(put({"a.png": encoded(GRAY), "b.png": b"", "c.png": encoded(COLOUR)[:99]}))


def test_no_image_at_all(put):
    with pytest.raises(InvalidInputError, match="None of the images"):
        read_data(put({"a.png": b"junk"}))


def test_nothing_there(put):
    with pytest.raises(InvalidInputError, match=r"holds no images.*\.png"):
        read_data(put({"a/readme.rst": b"hello"}))


@pytest.mark.parametrize("limit", [100, 50])
def test_bombs(put, monkeypatch, limit):
    path = put({"a.png": encoded(GRAY)})  # 120 pixels: a warning of Pillow's above the limit, an error above twice
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    with pytest.raises(InvalidInputError, match=r"`a.png` has more pixels"):
        read_data(path)


def test_too_large(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("1.png", encoded(GRAY))
        file.writestr("2.png", bytes(1000))
    monkeypatch.setattr(memory, "available_memory", lambda: 200)
    with pytest.raises(InvalidInputError, match="are free"):
        read_data(tmp_path / "a.zip")
    monkeypatch.setattr(images, "LARGEST_FILE", 999)
    with pytest.raises(InvalidInputError, match=r"`2.png` of `a.zip` is larger"):
        read_data(tmp_path / "a.zip")


def test_a_password(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("1.png", encoded(GRAY))
    raw = bytearray((tmp_path / "a.zip").read_bytes())
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(magic) + offset] |= 1  # says that the entry is encrypted
    (tmp_path / "a.zip").write_bytes(raw)
    with pytest.raises(InvalidInputError, match=r"1.png.*password"):
        read_data(tmp_path / "a.zip")


def test_names_that_climb_out_are_harmless(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("../../evil/1.png", encoded(GRAY))
        file.writestr("/tmp/evil.png", encoded(GRAY))  # noqa: S108
    before = sorted(tmp_path.rglob("*"))
    read_data(tmp_path / "a.zip")
    assert sorted(tmp_path.rglob("*")) == before
