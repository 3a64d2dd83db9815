"""The same data, options and seed give the same labels, whatever the number of threads and the load of the machine."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

PROGRAM = """
import sys
import numpy as np
import torch
from sklearn.datasets import load_digits
from xsdc import XSDC

threads, labeled = int(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(threads)
X, y = load_digits(return_X_y=True)
X, y = X[:600], y[:600]
given = np.where(np.arange(600) < labeled, y, -1)
model = XSDC(None if labeled else 10, max_iter=3, random_state=0).fit(X, given if labeled else None)
np.save(sys.argv[3], np.stack([model.labels_, model.predict(X)]))
"""


def labels_with(threads: int, labeled: int, path) -> np.ndarray:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    subprocess.run(  # noqa: S603
        [sys.executable, "-c", PROGRAM, str(threads), str(labeled), str(path)], env=environment, check=True
    )
    return np.load(path)


@pytest.mark.parametrize("labeled", [0, 50])
def test_labels_do_not_depend_on_the_number_of_threads(tmp_path, labeled):
    found = [labels_with(threads, labeled, tmp_path / f"{threads}.npy") for threads in (1, 2)]
    np.testing.assert_array_equal(*found)


def test_labels_do_not_depend_on_the_load(tmp_path):
    idle = labels_with(1, 50, tmp_path / "idle.npy")
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        loaded = labels_with(1, 50, tmp_path / "loaded.npy")
    finally:
        for process in busy:
            process.kill()
            process.wait()
    np.testing.assert_array_equal(idle, loaded)
