"""What a person knows, as known entries of M: labels, "same", "different", "one of these".

Must-links and labels are closed transitively into groups; cannot-links spread over the groups; what a group may be
is the intersection of what its members may be, and groups that share no possible class are apart. Facts that clash
are reported as a chain, see :mod:`xsdc.core.contradictions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components

from xsdc import validation
from xsdc.core.contradictions import Facts, raise_apart, raise_nothing_left
from xsdc.core.known import Known
from xsdc.errors import InvalidInputError

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Constraints:
    """Closed knowledge about n points.

    Attributes
    ----------
    group : array of int, shape (n,)
        Points known to be together have the same number.
    classes : array of int, shape (n,)
        Class that follows for each point from its label, links and allowed sets; -1 where open.
    allowed : array of bool, shape (n_sets, n_classes)
        The distinct sets of classes a group may have; the first one allows all.
    group_set : array of int, shape (n_groups,)
        Row of ``allowed`` for each group.
    apart : csr_matrix of bool, shape (n_groups, n_groups)
        Groups with a cannot-link between them.
    """

    group: Ints
    classes: Ints
    allowed: Bools
    group_set: Ints
    apart: csr_matrix

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.group)

    def allowed_classes(self) -> Bools:
        """Which classes each point may have, shape (n, n_classes)."""
        return self.allowed[self.group_set[self.group]]

    def restricted(self, points: Ints) -> Constraints:
        """Keep what is known of some points, in their order."""
        groups, group = np.unique(self.group[points], return_inverse=True)
        apart = self.apart[groups][:, groups]
        return Constraints(group, self.classes[points], self.allowed, self.group_set[groups], apart)

    def entries(self, points: object = None) -> Known:
        """Known entries of M among some points, a batch say, or among all.

        Parameters
        ----------
        points : array of int, shape (b,), optional
            Points, in the order of the rows of M; a point may come twice and is then together with itself.

        Returns
        -------
        Known
            About b points.
        """
        group = self.group if points is None else self.group[self._checked(points)]
        ones = _pairs_within(group)
        zeros = [_pairs_between_sets(self.group_set[group], self._disjoint), self._pairs_apart(group)]
        return Known(len(group), _ordered(ones), _ordered(np.concatenate(zeros)))

    def _checked(self, points: object) -> Ints:
        chosen = np.asarray(points, dtype=np.int64 if np.size(points) == 0 else None)  # type: ignore[arg-type]
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or (chosen >= self.n).any() or (chosen < 0).any():
            raise InvalidInputError(f"points must be a flat list of numbers from 0 to {self.n - 1}.")
        return chosen

    @cached_property
    def _disjoint(self) -> Bools:
        """Which of the allowed sets have no class in common."""
        sets = csr_matrix(self.allowed, dtype=np.int64)
        shared: Bools = (sets @ sets.T).toarray() > 0
        return ~shared

    def _pairs_apart(self, group: Ints) -> Ints:
        """Pairs of positions whose groups have a cannot-link and are not apart by their classes already."""
        order = np.argsort(group, kind="stable")
        present, start, count = np.unique(group[order], return_index=True, return_counts=True)
        links = coo_matrix(self.apart[present][:, present])
        g, h = links.row, links.col
        keep = (g < h) & ~self._disjoint[self.group_set[present[g]], self.group_set[present[h]]]
        g, h = g[keep], h[keep]
        each = count[g] * count[h]
        pair = np.repeat(np.arange(len(g)), each)
        within = np.arange(len(pair)) - np.repeat(np.cumsum(each) - each, each)
        first = order[start[g][pair] + within // count[h][pair]]
        second = order[start[h][pair] + within % count[h][pair]]
        return np.stack([first, second], 1)


def linked_components(n: int, must_link: object) -> Ints:
    """Number n points such that those joined by must-links, directly or by way of others, have the same number."""
    i, j = validation.as_pairs(must_link, n=n, name="must_link").T
    links = coo_matrix((np.ones(len(i)), (i, j)), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)


def close(
    n: int,
    *,
    labels: object = None,
    must_link: object = None,
    cannot_link: object = None,
    allowed: Mapping[int, Iterable[int]] | None = None,
    n_classes: int | None = None,
    class_names: Sequence[object] | None = None,
    point_names: Sequence[object] | None = None,
) -> Constraints:
    """Close given facts about n points.

    Parameters
    ----------
    n : int
        Number of points.
    labels : array of int, shape (n,), optional
        Class of each point, -1 where unknown.
    must_link, cannot_link : array of int, shape (m, 2), optional
        Pairs of points in the same and in different groups.
    allowed : mapping from point to classes, optional
        "Point 7 is a 4 or a 9": ``{7: [4, 9]}``.
    n_classes : int, optional
        Number of classes, where more exist than the facts name.
    class_names : sequence, optional
        How classes are called in error messages.
    point_names : sequence, optional
        How points are called there; their positions by default.

    Returns
    -------
    Constraints

    Raises
    ------
    ContradictionError
        With a chain of given facts that clash: the shortest one, where links, labels or two allowed sets
        clash; few facts, where it takes three allowed sets or more.

    Notes
    -----
    A class is not ruled out by a cannot-link to a member of it, nor is it tried whether the classes suffice
    to colour all cannot-links: the first adds nothing that M does not hold, the second is NP-complete.
    """
    n = validation.as_count(n, name="n")
    codes = np.full(n, -1, dtype=np.int64)
    if labels is not None:
        codes = validation.as_codes(labels, n=n, name="labels", unknown_allowed=True).cpu().numpy()
    choices = _read_allowed(allowed or {}, n=n)
    highest = max([int(codes.max()), *(some[-1] for some in choices.values())])
    k = highest + 1 if n_classes is None else validation.as_count(n_classes, name="n_classes")
    if class_names is not None and len(class_names) < k:
        raise InvalidInputError(f"class_names must name all {k} classes; it holds {len(class_names)}.")
    if highest >= k:
        raise InvalidInputError(f"n_classes is {k}, but the facts name class {highest}: classes are 0 to {k - 1}.")
    facts = Facts(
        n=n,
        n_classes=max(k, 1),
        labels=codes,
        must_link=validation.as_pairs(must_link, n=n, name="must_link"),
        cannot_link=validation.as_pairs(cannot_link, n=n, name="cannot_link"),
        allowed=choices,
        class_names=class_names,
        point_names=point_names,
    )
    return _closed(facts)


def _closed(facts: Facts) -> Constraints:
    n, k = facts.n, facts.n_classes
    component, restricted, masks = _components(facts)
    empty = restricted[~masks[1:].any(1)]
    if empty.size:
        raise_nothing_left(facts, component, empty)

    # Row of `masks` for each component; the first row allows all.
    row = np.zeros(int(component.max()) + 1, dtype=np.int64)
    row[restricted] = 1 + np.arange(len(restricted))
    # Components left with one and the same class are one group.
    decided = (row > 0) & (masks.sum(1) == 1)[row]
    component_class = np.where(decided, masks.argmax(1)[row], -1)
    final = np.where(decided, component_class, k + np.arange(len(row)))
    _, group_of_component = np.unique(final, return_inverse=True)
    point_group = group_of_component[component[:n]]

    i, j = facts.cannot_link.T
    clash = point_group[i] == point_group[j]
    if clash.any():
        raise_apart(facts, component, component_class, facts.cannot_link[clash])

    used, group = np.unique(point_group, return_inverse=True)
    sets, set_of_row = np.unique(masks, axis=0, return_inverse=True)
    set_of_row = set_of_row.ravel()
    order = np.argsort(np.arange(len(sets)) != set_of_row[0], kind="stable")  # "all" first
    group_set = np.empty(len(used), dtype=np.int64)
    group_set[group] = np.argsort(order)[set_of_row][row[component[:n]]]
    g, h = group[i], group[j]
    apart = csr_matrix((np.ones(2 * len(g), dtype=bool), (np.r_[g, h], np.r_[h, g])), shape=(len(used),) * 2)
    return Constraints(group, component_class[component[:n]], sets[order], group_set, apart)


def _read_allowed(allowed: Mapping[int, Iterable[int]], *, n: int) -> dict[int, list[int]]:
    try:
        choices = {index(point): sorted({index(c) for c in some}) for point, some in allowed.items()}
    except TypeError as error:
        raise InvalidInputError(f"allowed must map points to lists of classes, all integers ({error}).") from error
    for point, some in choices.items():
        if not 0 <= point < n:
            raise InvalidInputError(f"allowed names point {point}; the points are 0 to {n - 1}.")
        if not some or some[0] < 0:
            raise InvalidInputError(f"allowed must give point {point} at least one class, 0 or above; it gives {some}.")
    return choices


def _components(facts: Facts) -> tuple[Ints, Ints, Bools]:
    """Connected components of points and classes, which of them are restricted, and to which classes.

    The masks have one row more than there are restricted components: the first allows all.
    """
    _, component = connected_components(facts.graph, directed=False)
    component = component.astype(np.int64)
    named = np.flatnonzero(np.diff(facts.graph.indptr)[facts.n :])  # classes that a fact names
    points = np.fromiter(facts.allowed, dtype=np.int64)
    restricted = np.unique(np.concatenate([component[facts.n + named], component[points]]))
    masks = np.ones((1 + len(restricted), facts.n_classes), dtype=bool)
    for c in named:
        masks[1 + np.searchsorted(restricted, component[facts.n + c])] &= np.arange(facts.n_classes) == c
    if len(points):
        rows = 1 + np.searchsorted(restricted, component[points])
        np.logical_and.at(masks, rows, facts.masks(points))
    return component, restricted, masks


def _pairs_within(code: Ints) -> Ints:
    """All pairs of positions with the same code."""
    order = np.argsort(code, kind="stable")
    _, start, count = np.unique(code[order], return_index=True, return_counts=True)
    place = np.arange(len(code))
    later = np.repeat(start + count, count) - place - 1
    first = np.repeat(place, later)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
    return np.stack([order[first], order[second]], 1)


def _pairs_between_sets(code: Ints, disjoint: Bools) -> Ints:
    """All pairs of positions whose sets of classes have none in common."""
    members = [np.flatnonzero(code == s) for s in range(len(disjoint))]
    pairs = [np.empty((0, 2), dtype=np.int64)]
    for s, mine in enumerate(members):
        others = [members[t] for t in np.flatnonzero(disjoint[s]) if t > s]
        if len(mine) and others:
            other = np.concatenate(others)
            pairs.append(np.stack([np.repeat(mine, len(other)), np.tile(other, len(mine))], 1))
    return np.concatenate(pairs)


def _ordered(pairs: Ints) -> torch.Tensor:
    return torch.from_numpy(np.sort(pairs, axis=1))
