from __future__ import annotations

import sys

import numpy as np
import pytest

from benchmarks import mnist


def test_labels_are_drawn_evenly_and_are_true():
    y = np.arange(200) % 10
    known = mnist.draw_labels(y, 50, seed=1)
    assert np.bincount(known[known >= 0]).tolist() == [5] * 10
    assert (known[known >= 0] == y[known >= 0]).all()
    assert (known != mnist.draw_labels(y, 50, seed=2)).any()


def test_clusters_are_matched_only_without_labels():
    y = np.array([0, 0, 1, 1])
    assert mnist.accuracy(y, 1 - y, 0) == 1
    assert mnist.accuracy(y, 1 - y, 10) == 0


def test_fits_are_written_down_and_not_made_again(tmp_path, monkeypatch, capsys):
    images, y = np.zeros((120, 28, 28), np.uint8), (np.arange(120) % 10).astype(np.uint8)
    for place, digit in enumerate(y):
        images[place, 2 + digit * 2 : 6 + digit * 2, 4:20] = 200 + place % 5
    np.savez(tmp_path / "mnist.npz", x_train=images, y_train=y, x_test=images[:40], y_test=y[:40])
    docs = tmp_path / "page.md"
    docs.write_text("<!-- mnist:start -->\n<!-- mnist:end -->\n", encoding="utf-8")
    asked = ["--data", str(tmp_path), "--images", "100", "--labels", "50", "--draws", "1"]
    monkeypatch.setattr(sys, "argv", ["mnist", *asked, "--json", str(tmp_path / "a.json"), "--docs", str(docs)])
    mnist.main()
    first = docs.read_text(encoding="utf-8")
    assert "| 100 | no | 50 | 1.000 ± 0.000 | 1.000 |" in first
    monkeypatch.setattr(mnist, "run", lambda *_, **__: pytest.fail("made again"))
    mnist.main()
    assert docs.read_text(encoding="utf-8") == first
    capsys.readouterr()
