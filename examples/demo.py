"""Group scikit-learn's handwritten digits with no labels, a few and some more, on fixed features.

Until the network is trained along with the grouping, the features are those of a fixed Gaussian kernel; what is
shown is the mathematical core: known labels become known entries of M, M is balanced against the cost A, and
its leading eigenvectors give the groups.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import pairwise_distances
from torch import Tensor

from xsdc.core.balancing import balance
from xsdc.core.constraints import close
from xsdc.core.objective import decompose
from xsdc.core.problem import Fractions
from xsdc.core.rounding import agreement, nearest_labels, spectral_clustering

N_CLASSES = 10
RIDGE = 2.0**-13


def kernel_features(X: np.ndarray) -> Tensor:
    """Features of a Gaussian kernel with the median distance as its bandwidth."""
    sigma = np.median(pairwise_distances(X[:1000])[np.triu_indices(1000, 1)])
    kernel = Nystroem(gamma=1 / (2 * sigma**2), n_components=100, random_state=0)
    return torch.from_numpy(kernel.fit_transform(X)).to(torch.float32)


def draw_labels(y: np.ndarray, per_class: int) -> np.ndarray:
    """Keep the labels of a few points of each class; -1 is unknown."""
    rng = np.random.default_rng(0)
    labels = np.full(len(y), -1)
    for c in range(N_CLASSES):
        some = rng.choice(np.flatnonzero(y == c), per_class, replace=False)
        labels[some] = c
    return labels


def accuracy_without_labels(A: Tensor, y: np.ndarray) -> float:
    """Cluster, and count agreement under the best naming of the clusters."""
    M = balance(A, size=Fractions(0.1, 0.1), cap=1.0, symmetric=True, max_iter=20).M
    return agreement(spectral_clustering(M, N_CLASSES, random_state=0).labels, y).accuracy


def accuracy_with_labels(A: Tensor, y: np.ndarray, labels: np.ndarray) -> float:
    """Spread the labels, and count the points that had none and got the right one."""
    M = balance(A, size=Fractions(0.09, 0.11), known=close(len(y), labels=labels).entries()).M
    Z = spectral_clustering(M, N_CLASSES, random_state=0).embedding
    given = np.flatnonzero(labels >= 0)
    found = nearest_labels(Z, Z[given], torch.from_numpy(labels[given])).numpy()
    return float((found == y)[labels < 0].mean())


def main() -> None:
    """Print a table of accuracies."""
    X, y = load_digits(return_X_y=True)
    Phi = kernel_features(X / 16)
    A = decompose(Phi).cost(RIDGE).dense().to(torch.float32)
    print(f"{len(X)} handwritten digits of {X.shape[1]} pixels, {N_CLASSES} classes\n")
    print(f"{'labels given':>12}  {'accuracy on the rest':>20}  {'nearest label alone':>19}  {'seconds':>7}")
    for per_class in (0, 1, 5, 20):
        labels = draw_labels(y, per_class)
        given = np.flatnonzero(labels >= 0)
        start = time.perf_counter()
        accuracy = accuracy_with_labels(A, y, labels) if per_class else accuracy_without_labels(A, y)
        seconds = time.perf_counter() - start
        nearest = ""
        if per_class:
            plain = nearest_labels(Phi, Phi[given], torch.from_numpy(labels[given])).numpy()
            nearest = f"{(plain == y)[labels < 0].mean():.3f}"
        print(f"{len(given):>12}  {accuracy:>20.3f}  {nearest:>19}  {seconds:>7.1f}")
    print("\nWithout labels the clusters are matched to the digits one to one before counting.")


if __name__ == "__main__":
    main()
