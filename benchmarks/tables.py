"""Time and memory of a large CSV from the command line: fitted with 100 labels, and predicted.

python -m benchmarks.tables [rows] [columns]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

LABELS = 100
RUN = "import sys; from xsdc.cli import main; sys.argv[0] = 'xsdc'; main()"


def main() -> None:
    """Print a line for each command."""
    n, d = (int(word) for word in (sys.argv[1:3] if len(sys.argv) > 2 else ("300000", "20")))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        _write(path, n, d)
        print(f"{n:,} rows x {d} columns, {path.stat().st_size / 1e6:.0f} MB")
        print("| command | seconds | of CPU | peak memory, MB |\n| --- | --- | --- | --- |")
        options = ["--label-column", "kind", "--out", f"{folder}/run", "--no-report", "--quiet"]
        _measure("fit", ["fit", str(path), *options])
        _measure("predict", ["predict", f"{folder}/run", str(path), "--out", f"{folder}/b.csv"])


def _write(path: Path, n: int, d: int) -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, n)
    X = rng.normal(size=(n, d)) + kind[:, None] * (np.arange(d) % 3 == 0)
    table = pd.DataFrame(X.round(6), columns=[f"x{i}" for i in range(d)])
    table["kind"] = pd.Series([f"kind {k}" for k in kind]).where(pd.Series(np.arange(n) < LABELS), "")
    table.to_csv(path, index=False)


def _measure(name: str, arguments: list[str]) -> None:
    begun = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", RUN, *arguments], stdout=subprocess.DEVNULL)  # noqa: S603
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{name} failed")
    taken = time.perf_counter() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    print(f"| {name} | " + " | ".join(f"{number:.0f}" for number in taken) + " |", flush=True)


if __name__ == "__main__":
    main()
