"""Three blobs, one of them beside another, and what a model says of them."""

from __future__ import annotations

import numpy as np

from xsdc.core.graph import NeighborIndex
from xsdc.fitting.resolve import as_view
from xsdc.queries import Situation

EACH = 40


def blobs(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], EACH)
    middles = np.array([[0.0, 0], [3.0, 0], [0, 12.0]])
    return middles[truth] + rng.normal(size=(3 * EACH, 2)), truth


def situation(*, named=(True, True, True), known=(), asked=frozenset()) -> Situation:
    Z, _ = blobs()
    view = as_view(Z)
    distances = np.linalg.norm(Z[:, None] - np.array([[0.0, 0], [3.0, 0], [0, 12.0]]), axis=2)
    p = np.exp(-distances)
    p = p / p.sum(1, keepdims=True)
    flags = np.zeros(len(Z), dtype=bool)
    flags[list(known)] = True
    return Situation(
        Z=Z,
        graph=NeighborIndex.of(view.Z).graph(),
        probabilities=p,
        codes=p.argmax(1),
        names=["a", "b", "c"],
        named=np.array(named),
        known=flags,
        asked=asked,
    )
