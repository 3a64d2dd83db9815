from __future__ import annotations

import numpy as np
import pytest

from tests.experiments.test_experiments import digits
from xsdc.errors import InvalidInputError
from xsdc.experiments import EXPERIMENTS
from xsdc.experiments.figures import curves, draw_figure
from xsdc.experiments.maps import draw_maps, mosaic


def record(curve="XSDC", accuracy=0.8, seed=0, *, dataset="mnist", x=50, **more):
    setting = digits(curve=curve, dataset=dataset, n_labeled=x, x=x, iterations=500).as_dict()
    return {"setting": setting, "seed": seed, "protocol": "authors", "accuracy": accuracy, **more}


def test_curves_hold_every_trial_and_the_initialisations():
    found = curves([record(random_initialization=0.4, supervised_initialization=0.6), record(accuracy=0.9, seed=1)])
    assert found["XSDC"][50] == [0.8, 0.9]
    assert found["random initialisation"][50] == [0.4]
    assert found["supervised initialisation"][50] == [0.6]


def test_figure_shows_the_authors_beside_ours(tmp_path):
    path = tmp_path / "a.svg"
    draw_figure(EXPERIMENTS["accuracy-vs-labels"], [record(), record(x=100), record(dataset="magic")], path)
    text = path.read_text()
    assert "XSDC, the authors" in text
    assert "magic" in text


def shorter(row):
    return row | {"setting": row["setting"] | {"iterations": 50}}


def test_the_authors_are_not_shown_beside_fewer_steps_or_another_protocol(tmp_path):
    path = tmp_path / "a.svg"
    for row in (shorter(record()), record(protocol="honest")):
        draw_figure(EXPERIMENTS["accuracy-vs-labels"], [row], path)
        assert "XSDC, the authors" not in path.read_text()


def test_curves_at_one_place_stand_side_by_side(tmp_path):
    path = tmp_path / "a.svg"
    draw_figure(EXPERIMENTS["labelers"], [record("balancing"), record("deep-clustering")], path)
    assert "labels: 50" in path.read_text()
    draw_figure(EXPERIMENTS["labelers"], [record("balancing"), record("deep-clustering", x=100)], path)
    assert "labels: 50" not in path.read_text()


def test_a_data_set_with_nothing_to_compare_is_left_out(tmp_path):
    path = tmp_path / "a.svg"
    rows = [record("balancing"), record("deep-clustering"), record("balancing", dataset="magic")]
    draw_figure(EXPERIMENTS["labelers"], rows, path)
    text = path.read_text()
    assert "mnist" in text
    assert "magic" not in text


def test_a_curve_has_one_color_in_all_panels(tmp_path):
    path = tmp_path / "a.svg"
    rows = [record(name) for name in ("balancing", "pseudo-labels", "deep-clustering")]
    rows += [record(name, dataset="magic") for name in ("balancing", "deep-clustering")]
    draw_figure(EXPERIMENTS["labelers"], rows, path)
    first, second, third = (path.read_text().count(color) for color in ("#1f77b4", "#ff7f0e", "#2ca02c"))
    assert first == third > second > 0


def test_figure_of_relaxations_shows_eigengaps(tmp_path):
    path = tmp_path / "gaps.svg"
    rows = [record(curve, eigengaps=[1e-6, 2e-6]) for curve in ("balancing", "eigen")]
    rows.append(record("balancing, all steps", eigengaps=[1e-6, 2e-6, 3e-6]))
    draw_figure(EXPERIMENTS["relaxations"], rows, path)
    assert "eigengap of A" in path.read_text()


def test_sensitivity_has_an_axis_for_each_hyperparameter(tmp_path):
    path = tmp_path / "sensitivity.svg"
    rows = [record(curve, x=x) for curve, least in (("learning rate", -3), ("lambda", -40)) for x in (2.0**least, 1.0)]
    draw_figure(EXPERIMENTS["sensitivity"], rows, path)
    text = path.read_text()
    assert [text.count(f"<!-- {curve} -->") for curve in ("learning rate", "lambda")] == [1, 1]  # titles, no legend
    assert text.count("<!-- value -->") == 2


def test_headline_tells_the_protocol_and_the_trials(tmp_path):
    path = tmp_path / "a.svg"
    rows = [record(), record(seed=1), record(x=100)]
    draw_figure(EXPERIMENTS["accuracy-vs-labels"], [*rows, record(dataset="magic")], path)
    assert "authors' protocol: mean and deviation of 1 to 2 trials each" in path.read_text()
    draw_figure(EXPERIMENTS["accuracy-vs-labels"], [row | {"protocol": "honest"} for row in rows[:2]], path)
    text = path.read_text()  # one panel is as wide as half of it
    assert "<!-- accuracy-vs-labels, the honest protocol: -->" in text
    assert "<!-- mean and deviation of 2 trials each -->" in text


def test_nothing_to_draw(tmp_path):
    with pytest.raises(InvalidInputError, match="no trial"):
        draw_figure(EXPERIMENTS["labelers"], [], tmp_path / "none.svg")


def test_mosaic_puts_images_where_their_points_are():
    Z = np.array([[0.0, 0.0], [1.0, 1.0], [0.999, 0.999]], dtype=np.float32)
    images = np.ones((3, 2, 2), dtype=np.float32)
    images[:, 0, 0] = 0
    page = mosaic(Z, images, np.array([0, 1, 2]), lambda c: [(1, 0, 0, 1), (0, 1, 0, 1), (0, 0, 1, 1)][c])
    assert page[1, 1].tolist() == [1, 0, 0]
    assert page[-1, -1].tolist() == [0, 1, 0]
    assert (page == 1).all(2).sum() == page.shape[0] * page.shape[1] - 6


def test_maps_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr("xsdc.experiments.maps.MOST", 150)
    draw_maps([digits(), digits(curve="XSDC, {4, 9} known", constraints="specific")], tmp_path / "maps.png")
    assert (tmp_path / "maps.png").stat().st_size > 20_000
