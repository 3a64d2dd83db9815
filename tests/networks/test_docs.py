"""The examples of docs/networks.md run as they stand, and the page names what there is."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from xsdc.networks import LayerConfig, NetworkConfig
from xsdc.networks.zoo import NAMES

PAGE = (Path(__file__).parents[2] / "docs" / "networks.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def test_there_are_examples():
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_runs(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(EXAMPLES[0] + EXAMPLES[number], f"example {number}", "exec"), {})  # noqa: S102


def test_every_network_and_field_is_named():
    for name in [*NAMES, *(f.name for f in fields(LayerConfig)), *(f.name for f in fields(NetworkConfig))]:
        assert f"`{name}`" in PAGE, name
