"""After training: a class for every point, the classifier for new ones, and probabilities that mean what they say."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xsdc.core.assignment import assign, violated_links
from xsdc.core.balancing import balance
from xsdc.core.classifier import Classifier, fit_classifier
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
MOST_LANDMARKS = 6000  # points of which an n×n matrix is formed
MOST_FOR_CALIBRATION = 2000
MOST_FITTED = 100_000  # points that the classifier is fitted to
MOST_SUGGESTED = 50
FOLDS = 5
REFINED = 3  # groupings that are improved by moving groups
ENOUGH_TO_CALIBRATE = 20


@dataclass(frozen=True)
class Outcome:
    """What a fit found.

    Attributes
    ----------
    codes : array of int64, shape (n,)
        Class of each point.
    knowledge : Knowledge
        As given, with the number of classes settled.
    classifier : Classifier
        For new points.
    eigenvalues : Tensor
        Leading eigenvalues of the normalised M.
    violated : int
        Cannot-linked pairs of groups that share a class.
    """

    codes: Ints
    knowledge: Knowledge
    classifier: Classifier
    eigenvalues: Tensor
    violated: int


@dataclass(frozen=True)
class Finish:
    """The end of a fit.

    Attributes
    ----------
    ridge : float or "auto"
        Of the cost, the classifier too.
    entropy : float or "median"
        nu.
    bounds : list of ClassSizes
        Bounds on sizes to try.
    given_sizes : bool
        Whether the bounds are the user's, to be kept exactly.
    choices : Choices
        Where choices are written down.
    """

    ridge: float | Literal["auto"]
    entropy: float | Literal["median"]
    bounds: list[ClassSizes]
    given_sizes: bool
    choices: Choices

    def run(self, Phi: Tensor, knowledge: Knowledge, held_out: Ints, rng: np.random.RandomState) -> Outcome:
        """Label all points, fit the classifier and calibrate it.

        Parameters
        ----------
        Phi : Tensor, shape (n, D)
            Normalised features.
        knowledge : Knowledge
            What is known.
        held_out : array of int
            Points whose labels took no part in training; they calibrate. None to cross-fit.
        rng : RandomState
            Source of randomness.
        """
        landmarks = choose_landmarks(knowledge, MOST_LANDMARKS, rng)
        spectrum = decompose(Phi[torch.from_numpy(landmarks)])
        if knowledge.n_clusters is None:
            knowledge = self._settle_number(spectrum, knowledge, landmarks, rng)
        bounds = [broadcast(bound, knowledge) for bound in self.bounds]
        best = self._label(spectrum, knowledge, landmarks, bounds, rng)
        codes = self._extend(Phi, knowledge, landmarks, best, bounds, rng)
        classifier = self._classify(Phi, codes, knowledge, rng)
        classifier = self._calibrate(classifier, Phi, codes, knowledge, best, held_out, rng)
        violated = violated_links(codes, knowledge.constraints)
        if violated:
            warnings.warn(
                f"{violated} cannot-links could not be met with {knowledge.n_clusters} classes.", UserWarning, stacklevel=4
            )
        return Outcome(codes, knowledge, classifier, best.eigenvalues, violated)

    def _settle_number(
        self, spectrum: Spectrum, knowledge: Knowledge, landmarks: Ints, rng: np.random.RandomState
    ) -> Knowledge:
        constraints = knowledge.constraints.restricted(landmarks)
        known = constraints.entries()
        bound = self.bounds[0]
        way = choose_candidates(spectrum, knowledge, self.ridge, [bound])[0]
        A = spectrum.cost(way.lam).dense().to(torch.float32)
        M = balance(A, size=bound.among(constraints, known), known=known, nu=self.entropy).M
        most = largest_number(bound, min(MOST_SUGGESTED, spectrum.n - 1))
        eigenvalues, _ = spectral_embedding(M, most, random_state=rng)
        number = suggest_number(eigenvalues, bound)
        self.choices.note("n_clusters", number, "where the eigenvalues of the balanced M fall most, within cluster_size")
        return knowledge.with_clusters(number)

    def _label(
        self,
        spectrum: Spectrum,
        knowledge: Knowledge,
        landmarks: Ints,
        bounds: list[ClassSizes],
        rng: np.random.RandomState,
    ) -> Labelling:
        k = knowledge.n_clusters or 1
        constraints = knowledge.constraints.restricted(landmarks)
        if (constraints.classes >= 0).all():
            way = Candidate(float("nan"), bounds[0])
            return Labelling(constraints.classes, way, float("nan"), torch.empty(0))
        candidates = choose_candidates(spectrum, knowledge, self.ridge, bounds)
        sizes = self._counts(bounds[0], len(landmarks))
        judge = Judge(spectrum, spectrum.ridge_for_dimension(judging_dimension(k, spectrum)))
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
                    sizes=sizes,
                    rng=rng,
                )
            except InfeasibleError as error:
                infeasible = error
        if not found:
            raise infeasible or AssertionError
        found.sort(key=lambda labelling: -labelling.merit)
        if sizes is None and not (constraints.classes >= 0).any():
            found = self._refine(found, spectrum, constraints, judge, rng)
        best = found[0]
        if len(candidates) > 1:
            why = f"of {len(candidates)} ways to label, a left-out classifier tells this one's groups best"
            self.choices.note("ridge at the end", best.candidate.lam, f"{why} (merit {best.merit:.3f})")
            if len(bounds) > 1:
                self.choices.note("cluster_size at the end", describe_sizes(best.candidate.sizes), why)
        return best

    def _refine(
        self,
        found: list[Labelling],
        spectrum: Spectrum,
        constraints: Constraints,
        judge: Judge,
        rng: np.random.RandomState,
    ) -> list[Labelling]:
        """Move whole groups of the best groupings, which no label or bound holds in place."""
        k = max(int(labelling.codes.max()) for labelling in found) + 1
        A = spectrum.cost(spectrum.ridge_for_dimension(judging_dimension(k, spectrum))).dense().to(torch.float32)
        refined = []
        for labelling in found[:REFINED]:
            moved = assign(indicators(split_and_merge(labelling.codes, judge, A, rng=rng), k), constraints)
            refined.append(replace(labelling, codes=moved, merit=judge.merit(moved)))
        refined.sort(key=lambda labelling: -labelling.merit)
        if refined[0].merit <= found[0].merit:
            return found
        change = f"from {found[0].merit:.3f} to {refined[0].merit:.3f}"
        self.choices.note("groups split and merged", True, f"it raised the merit {change}")
        return refined

    def _counts(self, bound: ClassSizes, n: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None:
        """Whole numbers of points that bounds given by the user allow; nearest ones where none lies between."""
        if not self.given_sizes:
            return None
        return np.floor(bound.minimum * n + 1e-9), np.ceil(bound.maximum * n - 1e-9)

    def _extend(
        self,
        Phi: Tensor,
        knowledge: Knowledge,
        landmarks: Ints,
        best: Labelling,
        bounds: list[ClassSizes],
        rng: np.random.RandomState,
    ) -> Ints:
        """Give every point the class of the nearest landmark; landmarks keep theirs."""
        if len(landmarks) == knowledge.n:
            return best.codes
        k = knowledge.n_clusters or 1
        anchors = np.full(knowledge.n, -1, dtype=np.int64)
        anchors[landmarks] = best.codes
        labeled = knowledge.constraints.classes >= 0
        anchors[labeled] = knowledge.constraints.classes[labeled]
        present = np.unique(anchors[anchors >= 0])
        scores = np.full((knowledge.n, k), -np.inf)
        local = np.full(k, -1)
        local[present] = np.arange(len(present))
        near = np.where(anchors >= 0, local[anchors], -1)
        scores[:, present] = seeded_scores(Phi.cpu().double().numpy(), near, len(present), rng=rng)
        scores[anchors >= 0] = np.where(np.arange(k) == anchors[anchors >= 0][:, None], 0.0, scores[anchors >= 0])
        return assign(scores, knowledge.constraints, sizes=self._counts(bounds[0], knowledge.n))

    def _classify(self, Phi: Tensor, codes: Ints, knowledge: Knowledge, rng: np.random.RandomState) -> Classifier:
        chosen = np.arange(len(codes))
        if len(chosen) > MOST_FITTED:
            chosen = np.sort(rng.choice(len(codes), MOST_FITTED, replace=False))
        lam = None if self.ridge == "auto" else self.ridge
        spectrum = decompose(Phi[torch.from_numpy(chosen)])
        classifier = fit_classifier(
            spectrum, torch.from_numpy(codes[chosen]), n_classes=knowledge.n_clusters or 1, lam=lam
        )
        if lam is None:
            self.choices.note("ridge of the classifier", classifier.lam, "least squared error on points left out")
        return classifier

    def _calibrate(
        self,
        classifier: Classifier,
        Phi: Tensor,
        codes: Ints,
        knowledge: Knowledge,
        best: Labelling,
        held_out: Ints,
        rng: np.random.RandomState,
    ) -> Classifier:
        given = np.flatnonzero(knowledge.codes >= 0)
        if len(held_out) >= ENOUGH_TO_CALIBRATE:
            folds, why = [held_out], f"{len(held_out)} labels held out of training"
        elif len(given) >= ENOUGH_TO_CALIBRATE:
            given = rng.permutation(given)[: MOST_FOR_CALIBRATION // 2]
            folds, why = np.array_split(given, FOLDS), f"{len(given)} labels, hidden a fifth at a time"
        else:
            folds, why = [], "too few labels to hide any: the found classes, points left out one at a time"
        if folds:
            parts = [(fold, self._left_out(fold, classifier, Phi, codes, knowledge, best, rng)) for fold in folds]
            scores = torch.cat([part for _, part in parts])
            truth = np.concatenate([knowledge.codes[fold] for fold, _ in parts])
        else:
            chosen = choose_landmarks(knowledge, MOST_FOR_CALIBRATION, rng)
            spectrum = decompose(Phi[torch.from_numpy(chosen)])
            truth = codes[chosen]
            Y = torch.nn.functional.one_hot(torch.from_numpy(truth), len(classifier.b)).to(spectrum.s)
            scores = spectrum.leave_one_out(Y, classifier.lam)
        calibrated = classifier.calibrated(scores.cpu(), torch.from_numpy(truth))
        self.choices.note("sharpness of probabilities", calibrated.sharpness, f"most likely for {why}")
        return calibrated

    def _left_out(
        self,
        hidden: Ints,
        classifier: Classifier,
        Phi: Tensor,
        codes: Ints,
        knowledge: Knowledge,
        best: Labelling,
        rng: np.random.RandomState,
    ) -> Tensor:
        """Scores of some labeled points by a classifier made without their labels, on the same features."""
        blind = knowledge.hiding(hidden)
        rest = np.setdiff1d(choose_landmarks(blind, MOST_FOR_CALIBRATION, rng), hidden)
        chosen = np.concatenate([rest, hidden])
        constraints = blind.constraints.restricted(chosen)
        if (knowledge.codes >= 0).all():
            found = codes[chosen]
        else:
            spectrum = decompose(Phi[torch.from_numpy(chosen)])
            found = label_points(
                spectrum,
                constraints,
                n_clusters=len(classifier.b),
                candidates=[best.candidate],
                judge=Judge(spectrum, best.candidate.lam),
                nu=self.entropy,
                rng=rng,
            )[0].codes
        spectrum = decompose(Phi[torch.from_numpy(rest)])
        other = fit_classifier(
            spectrum, torch.from_numpy(found[: len(rest)]), n_classes=len(classifier.b), lam=classifier.lam
        )
        return other.scores(Phi[torch.from_numpy(hidden)])


def choose_landmarks(knowledge: Knowledge, most: int, rng: np.random.RandomState) -> Ints:
    """Choose points to stand for all: all of them, or up to a third labeled, a third otherwise known, the rest by chance."""
    n, constraints = knowledge.n, knowledge.constraints
    if n <= most:
        return np.arange(n)
    labeled = constraints.classes >= 0
    linked = (np.bincount(constraints.group)[constraints.group] > 1) | (np.diff(constraints.apart.indptr) > 0)[
        constraints.group
    ]
    tied = ~labeled & (linked | (constraints.group_set[constraints.group] > 0))
    chosen = np.concatenate([rng.permutation(np.flatnonzero(kind))[: most // 3] for kind in (labeled, tied)])
    others = np.setdiff1d(np.flatnonzero(~labeled), chosen)
    if not len(others):  # all is labeled
        others = np.setdiff1d(np.arange(n), chosen)
    return np.sort(np.concatenate([chosen, rng.permutation(others)[: most - len(chosen)]]))


def broadcast(bound: ClassSizes, knowledge: Knowledge) -> ClassSizes:
    """One bound per class, where one was given for all."""
    k = knowledge.n_clusters or 1
    return ClassSizes(*(np.broadcast_to(x, (k,)).copy() for x in (bound.minimum, bound.maximum)))
