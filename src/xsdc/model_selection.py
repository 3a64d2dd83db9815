"""Cross-validation where most labels are missing: unlabeled rows always train and never count in a score.

scikit-learn's splitters would put unlabeled rows into test folds, where a score compares predictions with "unknown".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold, StratifiedKFold

from xsdc.errors import InvalidInputError
from xsdc.validation import as_count, as_labels, is_unknown

Ints = npt.NDArray[np.int64]


class LabeledKFold:
    """Split the labeled rows into folds, stratified where every class has enough; unlabeled rows train in each.

    To be given as ``cv`` to ``GridSearchCV``, ``cross_val_score`` and the like, with ``y`` holding -1, None or NaN
    where a label is unknown.

    Parameters
    ----------
    n_splits : int
        Number of folds.
    random_state : int or RandomState, optional
        Seed of the shuffling of the labeled rows.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([0, 1, 0, 1, -1, -1])
    >>> for train, test in LabeledKFold(2, random_state=0).split(np.zeros((6, 1)), y):
    ...     assert {4, 5} <= set(train) and not {4, 5} & set(test)
    """

    def __init__(self, n_splits: int = 5, *, random_state: int | np.random.RandomState | None = None) -> None:
        self.n_splits = n_splits
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Ints, Ints]]:
        """Yield positions of training and test rows.

        Parameters
        ----------
        X : array-like
            Only its length counts.
        y : array-like, shape (n,)
            Labels, -1, None or NaN where unknown.
        groups : None
            Not supported.
        """
        if groups is not None:
            raise InvalidInputError("LabeledKFold does not take groups.")
        n_splits = as_count(self.n_splits, name="n_splits", minimum=2)
        if y is None or len(y) != len(X):
            raise InvalidInputError(f"y must hold a label or -1 for each of the {len(X)} rows.")
        labels = as_labels(y, n=len(X))
        unknown = is_unknown(labels)
        labeled, unlabeled = np.flatnonzero(~unknown), np.flatnonzero(unknown)
        if len(labeled) < n_splits:
            raise InvalidInputError(f"There are {len(labeled)} labeled rows, too few for {n_splits} folds.")
        known = labels[labeled].astype(str)
        enough = np.unique(known, return_counts=True)[1].min() >= n_splits
        folds = (StratifiedKFold if enough else KFold)(n_splits, shuffle=True, random_state=self.random_state)
        for train, test in folds.split(labeled, known):
            yield np.sort(np.concatenate([labeled[train], unlabeled])), labeled[test]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        del X, y, groups
        return self.n_splits


class LabeledScorer:
    """Score an estimator on the labeled rows alone, whatever else the fold holds.

    Parameters
    ----------
    metric : callable
        True and predicted labels to a number, the higher the better.
    """

    def __init__(self, metric: Callable[[Any, Any], float] = accuracy_score) -> None:
        self.metric = metric

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Compare predictions with the labels that are known."""
        labels = as_labels(y, n=len(y))
        known = ~is_unknown(labels)
        if not known.any():
            raise InvalidInputError("There is no labeled row to score. Split with LabeledKFold.")
        return float(self.metric(labels[known], np.asarray(estimator.predict(X))[known]))
