"""What a labeler is, what it is asked, and what it may look at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.constraints import Constraints
from xsdc.core.known import Known, both_orders
from xsdc.core.objective import Spectrum
from xsdc.core.operators import Operator
from xsdc.core.problem import Fractions
from xsdc.core.sizes import ClassSizes
from xsdc.errors import InvalidInputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BatchProblem:
    """Who is with whom in a batch: the question, with all that may help to answer it.

    Attributes
    ----------
    spectrum : Spectrum
        Decomposed features of the n points of the batch.
    lam : float
        Ridge penalty.
    known : Known
        Entries of M that are known.
    size : Fractions
        Bounds on the size of each point's group, as shares of the batch.
    class_size : pair of arrays, each of shape (n_clusters,) or (1,)
        Least and largest number of points of each class in the batch, or of any.
    constraints : Constraints
        What is known of the points, classes among it.
    points : array of int, shape (n,)
        Their positions in the data.
    n_clusters : int or None
        Number of classes; None where it is open.
    generator : torch.Generator
        Source of randomness.
    """

    spectrum: Spectrum
    lam: float
    known: Known
    size: Fractions
    class_size: tuple[Floats, Floats]
    constraints: Constraints
    points: Ints
    n_clusters: int | None
    generator: torch.Generator

    @property
    def n(self) -> int:
        """Number of points."""
        return self.spectrum.n

    def equivalence(self, codes: Tensor, *, dtype: torch.dtype = torch.float32) -> Tensor:
        """Turn groups into M, with its known entries as they are known."""
        return self.with_known((codes[:, None] == codes).to(dtype))

    def with_known(self, M: Tensor) -> Tensor:
        """Write the known entries into M, in place."""
        for pairs, value in ((self.known.ones, 1.0), (self.known.zeros, 0.0)):
            i, j = both_orders(pairs)
            M[i, j] = value
        return M.fill_diagonal_(1.0)


@dataclass(frozen=True)
class WholeData:
    """What a labeler may look at between steps.

    Attributes
    ----------
    iteration : int
        Steps made so far.
    features : callable
        Computes the normalised features of all points, shape (n, D), when asked.
    constraints : Constraints
        What is known of all points.
    sizes : ClassSizes
        Bounds on classes.
    n_clusters : int or None
        Number of classes; None where it is open.
    generator : torch.Generator
        Source of randomness.
    answer : callable or None
        Finds the probability of each class for each point, shape (n, k), as the end of a fit does; None where training
        has no such answer. It takes whether it is to look at the inputs alone, or at the learned features too.
    """

    iteration: int
    features: Callable[[], Tensor]
    constraints: Constraints
    sizes: ClassSizes
    n_clusters: int | None
    generator: torch.Generator
    answer: Callable[[bool], Floats] | None = None


class Labeler(ABC):
    """Decides who is with whom in a batch, given its features and what is known.

    Attributes
    ----------
    draws_together : bool
        Whether labeled points are drawn like all others in joint steps, and not as many as their batch size lets.
    """

    draws_together: bool = False

    @abstractmethod
    def label(self, batch: BatchProblem) -> Tensor | Operator:
        """Fill in the unknown entries of M, shape (n, n)."""

    def look(self, data: WholeData) -> None:  # noqa: B027  most labelers need not
        """Look at the data before a step."""

    def draw_weights(self) -> Tensor | None:
        """Return weights by which unlabeled points are drawn, one for each point of the data; None for all alike."""
        return None

    def state_dict(self) -> dict[str, Any]:
        """Return what a continued run needs of the labeler: tensors and plain data."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:  # noqa: B027  most labelers have no state
        """Continue from a saved state."""


def require_number(n_clusters: int | None, *, name: str) -> int:
    """Refuse an open number of classes."""
    if n_clusters is None:
        raise InvalidInputError(f"labeler={name!r} needs the number of classes. Set n_clusters, or give labels.")
    return n_clusters


def draw_seed(generator: torch.Generator) -> np.random.RandomState:
    """Make a source of randomness for what scikit-learn does."""
    return np.random.RandomState(int(torch.randint(2**31 - 1, (), generator=generator)))
