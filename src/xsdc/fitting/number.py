"""A number of classes, where neither the user nor a label tells it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from xsdc.core.number import LARGEST_SAMPLE, evidence_of_pairs, number_apart, number_range, vote_on_number
from xsdc.defaults import DEFAULTS
from xsdc.fitting.automatic import choose_bounds
from xsdc.fitting.bounds import Bounds
from xsdc.fitting.choices import Choices
from xsdc.fitting.groups import Inputs, group_points
from xsdc.fitting.knowledge import Knowledge, read_knowledge
from xsdc.fitting.points import choose_points
from xsdc.fitting.representation import fit_representation
from xsdc.fitting.views import View
from xsdc.networks.rows import Rows

Ints = npt.NDArray[np.int64]
Ranking = list[tuple[int, float]]
MOST_SUGGESTED = 50
MOST_SAMPLED = 2000  # points from which samples are drawn
LEAST_SHOWN, LEAST_ASKED = 0.01, 0.2  # of votes; pairs are asked about numbers near those with more


def settle_number(
    data: torch.Tensor | Rows,
    knowledge: Knowledge,
    *,
    bounds: Bounds | None,
    choices: Choices,
    rng: np.random.RandomState,
) -> tuple[Knowledge, Ranking]:
    """Settle the number of classes, where it is open, by samples of the points and by the pairs that are known.

    Parameters
    ----------
    data : Tensor of shape (n, ...), or Rows
        Prepared inputs, or features.
    knowledge : Knowledge
        What is known of them.
    bounds : Bounds or None
        Bounds on sizes by the user, where there are any; they limit the number.
    choices : Choices
        Where the choice is written down.
    rng : RandomState
        Source of randomness.

    Returns
    -------
    knowledge : Knowledge
        With the number settled.
    ranking : list of pairs
        Numbers and their probabilities, the most probable first; one number where it was told.
    """
    if knowledge.n_clusters is not None:
        return knowledge, [(knowledge.n_clusters, 1.0)]
    fewest, most = number_range(bounds.sizes if bounds else None, min(MOST_SUGGESTED, knowledge.n))
    fewest = max(fewest, number_apart(knowledge.constraints.apart))
    most = max(fewest, most)
    Z = _represented(data, knowledge, rng, most=MOST_SAMPLED)[1]
    votes = vote_on_number(Z, fewest=fewest, most=most, rng=rng)
    votes = _asked_of_pairs(data, knowledge, votes, allowed=(fewest, most), bounds=bounds, rng=rng)
    ranking = sorted(votes.items(), key=lambda vote: (-vote[1], vote[0]))
    ranking = [(number, share) for number, share in ranking if share >= LEAST_SHOWN]
    number = ranking[0][0]
    choices.note("n_clusters", number, describe_ranking(ranking) + (", within cluster_size" if bounds else ""))
    return knowledge.with_clusters(number), ranking


def is_guess(ranking: Ranking) -> bool:
    """Whether no number is clear."""
    return ranking[0][1] < DEFAULTS.clear


def describe_ranking(ranking: Ranking, *, shown: int = 4) -> str:
    """Say how sure the number is, and which others are plausible."""
    (_, probability), *others = ranking[:shown]
    said = f"{'a guess, ' if is_guess(ranking) else ''}{100 * probability:.0f} % sure"
    rest = ", ".join(f"{number} ({100 * share:.0f} %)" for number, share in others)
    return said + (f"; else {rest}" if rest else "")


def _asked_of_pairs(
    data: torch.Tensor | Rows,
    knowledge: Knowledge,
    votes: dict[int, float],
    *,
    allowed: tuple[int, int],
    bounds: Bounds | None,
    rng: np.random.RandomState,
) -> dict[int, float]:
    """Probability of each number: votes, and how well groups that half of the pairs led to agree with the others."""
    points, Z = _represented(data, knowledge, rng, most=LARGEST_SAMPLE)
    pairs = [rng.permutation(_pairs_among(knowledge.facts[name], points)) for name in ("must_link", "cannot_link")]
    if sum(map(len, pairs)) < 2:
        return votes
    fewest, most = allowed
    voted = [number for number, share in votes.items() if share >= LEAST_ASKED]
    near = {number + step for number in voted for step in (-1, 0, 1)} | {fewest, fewest + 1, fewest + 2}
    numbers = sorted(number for number in near if fewest <= number <= min(most, len(points) // 2))
    inputs = Inputs(View(torch.from_numpy(Z)), None, ridge="auto")
    evidence = np.zeros(len(numbers))
    for place, number in enumerate(numbers):
        for half in (0, 1):
            must, cannot = (some[half::2] for some in pairs)
            known = read_knowledge(len(points), must_link=must, cannot_link=cannot, n_clusters=number)
            here = bounds or choose_bounds(known)
            sizes = here.ways(known.constraints, np.arange(len(points)), number)
            codes = group_points(inputs, known.constraints, number, sizes=sizes, rng=rng).codes if number > 1 else None
            codes = np.zeros(len(points), dtype=np.int64) if codes is None else codes
            evidence[place] += evidence_of_pairs(codes, *(some[1 - half :: 2] for some in pairs))
    # One more vote, shared by all numbers.
    prior = np.array([DEFAULTS.samples * votes.get(number, 0.0) + 1 / len(numbers) for number in numbers])
    found = prior * np.exp(evidence - evidence.max())
    return dict(zip(numbers, (found / found.sum()).tolist(), strict=True))


def _represented(
    data: torch.Tensor | Rows, knowledge: Knowledge, rng: np.random.RandomState, *, most: int
) -> tuple[Ints, npt.NDArray[np.float64]]:
    """Choose points, and represent them as for graphs."""
    points = choose_points(knowledge, rng, most=most)
    X = data[torch.from_numpy(points)].detach().cpu()
    Z = fit_representation(X, images=X.ndim > 2)(X)
    return points, np.asarray(Z.to(torch.float64).numpy())


def _pairs_among(pairs: object, points: Ints) -> Ints:
    """Positions among some points of the pairs whose points are both among them."""
    if pairs is None or not len(given := np.asarray(pairs, dtype=np.int64).reshape(-1, 2)):
        return np.empty((0, 2), dtype=np.int64)
    place = np.searchsorted(points, given).clip(max=len(points) - 1)
    return np.asarray(place[(points[place] == given).all(axis=1)], dtype=np.int64)
