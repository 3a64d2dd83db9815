"""What the estimators of this room have in common with each other and with scikit-learn's."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from xsdc.core.agreement import share_right
from xsdc.core.objective import LARGEST_FEATURE
from xsdc.errors import InvalidInputError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Baseline(ClassifierMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator on vectors that clusters or classifies with no labels, some, or all.

    A subclass sets ``classes_``, ``labels_`` and ``_named`` (whether a fact names classes) in ``fit``, and says in
    ``_codes`` which class new points have.
    """

    classes_: Array
    labels_: Array
    _named: bool

    @abstractmethod
    def _codes(self, X: Floats) -> Ints:
        """Class of each point as a position in ``classes_``."""

    def fit_predict(self, X: Any, y: Any = None, **facts: Any) -> Array:
        """Fit, and return the class of each point; takes what `fit` takes."""
        return np.asarray(self.fit(X, y, **facts).labels_)

    def predict(self, X: Any) -> Array:
        """Class of each point.

        For points of the data that was fitted ``labels_`` knows more: what was given of them.
        """
        check_is_fitted(self)
        return np.asarray(self.classes_[self._codes(self._read(X, reset=False))])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of known labels that are predicted; rows with unknown labels do not count.

        After a fit without labels clusters have no names: they are matched to the classes one to one first.
        """
        return share_right(self.predict(X), y, named=self._named, sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.target_tags.one_d_labels = True
        return tags

    def _read(self, X: Any, *, reset: bool) -> Floats:
        """Check vectors; return them in float64."""
        if isinstance(X, Tensor):
            X = X.detach().cpu().numpy()
        read: Floats = validate_data(self, X, reset=reset, dtype=np.float64, ensure_min_samples=2 if reset else 1)
        largest = max(abs(float(read.min())), abs(float(read.max())))
        if largest > LARGEST_FEATURE:
            raise InvalidInputError(
                f"X must stay below {LARGEST_FEATURE:g}, or its squares overflow; it holds {largest:g}. Rescale it."
            )
        return read
