"""Places on the map, geometry of charts, pictures and colours."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from xsdc.report.charts import calibration_chart, curve, name_value, round_values
from xsdc.report.embedding import draw_maps
from xsdc.report.palette import class_colours
from xsdc.report.pictures import BLUE, draw_matrix, make_sheet


def picture(uri: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2])))


@pytest.mark.parametrize(
    "features",
    [
        np.zeros((0, 3)),
        np.ones((1, 3)),
        np.ones((40, 3)),
        np.full((40, 3), 1e-200),
        np.arange(3.0)[:, None],
        np.repeat(np.eye(2), 20, axis=0),
        1e12 * np.random.default_rng(0).normal(size=(30, 2)),
    ],
    ids=["none", "one", "alike", "tiny", "line", "two places", "huge"],
)
def test_any_features_have_places_in_the_unit_square(features):
    for places in draw_maps(features, features[::-1]):
        assert places.shape == (len(features), 2)
        assert np.isfinite(places).all()
        assert ((places >= -1e-9) & (places <= 1 + 1e-9)).all()


def test_groups_stay_apart_and_where_they_were():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(3), 30)
    before = 10 * np.eye(3)[groups] + rng.normal(size=(90, 3))
    first, second = draw_maps(before, before + 0.1 * rng.normal(size=before.shape))
    for places in (first, second):
        centres = np.stack([places[groups == g].mean(axis=0) for g in range(3)])
        nearest = ((places[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        assert (nearest == groups).mean() > 0.95
    assert np.linalg.norm(first - second, axis=1).mean() < 0.15


def test_maps_are_the_same_each_time():
    features = np.random.default_rng(0).normal(size=(50, 4))
    for a, b in zip(draw_maps(features, 2 * features), draw_maps(features, 2 * features), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_sheet_holds_every_picture_at_its_place():
    pictures = np.random.default_rng(0).integers(0, 256, (7, 5, 4)).astype(np.uint8)
    sheet = make_sheet(pictures)
    pixels = np.asarray(picture(sheet.uri))
    assert pixels.shape == (sheet.rows * 5, sheet.columns * 4)
    for i in range(7):
        x, y = (float(part.rstrip("%")) / 100 for part in sheet.place(i).split())
        left, top = round(x * (pixels.shape[1] - 4)), round(y * (pixels.shape[0] - 5))
        np.testing.assert_array_equal(pixels[top : top + 5, left : left + 4], pictures[i])


@pytest.mark.parametrize(
    ("pictures", "size", "ink"),
    [
        (np.zeros((3, 8, 8)), (8, 8), "light"),
        (np.full((3, 64, 128), 255), (16, 32), "dark"),
        (np.full((3, 8, 8), 128), (8, 8), ""),
        (np.zeros((2, 100, 50, 3)), (32, 16), ""),
        (np.zeros((2, 8, 8, 1)), (8, 8), "light"),
    ],
)
def test_thumbnails_are_small_and_drawings_are_told_from_photographs(pictures, size, ink):
    sheet = make_sheet(pictures.astype(np.uint8))
    assert ((sheet.height, sheet.width), sheet.ink) == (size, ink)


def test_the_matrix_is_as_opaque_as_its_entries():
    pixels = np.asarray(picture(draw_matrix(np.array([[1.0, 0.2], [-3.0, np.nan]]))))
    assert pixels[..., 3].tolist() == [[255, 51], [0, 0]]
    assert tuple(pixels[0, 0, :3]) == BLUE


@pytest.mark.parametrize(
    ("low", "high", "values"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (-6.1, -5.1, [-6, -5.8, -5.6, -5.4, -5.2]), (1, 30, [5, 10, 15, 20, 25, 30])],
)
def test_ticks_are_round(low, high, values):
    assert round_values(low, high) == pytest.approx(values)


def test_whole_ticks_are_at_least_one_apart():
    assert round_values(1, 3, whole=True) == [1, 2, 3]
    assert round_values(4, 4) == [4]


def test_ticks_are_short():
    assert [name_value(v) for v in (1e-05, -0.5, 1000.0, 1e7)] == ["1e−5", "−0.5", "1000", "1e7"]


@pytest.mark.parametrize("values", [[3.0], [1.0, 1.0], [-2.0, 5.0, 1e-9]])
@pytest.mark.parametrize("log", [False, True])
def test_curves_stay_within_their_axes(values, log):
    values = [abs(v) for v in values] if log else values
    chart = curve("c", range(1, len(values) + 1), values, x_range=(1, len(values)), log=log)
    numbers = np.array([float(x) for x in re.findall(r"-?[\d.]+", chart.path)]).reshape(-1, 2)
    assert len(numbers) == len(values)
    assert (numbers[:, 0] >= chart.left).all()
    assert (numbers[:, 0] <= chart.right).all()
    assert (numbers[:, 1] >= chart.top).all()
    assert (numbers[:, 1] <= chart.bottom).all()


def test_what_is_calibrated_lies_on_the_diagonal():
    bins = [{"low": 0, "high": 1, "n": 4, "confidence": c, "accuracy": c} for c in (0.0, 0.5, 1.0)]
    chart = calibration_chart(bins)
    middle = chart.dots[1]
    assert (chart.dots[0].x, chart.dots[0].y) == (chart.left, chart.bottom)
    assert (chart.dots[2].x, chart.dots[2].y) == (chart.right, chart.top)
    assert (middle.x, middle.y) == ((chart.left + chart.right) / 2, (chart.top + chart.bottom) / 2)


@pytest.mark.parametrize("k", [1, 10, 11, 50])
def test_colours_are_all_different(k):
    for colours in class_colours(k).values():
        assert len(set(colours)) == k
        assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)


@pytest.mark.parametrize(("page", "ground"), [("light", 1.0), ("dark", 0.013)])
def test_colours_stand_out_from_their_page(page, ground):
    for colour in class_colours(10)[page]:
        parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        lights = sorted([float(linear @ [0.2126, 0.7152, 0.0722]), ground])
        assert (lights[1] + 0.05) / (lights[0] + 0.05) > 2.4
