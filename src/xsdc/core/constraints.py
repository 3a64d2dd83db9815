"""What a person knows, as known entries of M: labels, "same", "different", "one of these".

Must-links and labels are closed transitively into groups; cannot-links spread over the groups; what a group may be
is the intersection of what its members may be, and groups that share no possible class are apart. Facts that clash
are reported as a chain, see :mod:`xsdc.core.contradictions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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

    def entries(self, index: object = None) -> Known:
        """Known entries of M among some points, a batch say, or among all.

        Parameters
        ----------
        index : array of int, shape (b,), optional
            Points, in the order of the rows of M; a point may come twice and is then together with itself.

        Returns
        -------
        Known
            About b points.
        """
        group = self.group if index is None else self.group[np.asarray(index)]
        ones = _pairs_within(group)
        group_set = self.group_set[group]
        disjoint = ~(self.allowed.astype(np.int64) @ self.allowed.T.astype(np.int64)).astype(bool)
        zeros = [_pairs_between_sets(group_set, disjoint), self._pairs_apart(group, disjoint)]
        return Known(len(group), _ordered(ones), _ordered(np.concatenate(zeros)))

    def _pairs_apart(self, group: Ints, disjoint: Bools) -> Ints:
        """Pairs of positions whose groups have a cannot-link and are not apart by their classes already."""
        order = np.argsort(group, kind="stable")
        present, start, count = np.unique(group[order], return_index=True, return_counts=True)
        links = coo_matrix(self.apart[present][:, present])
        g, h = links.row, links.col
        keep = (g < h) & ~disjoint[self.group_set[present[g]], self.group_set[present[h]]]
        g, h = g[keep], h[keep]
        each = count[g] * count[h]
        pair = np.repeat(np.arange(len(g)), each)
        within = np.arange(len(pair)) - np.repeat(np.cumsum(each) - each, each)
        first = order[start[g][pair] + within // count[h][pair]]
        second = order[start[h][pair] + within % count[h][pair]]
        return np.stack([first, second], 1)


def close(
    n: int,
    *,
    labels: object = None,
    must_link: object = None,
    cannot_link: object = None,
    allowed: Mapping[int, Iterable[int]] | None = None,
    n_classes: int | None = None,
    class_names: Sequence[object] | None = None,
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

    Returns
    -------
    Constraints

    Raises
    ------
    ContradictionError
        With the shortest chain of given facts that clash.

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
    )
    return _closed(facts)


def _closed(facts: Facts) -> Constraints:
    n, k = facts.n, facts.n_classes
    component, masks = _components(facts)
    empty = np.flatnonzero(~masks.any(1))
    if empty.size:
        raise_nothing_left(facts, component, empty)

    # Components left with one and the same class are one group.
    every = np.arange(len(masks))
    decided = masks.sum(1) == 1 if k > 1 else np.isin(every, component[n:])
    component_class = np.where(decided, masks.argmax(1), -1)
    final = np.where(decided, component_class, k + every)
    _, group_of_component = np.unique(final, return_inverse=True)
    point_group = group_of_component[component[:n]]

    i, j = facts.cannot_link.T
    clash = point_group[i] == point_group[j]
    if clash.any():
        raise_apart(facts, component, component_class, facts.cannot_link[clash])

    used, group = np.unique(point_group, return_inverse=True)
    sets, set_of_component = np.unique(
        np.concatenate([np.ones((1, k), dtype=bool), masks]), axis=0, return_inverse=True
    )
    order = np.argsort(np.arange(len(sets)) != set_of_component.ravel()[0], kind="stable")  # "all" first
    rank = np.argsort(order)
    group_set = np.empty(len(used), dtype=np.int64)
    group_set[group] = rank[set_of_component.ravel()[1:]][component[:n]]
    g, h = group[i], group[j]
    apart = csr_matrix((np.ones(2 * len(g), dtype=bool), (np.r_[g, h], np.r_[h, g])), shape=(len(used),) * 2)
    return Constraints(group, component_class[component[:n]], sets[order], group_set, apart)


def _read_allowed(allowed: Mapping[int, Iterable[int]], *, n: int) -> dict[int, list[int]]:
    choices = {int(point): sorted({int(c) for c in some}) for point, some in allowed.items()}
    for point, some in choices.items():
        if not 0 <= point < n:
            raise InvalidInputError(f"allowed names point {point}; the points are 0 to {n - 1}.")
        if not some or some[0] < 0:
            raise InvalidInputError(f"allowed must give point {point} at least one class, 0 or above; it gives {some}.")
    return choices


def _components(facts: Facts) -> tuple[Ints, Bools]:
    """Connected components of points and classes, and the classes that each component may have."""
    count, component = connected_components(facts.graph, directed=False)
    component = component.astype(np.int64)
    masks = np.ones((count, facts.n_classes), dtype=bool)
    for c in range(facts.n_classes):
        named = masks[component[facts.n + c]]
        named &= np.arange(facts.n_classes) == c
    if facts.allowed:
        points = np.fromiter(facts.allowed, dtype=np.int64)
        np.logical_and.at(masks, component[points], facts.masks(points))
    return component, masks


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
