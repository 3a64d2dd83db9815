"""Simulated people who answer from true labels, now and then wrongly."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.suite.sets import BY_NAME, load, prepare
from xsdc import XSDC
from xsdc.core.agreement import agreement, wilson_interval
from xsdc.fitting.knowledge import read_knowledge
from xsdc.fitting.resolve import Resolved, Resolver
from xsdc.fitting.views import View
from xsdc.queries import STRATEGIES, Situation, choose_questions, view_of

Array = npt.NDArray[Any]
WRONG = 0.05  # share of answers that are wrong
FOLDS = 5  # of the accuracy that all labels give
MOST_POINTS = 5000
ONE_BY_ONE, TOGETHER = 40, 5  # answers between which each is solved for; afterwards so many at a time
CHECKED_AT = (50, 100, 150)  # answers after which the interval of audits is looked at
REDRAWN = 100  # draws of audits; the model does not see them, so that they can be drawn again
EVERY = 10


@dataclass(frozen=True)
class Case:
    """A data set as a person meets it: points, groups, and the true classes behind them.

    Attributes
    ----------
    name : str
    truth : array of str, shape (n,)
    groups : array of int, shape (n,)
        As found without labels, with the true number of classes.
    view : View
        Representation and neighbor graphs, which all ways share.
    """

    name: str
    truth: Array
    groups: Array
    view: View

    @property
    def k(self) -> int:
        """Number of classes."""
        return len(set(self.truth.tolist()))

    def resolver(self, seed: int) -> Resolver:
        """Make what solves anew."""
        return Resolver(self.view, self.groups, seed=seed)


def make_case(name: str) -> Case:
    """Load a data set of the suite and find groups in it."""
    X, y = load(name)
    kept = np.random.default_rng(0).permutation(len(y))[:MOST_POINTS]
    X, y = X[kept], y[kept]
    X = prepare(X, X, BY_NAME[name].kind)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = XSDC(len(set(y.tolist())), effort="fast", random_state=0, progress=False).fit(X)
    place = {label: code for code, label in enumerate(model.classes_.tolist())}
    groups = np.array([place[label] for label in model.labels_.tolist()])
    return Case(name, np.array([f"class {label}" for label in y]), groups, view_of(model, X))


def named(found: Resolved) -> Array:
    """Class of each point by name."""
    names = np.array([str(name) for name in found.knowledge.names])
    return np.asarray(names[found.codes])


def accuracy_of_all(case: Case) -> float:
    """Accuracy on points that are left out when all others have their true label."""
    fold = np.random.default_rng(0).permutation(len(case.truth)) % FOLDS
    right = np.zeros(len(case.truth), dtype=bool)
    for each in range(FOLDS):
        y = case.truth.astype(object)
        y[fold == each] = None
        found = case.resolver(0).solve(read_knowledge(len(y), y=y, n_clusters=case.k))
        right[fold == each] = (named(found) == case.truth)[fold == each]
    return float(right.mean())


def situation_of(resolver: Resolver, found: Resolved, asked: set[int]) -> Situation:
    """What questions are chosen by."""
    knowledge = found.knowledge
    return Situation(
        Z=resolver.view.Z.numpy(),
        graph=resolver.graph,
        probabilities=found.probabilities,
        codes=found.codes,
        names=[str(name) for name in knowledge.names],
        named=np.arange(len(knowledge.names)) < knowledge.n_named,
        known=knowledge.constraints.classes >= 0,
        asked=frozenset(("label", (point,)) for point in asked),
    )


def simulate_labels(case: Case, strategy: str, seed: int, *, most: int) -> dict[str, Any]:
    """Answer "what is this?" again and again; the accuracy over all points after each solution."""
    rng, person = np.random.RandomState(seed), np.random.default_rng(seed)
    resolver, n = case.resolver(seed), len(case.truth)
    classes = sorted(set(case.truth.tolist()))
    y: Array = np.full(n, None, dtype=object)
    asked: set[int] = set()
    curve: list[tuple[int, float]] = []
    covered: dict[str, float] = {}
    while True:
        names = {name for name in y.tolist() if name is not None}
        found = resolver.solve(read_knowledge(n, y=y, n_clusters=max(case.k, len(names))))
        right = named(found) == case.truth
        curve.append((len(asked), round(float(right.mean()), 5)))
        if strategy == "useful" and len(asked) in CHECKED_AT:
            covered[str(len(asked))] = coverage(right, y, len(asked) // EVERY, person)
        if len(asked) >= most:
            return {"curve": curve, "covered": covered}
        count = 1 if len(asked) < ONE_BY_ONE else TOGETHER
        for point in STRATEGIES[strategy](situation_of(resolver, found, asked), count, rng).points.tolist():
            asked.add(point)
            others = [name for name in classes if name != case.truth[point]]
            y[point] = person.choice(others) if person.random() < WRONG else case.truth[point]


def coverage(right: Array, y: Array, slots: int, person: np.random.Generator) -> float:
    """Share of draws of audits whose interval holds the accuracy among points without an answer.

    The person errs in audits as elsewhere; an audit that disagrees is asked once more in a later slot, and its last
    answer counts.
    """
    left = np.flatnonzero([label is None for label in y.tolist()])
    truth = right[left].mean()
    held = 0
    for _ in range(REDRAWN):
        said: list[bool] = []
        doubted: list[int] = []
        drawn = iter(person.choice(left, slots, replace=False).tolist())
        points: list[int] = []
        for _slot in range(slots):
            place = doubted.pop(0) if doubted else -1
            point = points[place] if place >= 0 else next(drawn)
            agrees = bool(right[point]) and person.random() >= WRONG
            if place >= 0:
                said[place] = agrees
            else:
                points.append(point)
                said.append(agrees)
                doubted += [] if agrees else [len(said) - 1]
        low, high = wilson_interval(sum(said), len(said))
        held += bool(low <= truth <= high)
    return held / REDRAWN


def simulate_pairs(case: Case, seed: int, *, most: int) -> dict[str, Any]:
    """Answer "same or different?" alone; clusters are matched to classes to be measured."""
    rng, person = np.random.RandomState(seed), np.random.default_rng(seed)
    resolver, n = case.resolver(seed), len(case.truth)
    same: list[tuple[int, int]] = []
    apart: list[tuple[int, int]] = []
    keys: set[tuple[str, tuple[int, ...]]] = set()
    curve = []
    while True:
        knowledge = read_knowledge(n, must_link=same or None, cannot_link=apart or None, n_clusters=case.k)
        found = resolver.solve(knowledge)
        curve.append((len(keys), round(float(agreement(found.codes, case.truth).accuracy), 5)))
        if len(keys) >= most:
            return {"curve": curve, "covered": {}}
        sure = situation_of(resolver, found, set())
        linked = np.zeros(n, dtype=bool)
        linked[[point for pair in same for point in pair[:1]]] = True
        fields = {name: getattr(sure, name) for name in ("Z", "graph", "probabilities", "codes", "names")}
        situation = Situation(**fields, named=np.ones(len(sure.names), dtype=bool), known=linked, asked=frozenset(keys))
        chosen = choose_questions(situation, TOGETHER, kinds=("pair",), rng=rng)
        if not chosen:
            return {"curve": curve, "covered": {}}
        for question in chosen:
            keys.add(question.key)
            first, second = question.points
            true = bool(case.truth[first] == case.truth[second])
            said = true != (person.random() < WRONG)
            if not _clashes(n, same, apart, (first, second), same_=said):
                (same if said else apart).append((first, second))


def _clashes(
    n: int, same: list[tuple[int, int]], apart: list[tuple[int, int]], pair: tuple[int, int], *, same_: bool
) -> bool:
    """Whether an answer contradicts the others; the page would say so, and here it is dropped."""
    from xsdc.core.constraints import close  # noqa: PLC0415
    from xsdc.errors import ContradictionError  # noqa: PLC0415

    more_same, more_apart = ([*same, pair], apart) if same_ else (same, [*apart, pair])
    try:
        close(n, must_link=more_same or None, cannot_link=more_apart or None)
    except ContradictionError:
        return True
    return False
