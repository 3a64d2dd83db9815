"""Points that stand for all, where there are too many."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xsdc.fitting.knowledge import Knowledge

Ints = npt.NDArray[np.int64]


def in_turn(points: Ints, labels: npt.NDArray[Any]) -> Ints:
    """Order points so that their classes come in turn, as long as they last; within a class the order stays."""
    seen: dict[Any, int] = {}
    turns = []
    for label in labels[points].tolist():
        seen[label] = seen.get(label, 0) + 1
        turns.append(seen[label])
    return points[np.argsort(turns, kind="stable")]


def choose_points(knowledge: Knowledge, rng: np.random.RandomState, *, most: int) -> Ints:
    """Choose points: all, or up to a third labeled ones, a third otherwise known ones, the rest by chance.

    Labeled ones are taken class by class in turn, so that a rare class is among them.
    """
    n, constraints = knowledge.n, knowledge.constraints
    if n <= most:
        return np.arange(n)
    group = constraints.group
    labeled = constraints.classes >= 0
    together = np.bincount(group)[group] > 1
    apart = (np.diff(constraints.apart.indptr) > 0)[group]
    restricted = constraints.group_set[group] > 0
    tied = ~labeled & (together | apart | restricted)
    known = in_turn(rng.permutation(np.flatnonzero(labeled)), constraints.classes)  # no class goes unseen
    chosen = np.concatenate([known[: most // 3], rng.permutation(np.flatnonzero(tied))[: most // 3]])
    others = np.setdiff1d(np.arange(n) if labeled.all() else np.flatnonzero(~labeled), chosen)
    return np.sort(np.concatenate([chosen, rng.permutation(others)[: most - len(chosen)]]))
