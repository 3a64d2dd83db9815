"""Bounds on the sizes of classes, in numbers of points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from xsdc.core.constraints import Constraints
from xsdc.core.feasibility import check_feasible
from xsdc.core.sizes import ClassSizes
from xsdc.errors import InfeasibleError
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.points import choose_points
from xsdc.fitting.settings import ClusterSize, read_sizes
from xsdc.validation import named

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Counts = tuple[Floats, Floats]
SLACK = 1e-9
MOST_BALANCED = 3000  # points that stand for all where M is balanced, or sizes are checked


@dataclass(frozen=True)
class Bounds:
    """Bounds on the sizes of classes.

    Attributes
    ----------
    sizes : ClassSizes
        As shares of all points; one bound for each class, or one for all.
    given : bool
        Whether they are the user's, to be kept in the labels too.
    first : ClassSizes, optional
        Narrower ones, within which groups are found first.
    wider : ClassSizes, optional
        For groups whose sizes clearly differ more.
    labeled : ClassSizes, optional
        For classes that all have labels.
    """

    sizes: ClassSizes
    given: bool
    first: ClassSizes | None = None
    wider: ClassSizes | None = None
    labeled: ClassSizes | None = None

    def for_classes(self, k: int) -> ClassSizes:
        """One bound per class, where one was said for all."""
        return _for_classes(self.sizes, k)

    def counts(self, constraints: Constraints, points: Ints, k: int) -> Counts:
        """Whole numbers of points that each of k classes may have among some of all points.

        They are the next wider ones. Of the points without a label each class has its share of what the labeled ones
        leave of its bounds; none is empty unless the user's bounds say so.
        """
        return self._counts(self.sizes, constraints, points, k)

    def ways(self, constraints: Constraints, points: Ints, k: int) -> list[list[Counts]]:
        """Ways to widen bounds, as for `xsdc.core.grouping.find_groups`, each as `counts`."""
        narrow = [self.sizes] if self.first is None else [self.first, self.sizes]
        ways = [narrow] if self.wider is None else [narrow, [self.wider]]
        return [[self._counts(sizes, constraints, points, k) for sizes in way] for way in ways]

    def of_labeled(self, constraints: Constraints, points: Ints, k: int) -> Counts:
        """Bounds of classes that all have labels, as `counts`."""
        return self._counts(self.sizes if self.labeled is None else self.labeled, constraints, points, k)

    def _counts(self, sizes: ClassSizes, constraints: Constraints, points: Ints, k: int) -> Counts:
        least = 0 if self.given else min(1, len(points) // k)
        lo, hi = _for_classes(sizes, k).of_classes(constraints, points)
        return np.maximum(np.floor(lo + SLACK), least), np.ceil(hi - SLACK)


def _for_classes(sizes: ClassSizes, k: int) -> ClassSizes:
    return ClassSizes(*(np.broadcast_to(x, (k,)).copy() for x in (sizes.minimum, sizes.maximum)))


def check_sizes(cluster_size: ClusterSize, knowledge: Knowledge) -> ClassSizes | None:
    """Read bounds on sizes, None for "auto"; raise `InfeasibleError` where they cannot be met."""
    sizes = read_sizes(cluster_size, knowledge.names.tolist(), knowledge.n_clusters)
    if sizes is None:
        return None
    sizes.check(knowledge.constraints, n_classes=knowledge.n_clusters, names=knowledge.names)
    some = choose_points(knowledge, np.random.RandomState(0), most=MOST_BALANCED)
    constraints = knowledge.constraints.restricted(some)
    known = constraints.entries()
    size = sizes.among(constraints, known)
    try:
        check_feasible(known, *(torch.as_tensor(x) * constraints.n for x in (size.minimum, size.maximum)), cap=None)
    except InfeasibleError as error:
        if len(some) == knowledge.n:
            raise
        rows = some[list(error.rows)].tolist()  # it names places among them, and sizes among them
        raise InfeasibleError(
            f"No grouping meets the bounds on sizes together with what is known of the points {named(rows)} (seen"
            f" among {len(some)} of {knowledge.n} points). Lower the minimum, raise the maximum or drop some"
            " constraints.",
            rows=rows,
        ) from error
    return sizes
