"""A number of classes, where neither the user nor a label tells it."""

from __future__ import annotations

from statistics import median_low
from typing import Literal

import numpy as np
import torch

from xsdc.core.balancing import balance
from xsdc.core.constraints import Constraints
from xsdc.core.number import largest_number, suggest_number
from xsdc.core.objective import Spectrum, decompose
from xsdc.core.rounding import spectral_embedding
from xsdc.core.sizes import ClassSizes
from xsdc.fitting.bounds import Bounds
from xsdc.fitting.choices import Choices
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.points import choose_points
from xsdc.networks.rows import Rows

MOST_BALANCED = 3000  # points whose M is balanced
MOST_SUGGESTED = 50
DIMENSIONS = (1, 2, 3, 5, 9, 15, 30)  # effective dimensions at which M is balanced
CLEARLY = 0.1  # fall of eigenvalues that separate groups show, and others do not


def with_number(
    Phi: torch.Tensor | Rows,
    knowledge: Knowledge,
    *,
    ridge: float | Literal["auto"],
    entropy: float | Literal["median"],
    bounds: Bounds,
    choices: Choices,
    rng: np.random.RandomState,
) -> Knowledge:
    """Settle the number of classes, where it is open: where eigenvalues of a balanced M fall most.

    Separate groups show at the ridge that lets as many directions through as they need; at finer ones M falls apart
    into small pieces, and eigenvalues fall late and a little. Where they fall clearly at no ridge, groups are not
    separate, and ridges disagree; the number in their middle is as good as any.
    """
    if knowledge.n_clusters is not None:
        return knowledge
    points = choose_points(knowledge, rng, most=MOST_BALANCED)
    spectrum = decompose(Phi[torch.from_numpy(points)])
    constraints = knowledge.constraints.restricted(points)
    most = 0.9 * max(min(spectrum.n / 4, len(spectrum.s)), 1)
    ridges = [ridge] if ridge != "auto" else [spectrum.ridge_for_dimension(min(d, most)) for d in DIMENSIONS]
    falls = [_falls(spectrum, constraints, lam, bounds.sizes, entropy=entropy, rng=rng) for lam in ridges]
    number, fall = max(falls, key=lambda found: found[1])
    why = f"eigenvalues of the balanced M fall most after it, by {fall:.2f}"
    if fall < CLEARLY:
        number = median_low(number for number, _ in falls)
        why = f"a guess: eigenvalues of the balanced M fall clearly nowhere, at most by {fall:.2f}"
    choices.note("n_clusters", number, why + (", within cluster_size" if bounds.given else ""))
    return knowledge.with_clusters(number)


def _falls(
    spectrum: Spectrum,
    constraints: Constraints,
    lam: float,
    bound: ClassSizes,
    *,
    entropy: float | Literal["median"],
    rng: np.random.RandomState,
) -> tuple[int, float]:
    """Find after how many eigenvalues of M they fall most, and by how much."""
    known = constraints.entries()
    A = spectrum.cost(lam).dense(torch.float32)
    M = balance(A, size=bound.among(constraints, known), known=known, nu=entropy).M
    count = largest_number(bound, min(MOST_SUGGESTED, spectrum.n - 1))
    eigenvalues, _ = spectral_embedding(M, count, random_state=rng)
    number = suggest_number(eigenvalues, bound)
    beyond = float(eigenvalues[number]) if number < len(eigenvalues) else 0.0
    return number, float(eigenvalues[number - 1]) - beyond
