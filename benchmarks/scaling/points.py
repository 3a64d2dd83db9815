"""Points to measure with: groups of which each two overlap a little, as many as one likes, in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

COLUMNS, GROUPS = 64, 10
APART = 0.5  # deviation of the centres; that of the points is one, and the best rule tells 98 of 100
BLOCK = 100_000


def write_points(path: Path, n: int, *, seed: int = 0) -> npt.NDArray[np.int64]:
    """Write points as an array of float32, and return their groups."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(GROUPS, COLUMNS)) * APART
    groups = rng.integers(GROUPS, size=n)
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, COLUMNS))
    for start in range(0, n, BLOCK):
        here = groups[start : start + BLOCK]
        file[start : start + BLOCK] = centres[here] + rng.normal(size=(len(here), COLUMNS))
    file.flush()
    return groups


def forget_peak() -> None:
    """Begin to measure the peak of memory anew; Linux only, elsewhere the peak of the whole process is seen."""
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5", encoding="ascii")
