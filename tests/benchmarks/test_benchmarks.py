"""The benchmarks on small data, so that they cannot rot unseen."""

from __future__ import annotations

import json
import sys

import torch

from benchmarks import core, training
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
