"""Facts that clash, told as the shortest chain of them: "3=8, 8=12, but 3≠12".

Points and classes are the nodes of a graph; a must-link joins two points, a label joins a point to its class. A
contradiction is then a path between two things that must not meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NoReturn

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix, csr_matrix

from xsdc.errors import ContradictionError

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# Nodes visited in the search for a shorter chain, after one was found: about a second.
SEARCH_BUDGET = 20_000_000


@dataclass(frozen=True)
class Facts:
    """What was given, checked but not closed."""

    n: int
    n_classes: int
    labels: Ints
    must_link: Ints
    cannot_link: Ints
    allowed: dict[int, list[int]]
    class_names: Sequence[object] | None
    point_names: Sequence[object] | None = None

    @cached_property
    def graph(self) -> csr_matrix:
        """Points 0..n-1 and classes n..n+k-1, joined by must-links, labels and allowed sets of one class."""
        labeled = np.flatnonzero(self.labels >= 0)
        single = np.array([(i, some[0]) for i, some in self.allowed.items() if len(some) == 1], dtype=np.int64)
        single = single.reshape(-1, 2)
        rows = np.concatenate([self.must_link[:, 0], labeled, single[:, 0]])
        cols = np.concatenate([self.must_link[:, 1], self.n + self.labels[labeled], self.n + single[:, 1]])
        size = self.n + self.n_classes
        edges = np.ones(2 * len(rows), dtype=bool)
        return coo_matrix((edges, (np.r_[rows, cols], np.r_[cols, rows])), shape=(size, size)).tocsr()

    def masks(self, points: Ints) -> Bools:
        """Allowed classes of points that have an allowed set, one row each."""
        rows = np.repeat(np.arange(len(points)), [len(self.allowed[int(i)]) for i in points])
        masks = np.zeros((len(points), self.n_classes), dtype=bool)
        masks[rows, [c for i in points for c in self.allowed[int(i)]]] = True
        return masks

    def name(self, c: int) -> str:
        """How a class is called."""
        return str(c) if self.class_names is None else str(self.class_names[c])

    def point(self, i: int) -> str:
        """How a point is called."""
        return str(i) if self.point_names is None else str(self.point_names[i])

    def say_apart(self, i: int, j: int) -> str:
        """Say that two points are different."""
        return f"{self.point(i)}≠{self.point(j)}"

    def say_allowed(self, i: int) -> str:
        """Say that a point has an allowed set."""
        return f"{self.point(i)} is one of {{{', '.join(self.name(c) for c in self.allowed[i])}}}"

    def say_edge(self, a: int, b: int) -> str:
        """Say the fact behind an edge of the graph."""
        if a < self.n and b < self.n:
            return f"{self.point(a)}={self.point(b)}"
        point, c = (a, b - self.n) if b >= self.n else (b, a - self.n)
        return f"{self.point(point)} is {self.name(c)}" if self.labels[point] == c else self.say_allowed(point)

    def say_path(self, path: list[int]) -> list[str]:
        """Say the facts along a path."""
        return [self.say_edge(a, b) for a, b in pairwise(path)]


def raise_nothing_left(facts: Facts, component: Ints, empty: Ints) -> NoReturn:
    """Report components whose members have no class in common."""
    chains = (_explain_empty(facts, np.flatnonzero(component == number)) for number in empty[:100])
    _raise(min(chains, key=len), len(empty))


def raise_apart(facts: Facts, component: Ints, component_class: Ints, clashes: Ints) -> NoReturn:
    """Report cannot-links between points that are together."""
    best: list[str] = []
    budget = SEARCH_BUDGET
    same = component[clashes[:, 0]] == component[clashes[:, 1]]
    # Chains of one must-link are found without a search, and nothing is shorter.
    linked = np.asarray(facts.graph[clashes[:, 0], clashes[:, 1]]).ravel()
    itself = clashes[:, 0] == clashes[:, 1]
    if itself.any():
        i = clashes[itself][0, 0]
        _raise([facts.say_apart(i, i)], len(clashes))
    order = np.argsort(~linked + ~same, kind="stable")
    for i, j in clashes[order].tolist():
        if best and (len(best) <= 2 or budget <= 0):
            break
        limit = len(best) - 2 if best else None
        if component[i] == component[j]:
            path, visited = _shortest_path(facts.graph, [i], [j], limit=limit)
            budget -= visited
            chain = None if path is None else facts.say_path(path)
        else:
            c = int(component_class[component[i]])
            chain = list(dict.fromkeys(_why_class(facts, component, i, c) + _why_class(facts, component, j, c)))
        if chain is not None and (not best or len(chain) + 1 < len(best)):
            best = [*chain, facts.say_apart(i, j)]
    _raise(best, len(clashes))


def _explain_empty(facts: Facts, nodes: Ints) -> list[str]:
    """Find few restrictions inside one component that leave no class, and the links between them."""
    sources, masks = _restrictions(facts, nodes)
    kinds, kind = np.unique(masks, axis=0, return_inverse=True)
    kind = kind.ravel()
    best: list[str] = []
    for a in range(len(kinds)):
        for b in np.flatnonzero(~(kinds & kinds[a]).any(1)):
            if b > a:
                path, _ = _shortest_path(
                    facts.graph, sources[kind == a], sources[kind == b], limit=len(best) - 1 if best else None
                )
                chain = [] if path is None else _say_between(facts, path)
                best = chain if chain and (not best or len(chain) < len(best)) else best
    if best:
        return best
    return _narrow(facts, sources, masks, start=None, target=np.zeros(facts.n_classes, dtype=bool))


def _say_between(facts: Facts, path: list[int]) -> list[str]:
    """Say a path between two restrictions, and those of its ends that are allowed sets."""
    before = [facts.say_allowed(path[0])] if path[0] < facts.n else []
    after = [facts.say_allowed(path[-1])] if path[-1] < facts.n else []
    return before + facts.say_path(path) + after


def _why_class(facts: Facts, component: Ints, i: int, c: int) -> list[str]:
    """Facts from which it follows that point i has class c."""
    path, _ = _shortest_path(facts.graph, [i], [facts.n + c])
    if path is not None:
        return facts.say_path(path)
    sources, masks = _restrictions(facts, np.flatnonzero(component == component[i]))
    return _narrow(facts, sources, masks, start=i, target=np.arange(facts.n_classes) == c)


def _restrictions(facts: Facts, nodes: Ints) -> tuple[Ints, Bools]:
    """Classes and points with allowed sets among the nodes, with what each leaves possible."""
    anchors = nodes[nodes >= facts.n]
    points = np.array([i for i in nodes[nodes < facts.n].tolist() if len(facts.allowed.get(i, ())) > 1], dtype=np.int64)
    single = np.arange(facts.n_classes) == (anchors - facts.n)[:, None]
    return np.concatenate([anchors, points]), np.concatenate([single, facts.masks(points)])


def _narrow(facts: Facts, sources: Ints, masks: Bools, *, start: int | None, target: Bools) -> list[str]:
    """Restrictions that together leave only the target, taken greedily, and the links that join them."""
    left, root, chain = np.ones(facts.n_classes, dtype=bool), start, list[str]()
    while not np.array_equal(left, target):
        pick = int(np.argmin((masks & left).sum(1)))
        source = int(sources[pick])
        left &= masks[pick]
        if root is None:
            root = source
        path, _ = _shortest_path(facts.graph, [root], [source])
        chain += facts.say_path(path or [root])
        chain += [facts.say_allowed(source)] if source < facts.n else []
    return list(dict.fromkeys(chain))


def _shortest_path(
    graph: csr_matrix, sources: Sequence[int] | Ints, targets: Sequence[int] | Ints, *, limit: int | None = None
) -> tuple[list[int] | None, int]:
    """Breadth-first search from all sources at once; a path of at most ``limit`` edges and the nodes visited."""
    limit = graph.shape[0] if limit is None else limit
    parent = np.full(graph.shape[0], -1, dtype=np.int64)
    frontier = np.asarray(sources, dtype=np.int64)
    parent[frontier] = frontier
    wanted = np.zeros(graph.shape[0], dtype=bool)
    wanted[np.asarray(targets)] = True
    visited = 0
    for depth in range(limit + 1):
        hit = frontier[wanted[frontier]]
        if hit.size:
            path = [int(hit[0])]
            while parent[path[-1]] != path[-1]:
                path.append(int(parent[path[-1]]))
            return path[::-1], visited
        if depth == limit or not frontier.size:
            break
        counts = np.diff(graph.indptr)[frontier]
        offset = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        neighbour = graph.indices[np.repeat(graph.indptr[frontier], counts) + offset].astype(np.int64)
        origin = np.repeat(frontier, counts)
        new = parent[neighbour] < 0
        parent[neighbour[new]] = origin[new]
        frontier = np.unique(neighbour[new])
        visited += len(neighbour)
    return None, visited


def _raise(chain: list[str], count: int) -> NoReturn:
    told = chain[0] if len(chain) == 1 else f"{', '.join(chain[:-1])}, but {chain[-1]}"
    more = "" if count == 1 else f" There are {count} such clashes; this is the shortest chain found."
    raise ContradictionError(f"The given facts contradict each other: {told}. Drop one of them.{more}", chain=chain)
