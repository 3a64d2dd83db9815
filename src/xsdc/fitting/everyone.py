"""A class for every point, from trained features and what is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.assignment import assign
from xsdc.core.balancing import balance
from xsdc.core.constraints import Constraints
from xsdc.core.judging import Judge, indicators
from xsdc.core.labelling import Candidate, Labelling, label_points, largest_number, seeded_scores, suggest_number
from xsdc.core.objective import Spectrum, decompose
from xsdc.core.refinement import split_and_merge
from xsdc.core.rounding import spectral_embedding
from xsdc.core.sizes import ClassSizes
from xsdc.errors import InfeasibleError
from xsdc.fitting.automatic import choose_candidates, describe_sizes, judging_dimension
from xsdc.fitting.choices import Choices
from xsdc.fitting.knowledge import Knowledge

Ints = npt.NDArray[np.int64]
Counts = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
MOST_SUGGESTED = 50
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

    def counts(self, n: int) -> Counts | None:
        """Whole numbers of points that the user's bounds allow each class; the next wider ones."""
        if not self.given:
            return None
        (bound,) = self.ways
        return np.floor(bound.minimum * n + 1e-9), np.ceil(bound.maximum * n - 1e-9)


def make_judge(spectrum: Spectrum, n_clusters: int) -> Judge:
    """Make a judge of groupings into some number of classes."""
    return Judge(spectrum, spectrum.ridge_for_dimension(judging_dimension(n_clusters, spectrum)))


class LabelEveryone:
    """Labels all points: some of them by the matrix of all pairs, the others by the nearest of those.

    Parameters
    ----------
    Phi : Tensor, shape (n, D)
        Normalised features.
    landmarks : array of int
        Points of which a matrix of all pairs is formed.
    ridge : float or "auto"
        lambda of the cost.
    entropy : float or "median"
        nu.
    bounds : Bounds
        Bounds on sizes.
    choices : Choices
        Where choices are written down.
    rng : RandomState
        Source of randomness.
    """

    def __init__(
        self,
        Phi: Tensor,
        *,
        landmarks: Ints,
        ridge: float | Literal["auto"],
        entropy: float | Literal["median"],
        bounds: Bounds,
        choices: Choices,
        rng: np.random.RandomState,
    ) -> None:
        self.Phi, self.landmarks = Phi, landmarks
        self.ridge, self.entropy, self.bounds = ridge, entropy, bounds
        self.choices, self.rng = choices, rng

    def label(self, knowledge: Knowledge) -> tuple[Knowledge, Labelling]:
        """Give every point a class; settle the number of classes, where it is open."""
        spectrum = decompose(self.Phi[torch.from_numpy(self.landmarks)])
        if knowledge.n_clusters is None:
            knowledge = knowledge.with_clusters(self._suggest_number(spectrum, knowledge))
        best = self._label_landmarks(spectrum, knowledge)
        if len(self.landmarks) < knowledge.n:
            best = replace(best, codes=self._extend(knowledge, best.codes))
        return knowledge, best

    def _suggest_number(self, spectrum: Spectrum, knowledge: Knowledge) -> int:
        constraints = knowledge.constraints.restricted(self.landmarks)
        known = constraints.entries()
        bound = self.bounds.ways[0]
        way = choose_candidates(spectrum, knowledge, self.ridge, [bound])[0]
        A = spectrum.cost(way.lam).dense(torch.float32)
        M = balance(A, size=bound.among(constraints, known), known=known, nu=self.entropy).M
        most = largest_number(bound, min(MOST_SUGGESTED, spectrum.n - 1))
        eigenvalues, _ = spectral_embedding(M, most, random_state=self.rng)
        number = suggest_number(eigenvalues, bound)
        why = "where the eigenvalues of the balanced M fall most, within cluster_size"
        self.choices.note("n_clusters", number, why)
        return number

    def _label_landmarks(self, spectrum: Spectrum, knowledge: Knowledge) -> Labelling:
        k = knowledge.n_clusters or 1
        bounds = self.bounds.for_classes(k)
        constraints = knowledge.constraints.restricted(self.landmarks)
        if (constraints.classes >= 0).all():
            return Labelling(constraints.classes, Candidate(1.0, bounds.ways[0]), 0.0, torch.empty(0))
        candidates = choose_candidates(spectrum, knowledge, self.ridge, bounds.ways)
        judge = make_judge(spectrum, k)
        found, infeasible = [], None
        for way in candidates:
            try:
                found += label_points(
                    spectrum,
                    constraints,
                    n_clusters=k,
                    candidates=[way],
                    judge=judge,
                    nu=self.entropy,
                    sizes=bounds.counts(len(self.landmarks)),
                    rng=self.rng,
                )
            except InfeasibleError as error:  # one of our own bounds may be too tight for the links given
                infeasible = error
        if not found and infeasible is not None:
            raise infeasible
        found.sort(key=lambda labelling: -labelling.merit)
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
            moved.append(replace(labelling, codes=codes, merit=judge.merit(codes)))
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

    def _extend(self, knowledge: Knowledge, codes: Ints) -> Ints:
        """Give every point the class of the nearest landmark or labeled point; those keep theirs."""
        k = knowledge.n_clusters or 1
        anchors = knowledge.constraints.classes.copy()
        anchors[self.landmarks] = codes
        present, local = np.unique(anchors[anchors >= 0], return_inverse=True)
        seeds = np.full(knowledge.n, -1, dtype=np.int64)
        seeds[anchors >= 0] = local
        scores = np.full((knowledge.n, k), -np.inf)
        Z = self.Phi.to("cpu", torch.float64).numpy()
        scores[:, present] = seeded_scores(Z, seeds, len(present), rng=self.rng)
        bounds = self.bounds.for_classes(k)
        return assign(scores, knowledge.constraints, sizes=bounds.counts(knowledge.n))
