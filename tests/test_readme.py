"""What the README shows is run as it stands."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.semi_supervised import LabelSpreading

from benchmarks.suite.sets import SETS
from benchmarks.suite.table import LEVEL_NAMES
from xsdc import XSDC
from xsdc.core.constraints import close
from xsdc.errors import ContradictionError

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_of_the_readme_does_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(code, names)  # noqa: S102
        if "labels" in code and "facts" not in code:
            X, y = names["X"] / 16, names["y"]
            spread = LabelSpreading(kernel="knn").fit(X, y).transduction_
            accuracies = [(labels == load_digits().target).mean() for labels in (names["labels"], spread)]
            assert accuracies[0] > max(accuracies[1], 0.87)
            assert names["probabilities"].shape == (5, 10)
    assert (tmp_path / "digits.xsdc").exists()
    assert names["model"].labels_[0] == names["model"].labels_[10] != names["model"].labels_[1]
    assert names["model"].labels_[15] in (5, 8)


def test_error_of_the_readme_is_what_comes():
    with pytest.raises(ContradictionError) as error:
        close(13, must_link=[(3, 8), (8, 12)], cannot_link=[(3, 12)])
    assert f"ContradictionError: {error.value}" in README


def test_links_of_the_readme_lead_somewhere():
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / link).exists(), link


def test_options_table_names_every_option_with_its_default():
    page = (ROOT / "docs" / "estimator.md").read_text(encoding="utf-8")
    rows = [
        line.split("|")[1:3]
        for line in page.split("## Options")[1].split("\n## ")[0].splitlines()
        if line.startswith("| `")
    ]
    documented: dict[str, str] = {}
    for options, defaults in rows:
        names, values = re.findall(r"`(\w+)`", options), [value.strip(" `") for value in defaults.split(",")]
        documented |= dict(zip(names, values * len(names) if len(values) == 1 else values, strict=False))
    actual = {name: p.default for name, p in inspect.signature(XSDC).parameters.items()}
    assert documented.keys() == actual.keys()
    for name, default in actual.items():
        shown = documented[name].strip('"')
        assert shown == str(default) or (shown == "0" and default == 0), name


def test_docstring_describes_every_option():
    described = set(re.findall(r"^    (\w+(?:, \w+)*) : ", inspect.getdoc(XSDC).replace("\n", "\n    "), re.MULTILINE))
    names = {name for group in described for name in group.split(", ")}
    assert set(inspect.signature(XSDC).parameters) <= names


def test_results_of_the_readme_are_those_measured():
    with (ROOT / "docs" / "suite" / "cells.csv").open(encoding="utf-8", newline="") as file:
        cells = pd.read_csv(file)
    table = README.split("<!-- suite:start -->")[1].split("<!-- suite:end -->")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.strip().splitlines()[2:]]
    assert {row[0] for row in rows} == {"settle", "report"}
    level_of = {name: level for level, name in LEVEL_NAMES.items()}
    for half, known, n_sets, ours, _single, best, ahead in rows:
        names = [entry.name for entry in SETS if entry.half == half]
        part = cells[cells["set"].isin(names) & (cells["level"] == level_of[known])]
        accuracy = part[part["ours"] == 1].set_index("set")["accuracy"]
        rivals = part[part["ours"] == 0].groupby("set")["accuracy"].max()
        assert int(n_sets) == len(accuracy)
        assert float(ours) == pytest.approx(accuracy.mean(), abs=6e-4)
        assert float(best) == pytest.approx(rivals.mean(), abs=6e-4)
        assert int(ahead) == (accuracy.sort_index() > rivals.sort_index()).sum()
