"""Which points to ask about: functions of one shape, from a situation to points in the order in which to ask.

`useful` is the default. `margin`, `typical` and `at_random` are what it is measured against (docs/results.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans, MiniBatchKMeans

from xsdc.queries.situation import Situation

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MOST_CLUSTERS = 300  # of `typical`: k-means into more takes longer than a person waits
TYPICAL_PER_CLASS = 2  # answers per class, up to which typical points are asked about; digits, penbased, vehicle
MANY = 10_000  # points, beyond which k-means sees small batches of them


@dataclass(frozen=True)
class Picks:
    """Points to ask about, the most useful first.

    Attributes
    ----------
    points : array of int, shape (m,)
    scores : array, shape (m,)
        How useful each is, in the measure of the strategy; larger is better.
    reasons : tuple of str
        Why each was picked.
    """

    points: Ints
    scores: Floats
    reasons: tuple[str, ...]

    def joined(self, others: Picks) -> Picks:
        """Put others behind these."""
        points, scores = np.concatenate([self.points, others.points]), np.concatenate([self.scores, others.scores])
        return Picks(points, scores, self.reasons + others.reasons)


NOTHING = Picks(np.empty(0, dtype=np.int64), np.empty(0), ())
Strategy = Callable[[Situation, int, np.random.RandomState], Picks]


def useful(situation: Situation, n: int, rng: np.random.RandomState) -> Picks:
    """Pick typical points of groups without a name, then of clusters without an answer, then where doubt is reached.

    Each group is asked about once. Few answers per class are best spent on typical points, which also find classes that
    no group is; later ones on points whose answer would change most. These are scored by the doubts that an answer
    reaches: the doubt of the point times the sum of the doubts around it. A point that an earlier pick reaches counts
    less. As long as a class has no name, every other pick stays a typical one.
    """
    k, answers = len(situation.named), int((situation.known | situation.skipped).sum())
    picks = _of_groups(situation, min(n, k - answers)) if answers < k else NOTHING
    missing = n - len(picks.points)
    spread = min(missing, max(0, TYPICAL_PER_CLASS * k - answers - len(picks.points)))
    if not situation.named.all() and answers >= k:
        spread = max(spread, (missing + answers % 2) // 2)
    if spread:
        picks = picks.joined(typical(situation.without(picks.points), spread, rng))
    missing = n - len(picks.points)
    return picks.joined(_of_doubts(situation, missing, picks.points)) if missing else picks


def margin(situation: Situation, n: int, rng: np.random.RandomState) -> Picks:  # noqa: ARG001  it is not random
    """Pick the points whose two likeliest classes are nearest to each other."""
    order = situation.open[np.argsort(-situation.doubt[situation.open], kind="stable")][:n]
    return Picks(order, situation.doubt[order], ("its two likeliest classes are nearly as likely",) * len(order))


def typical(situation: Situation, n: int, rng: np.random.RandomState) -> Picks:
    """Pick the densest points of the largest clusters without an answer, with more clusters as answers come.

    After TypiClust (Hacohen, Dekel and Weinshall 2022), on the representation at hand.
    """
    told = np.flatnonzero(situation.known | situation.skipped)
    count = min(len(told) + n, MOST_CLUSTERS, situation.n)
    kind = KMeans if situation.n <= MANY else MiniBatchKMeans
    clusters = kind(count, n_init=1, random_state=rng.randint(2**31)).fit_predict(situation.Z)
    sizes, covered = np.bincount(clusters, minlength=count), np.bincount(clusters[told], minlength=count)
    points: list[int] = []
    while len(points) < min(n, len(situation.open)):
        left = np.setdiff1d(situation.open, points)
        free = np.unique(clusters[left])
        cluster = free[np.lexsort((-sizes[free], covered[free]))[0]]
        here = left[clusters[left] == cluster]
        points.append(int(here[np.argmax(situation.density[here])]))
        covered[cluster] += 1
    chosen = np.array(points, dtype=np.int64)
    return Picks(
        chosen, sizes[clusters[chosen]] / situation.n, ("typical of a cluster without an answer",) * len(chosen)
    )


def at_random(situation: Situation, n: int, rng: np.random.RandomState) -> Picks:
    """Pick points by chance."""
    chosen = rng.permutation(situation.open)[:n]
    return Picks(chosen, np.ones(len(chosen)), ("drawn by chance",) * len(chosen))


STRATEGIES: dict[str, Strategy] = {"useful": useful, "margin": margin, "typical": typical, "random": at_random}


def _of_groups(situation: Situation, n: int) -> Picks:
    """A typical point of each group without a name, the largest group first."""
    sizes = np.bincount(situation.codes, minlength=len(situation.named))
    groups = [int(c) for c in np.argsort(-sizes, kind="stable") if not situation.named[c] and sizes[c]]
    points, scores, reasons = [], [], []
    for group in groups[:n]:
        here = situation.open[situation.codes[situation.open] == group]
        if len(here):
            points.append(int(here[np.argmax(central(situation, group)[here])]))
            scores.append(1.0 + sizes[group] / situation.n)
            reasons.append(f"typical of a group of {sizes[group]:,} that has no name yet")
    return Picks(np.array(points, dtype=np.int64), np.array(scores), tuple(reasons))


def central(situation: Situation, group: int) -> Floats:
    """How typical each point is of a group: how much of the group is around it, shape (n,)."""
    member = (situation.codes == group).astype(np.float64)
    return np.asarray(member * situation.around(member))


def _of_doubts(situation: Situation, n: int, before: Ints) -> Picks:
    """Points whose answer reaches most doubt, each counted once."""
    doubt = situation.doubt * ~situation.known
    gain = situation.doubt * situation.around(doubt)
    for point in before.tolist():
        gain = gain * (1 - situation.reached(point))
    most = max(float(gain[situation.open].max(initial=0.0)), np.finfo(np.float64).tiny)
    left = np.setdiff1d(situation.open, before)
    points, scores = [], []
    for _ in range(min(n, len(left))):
        place = int(left[np.argmax(gain[left])])
        left = left[left != place]
        points.append(place)
        scores.append(float(gain[place] / most))
        gain = gain * (1 - situation.reached(place))
    reasons = tuple(_why(situation, point) for point in points)
    return Picks(np.array(points, dtype=np.int64), np.array(scores), reasons)


def _why(situation: Situation, point: int) -> str:
    """Say between which classes a point is."""
    first, second = np.argsort(-situation.probabilities[point])[:2]
    a, b = situation.names[first], situation.names[second]
    return f"between {a} and {b}, as are points around it"
