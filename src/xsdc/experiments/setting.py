"""One point of one curve: everything that a trial needs to know but its seed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from xsdc.experiments.published import Values


@dataclass(frozen=True)
class Setting:
    """What is run.

    Attributes
    ----------
    curve : str
        Line of the figure that it belongs to.
    x : float
        Its place on the axis.
    dataset : str
        Data.
    n_labeled : int
        Labels given, the same number of each class.
    method : str
        A labeler, or "seeded k-means" with a similarity behind a colon.
    supervised_learning_rate, learning_rate : float
        Length of step on labeled points alone, and on all.
    filter_penalty : float
        zeta.
    ridge : float or None
        lambda; None where it is chosen on the validation set.
    n_groups, every : int or None
        Of deep clustering.
    weight : float or None
        Of the eigendecomposition.
    imbalance : float or None
        Share of the lower half of the classes among unlabeled points.
    sizes : pair of float or None
        Bounds on the share of a class; equal where None.
    copies : int
        Changed copies of an image, tied together.
    constraints : str or None
        "specific", "random" or None.
    burn_in, iterations, evaluate_every : int
        Steps on labeled points, in all, and between evaluations.
    """

    curve: str
    x: float
    dataset: str
    n_labeled: int
    method: str = "balancing"
    supervised_learning_rate: float = 0.0
    learning_rate: float = 0.0
    filter_penalty: float = 0.0
    ridge: float | None = None
    n_groups: int | None = None
    every: int | None = None
    weight: float | None = None
    imbalance: float | None = None
    sizes: tuple[float, float] | None = None
    copies: int = 1
    constraints: str | None = None
    burn_in: int = 100
    iterations: int = 500
    evaluate_every: int = 10

    @classmethod
    def published(cls, values: Values, *, curve: str, x: float) -> Setting:
        """Take the authors' values."""
        top = values.largest_share
        return cls(
            curve=curve,
            x=x,
            dataset=values.dataset,
            n_labeled=values.n_labeled,
            method="eigen-kmeans" if values.kmeans else values.method,
            supervised_learning_rate=values.supervised_learning_rate or 0.0,
            learning_rate=values.learning_rate or 0.0,
            filter_penalty=values.filter_penalty or 0.0,
            ridge=values.ridge,
            n_groups=values.n_groups,
            every=values.every,
            weight=None if values.kmeans else values.weight,
            imbalance=values.imbalance,
            sizes=None if top is None else (round(max(0.2 - top, 0.0), 10), top),
            copies=values.copies,
            constraints=values.constraints,
            burn_in=values.burn_in,
            iterations=values.iterations,
            evaluate_every=values.evaluate_every,
        )

    def quick(self) -> Setting:
        """The same on the digits that come with scikit-learn, in a few seconds."""
        first = min(self.burn_in, 4)
        steps = first + min(self.iterations - self.burn_in, 8)
        return replace(self, dataset="digits", burn_in=first, iterations=steps, evaluate_every=4)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]
