"""The classifier at the end: ridge regression on the features, with scores turned into probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from xsdc.core.objective import Spectrum, one_hot

PATH = tuple(2.0**power for power in range(-40, 1))  # the paper's 41 values of lambda
LARGEST_SHARPNESS = 1e3


@dataclass(frozen=True)
class Classifier:
    """``Phi W + b``, one score per class, about one for the class of a point and zero for the others.

    Attributes
    ----------
    W : Tensor of float64, shape (D, k)
    b : Tensor of float64, shape (k,)
    lam : float
        Ridge.
    sharpness : float
        Probabilities are the softmax of the scores times this.
    """

    W: Tensor
    b: Tensor
    lam: float
    sharpness: float = 1.0

    def to(self, device: torch.device) -> Classifier:
        """Move the weights to a device."""
        return replace(self, W=self.W.to(device), b=self.b.to(device))

    def scores(self, Phi: Tensor) -> Tensor:
        """Score points, shape (n, k)."""
        return Phi.to(self.W) @ self.W + self.b

    def log_probabilities(self, Phi: Tensor) -> Tensor:
        """Logarithms of the probability of each class, shape (n, k)."""
        return torch.log_softmax(self.sharpness * self.scores(Phi), dim=1)

    def calibrated(self, scores: Tensor, codes: Tensor) -> Classifier:
        """Choose the sharpness by scores of points that the classifier had not seen, and their classes."""
        return replace(self, sharpness=fit_sharpness(scores, codes))


def fit_classifier(spectrum: Spectrum, codes: Tensor, *, n_classes: int, lam: float | None = None) -> Classifier:
    """Fit a ridge classifier to features and classes.

    Parameters
    ----------
    spectrum : Spectrum
        Decomposed features of n points.
    codes : Tensor of int, shape (n,)
        Their classes.
    n_classes : int
        Number of classes.
    lam : float, optional
        Ridge; by default the one with the least squared error on points left out, one at a time.
    """
    Y = one_hot(codes, n_classes=n_classes).to(spectrum.s)
    if lam is None:
        lam = choose_ridge(spectrum, Y)
    W, b = spectrum.ridge(Y, [lam])
    return Classifier(W[0], b[0], lam)


def choose_ridge(spectrum: Spectrum, Y: Tensor, *, rows: Tensor | None = None) -> float:
    """Choose the ridge with the least left-out squared error, over all points or some of them."""
    chosen = slice(None) if rows is None else rows
    errors = [float((spectrum.leave_one_out(Y, lam)[chosen] - Y[chosen]).square().mean()) for lam in PATH]
    return PATH[min(range(len(PATH)), key=errors.__getitem__)]


def fit_sharpness(scores: Tensor, codes: Tensor) -> float:
    """Find the factor that makes the softmax of scores most likely, given the true classes."""
    S = scores.detach().to(torch.float64)
    rows = torch.arange(len(S), device=S.device)

    def loss(log_factor: float) -> float:
        log_p = torch.log_softmax(S * 2.0**log_factor, dim=1)
        # One wrong answer in (n + 1) is always possible: without it, a perfect score would make certainties.
        doubt = 1 / (len(S) + 1)
        spread = -log_p.mean()
        return float(-(1 - doubt) * log_p[rows, codes].mean() + doubt * spread)

    found = minimize_scalar(loss, bounds=(-10.0, 10.0), method="bounded")
    return float(min(2.0**found.x, LARGEST_SHARPNESS))
