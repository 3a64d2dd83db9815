"""What is kept of a stream: labeled points of every class, and an even sample of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from xsdc import validation
from xsdc.errors import InvalidInputError
from xsdc.fitting.knowledge import read_choices
from xsdc.fitting.points import in_turn
from xsdc.fitting.settings import Settings
from xsdc.fitting.sources import Source

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
KEPT, KEPT_BYTES = 4000, 1 << 26  # points that are kept by default, and what those of a fit may take
LINKS = ("must_link", "cannot_link")
LABELED_SHARE = 0.5  # of the points kept, where there are that many labeled ones


@dataclass(frozen=True)
class Kept:
    """Points of a stream with what is known of them.

    Attributes
    ----------
    X : array, shape (m, ...)
        Rows as they came.
    y : array of object, shape (m,)
        Labels, None where unknown.
    keys : array, shape (m,)
        A number drawn for each point when it came; those with the largest are kept, which makes them an even sample
        of all that came, however many.
    links : mapping from "must_link" and "cannot_link" to array, shape (p, 2)
        Pairs of positions.
    allowed : mapping from position to list
        Classes that a point may have.
    names : list
        Labels that were ever given, or announced.
    seen : int
        Points that came.
    """

    X: Array
    y: Array
    keys: npt.NDArray[np.float64]
    links: Mapping[str, Ints] = field(default_factory=lambda: {name: _no_pairs() for name in LINKS})
    allowed: Mapping[int, list[Any]] = field(default_factory=dict)
    names: tuple[Any, ...] = ()
    seen: int = 0

    def __len__(self) -> int:
        return len(self.X)

    @property
    def facts(self) -> dict[str, Any]:
        """Links and allowed classes, as `read_knowledge` takes them."""
        return {**self.links, "allowed_labels": dict(self.allowed)}

    def arrays(self) -> dict[str, Array]:
        """What of it is arrays, for a file."""
        return {"stream_X": self.X, "stream_keys": self.keys, **{f"stream_{name}": self.links[name] for name in LINKS}}

    def plain(self) -> dict[str, Any]:
        """The rest, which JSON can hold."""
        allowed = [[point, some] for point, some in self.allowed.items()]
        return {"y": self.y.tolist(), "allowed": allowed, "names": list(self.names), "seen": self.seen}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array], plain: Mapping[str, Any]) -> Kept:
        """Put together again what `arrays` and `plain` gave."""
        return cls(
            X=arrays["stream_X"],
            y=np.array([*plain["y"], None], dtype=object)[:-1],
            keys=arrays["stream_keys"],
            links={name: arrays[f"stream_{name}"] for name in LINKS},
            allowed=dict(plain["allowed"]),
            names=tuple(plain["names"]),
            seen=plain["seen"],
        )

    def joined(self, chunk: Kept) -> Kept:
        """Append a chunk."""
        if self.X.shape[1:] != chunk.X.shape[1:]:
            raise InvalidInputError(
                f"Rows of a chunk must have the shape of those before, {self.X.shape[1:]}; they have"
                f" {chunk.X.shape[1:]}."
            )
        if self.X.ndim > 2 and (self.X.dtype == np.uint8) != (chunk.X.dtype == np.uint8):
            raise InvalidInputError(
                f"Images of a chunk must be scaled as those before, which are {self.X.dtype}; they are {chunk.X.dtype}."
            )
        m = len(self)
        return Kept(
            X=np.concatenate([self.X, chunk.X]),
            y=np.concatenate([self.y, chunk.y]),
            keys=np.concatenate([self.keys, chunk.keys]),
            links={name: np.concatenate([self.links[name], chunk.links[name] + m]) for name in LINKS},
            allowed={**self.allowed, **{m + i: some for i, some in chunk.allowed.items()}},
            names=_united(self.names, chunk.names),
            seen=self.seen + chunk.seen,
        )

    def thinned(self, most: int) -> Kept:
        """Keep so many points at most: labeled ones first, the same number of each class, then the others by chance."""
        if len(self) <= most:
            return self
        labeled = np.flatnonzero([label is not None for label in self.y])
        others = np.setdiff1d(np.arange(len(self)), labeled)
        room = max(round(LABELED_SHARE * most), most - len(others))
        chosen = in_turn(labeled[np.argsort(-self.keys[labeled], kind="stable")], self.y)[:room]
        rest = others[np.argsort(-self.keys[others], kind="stable")][: most - len(chosen)]
        return self.taken(np.sort(np.concatenate([chosen, rest])))

    def taken(self, points: Ints) -> Kept:
        """Take some points, with what is known among them."""
        place = np.full(len(self), -1)
        place[points] = np.arange(len(points))
        links = {}
        for name in LINKS:
            pairs = place[self.links[name]].reshape(-1, 2)
            links[name] = pairs[(pairs >= 0).all(1)]
        allowed = {int(place[i]): some for i, some in self.allowed.items() if place[i] >= 0}
        return replace(self, X=self.X[points], y=self.y[points], keys=self.keys[points], links=links, allowed=allowed)


@dataclass(frozen=True)
class Course:
    """Where a stream stands between two parts.

    Attributes
    ----------
    kept : Kept
        Points that came, as many as are kept.
    made_at : int
        Points that had come when the network was made.
    """

    kept: Kept
    made_at: int

    def plain(self) -> dict[str, Any]:
        """What of it is not in the arrays of ``kept``; JSON can hold it."""
        return {**self.kept.plain(), "made_at": self.made_at}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array], plain: Mapping[str, Any]) -> Course:
        """Put together again what ``kept.arrays`` and `plain` gave."""
        return cls(Kept.restored(arrays, plain), plain["made_at"])


def read_chunk(
    X: Array,
    y: object,
    *,
    must_link: object,
    cannot_link: object,
    allowed_labels: Mapping[int, Iterable[Any]] | None,
    classes: Iterable[Any] | None,
    rng: np.random.RandomState,
) -> Kept:
    """Read what came at once.

    Parameters
    ----------
    X : array, shape (n, ...)
        Checked rows.
    y : array-like or None
        Labels.
    must_link, cannot_link : array-like or None
        Pairs of positions in the chunk.
    allowed_labels : mapping or None
        Classes that a point may have.
    classes : iterable or None
        Classes that may come later.
    rng : RandomState
        Source of the keys.
    """
    n = len(X)
    labels: Array = np.full(n, None, dtype=object)
    if y is not None:
        given = validation.as_labels(y, n=n)
        known = ~validation.is_unknown(given)
        labels[known] = given[known].tolist()
    allowed = read_choices(allowed_labels, n=n)
    named = [label for label in labels if label is not None] + [name for some in allowed.values() for name in some]
    announced = [] if classes is None else list(np.asarray(list(classes)).tolist())
    if any(map(validation.is_missing, announced)):
        raise InvalidInputError("classes must name classes; -1, None and NaN mean that a label is unknown.")
    return Kept(
        X=X,
        y=labels,
        keys=rng.uniform(size=n),
        links={
            "must_link": validation.as_pairs(must_link, n=n, name="must_link"),
            "cannot_link": validation.as_pairs(cannot_link, n=n, name="cannot_link"),
        },
        allowed=allowed,
        names=_united((), [*named, *announced]),
        seen=n,
    )


def keep_some(X: Any, y: object, facts: Mapping[str, Any], *, rng: np.random.RandomState) -> Kept:
    """Keep of data that was fitted as a whole what a stream would have kept, should it go on with one.

    Parameters
    ----------
    X : array, tensor or Source
        All rows.
    y : array-like or None
        Labels.
    facts : mapping
        Links and allowed classes, as `read_chunk` takes them.
    rng : RandomState
        Source of the keys.
    """
    whole = read_chunk(np.arange(len(X)), y, classes=None, rng=rng, **facts)
    if isinstance(X, Tensor):
        X = X.detach().cpu().numpy()
    first = X.take(np.arange(1)) if isinstance(X, Source) else np.asarray(X[:1])
    kept = whole.thinned(max(100, min(KEPT, KEPT_BYTES // max(first.nbytes, 1))))
    return replace(kept, X=X.take(kept.X) if isinstance(X, Source) else np.asarray(X[kept.X]).copy())


def why_anew(kept: Kept, before: Course | None) -> str | None:
    """Say why the network should be made anew; None where it should not.

    Parameters
    ----------
    kept : Kept
        What is known with the last part.
    before : Course or None
        What was before it, if anything.
    """
    if before is None:
        return "first part of the stream"
    new = [name for name in kept.names if name not in before.kept.names]
    if new:
        return f"a class is named for the first time: {new[0]}"
    if kept.seen >= 2 * before.made_at:
        return f"the stream has doubled since {before.made_at} points"
    return None


def trained_on(settings: Settings) -> Settings:
    """Options for going on with a network: a tenth of the steps, all of them on all points."""
    return replace(settings, supervised_iter=0, continued=True)


def _united(names: tuple[Any, ...], more: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys([*names, *more]))


def _no_pairs() -> Ints:
    return np.empty((0, 2), dtype=np.int64)
