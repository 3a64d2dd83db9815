"""Several opinions on the class of a point as one: a logarithmic opinion pool, weighted by labels that were left out.

Genest and Zidek, Combining Probability Distributions (1986). The pooled probability is proportional to the product of
the opinions, each raised to its weight. A weight says both how much an opinion counts and how sharp it is, so that
opinions need not be calibrated before they are pooled, and what comes out is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import log_softmax

from xsdc.defaults import DEFAULTS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def fit_weights(opinions: Sequence[Floats], classes: Ints, *, prior: Floats) -> Floats:
    """Find the weights that make left-out labels most likely, held near those before.

    Weights are not negative, and have independent normal priors: what a few labels say moves them a
    little, many labels decide.

    Parameters
    ----------
    opinions : sequence of m arrays, each of shape (l, k)
        Logarithms of probabilities of l labeled points, each found without the point's own label.
    classes : array of int, shape (l,)
        Their classes.
    prior : array, shape (m,)
        Weights before any label is seen.

    Returns
    -------
    array, shape (m,)
    """
    if not len(classes):
        return prior
    stacked = np.stack(opinions)  # (m, l, k)
    rows = np.arange(len(classes))
    own = stacked[:, rows, classes]  # (m, l)
    deviation = DEFAULTS.deviation

    def loss(w: Floats) -> tuple[float, Floats]:
        log_p = log_softmax(np.tensordot(w, stacked, axes=1), axis=1)
        expected = np.einsum("mlk,lk->ml", stacked, np.exp(log_p))
        away = (w - prior) / deviation
        return float(away @ away / 2 - log_p[rows, classes].sum()), away / deviation - (own - expected).sum(axis=1)

    found = minimize(loss, prior, jac=True, bounds=[(0, None)] * len(prior), method="L-BFGS-B")
    return np.asarray(found.x, dtype=np.float64)


def pool(opinions: Sequence[Floats], weights: Floats) -> Floats:
    """Pool opinions, logarithms of probabilities (n, k) each, into one."""
    total = sum(weight * opinion for weight, opinion in zip(weights, opinions, strict=True))
    return np.asarray(log_softmax(total, axis=1), dtype=np.float64)
