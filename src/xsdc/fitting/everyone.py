"""A class for every point, from trained features and what is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from statistics import median_low
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.assignment import assign
from xsdc.core.balancing import balance
from xsdc.core.constraints import Constraints
from xsdc.core.extension import Extension
from xsdc.core.judging import Judge, indicators
from xsdc.core.labelling import (
    Candidate,
    Labelling,
    label_points,
    largest_number,
    seeded_scores,
    settled_scores,
    suggest_number,
)
from xsdc.core.objective import Spectrum, decompose
from xsdc.core.refinement import split_and_merge
from xsdc.core.rounding import spectral_embedding
from xsdc.core.sizes import ClassSizes
from xsdc.errors import InfeasibleError, InvalidInputError
from xsdc.fitting.automatic import choose_candidates, describe_sizes, judging_dimension
from xsdc.fitting.choices import Choices
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.landmarks import MOST_LANDMARKS
from xsdc.fitting.others import choose_rule, label_by_rule
from xsdc.networks.rows import Rows

Ints = npt.NDArray[np.int64]
Counts = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
MOST_SUGGESTED = 50
SUGGESTING_DIMENSIONS = (1, 2, 3, 5, 15, 30)
CLEARLY = 0.1  # fall of eigenvalues that separate groups show, and others do not
MOST_COMPARED = 20_000  # points with a class by which the others are judged
MOST_PAIRS = 5e7
REFINED = 3  # groupings that are improved by moving groups


@dataclass(frozen=True)
class Bounds:
    """Bounds on the sizes of classes.

    Attributes
    ----------
    ways : list of ClassSizes
        Bounds to try.
    given : bool
        Whether they are the user's, to be kept in the labels too.
    """

    ways: list[ClassSizes]
    given: bool

    def for_classes(self, k: int) -> Bounds:
        """One bound per class, where one was said for all."""
        ways = [ClassSizes(*(np.broadcast_to(x, (k,)).copy() for x in (b.minimum, b.maximum))) for b in self.ways]
        return replace(self, ways=ways)

    def counts(self, constraints: Constraints, points: Ints) -> Counts | None:
        """Whole numbers that the user's bounds allow each class among some of all points; the next wider ones.

        Of the points without a label each class has its share of what the labeled ones leave of its bounds.
        """
        if not self.given:
            return None
        (bound,) = self.ways
        lo, hi = bound.of_classes(constraints, points)
        return np.floor(lo + 1e-9), np.ceil(hi - 1e-9)


def make_judge(spectrum: Spectrum, n_clusters: int) -> Judge:
    """Make a judge of groupings into some number of classes."""
    return Judge(spectrum, spectrum.ridge_for_dimension(judging_dimension(n_clusters, spectrum)))


def untried(spectrum: Spectrum, bounds: Bounds, ridge: float | Literal["auto"], k: int) -> Candidate:
    """Say how points would be labeled as groups, where all classes are known."""
    if ridge == "auto":
        ridge = spectrum.ridge_for_dimension(judging_dimension(k, spectrum))
    return Candidate(ridge, bounds.for_classes(k).ways[len(bounds.ways) // 2])


class LabelEveryone:
    """Labels all points: some of them by the matrix of all pairs, the others by the rule that best tells those.

    Parameters
    ----------
    Phi : Tensor of shape (n, D), or Rows
        Normalised features.
    landmarks : array of int
        Points that are labeled by the matrix of all their pairs. Where there are many it is never formed, and a part of
        them chooses how.
    ridge : float or "auto"
        lambda of the cost.
    entropy : float or "median"
        nu.
    bounds : Bounds
        Bounds on sizes.
    way : Candidate or None
        The only way to be tried, where one is set.
    choices : Choices
        Where choices are written down.
    rng : RandomState
        Source of randomness.
    """

    def __init__(
        self,
        Phi: Tensor | Rows,
        *,
        landmarks: Ints,
        ridge: float | Literal["auto"],
        entropy: float | Literal["median"],
        bounds: Bounds,
        way: Candidate | None,
        choices: Choices,
        rng: np.random.RandomState,
    ) -> None:
        self.Phi, self.landmarks = Phi, landmarks
        self.ridge, self.entropy, self.bounds, self.way = ridge, entropy, bounds, way
        self.choices, self.rng = choices, rng

    def label(self, knowledge: Knowledge) -> tuple[Knowledge, Labelling]:
        """Give every point a class; settle the number of classes, where it is open."""
        few = self.landmarks
        if len(few) > MOST_LANDMARKS:
            few = few[np.sort(self.rng.permutation(len(few))[:MOST_LANDMARKS])]
        spectrum = decompose(self.Phi[torch.from_numpy(few)])
        if knowledge.n_clusters is None:
            knowledge = knowledge.with_clusters(self._suggest_number(spectrum, knowledge, few))
        best = self._label_few(spectrum, knowledge, few)
        if len(few) == knowledge.n:
            return knowledge, best
        constraints = knowledge.constraints.restricted(few)
        extension = None
        if (constraints.classes < 0).any():
            extension = self._extension(spectrum, constraints, best.candidate, knowledge.n_clusters or 1)
        some = Extended(few, best, extension)
        if len(few) < len(self.landmarks):
            some = self._label_many(knowledge, some)
        if len(self.landmarks) < knowledge.n:
            return knowledge, replace(some.labelling, codes=self._extend(knowledge, some))
        return knowledge, some.labelling

    def _suggest_number(self, spectrum: Spectrum, knowledge: Knowledge, points: Ints) -> int:
        """Suggest a number of classes: where eigenvalues of a balanced M fall most.

        Separate groups show at the ridge that lets as many directions through as they need; at finer ones M falls apart
        into small pieces, and eigenvalues fall late and a little. Where they fall clearly at no ridge, groups are not
        separate, and ridges disagree; the number in their middle is as good as any.
        """
        constraints = knowledge.constraints.restricted(points)
        bound = self.bounds.ways[0]
        ridges = [choose_candidates(spectrum, knowledge, self.ridge, [bound])[0].lam]
        if self.ridge == "auto":
            most = 0.9 * min(spectrum.n / 4, len(spectrum.s))
            ridges += [spectrum.ridge_for_dimension(d) for d in SUGGESTING_DIMENSIONS if d <= most]
        falls = [self._falls(spectrum, constraints, lam, bound) for lam in ridges]
        number, fall = max(falls, key=lambda found: found[1])
        why = f"eigenvalues of the balanced M fall most after it, by {fall:.2f}"
        if fall < CLEARLY:
            number = median_low(number for number, _ in falls)
            why = f"a guess: eigenvalues of the balanced M fall clearly nowhere, at most by {fall:.2f}"
        self.choices.note("n_clusters", number, why + (", within cluster_size" if self.bounds.given else ""))
        return number

    def _falls(self, spectrum: Spectrum, constraints: Constraints, lam: float, bound: ClassSizes) -> tuple[int, float]:
        """Find after how many eigenvalues of M they fall most, and by how much."""
        known = constraints.entries()
        A = spectrum.cost(lam).dense(torch.float32)
        M = balance(A, size=bound.among(constraints, known), known=known, nu=self.entropy).M
        count = largest_number(bound, min(MOST_SUGGESTED, spectrum.n - 1))
        eigenvalues, _ = spectral_embedding(M, count, random_state=self.rng)
        number = suggest_number(eigenvalues, bound)
        beyond = float(eigenvalues[number]) if number < len(eigenvalues) else 0.0
        return number, float(eigenvalues[number - 1]) - beyond

    def _label_few(self, spectrum: Spectrum, knowledge: Knowledge, points: Ints) -> Labelling:
        k = knowledge.n_clusters or 1
        bounds = self.bounds.for_classes(k)
        constraints = knowledge.constraints.restricted(points)
        if (constraints.classes >= 0).all():
            return Labelling(constraints.classes, untried(spectrum, bounds, self.ridge, k), 0.0, 0.0, torch.empty(0))
        judge = make_judge(spectrum, k)
        label = partial(
            label_points,
            spectrum,
            constraints,
            n_clusters=k,
            judge=judge,
            nu=self.entropy,
            sizes=bounds.counts(knowledge.constraints, points),
            rng=self.rng,
        )
        candidates = [] if self.way is None else [self.way]
        found, infeasible = _tried(candidates, label)
        if not found:
            candidates = choose_candidates(spectrum, knowledge, self.ridge, bounds.ways)
            found, infeasible = _tried(candidates, label)
        if not found and infeasible is not None:
            raise infeasible
        if not bounds.given and not (constraints.classes >= 0).any():
            found = self._move_groups(found, spectrum, constraints, judge)
        if len(candidates) > 1:
            self._note(found[0], len(candidates))
        return found[0]

    def _move_groups(
        self, found: list[Labelling], spectrum: Spectrum, constraints: Constraints, judge: Judge
    ) -> list[Labelling]:
        """Improve the best groupings, which no label or bound holds in place."""
        k = max(int(labelling.codes.max()) for labelling in found) + 1
        A = spectrum.cost(spectrum.ridge_for_dimension(judging_dimension(k, spectrum))).dense(torch.float32)
        moved = []
        for labelling in found[:REFINED]:
            codes = assign(indicators(split_and_merge(labelling.codes, judge, A, rng=self.rng), k), constraints)
            moved.append(Labelling.judged(codes, labelling.candidate, labelling.eigenvalues, judge=judge))
        moved.sort(key=lambda labelling: -labelling.merit)
        if moved[0].merit <= found[0].merit:
            return found
        change = f"it raised the merit from {found[0].merit:.3f} to {moved[0].merit:.3f}"
        self.choices.note("groups split and merged", True, change)
        return moved

    def _note(self, best: Labelling, tried: int) -> None:
        why = f"of {tried} ways to label, a left-out classifier tells this one's groups best (merit {best.merit:.3f})"
        self.choices.note("ridge at the end", best.candidate.lam, why)
        if len(self.bounds.ways) > 1:
            self.choices.note("cluster_size at the end", describe_sizes(best.candidate.sizes), why)

    def _label_many(self, knowledge: Knowledge, few: Extended) -> Extended:
        """Label all landmarks in the way that the few have chosen, by an M that is never formed."""
        k, points, way = knowledge.n_clusters or 1, self.landmarks, few.labelling.candidate
        constraints = knowledge.constraints.restricted(points)
        if (constraints.classes >= 0).all():
            return replace(few, points=points, labelling=replace(few.labelling, codes=constraints.classes))
        guess = self._extend(knowledge, few)[points]
        spectrum = decompose(self.Phi[torch.from_numpy(points)])
        extension = self._extension(spectrum, constraints, way, k, guess=guess)
        Z = extension.own.cpu().numpy()
        if (constraints.classes >= 0).any():
            scores = seeded_scores(Z, constraints.classes, k, rng=self.rng)
        else:
            scores = settled_scores(Z, guess, k)
        counts = self.bounds.for_classes(k).counts(knowledge.constraints, points)
        codes = assign(scores, constraints, sizes=counts)
        labelling = Labelling.judged(codes, way, extension.eigenvalues, judge=make_judge(spectrum, k))
        self.choices.note("labels at the end", f"{len(points)} points", "by the matrix of all their pairs")
        return Extended(points, labelling, extension)

    def _extension(
        self, spectrum: Spectrum, constraints: Constraints, way: Candidate, k: int, *, guess: Ints | None = None
    ) -> Extension:
        """Balance the cost of points in some way, and find where they and others lie."""
        known = constraints.entries()
        A = spectrum.cost(way.lam)
        balanced = balance(
            A.dense(torch.float32) if spectrum.n <= MOST_LANDMARKS else A.to(torch.float32),
            size=way.sizes.among(constraints, known),
            known=known,
            nu=self.entropy,
        )
        start = None if guess is None else torch.from_numpy(guess)
        return Extension.of(spectrum, way.lam, balanced, k, random_state=self.rng, guess=start)

    def _extend(self, knowledge: Knowledge, some: Extended) -> Ints:
        """Give every point a class by the rule that best tells those of the points that have one.

        These keep theirs, unless bounds on sizes or links make them give way.
        """
        k, constraints = knowledge.n_clusters or 1, knowledge.constraints
        anchors = constraints.classes.copy()
        anchors[some.points] = some.labelling.codes
        reference = self._reference(anchors, some.points)
        Phi = self.Phi[torch.from_numpy(reference)]
        rule = choose_rule(Phi, anchors[reference], k, extension=some.extension)
        self.choices.note("classes of the other points", rule.name, rule.why)
        counts = self.bounds.for_classes(k).counts(constraints, np.arange(knowledge.n))
        return label_by_rule(rule, self.Phi, anchors, constraints, k=k, counts=counts)

    def _reference(self, anchors: Ints, points: Ints) -> Ints:
        """Points whose class is known or found, by which others are judged: the given ones, and labeled ones."""
        labeled = np.setdiff1d(np.flatnonzero(anchors >= 0), points)
        most = max(MOST_COMPARED - len(points), 0)
        if len(labeled) > most:
            labeled = self.rng.permutation(labeled)[:most]
        return np.sort(np.concatenate([points, labeled]))


@dataclass(frozen=True)
class Extended:
    """Points with their classes, and where others lie among them.

    Attributes
    ----------
    points : array of int
        Positions.
    labelling : Labelling
        Their classes.
    extension : Extension or None
        Places among the eigenvectors of their M; None where all of them were labeled and no M was needed.
    """

    points: Ints
    labelling: Labelling
    extension: Extension | None


def _tried(
    candidates: list[Candidate], label: Callable[..., Labelling]
) -> tuple[list[Labelling], InfeasibleError | None]:
    """Label in all ways that can be met, the best first: one of our own bounds may be too tight for the links given."""
    found: list[Labelling] = []
    infeasible = None
    for way in candidates:
        try:
            found.append(label(candidate=way))
        except InfeasibleError as error:
            infeasible = error
    return sorted(found, key=lambda labelling: -labelling.merit), infeasible


def check_pairs(constraints: Constraints) -> None:
    """Refuse an M most of whose entries are known, for they are kept in a list; one that is known is not needed."""
    labeled = int((constraints.classes >= 0).sum())
    if MOST_LANDMARKS < constraints.n > labeled and labeled**2 / 2 > MOST_PAIRS:
        raise InvalidInputError(
            f"n_landmarks={constraints.n} takes in {labeled} labeled points, too many for a list of their pairs. Lower"
            f" it to {MOST_LANDMARKS}, or leave some labels out."
        )
