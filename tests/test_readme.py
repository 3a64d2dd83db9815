"""What the README shows is run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from xsdc.core.constraints import close
from xsdc.errors import ContradictionError

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_of_the_readme_groups_the_points():
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    torch.manual_seed(0)
    names: dict[str, object] = {}
    exec(code, names)  # noqa: S102
    labels = names["labels"]
    assert isinstance(labels, torch.Tensor)
    for group in labels.reshape(50, 3).T:
        assert (group == group.mode().values).float().mean() > 0.9


def test_error_of_the_readme_is_what_comes():
    with pytest.raises(ContradictionError) as error:
        close(13, must_link=[(3, 8), (8, 12)], cannot_link=[(3, 12)])
    assert f"ContradictionError: {error.value}" in README


def test_links_of_the_readme_lead_somewhere():
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / link).exists(), link
