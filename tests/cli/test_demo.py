from __future__ import annotations

import json


def test_demo_shows_a_table_and_draws_a_report(xsdc, tmp_path, monkeypatch):
    monkeypatch.setattr("xsdc.runs.demo.OPTIONS", {"n_clusters": 10, "max_iter": 1})
    monkeypatch.setattr("xsdc.runs.demo.LABELS", (0, 30))
    ended = xsdc("demo", "--out", "show", "--quiet")
    assert ended.code == 0, ended.err
    report = tmp_path / "show" / "30-labels" / "report.html"
    assert str(report.relative_to(tmp_path)) in ended.out
    assert report.stat().st_size > 10_000
    rows = {line.split()[0]: float(line.split()[1]) for line in ended.out.splitlines() if "0." in line}
    for labels in ("0", "30"):
        metrics = json.loads((tmp_path / "show" / f"{labels}-labels" / "metrics.json").read_text())
        assert rows[labels] == round(metrics["measured"]["accuracy"], 3) > 0.6
    assert "SpectralClustering" in ended.out
    assert "LabelSpreading" in ended.out
    assert xsdc("demo", "--out", "show").code == 2
