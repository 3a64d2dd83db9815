"""The benchmarks at scale, on small data; and a run that is killed three times."""

from __future__ import annotations

import json

import pytest
import torch

from benchmarks.scaling import batches, kills, processes


@pytest.mark.slow
def test_a_run_killed_three_times_ends_as_one_left_alone(tmp_path):
    outcome = kills.compare(tmp_path, kills=3, steps=40, rows=200)
    assert len(outcome.reached) == 3
    assert max(outcome.reached) > 0
    assert outcome.same == dict.fromkeys(kills.COMPARED, True)
    assert "| 3 |" in kills.table(outcome)


def test_kills_notice_a_difference(tmp_path):
    for name, text in (("one", "a,b\n"), ("same", "a,b\n"), ("other", "a,c\n")):
        (tmp_path / name).write_text(text)
    one, same, other = (kills.digest(tmp_path / name) for name in ("one", "same", "other"))
    assert one == same != other


def test_trials_of_batches_are_made_once(tmp_path, monkeypatch, capsys):
    page, log = tmp_path / "scaling.md", tmp_path / "scaling-batches.jsonl"
    page.write_text("<!-- batches:start -->\n<!-- batches:end -->\n", encoding="utf-8")
    quick = batches.declared().quick()
    ways = (batches.Way(16, memory=16), batches.Way(32, piece=8))
    monkeypatch.setattr(batches, "declared", lambda: quick)
    monkeypatch.setattr(batches, "WAYS", ways[:1])
    monkeypatch.setattr(batches, "OTHERS", ways[1:])
    monkeypatch.setattr(batches, "SEEDS", (0,))
    monkeypatch.setattr(batches, "PIECES", (32,))
    monkeypatch.setattr(batches, "WEIGHED", 64)
    batches.run(page)
    records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [batches.Way(**record["way"]) for record in records] == list(ways)
    assert all(0.3 < record["accuracy"] <= 1 for record in records)
    monkeypatch.setattr(batches, "trial", lambda *_: pytest.fail("made again"))
    batches.run(page)
    assert "| 32 | 8 | 0 | 0." in page.read_text(encoding="utf-8")
    capsys.readouterr()


def test_processes_are_compared_on_steps_that_move(monkeypatch):
    monkeypatch.setattr(processes, "STEPS", 3)
    monkeypatch.setattr(processes, "BATCH", 60)
    ends = []
    for steps in (2, 3):
        monkeypatch.setattr(processes, "STEPS", steps)
        flat, seconds, D = processes.train("kn", torch.float64, torch.float64)
        ends.append(flat)
        assert seconds > 0
        assert D > 1
    assert not torch.allclose(*ends)
