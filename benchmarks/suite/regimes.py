"""Splits of a data set, and what is known of the training points at each level of supervision."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.suite.sets import BY_NAME, Array, load, prepare

N_TRAIN = 2000  # at most; a third of a small data set is for testing
N_TEST = 2000
FEWEST = 10  # labels that a share of the points must amount to
SLACK = 0.2  # of the bounds around the true sizes
LEVELS = ("0", "1", "2", "5", "10", "20", "1%", "5%", "pairs-100", "pairs-300", "pairs-1000", "sizes")
UNLABELED = ("0", "pairs-100", "pairs-300", "pairs-1000", "sizes")


@dataclass(frozen=True)
class Given:
    """What a method gets to see.

    Attributes
    ----------
    X, X_test : array
        Prepared training and test points; images as images.
    y : array of int, shape (n,)
        Labels, -1 where unknown.
    k : int
        Number of classes.
    must_link, cannot_link : array, shape (m, 2)
        Pairs of training points of the same and of different classes.
    sizes : array, shape (k, 2), or None
        Bounds on the share of each class.
    seed : int
        For whatever a method draws.
    """

    X: Array
    X_test: Array
    y: Array
    k: int
    must_link: Array
    cannot_link: Array
    sizes: Array | None
    seed: int

    @property
    def has_labels(self) -> bool:
        """Whether any label is known."""
        return bool((self.y >= 0).any())

    def digest(self) -> str:
        """Fingerprint of all of it: a trial on other data or other labels is another trial."""
        total = hashlib.sha256(repr((self.k, self.seed)).encode())
        for array in (self.X, self.X_test, self.y, self.must_link, self.cannot_link, self.sizes):
            total.update(b"none" if array is None else repr((array.shape, array.dtype.str)).encode())
            total.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
        return total.hexdigest()[:16]


@dataclass(frozen=True)
class Problem:
    """What a method gets, and the classes by which its answer is scored."""

    given: Given
    truth: Array
    truth_test: Array


def make_problem(name: str, level: str, seed: int) -> Problem | None:
    """Split a data set and draw what is known.

    The split depends on the seed alone, so that levels can be compared. Labels of a level include those of lower
    ones; so do pairs.

    Returns
    -------
    Problem or None
        None where the level makes no sense for the data set: a share of the points that is fewer than ten, or more
        labels per class than half of the classes can give (a class gives at most half of its points).
    """
    X, y = load(name)
    n_test = min(N_TEST, len(y) // 3)
    n_train = min(N_TRAIN, len(y) - n_test)
    train, test = train_test_split(
        np.arange(len(y)), train_size=n_train, test_size=n_test, stratify=y, random_state=seed
    )
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    truth, k = y[train], int(y.max()) + 1
    order = rng.permutation(n_train)  # in which labels are drawn
    pairs = _draw_pairs(rng, n_train, 1000)
    labels = np.full(n_train, -1)
    links = np.empty((0, 2), dtype=np.int64)
    sizes = None
    if level == "sizes":
        shares = np.bincount(truth, minlength=k) / n_train
        sizes = np.stack([(1 - SLACK) * shares, np.minimum((1 + SLACK) * shares, 1)], axis=1)
    elif level.startswith("pairs-"):
        links = pairs[: int(level.removeprefix("pairs-"))]
    else:
        chosen = _draw_labels(truth, level, order)
        if chosen is None:
            return None
        labels[chosen] = truth[chosen]
    same = truth[links[:, 0]] == truth[links[:, 1]]
    X_train, X_test = prepare(X[train], X[test], BY_NAME[name].kind)
    given = Given(X_train, X_test, labels, k, links[same], links[~same], sizes, seed)
    return Problem(given, truth, y[test])


def _draw_labels(truth: Array, level: str, order: Array) -> Array | None:
    """Choose the points whose labels are given, None where the level makes no sense."""
    if level.endswith("%"):
        n = round(len(truth) * float(level[:-1]) / 100)
        if n < FEWEST:
            return None
        while len(np.unique(truth[order[:n]])) < 2:  # one class alone is nothing to learn from
            n += 1
        return order[:n]
    wanted = int(level)
    members = [order[truth[order] == c] for c in range(int(truth.max()) + 1)]
    enough = [len(m) // 2 >= wanted for m in members]
    if sum(enough) < len(members) / 2:
        return None
    return np.concatenate([m[: min(wanted, max(1, len(m) // 2))] for m in members])


def _draw_pairs(rng: np.random.Generator, n: int, m: int) -> Array:
    """Draw different pairs of different points."""
    found: dict[tuple[int, int], None] = {}
    limit = n * (n - 1) // 2
    while len(found) < min(m, limit):
        i, j = sorted(int(x) for x in rng.integers(n, size=2))
        if i != j:
            found[i, j] = None
    return np.array(list(found), dtype=np.int64)
