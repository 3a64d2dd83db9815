"""Bounds on the sizes of classes, in numbers of points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xsdc.core.constraints import Constraints
from xsdc.core.sizes import ClassSizes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SLACK = 1e-9


@dataclass(frozen=True)
class Bounds:
    """Bounds on the sizes of classes.

    Attributes
    ----------
    sizes : ClassSizes
        As shares of all points; one bound for each class, or one for all.
    given : bool
        Whether they are the user's, to be kept in the labels too.
    wider : ClassSizes, optional
        For groups whose sizes clearly differ more.
    """

    sizes: ClassSizes
    given: bool
    wider: ClassSizes | None = None

    def for_classes(self, k: int) -> ClassSizes:
        """One bound per class, where one was said for all."""
        return _for_classes(self.sizes, k)

    def counts(self, constraints: Constraints, points: Ints, k: int) -> list[tuple[Floats, Floats]]:
        """Whole numbers of points that each of k classes may have among some of all points, for each of the bounds.

        They are the next wider ones. Of the points without a label each class has its share of what the labeled ones
        leave of its bounds; none is empty unless the user's bounds say so.
        """
        least = 0 if self.given else min(1, len(points) // k)
        found = []
        for sizes in (self.sizes, *([] if self.wider is None else [self.wider])):
            lo, hi = _for_classes(sizes, k).of_classes(constraints, points)
            found.append((np.maximum(np.floor(lo + SLACK), least), np.ceil(hi - SLACK)))
        return found


def _for_classes(sizes: ClassSizes, k: int) -> ClassSizes:
    return ClassSizes(*(np.broadcast_to(x, (k,)).copy() for x in (sizes.minimum, sizes.maximum)))
