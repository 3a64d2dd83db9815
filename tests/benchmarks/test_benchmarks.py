"""The benchmarks on small data, so that they cannot rot unseen."""

from __future__ import annotations

import json
import sys

import numpy as np
import torch

from benchmarks import core, digits, training
from benchmarks.networks import drawn_images


def test_core_prints_and_writes(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- benchmark:start -->\nold\n<!-- benchmark:end -->\nb\n", encoding="utf-8")
    arguments = ["core", "--quick", "--docs", str(page), "--json", str(tmp_path / "core.json")]
    monkeypatch.setattr(sys, "argv", arguments)
    core.main()
    printed = capsys.readouterr().out
    assert printed.strip() in page.read_text(encoding="utf-8")
    results = json.loads((tmp_path / "core.json").read_text(encoding="utf-8"))
    assert len(results["comparisons"]) == 12
    for row in results["comparisons"]:
        assert row["difference"] < 1e-4
        assert row["ratio"] == row["plain_seconds"] / row["fast_seconds"]
    assert all(0 < m["peak_gigabytes"] < 24 for m in results["measurements"])


def test_training_step_and_pass_agree_with_the_transcription(monkeypatch):
    monkeypatch.setattr(training, "LABELED", 20)
    y = torch.arange(60) % 10
    _, slow, quick, apart = training.step_times(drawn_images(60), y)
    assert apart < 1e-3
    assert slow > 0
    assert quick > 0
    _, _, _, differ = training.evaluation_times(drawn_images(60), y)
    assert differ < 0.02


def test_digits_compares_on_the_same_splits(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text("<!-- thinned:start -->\n<!-- thinned:end -->\n", encoding="utf-8")
    arguments = ["digits", "--seeds", "1", "--labels", "50", "--thinned", "--docs", str(page)]
    monkeypatch.setattr(sys, "argv", [*arguments, "--json", str(tmp_path / "digits.json")])
    digits.main()
    assert "| xsdc |" in page.read_text(encoding="utf-8")
    results = json.loads((tmp_path / "digits.json").read_text(encoding="utf-8"))["results"]["50"]
    assert set(results) == {*digits.CLASSIFIERS, "xsdc, equal sizes"}
    assert all(0.5 < row["mean"] <= 1 for row in results.values())
    capsys.readouterr()


def test_thinned_digits_differ_ten_to_one_and_labels_are_drawn_alike():
    _, _, y, _ = digits.split(0, thinned=True)
    counts = np.bincount(y)
    assert 9 < counts[0] / counts[-1] < 11
    given = digits.draw_labels(y, "50", 0)
    assert (np.bincount(given[given >= 0]) == 5).all()
    assert (given[given >= 0] == y[given >= 0]).all()
