"""Points that stand for all, where there are too many for a matrix of all pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xsdc.fitting.knowledge import Knowledge

Ints = npt.NDArray[np.int64]
MOST_LANDMARKS = 3000  # by default, and of those by which a way to label is chosen


def choose_landmarks(knowledge: Knowledge, rng: np.random.RandomState, *, most: int = MOST_LANDMARKS) -> Ints:
    """Choose points: all, or up to a third labeled ones, a third otherwise known ones, the rest by chance."""
    n, constraints = knowledge.n, knowledge.constraints
    if n <= most:
        return np.arange(n)
    group = constraints.group
    labeled = constraints.classes >= 0
    together = np.bincount(group)[group] > 1
    apart = (np.diff(constraints.apart.indptr) > 0)[group]
    restricted = constraints.group_set[group] > 0
    tied = ~labeled & (together | apart | restricted)
    chosen = np.concatenate([rng.permutation(np.flatnonzero(kind))[: most // 3] for kind in (labeled, tied)])
    others = np.setdiff1d(np.arange(n) if labeled.all() else np.flatnonzero(~labeled), chosen)
    return np.sort(np.concatenate([chosen, rng.permutation(others)[: most - len(chosen)]]))
