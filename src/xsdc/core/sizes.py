"""Bounds on the size of each class, and what they say about a batch.

A person bounds the classes of all points; balancing wants a bound for each row of a batch. A batch holds some of the
labeled points and some of the others, in another proportion than the data: what is left of a class's bound once its
labeled points are taken off is shared out to the batch as the unlabeled points are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from xsdc.core.constraints import Constraints
from xsdc.core.feasibility import check_feasible
from xsdc.core.known import Known
from xsdc.core.problem import Fractions
from xsdc.errors import InfeasibleError, InvalidInputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SLACK = 1e-9
UNBOUNDED = Fractions(0.0, 1.0)


@dataclass(frozen=True)
class ClassSizes:
    """Bounds on classes as shares of all points.

    Attributes
    ----------
    minimum, maximum : array of float, shape (k,) or (1,)
        One bound per class, or one for all where the number of classes is open.
    """

    minimum: Floats
    maximum: Floats

    def __post_init__(self) -> None:
        lo, hi = self.minimum, self.maximum
        wrong = np.flatnonzero(~((lo >= 0) & (hi >= lo) & (hi > 0) & (hi <= 1 + SLACK)))
        if wrong.size:
            i = wrong[0]
            raise InvalidInputError(
                "cluster_size must hold fractions with 0 <= minimum <= maximum <= 1 and a maximum above zero; it says"
                f" ({lo[i]:g}, {hi[i]:g}).",
                option="cluster_size",
            )

    @classmethod
    def around(cls, k: int, low: float, high: float) -> ClassSizes:
        """Bound every class by multiples of the equal share 1/k."""
        least = min(low, 1.0) / k
        return cls(np.full(k, least), np.full(k, max(least, min(high / k, 1 - (k - 1) * least))))

    def check(self, constraints: Constraints, *, n_classes: int | None, names: npt.NDArray[np.object_]) -> None:
        """Raise `InfeasibleError` where the classes or the labels given cannot meet the bounds.

        Parameters
        ----------
        constraints : Constraints
            What is known of all points.
        n_classes : int or None
            Number of classes, None where it is open.
        names : array, shape (n_classes,)
            What the classes are called.
        """
        n = constraints.n
        if n_classes is not None:
            lo, hi = (np.broadcast_to(x, (n_classes,)) for x in (self.minimum, self.maximum))
            if hi.sum() < 1 - SLACK:
                raise InfeasibleError(
                    f"cluster_size must allow all points: {n_classes} clusters hold at most {hi.sum():.3g} of them."
                    f" Raise the maximum to {1 / n_classes:.3g} or more."
                )
            if lo.sum() > 1 + SLACK:
                raise InfeasibleError(
                    f"cluster_size must allow {n_classes} clusters: together they need at least {lo.sum():.3g} of the"
                    f" points. Lower the minimum to {1 / n_classes:.3g} or less."
                )
            self._check_labels(constraints, lo * n, hi * n, names)
        else:
            fewest = math.ceil(1 / float(self.maximum.max()) - SLACK)
            if fewest * float(self.minimum.min()) > 1 + SLACK:
                raise InfeasibleError(
                    f"No number of clusters meets cluster_size: fewer than {fewest} cannot hold all points,"
                    f" {fewest} need {fewest * float(self.minimum.min()):.3g} of them. Lower the minimum or raise the"
                    " maximum."
                )
        group = np.bincount(constraints.group)
        if group.max() > max(1.0, float(self.maximum.max()) * n) + 1:  # a whole point of rounding
            raise InfeasibleError(
                f"{group.max()} points are known to be together, but cluster_size allows {self.maximum.max():.3g} of"
                f" {n}. Raise the maximum.",
                rows=np.flatnonzero(constraints.group == group.argmax()).tolist(),
            )

    @staticmethod
    def _check_labels(constraints: Constraints, lo: Floats, hi: Floats, names: npt.NDArray[np.object_]) -> None:
        given = np.bincount(constraints.classes[constraints.classes >= 0], minlength=len(lo))
        over = np.flatnonzero(given > np.ceil(hi - SLACK))
        if over.size:
            c = over[0]
            raise InfeasibleError(
                f"{given[c]} points are labeled {names.tolist()[c]!r}, but cluster_size allows at most {hi[c]:.4g} of"
                f" {constraints.n}. Raise the maximum.",
                rows=np.flatnonzero(constraints.classes == c).tolist(),
            )
        wanted = np.maximum(np.floor(lo + SLACK) - given, 0).sum()
        free = constraints.n - given.sum()
        if wanted > free:
            raise InfeasibleError(
                f"The labels leave {free} points free, but cluster_size wants at least {wanted:g} more for the smaller"
                " classes. Lower the minimum."
            )

    def among_sample(self, constraints: Constraints, known: Known, points: Ints) -> Fractions:
        """Bounds on the groups of a batch; `UNBOUNDED` where chance has drawn one that cannot meet them."""
        size = self.among(constraints, known, points)
        b = len(points)
        lo, hi = (torch.as_tensor(x) * b for x in (size.minimum, size.maximum))
        try:
            check_feasible(known, lo, hi, cap=None)
        except InfeasibleError:
            return UNBOUNDED
        return size

    def of_classes(self, constraints: Constraints, points: Ints) -> tuple[Floats, Floats]:
        """Least and largest number of points that each class, or any, may have among some of all points."""
        n, classes = constraints.n, constraints.classes
        here = classes[points]
        k = len(self.minimum)
        taken = np.bincount(classes[classes >= 0], minlength=k)[:k] if k > 1 else np.zeros(1)
        present = np.bincount(here[here >= 0], minlength=k)[:k] if k > 1 else np.zeros(1)
        share = (len(here) - present.sum()) / max(n - taken.sum(), 1)
        lo, hi = (present + share * np.maximum(x * n - taken, 0) for x in (self.minimum, self.maximum))
        return lo, hi

    def among(self, constraints: Constraints, known: Known, points: Ints | None = None) -> Fractions:
        """Bounds on the group of each of some points, as shares of those points.

        Bounds that the known entries of a single row make impossible are moved to what they allow.

        Parameters
        ----------
        constraints : Constraints
            What is known of all points.
        known : Known
            Known entries among the chosen points.
        points : array of int, shape (b,), optional
            The chosen points; all by default.
        """
        points = np.arange(constraints.n) if points is None else points
        lo, hi = self.of_classes(constraints, points)
        b, k = len(points), len(lo)
        if k == 1:
            rows = np.full(b, lo[0]), np.full(b, hi[0])
        else:
            sets = constraints.allowed[:, :k]
            least = np.where(sets, lo, np.inf).min(1)
            most = np.where(sets, hi, 0.0).max(1)
            which = constraints.group_set[constraints.group[points]]
            rows = least[which], most[which]
        ones, zeros = known.ones_per_row().numpy(), known.zeros_per_row().numpy()
        most_here = np.minimum(np.maximum(rows[1], np.maximum(ones, 1)), b)
        least_here = np.minimum(rows[0], b - zeros)
        return Fractions(torch.from_numpy(np.minimum(least_here, most_here) / b), torch.from_numpy(most_here / b))
