"""The data of a search and what is known of it: fitted again and again, with some labels hidden where need be."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from torch import Tensor

from xsdc.estimator import XSDC
from xsdc.fitting import Knowledge, read_knowledge

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Problem:
    """What is fitted.

    Attributes
    ----------
    X : array, data frame
        Points.
    y : array-like, shape (n,), or None
        Labels as they were given.
    facts : dict
        Links and allowed labels, as `XSDC.fit` takes them.
    knowledge : Knowledge
        All that, read.
    """

    X: Any
    y: Any
    facts: dict[str, Any]
    knowledge: Knowledge

    @property
    def n(self) -> int:
        """Number of points."""
        return self.knowledge.n

    @property
    def n_labels(self) -> int:
        """Number of labels given."""
        return int((self.knowledge.codes >= 0).sum())

    def fit(self, estimator: XSDC, options: Mapping[str, Any], *, seed: int, hide: Ints | None = None) -> XSDC:
        """Fit a copy of the estimator, with labels of some rows hidden from it."""
        y = self.y
        if hide is not None:
            seen = self.knowledge.codes >= 0
            seen[hide] = False
            y = np.full(self.n, None)
            y[seen] = self.labels(np.flatnonzero(seen))
        model: XSDC = clone(estimator).set_params(
            **options, n_clusters=self.knowledge.n_clusters, random_state=seed, progress=False
        )
        return model.fit(self.X, y, **self.facts)

    def labels(self, points: Ints) -> npt.NDArray[Any]:
        """Labels given to some points."""
        return self.knowledge.names[self.knowledge.codes[points]]

    def rows(self, points: Ints) -> Any:
        """Some of the points."""
        return _safe_indexing(self.X, points)

    def fingerprint(self) -> str:
        """Tell these data from others."""
        labels = self.labels(np.flatnonzero(self.knowledge.codes >= 0)).tolist()
        links = [np.asarray(self.facts[name]).tolist() for name in ("must_link", "cannot_link")]
        known = repr((labels, self.knowledge.codes.tolist(), links, self.facts["allowed_labels"]))
        return digest(self.X, known)


def read_problem(
    X: Any,
    y: Any,
    *,
    must_link: Any,
    cannot_link: Any,
    allowed_labels: Mapping[int, Iterable[Any]] | None,
    n_clusters: int | None,
) -> Problem:
    """Read data and knowledge as `XSDC.fit` does."""
    if isinstance(X, Tensor):
        X = X.detach().cpu().numpy()
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    facts = {"must_link": must_link, "cannot_link": cannot_link, "allowed_labels": allowed_labels}
    knowledge = read_knowledge(len(X), y=y, n_clusters=n_clusters, **facts)
    return Problem(X, y, facts, knowledge)


def digest(X: Any, text: str) -> str:
    """Short mark of an array and a text."""
    array = np.asarray(X)
    if array.dtype == object:
        array = array.astype(str)
    mark = hashlib.sha256(f"{array.shape} {array.dtype} {text}".encode())
    mark.update(np.ascontiguousarray(array).tobytes())
    return mark.hexdigest()[:16]
