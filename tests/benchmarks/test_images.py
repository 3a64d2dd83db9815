from __future__ import annotations

import sys

import numpy as np
import pytest

from benchmarks import images as benchmark


def test_labels_are_drawn_evenly_and_are_true():
    y = np.arange(200) % 10
    known = benchmark.draw_labels(y, 50, seed=1)
    assert np.bincount(known[known >= 0]).tolist() == [5] * 10
    assert (known[known >= 0] == y[known >= 0]).all()
    assert (known != benchmark.draw_labels(y, 50, seed=2)).any()


def test_clusters_are_matched_only_without_labels():
    y = np.array([0, 0, 1, 1])
    assert benchmark.accuracy(y, 1 - y, 0) == 1
    assert benchmark.accuracy(y, 1 - y, 10) == 0


def test_fits_are_written_down_and_not_made_again(tmp_path, monkeypatch, capsys):
    images, y = np.zeros((120, 28, 28), np.uint8), (np.arange(120) % 10).astype(np.uint8)
    for place, digit in enumerate(y):
        images[place, 2 + digit * 2 : 6 + digit * 2, 4:20] = 200 + place % 5
    X, y = images[:, None] / np.float32(255), y.astype(np.int64)
    monkeypatch.setattr(benchmark, "read", lambda _: (X, y, X[:40], y[:40]))
    docs = tmp_path / "page.md"
    docs.write_text("<!-- images:start -->\n<!-- images:end -->\n", encoding="utf-8")
    asked = ["--images", "100", "--labels", "50", "--efforts", "fast", "--draws", "1"]
    monkeypatch.setattr(sys, "argv", ["images", *asked, "--json", str(tmp_path / "a.json"), "--docs", str(docs)])
    benchmark.main()
    first = docs.read_text(encoding="utf-8")
    assert "| mnist | 100 | 50 | fast | 1.000 | 1.000 |" in first
    monkeypatch.setattr(benchmark, "run", lambda *_, **__: pytest.fail("made again"))
    benchmark.main()
    assert docs.read_text(encoding="utf-8") == first
    capsys.readouterr()
