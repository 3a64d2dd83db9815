"""The benchmark's parts on small data, so that it cannot rot unseen."""

from __future__ import annotations

import numpy as np

from benchmarks import networks as benchmark
from benchmarks.measure import write_between_markers
from xsdc.networks import NETWORKS


def test_comparison_agrees_and_reports_ratios():
    figures, rows = benchmark.compare(benchmark.drawn_images(8))
    assert figures["feature_difference"] < 1e-4
    assert figures["gradient_difference"] < 1e-2
    assert figures["forward_ratio"] == figures["plain_forward"] / figures["fast_forward"]
    assert len(rows) == 4


def test_every_layer_is_timed():
    figures, _ = benchmark.where_the_time_goes(benchmark.drawn_images(8))
    assert list(figures) == ["weights", *(f"layer {i}" for i in range(1, 7))]


def test_table_lands_between_its_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- benchmark:start -->\nold\n<!-- benchmark:end -->\nb\n", encoding="utf-8")
    write_between_markers(page, "new")
    assert page.read_text(encoding="utf-8") == "a\n<!-- benchmark:start -->\nnew\n<!-- benchmark:end -->\nb\n"


def test_data_is_found_by_option_or_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("XSDC_DATA", raising=False)
    assert benchmark.find_mnist(None) is None
    assert benchmark.find_mnist(str(tmp_path)) is None
    parts = {key: np.zeros(3) for key in ("x_train", "y_train", "x_test", "y_test")}
    np.savez(tmp_path / "mnist.npz", **parts)  # type: ignore[arg-type]
    monkeypatch.setenv("XSDC_DATA", str(tmp_path))
    found = benchmark.find_mnist(None)
    assert found is not None
    assert set(found) == set(parts)


def test_accuracy_counts_right_answers(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 90)
    x = np.zeros((90, 28, 28), dtype=np.uint8)
    x[:, 8:20, 8:20] = rng.integers(0, 60, (90, 12, 12))
    x[y == 1, 4:14] += 150
    monkeypatch.setattr(benchmark, "N_TRAIN", 50)
    data = {"x_train": x[:70], "y_train": y[:70], "x_test": x[70:], "y_test": y[70:]}
    assert benchmark.accuracy(NETWORKS["lenet5-ckn"], data, seed=0) == {"ridge": 1.0, "nearest": 1.0}
    data["y_test"] = 1 - data["y_test"]
    assert benchmark.accuracy(NETWORKS["lenet5-ckn"], data, seed=0) == {"ridge": 0.0, "nearest": 0.0}
