from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from xsdc.cli import main

QUICK = ("--max-iter", "4", "--supervised-iter", "0", "--quiet")


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


@pytest.fixture
def xsdc(monkeypatch, capsys, tmp_path):
    """Run the command in an empty folder and say how it ended."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments) -> Ended:
        monkeypatch.setattr("sys.argv", ["xsdc", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Ended(int(stop.value.code or 0), said.out, said.err)

    return run


def make_table(n_each: int = 30, *, seed: int = 0) -> pd.DataFrame:
    """Three kinds of flowers that are easy to tell apart, one label in five known."""
    rng = np.random.default_rng(seed)
    kind = np.repeat(["rose", "tulip", "daisy"], n_each)
    middle = np.repeat([[0.0, 0, 0], [6, 0, 1], [0, 6, 2]], n_each, axis=0)
    numbers = middle + rng.normal(size=(3 * n_each, 3))
    table = pd.DataFrame(numbers, columns=["height", "width", "weight"])
    table["colour"] = np.where(rng.random(3 * n_each) < 0.9, np.repeat(["red", "yellow", "white"], n_each), "pink")
    table["name"] = [f"flower {i}" for i in range(3 * n_each)]
    table["kind"] = [k if i % 5 == 0 else None for i, k in enumerate(kind)]
    table["truth"] = kind
    return table


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "flowers.csv"
    make_table().to_csv(path, index=False)
    return path


ROLES = ("--label-column", "kind", "--truth-column", "truth", "--id-column", "name")
