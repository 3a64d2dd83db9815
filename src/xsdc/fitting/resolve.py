"""Classes anew from more labels and pairs, on representations and neighbor graphs that are kept.

A fit looks for representations, joins neighbors and weights a dozen classifiers by labels that are left out. Between
two answers of a person only what is known changes. `Resolver` keeps everything else: the graphs, how far each class
has spread over them, and the last solution, from which the solver goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix

from xsdc.core.assignment import assign, violated_links
from xsdc.core.graph import Metric
from xsdc.core.grouping import RidgeSmoother, solve, with_links
from xsdc.core.pool import fit_weights, pool
from xsdc.core.propagation import Propagation
from xsdc.defaults import DEFAULTS
from xsdc.fitting.ensemble import deal
from xsdc.fitting.groups import sizes_among, walk_leak
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.models import Linear, Trees
from xsdc.fitting.views import View

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MOST_SOLVED = 20_000  # points that the solver sees; the others take the mean of their neighbors among these
MOST_FOR_TREES = 20_000  # points; of more, what trees say takes longer than a person waits
GROWN = 1.25  # labels beside those by which members were weighted, from which on they are weighted again
TOLERANCE = 1e-3  # of products with a graph's smoother, as in `xsdc.core.grouping`


@dataclass(frozen=True)
class Resolved:
    """Classes of all points under what is known now.

    Attributes
    ----------
    knowledge : Knowledge
        What was known; it names the classes.
    codes : array of int, shape (n,)
        Class of each point.
    probabilities : array of float32, shape (n, k)
        Of each class.
    violated : int
        Cannot-linked pairs of groups that share a class.
    """

    knowledge: Knowledge
    codes: Ints
    probabilities: npt.NDArray[np.float32]
    violated: int


class Spread:
    """How often walks from the labeled points of each class come by, kept while labels are added and taken away.

    Visits are linear in where walks start: only what is new is spread.

    Parameters
    ----------
    W : sparse matrix, shape (n, n)
        Weights of the graph.
    """

    def __init__(self, W: csr_matrix) -> None:
        self._propagation = Propagation(W, tolerance=TOLERANCE)
        self._started: dict[int, str] = {}
        self._visits: dict[str, Floats] = {}

    def __call__(self, labels: dict[int, str], names: Sequence[str]) -> Floats:
        """Visits from labeled points, by the names of their classes: shape (n, k), the mean over each class."""
        n = len(self._propagation.degrees)
        gone = [(i, name) for i, name in self._started.items() if labels.get(i) != name]
        fresh = [(i, name) for i, name in labels.items() if self._started.get(i) != name]
        changed = sorted({name for _, name in (*gone, *fresh)})
        if changed:
            place = {name: c for c, name in enumerate(changed)}
            sources = np.zeros((n, len(changed)))
            for sign, some in ((-1.0, gone), (1.0, fresh)):
                for i, name in some:
                    sources[i, place[name]] += sign
            spread = self._propagation.visits(sources)
            for name, c in place.items():
                self._visits[name] = self._visits.get(name, np.zeros(n)) + spread[:, c]
            self._started = dict(labels)
        counts = dict.fromkeys(names, 0)
        for name in labels.values():
            counts[name] += 1
        nothing = np.zeros(n)
        columns = [self._visits[name] / counts[name] if counts[name] else nothing for name in names]
        return np.maximum(np.stack(columns, axis=1), 0)

    def among(self, points: Ints, codes: Ints, k: int) -> Floats:
        """Visits from some labeled points alone, shape (n, k), nothing kept."""
        sources = np.zeros((len(self._propagation.degrees), k))
        sources[points, codes] = 1.0
        return self._propagation.visits(sources / np.maximum(sources.sum(axis=0), 1))


class Resolver:
    """Solves anew whenever more is known.

    Parameters
    ----------
    view : View
        Representation of all n points, with the metrics of its graphs.
    groups : array of int, shape (n,)
        Groups found before, from which the first solution starts.
    seed : int
        Source of randomness.
    """

    def __init__(self, view: View, groups: Ints, *, seed: int = 0) -> None:
        self.view = view
        n = len(view)
        rng = np.random.RandomState(seed)
        self._seed = seed
        self._Z = view.Z.numpy()
        self._spreads = [Spread(view.graph(metric)) for metric in view.metrics]
        self._solved = np.arange(n) if n <= MOST_SOLVED else np.sort(rng.permutation(n)[:MOST_SOLVED])
        some = view if len(self._solved) == n else view[self._solved]
        self._graphs = [some.graph(metric) for metric in some.metrics]
        self._near = None if len(self._solved) == n else some.index().weights(view.Z)
        self._ridges: dict[int, RidgeSmoother] = {}
        self._some = some
        self._last = groups  # classes of all points in the last solution
        self._before: tuple[str, ...] = ()
        self._weights: Floats | None = None
        self._weighed = (0, 0)  # labels and classes by which the weights were found

    @property
    def graph(self) -> csr_matrix:
        """Weights of the graph of nearest neighbors of all points."""
        return self.view.graph(self.view.metrics[0])

    def restart(self, groups: Ints) -> None:
        """Go on from other groups than those of the last solution: a person has merged or split some."""
        self._last, self._before = np.unique(groups, return_inverse=True)[1], ()

    def solve(self, knowledge: Knowledge) -> Resolved:
        """Find classes and their probabilities under what is known.

        Parameters
        ----------
        knowledge : Knowledge
            Of the n points, in the order of the view; the number of classes is settled.
        """
        names = tuple(map(str, knowledge.names))
        classes = knowledge.constraints.classes
        labeled = np.flatnonzero(classes >= 0)
        k = len(names)
        solution = self._solution(knowledge, names)
        if len(np.unique(classes[labeled])) < k or k == 1:  # some class has no label: its group tells it
            p = _shares(solution)
        else:
            p = self._pooled(labeled, classes[labeled], names, solution)
        codes = assign(np.log(p), knowledge.constraints)
        return Resolved(knowledge, codes, p.astype(np.float32), violated_links(codes, knowledge.constraints))

    def _solution(self, knowledge: Knowledge, names: tuple[str, ...]) -> Floats:
        """How much of each class is around each point in the solver's solution, shape (n, k)."""
        k, constraints = len(names), knowledge.constraints.restricted(self._solved)
        m = len(self._solved)
        if k not in self._ridges:
            self._ridges[k] = RidgeSmoother(self._some.Z, k)
        ridge, leak = self._ridges[k], walk_leak(m, k)
        graphs = [
            Propagation(with_links(W, constraints), leak=leak, tolerance=TOLERANCE) for W in self._graphs
        ]  # links are few: to scale the graphs anew takes milliseconds
        roots = [np.sqrt(graph.degrees)[:, None] for graph in graphs]

        def S(Y: Floats) -> Floats:
            smooth = [leak * root * graph.visits(root * Y) for graph, root in zip(graphs, roots, strict=True)]
            return np.asarray((sum(smooth) + ridge(Y)) / (len(smooth) + 1))

        start = self._start(knowledge.constraints.classes, knowledge.n_named, names)
        equal = m / k
        lo, hi = DEFAULTS.wider_range
        (sizes,) = sizes_among([(np.full(k, lo * equal), np.full(k, hi * equal))], 1.0)
        (found,) = solve(S, [start], constraints, k, sizes=sizes)
        scores = np.maximum(S(np.eye(k)[found.codes]), 0)
        scores = scores if self._near is None else np.asarray(self._near @ scores)
        self._last, self._before = scores.argmax(axis=1), names[: knowledge.n_named]
        self._last[self._solved] = found.codes
        return scores

    def _start(self, classes: Ints, n_named: int, names: tuple[str, ...]) -> Ints:
        """Carry the last solution over to the present classes: by the labels in its groups, then by names.

        Groups beyond the number of classes leave their points to what is around them.
        """
        k, before, last = len(names), self._before, self._last
        known = classes >= 0
        hits = np.zeros((max(len(before), int(last.max()) + 1), k))
        np.add.at(hits, (last[known], classes[known]), 1.0)
        for old, name in enumerate(before):
            for new in [c for c in range(n_named) if names[c] == name]:
                hits[old, new] += 0.5
        for code in range(n_named, min(hits.shape)):  # groups without names keep their numbers
            hits[code, code] += 0.25
        old_codes, new_codes = linear_sum_assignment(hits, maximize=True)
        partner = np.full(len(hits), -1)
        partner[old_codes] = new_codes
        carried, classes = partner[last[self._solved]], classes[self._solved]
        carried = np.where(classes >= 0, classes, carried)
        if (carried < 0).any():
            around = self._graphs[0] @ (np.eye(k)[carried] * (carried >= 0)[:, None])
            carried = np.where(carried < 0, around.argmax(axis=1), carried)
        return np.asarray(carried)

    def _pooled(self, labeled: Ints, codes: Ints, names: tuple[str, ...], solution: Floats) -> Floats:
        """Pool what walks, classifiers and the solver say, shape (n, k)."""
        k = len(names)
        labels = dict(zip(labeled.tolist(), [names[c] for c in codes.tolist()], strict=True))
        opinions = [_log(spread(labels, names)) for spread in self._spreads]
        opinions += [_log(model.probabilities(self._Z)) for model in self._classifiers(labeled, codes, k)]
        opinions.append(_log(solution))
        weighed, classes = self._weighed
        if self._weights is None or classes != k or not weighed / GROWN <= len(labeled) <= weighed * GROWN:
            self._weights, self._weighed = self._weigh(labeled, codes, k, len(opinions)), (len(labeled), k)
        return np.exp(pool(opinions, self._weights))

    def _classifiers(self, labeled: Ints, codes: Ints, k: int) -> list[Linear | Trees]:
        kinds: list[type[Linear] | type[Trees]] = [Linear]
        if len(self._Z) <= MOST_FOR_TREES:
            kinds.append(Trees)
        return [kind.fit(self._Z[labeled], codes, k, seed=self._seed) for kind in kinds]

    def _weigh(self, labeled: Ints, codes: Ints, k: int, count: int) -> Floats:
        """Weights that make left-out labels most likely; the solver, which saw all labels, keeps its prior one."""
        prior = np.full(count, 1 / count)
        told = np.bincount(codes, minlength=k)[codes] > 1
        if not told.any():
            return prior
        folds = deal(codes, np.random.RandomState(self._seed))
        left_out = np.full((count - 1, len(codes), k), -np.log(k))
        for fold in range(folds.max() + 1):
            shown, hidden = folds != fold, folds == fold
            if len(np.unique(codes[shown])) < 2:
                continue
            some = labeled[shown], codes[shown]
            for place, spread in enumerate(self._spreads):
                left_out[place, hidden] = _log(spread.among(*some, k)[labeled[hidden]])
            for place, model in enumerate(self._classifiers(*some, k), start=len(self._spreads)):
                left_out[place, hidden] = _log(model.probabilities(self._Z[labeled[hidden]]))
        weights = fit_weights(list(left_out[:, told]), codes[told], prior=prior[:-1])
        return np.append(weights, prior[-1])


def _shares(amounts: Floats) -> Floats:
    """Scale rows to one; equal shares where there is nothing, and never quite none."""
    return np.exp(_log(amounts))


def _log(p: Floats) -> Floats:
    """Logarithms of what is proportional to probabilities, bounded as in the ensemble."""
    p = np.maximum(p, 0) + np.finfo(np.float64).tiny
    p = np.maximum(p / p.sum(axis=1, keepdims=True), DEFAULTS.least_probability)
    return np.asarray(np.log(p / p.sum(axis=1, keepdims=True)))


def as_view(Z: npt.NDArray[np.floating], *, metrics: tuple[Metric, ...] = ("euclidean", "cosine")) -> View:
    """Take vectors as a view."""
    return View(torch.from_numpy(np.ascontiguousarray(Z, dtype=np.float64)), metrics=metrics)
