"""The comparison of criteria on next to nothing, so that it cannot rot unseen."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from benchmarks import criterion, criterion_fits


def test_it_runs_goes_on_from_its_log_and_writes_the_table(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(criterion_fits.SIZES, "digits", 60)
    plain = {"max_iter": 0, "cluster_size": "equal", "ridge": 0.01}
    quick = [plain, {**plain, "max_iter": 2}, {**plain, "cluster_size": (0.0, 0.05)}, {**plain, "ridge": 1.0}]
    monkeypatch.setattr(criterion, "configurations", lambda _: quick)
    page, log, results = tmp_path / "page.md", tmp_path / "log.jsonl", tmp_path / "results.json"
    page.write_text("<!-- criterion:start -->\n<!-- criterion:end -->\n", encoding="utf-8")
    arguments = ["criterion", "--quick", "--log", str(log), "--docs", str(page), "--json", str(results)]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.delenv("XSDC_DATA", raising=False)
    criterion.main()
    lines = log.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 16
    assert sum("failed" in json.loads(line) for line in lines) == 4
    assert f"| **{criterion.CHOSEN}** |" in page.read_text(encoding="utf-8")
    first = json.loads(results.read_text(encoding="utf-8"))["results"]["digits"]
    assert all(0 <= figures["regret"] <= 1 for figures in first.values())

    log.write_text("\n".join([*lines[:-1], lines[-1][:50]]), encoding="utf-8")  # cut short while writing
    fitted = []
    fit = criterion_fits.fit
    monkeypatch.setattr(criterion_fits, "fit", lambda *args: fitted.append(args[2]) or fit(*args))
    criterion.main()
    assert fitted == ["second half"]
    assert json.loads(results.read_text(encoding="utf-8"))["results"]["digits"] == first
    capsys.readouterr()


def test_prediction_strength_is_that_of_the_weakest_group():
    found = np.array([0, 0, 0, 0, 1, 1, 1])
    assert criterion.prediction_strength(np.array([3, 3, 3, 3, 2, 2, 2]), found) == 1
    # Of the six pairs of group 0 three stay together; of the three of group 1 one.
    assert criterion.prediction_strength(np.array([0, 0, 0, 1, 1, 1, 0]), found) == pytest.approx(1 / 3)


def test_a_guide_that_orders_as_the_accuracy_loses_nothing():
    accuracy = np.array([0.2, 0.9, 0.5, 0.7])
    good = criterion._as_guide(criterion.ranks(accuracy), accuracy)
    assert good == pytest.approx({"spearman": 1, "spearman_better_half": 1, "regret": 0, "accuracy": 0.9})
    bad = criterion._as_guide(criterion.ranks(np.array([4.0, np.nan, 1.0, 2.0])), accuracy)
    assert bad["regret"] == pytest.approx(0.7)
