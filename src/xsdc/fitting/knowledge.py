"""What a user knows about the points, in the user's own words, as closed constraints on codes 0 to k - 1."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from xsdc import validation
from xsdc.core.constraints import Constraints, close, linked_components
from xsdc.errors import InvalidInputError

Ints = npt.NDArray[np.int64]
Names = npt.NDArray[Any]
LOST_GAPS = ("-1", "-1.0", "None", "nan", "NaN", "<NA>")


@dataclass(frozen=True)
class Knowledge:
    """Names of the classes and what is known of each point.

    Attributes
    ----------
    names : array, shape (k,)
        What the classes are called: those named by a label or an allowed set, in sorted order, then those that
        only their number tells of. Where the number is open, the first kind alone.
    codes : array of int64, shape (n,)
        Given labels as positions in ``names``; -1 where none was given.
    constraints : Constraints
        Labels, links and allowed sets, closed.
    n_clusters : int or None
        Number of classes; None where it is open.
    n_named : int
        How many classes are named by a fact.
    facts : mapping
        Links and allowed sets as they were given, in codes.
    """

    names: Names
    codes: Ints
    constraints: Constraints
    n_clusters: int | None
    n_named: int
    facts: Mapping[str, Any] = field(repr=False)

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.codes)

    @property
    def linked(self) -> npt.NDArray[np.bool_]:
        """Whether a must-link joins each point to another, shape (n,)."""
        component = linked_components(self.n, self.facts["must_link"])
        return np.bincount(component)[component] > 1

    def with_clusters(self, n_clusters: int) -> Knowledge:
        """Settle a number of classes that was open."""
        return self._closed(extend_names(self.names[: self.n_named], n_clusters), self.codes)

    def hiding(self, points: Ints) -> Knowledge:
        """Forget the labels given to some points; what links say of them stays."""
        codes = self.codes.copy()
        codes[points] = -1
        return self._closed(self.names, codes)

    def reordered(self, order: Ints) -> Knowledge:
        """Say the same of the points in another order: of point ``order[i]`` in place i."""
        place = np.empty(self.n, dtype=np.int64)
        place[order] = np.arange(self.n)
        facts: dict[str, Any] = {}
        for name in ("must_link", "cannot_link"):
            pairs = self.facts[name]
            if pairs is not None and len(pairs):
                moved = np.sort(place[np.asarray(pairs)], axis=1)
                pairs = moved[np.lexsort(moved.T)]
            facts[name] = pairs
        facts["allowed"] = dict(sorted((int(place[p]), some) for p, some in self.facts["allowed"].items()))
        shown = None if self.n_clusters is None else [str(name) for name in self.names]
        codes = self.codes[order]
        constraints = close(self.n, labels=codes, n_classes=self.n_clusters, class_names=shown, **facts)
        return Knowledge(self.names, codes, constraints, self.n_clusters, self.n_named, facts)

    def _closed(self, names: Names, codes: Ints) -> Knowledge:
        k = len(names)
        shown = [str(name) for name in names]
        constraints = close(self.n, labels=codes, n_classes=k, class_names=shown, **self.facts)
        return Knowledge(names, codes, constraints, k, self.n_named, self.facts)


def read_knowledge(
    n: int,
    *,
    y: object = None,
    must_link: object = None,
    cannot_link: object = None,
    allowed_labels: Mapping[int, Iterable[Any]] | None = None,
    n_clusters: int | None = None,
    also_named: Iterable[Any] = (),
    point_names: Sequence[object] | None = None,
) -> Knowledge:
    """Read labels and constraints about n points.

    Parameters
    ----------
    n : int
        Number of points.
    y : array-like, shape (n,), optional
        Labels, whole numbers or strings; -1, None or NaN where unknown.
    must_link, cannot_link : array-like, shape (m, 2), optional
        Pairs of positions in the same and in different classes.
    allowed_labels : mapping from position to labels, optional
        Classes that a point may have.
    n_clusters : int, optional
        Number of classes; by default those that a fact names, and open where none is.
    also_named : iterable
        Classes that no label or choice names.
    point_names : sequence, optional
        How points are called where facts contradict each other; their positions by default.

    Returns
    -------
    Knowledge
    """
    labels, known = _read_labels(y, n=n)
    choices = read_choices(allowed_labels, n=n)
    chosen = (name for some in choices.values() for name in some)
    named = _sorted_names([*labels[known].tolist(), *chosen, *also_named], labels)
    code_of = {name: code for code, name in enumerate(named.tolist())}
    codes = np.full(n, -1, dtype=np.int64)
    codes[known] = [code_of[name] for name in labels[known].tolist()]
    if n_clusters is None and len(named) == 1 and not known.all() and named.dtype.kind in "iuf":
        warnings.warn(
            f"Every label given is {named[0]}, so there will be one class. -1 means that the label is unknown; if it is"
            " a class of yours, call it otherwise, or give n_clusters.",
            UserWarning,
            stacklevel=3,
        )
    k = _count_classes(n_clusters, len(named), n=n)
    names = named if k is None else extend_names(named, k)
    facts: dict[str, Any] = {
        "must_link": must_link,
        "cannot_link": cannot_link,
        "allowed": {point: [code_of[name] for name in some] for point, some in choices.items()},
    }
    shown = None if k is None else [str(name) for name in names]
    constraints = close(n, labels=codes, n_classes=k, class_names=shown, point_names=point_names, **facts)
    return Knowledge(names, codes, constraints, k, len(named), facts)


def extend_names(named: Names, k: int) -> Names:
    """Name the classes beyond those that facts name: the next whole numbers, or "cluster 1", "cluster 2" ..."""
    missing = k - len(named)
    if missing <= 0:
        return named
    if not len(named):
        return np.arange(k)
    if named.dtype.kind in "iuf":
        return np.concatenate([named, named.max().item() + 1 + np.arange(missing)])
    taken, number = set(named.tolist()), 0
    fresh: list[str] = []
    while len(fresh) < missing:
        number += 1
        fresh += [] if f"cluster {number}" in taken else [f"cluster {number}"]
    return np.concatenate([named, np.array(fresh, dtype=named.dtype if named.dtype == object else None)])


def _read_labels(y: object, *, n: int) -> tuple[Names, npt.NDArray[np.bool_]]:
    if y is None:
        return np.full(n, -1), np.zeros(n, dtype=bool)
    labels = validation.as_labels(y, n=n)
    known = ~validation.is_unknown(labels)
    if labels.dtype.kind == "U":
        _warn_of_lost_gaps(labels)
    if labels.dtype.kind == "f":
        if known.any():
            check_classification_targets(labels[known])  # refuses fractions
        if not known.all():  # whole numbers that a missing value has made floats of
            labels = np.where(known, labels, -1).astype(np.int64)
    return labels, known


def _warn_of_lost_gaps(labels: Names) -> None:
    """Tell of words that NumPy writes for what is missing, when it makes an array of words of all there is."""
    read, counts = np.unique(labels, return_counts=True)
    lost = [(name, count) for name, count in zip(read.tolist(), counts.tolist(), strict=True) if name in LOST_GAPS]
    if lost:
        shown = " and ".join(f"{count} labels read {name!r}" for name, count in lost)
        warnings.warn(
            f"{shown}, and count as a class of that name. If they mean that the label is unknown, give y as a list, or"
            " as an array with dtype=object, with None there.",
            UserWarning,
            stacklevel=4,
        )


def read_choices(allowed_labels: Mapping[int, Iterable[Any]] | None, *, n: int) -> dict[int, list[Any]]:
    """Check allowed classes of n points; no point has any where nothing is given."""
    if allowed_labels is None:
        return {}
    if not isinstance(allowed_labels, Mapping):
        raise InvalidInputError(
            "allowed_labels must map positions to lists of labels, as in {7: ['four', 'nine']}; it is"
            f" {type(allowed_labels).__name__}."
        )
    wrong = [point for point, some in allowed_labels.items() if isinstance(some, str) or not isinstance(some, Iterable)]
    if wrong:
        raise InvalidInputError(
            f"allowed_labels must give a list of labels for each point; point {wrong[0]!r} has"
            f" {allowed_labels[wrong[0]]!r}."
        )
    strange = [p for p in allowed_labels if isinstance(p, bool) or not isinstance(p, Integral) or not 0 <= p < n]
    if strange:
        raise InvalidInputError(f"allowed_labels names point {strange[0]!r}; the points are 0 to {n - 1}.")
    choices = {
        int(p): [x.item() if isinstance(x, np.generic) else x for x in some] for p, some in allowed_labels.items()
    }
    nothing = [p for p, some in choices.items() if any(map(validation.is_missing, some))]
    if nothing:
        raise InvalidInputError(
            f"allowed_labels must hold classes; those of point {nothing[0]} are {choices[nothing[0]]}, and -1, None and"
            " NaN are none. A point that may have any class is left out."
        )
    return choices


def _sorted_names(names: list[Any], labels: Names) -> Names:
    distinct = set(names)
    if not distinct:
        return np.empty(0, dtype=np.int64)
    text = [isinstance(name, str) for name in distinct]
    if any(text) and not all(text):
        raise InvalidInputError(
            "Labels must be all strings or all numbers; y and allowed_labels hold both"
            f" ({next(x for x in distinct if isinstance(x, str))!r} and"
            f" {next(x for x in distinct if not isinstance(x, str))!r})."
        )
    ordered = sorted(distinct)
    if labels.dtype.kind == "O" or (any(text) and labels.dtype.kind not in "US"):
        return np.array(ordered, dtype=object if all(text) and labels.dtype.kind == "O" else None)
    return np.array(ordered) if any(text) else np.array(ordered).astype(labels.dtype, copy=False)


def _count_classes(n_clusters: int | None, n_named: int, *, n: int) -> int | None:
    if n_clusters is None:
        return n_named or None
    k = validation.as_count(n_clusters, name="n_clusters")
    if k > n:
        raise InvalidInputError(f"n_clusters must be at most the number of points, {n}; it is {k}.")
    if k < n_named:
        warnings.warn(
            f"n_clusters is {k}, but the labels given name {n_named} classes; there will be {n_named}.",
            UserWarning,
            stacklevel=4,
        )
    return max(k, n_named)
