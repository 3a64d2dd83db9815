"""Labels that are probably wrong, by probabilities that were found without them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xsdc.defaults import DEFAULTS
from xsdc.errors import InvalidInputError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def find_label_errors(probabilities: Floats, labels: Ints) -> Ints:
    """Find labels that are probably wrong: another class is far more probable.

    Parameters
    ----------
    probabilities : array, shape (l, k)
        Of each class of labeled points, each found without the point's own label.
    labels : array of int, shape (l,)
        Their labels.

    Returns
    -------
    array of int
        Rows of the labels that are probably wrong, the least probable label first.
    """
    if probabilities.ndim != 2 or labels.shape != probabilities.shape[:1]:
        raise InvalidInputError(
            f"probabilities must have a row for each label; their shapes are {probabilities.shape} and {labels.shape}."
        )
    given = probabilities[np.arange(len(labels)), labels]
    wrong = np.flatnonzero(DEFAULTS.suspicious_ratio * given < probabilities.max(axis=1, initial=0))
    return wrong[np.argsort(given[wrong], kind="stable")]
