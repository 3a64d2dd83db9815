"""The same data, options and seed give the same labels, whatever the threads, the load and the order of the rows."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from tests.problems import blobs
from xsdc import XSDC
from xsdc.core.agreement import agreement
from xsdc.fitting.order import content_order

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


@pytest.mark.slow
@pytest.mark.parametrize("labeled", [0, 50])
def test_labels_do_not_depend_on_the_number_of_threads(tmp_path, labeled):
    found = [labels_with(threads, labeled, tmp_path / f"{threads}.npy") for threads in (1, 2)]
    np.testing.assert_array_equal(*found)


@pytest.mark.slow
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


class TestOrderOfRows:
    def fit(self, order, *, labeled: int, pairs: int) -> np.ndarray:
        X, y = load_digits(return_X_y=True)
        X, y = X[:500], y[:500]
        given = np.where(np.arange(500) < labeled, y, -1)
        links = np.random.default_rng(0).integers(500, size=(pairs, 2))
        links = links[links[:, 0] != links[:, 1]]
        same = y[links[:, 0]] == y[links[:, 1]]
        place = np.argsort(order)
        model = XSDC(None if labeled else 10, random_state=0, max_iter=2)
        model.fit(
            X[order],
            given[order] if labeled else None,
            must_link=place[links[same]] if pairs else None,
            cannot_link=place[links[~same]][:, ::-1] if pairs else None,
        )
        assert (model.predict(X[order]) == model.labels_).mean() > 0.9
        return model.labels_[place]

    @pytest.mark.parametrize(("labeled", "pairs"), [(0, 0), (50, 0), (0, 200)])
    def test_labels_do_not_depend_on_it(self, labeled, pairs):
        orders = [np.arange(500), *(np.random.default_rng(seed).permutation(500) for seed in range(3))]
        first, *others = (self.fit(order, labeled=labeled, pairs=pairs) for order in orders)
        for other in others:
            np.testing.assert_array_equal(first, other)

    def test_positions_are_those_of_the_user(self):
        X, y = blobs(120, 3, spread=4.0)
        X, y = X.numpy(), y.numpy()
        given = np.where(np.arange(120) < 30, y, -1)
        model = XSDC(max_iter=0, random_state=0).fit(X, given)
        assert agreement(y, model.labels_).accuracy > 0.95
        assert set(model.checked_.points) <= set(range(30))
        own = model.checked_.probabilities[np.arange(30), given[model.checked_.points]]
        assert own.mean() > 0.8  # the probabilities stand beside the points that they are of
        pair = [int(np.flatnonzero(y == 0)[0]), int(np.flatnonzero(y == 0)[1]), int(np.flatnonzero(y == 1)[0])]
        M = model.equivalence(pair)
        assert M[0, 1] > M[0, 2]

    def test_rows_sorted_by_class_whose_spreads_differ(self):
        rng = np.random.default_rng(0)
        X = np.concatenate([0.1 * rng.normal(size=(1500, 5)), 6 + rng.normal(size=(700, 5))])
        y = np.repeat([0, 1], [1500, 700])
        model = XSDC(2, cluster_size=(0.2, 0.8), max_iter=5, random_state=0).fit(X)
        assert agreement(y, model.labels_).accuracy > 0.99

    @pytest.mark.parametrize("kind", [np.float32, np.uint8, bool])
    def test_order_follows_the_values(self, kind):
        X = (np.random.default_rng(0).integers(2, size=(50, 4, 3)) * 200).astype(kind)
        X = np.unique(X, axis=0)
        shuffled = np.random.default_rng(1).permutation(len(X))
        np.testing.assert_array_equal(X[content_order(X)], X[shuffled][content_order(X[shuffled])])
        np.testing.assert_array_equal(content_order(X), content_order(torch.from_numpy(X)))
        assert not (content_order(X) == np.arange(len(X))).all()

    def test_equal_rows_keep_their_order(self):
        assert content_order(np.array([[0.0], [-0.0], [0.0]])).tolist() == [0, 1, 2]
