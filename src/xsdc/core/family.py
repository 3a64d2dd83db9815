r"""One family of clustering problems, and nine classical methods as its members.

Definition 3.1 of the paper asks for the assignment ``Y (n, k)`` that solves

    min_Y <Psi, Xi^alpha (Xi^+)^beta>,   Xi = Gamma Y Y^T Gamma,

subject to one cluster per point and, where ``gamma_1`` and ``gamma_2`` say so, to cluster sizes of at least ``n_min``
and at most ``n_max``. With Gamma diagonal, as in every row of Table 1, the columns of ``Z = Gamma Y`` are orthogonal
and neither a power nor a pseudo-inverse is ever formed:

    Xi = sum_j z_j z_j^T,   Xi Xi^+ = sum_j z_j z_j^T / w_j,   Xi^+ = sum_j z_j z_j^T / w_j^2,   w_j = |z_j|^2,

so that the objective is a sum over clusters of ``s_j w_j^p`` with ``s_j = z_j^T Psi z_j``. An empty cluster adds
nothing.

Y is given by integer labels throughout: the cluster of each point. :func:`xsdc.core.family_solver.solve` minimises.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch

from xsdc import validation
from xsdc.core.constraints import Constraints
from xsdc.core.objective import cost_matrix
from xsdc.errors import InvalidInputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# What known_matrix holds.
KNOWN_ONE, KNOWN_ZERO, UNKNOWN = 1, 0, -1


@dataclass(frozen=True, eq=False)
class ClusteringProblem:
    """A member of the family of Definition 3.1.

    Attributes
    ----------
    Psi : array, shape (n, n)
        Dissimilarities. Only the symmetric part matters, since Xi is symmetric.
    Gamma : array, shape (n,)
        Diagonal of Gamma, above zero: how much each point weighs. None for the identity. Where beta is 0, a Gamma
        that is not diagonal can be moved into Psi: ``<Psi, Gamma M Gamma> = <Gamma Psi Gamma, M>``.
    alpha, beta : 0 or 1
        Exponents of Xi and of its pseudo-inverse; ``Xi^0`` is the identity.
    gamma_1, gamma_2 : bool
        Whether cluster sizes are bounded from below and from above.
    n_min, n_max : int or None
        The bounds; None for the sizes that are as equal as n and k allow.
    factor, constant : float
        What the textbook formula of a method has besides; the minimiser does not depend on them (factor is above zero).
    """

    Psi: Floats
    Gamma: Floats | None = None
    alpha: int = 1
    beta: int = 0
    gamma_1: bool = False
    gamma_2: bool = False
    n_min: int | None = None
    n_max: int | None = None
    factor: float = 1.0
    constant: float = 0.0
    weighted: Floats = field(init=False, repr=False)  # the symmetric part of Gamma Psi Gamma

    def __post_init__(self) -> None:
        Psi = _square(self.Psi, name="Psi")
        gamma = np.ones(len(Psi)) if self.Gamma is None else np.array(self.Gamma, dtype=np.float64)
        if gamma.shape != (len(Psi),) or not (np.isfinite(gamma) & (gamma > 0)).all():
            raise InvalidInputError(
                f"Gamma must be a diagonal of {len(Psi)} finite numbers above zero; shape {gamma.shape} came, least"
                f" {gamma.min(initial=np.inf):g}. Where beta is 0, give Gamma @ Psi @ Gamma as Psi instead."
            )
        if self.alpha not in (0, 1) or self.beta not in (0, 1):
            raise InvalidInputError(f"alpha and beta must be 0 or 1; they are {self.alpha!r} and {self.beta!r}.")
        validation.as_positive(self.factor, name="factor")
        for name in ("n_min", "n_max"):
            if getattr(self, name) is not None:
                validation.as_count(getattr(self, name), name=name)
        object.__setattr__(self, "Psi", Psi)
        object.__setattr__(self, "Gamma", gamma)
        object.__setattr__(self, "weighted", (gamma[:, None] * (Psi + Psi.T) / 2) * gamma)

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.Psi)

    @property
    def power(self) -> int | None:
        """Exponent p of the cluster weights in ``sum_j s_j w_j^p``; None where the objective is constant.

        ``Xi`` has p = 0, the projection ``Xi Xi^+`` has -1 and ``Xi^+`` has -2. With alpha = beta = 0 there is only
        the identity, which no Y changes.
        """
        return {(1, 0): 0, (1, 1): -1, (0, 1): -2}.get((self.alpha, self.beta))

    @property
    def weights(self) -> Floats:
        """What each point adds to the weight ``w_j = |Gamma Y_j|^2`` of its cluster, shape (n,)."""
        return self.Gamma**2  # type: ignore[operator]  # __post_init__ has filled it in

    def pairing(self, labels: object) -> float:
        """Compute ``<Psi, Xi^alpha (Xi^+)^beta>`` for the cluster of each point, integers from 0."""
        codes = validation.as_codes(labels, n=self.n, name="labels").cpu().numpy()
        if self.power is None:
            return float(np.trace(self.Psi))
        Y = np.eye(int(codes.max()) + 1)[codes]
        s, w = ((self.weighted @ Y) * Y).sum(0), self.weights @ Y
        used = w > 0
        return float((s[used] * w[used] ** self.power).sum())

    def objective(self, labels: object) -> float:
        """Compute the method's own objective, ``factor * pairing + constant``.

        Parameters
        ----------
        labels : array of int, shape (n,)
            Cluster of each point, 0, 1, ...
        """
        return self.factor * self.pairing(labels) + self.constant

    def bounds(self, n_clusters: int) -> tuple[Ints, Ints]:
        """Least and largest size of each cluster, two arrays of shape (n_clusters,)."""
        least = self.n // n_clusters if self.n_min is None else self.n_min
        most = -(-self.n // n_clusters) if self.n_max is None else self.n_max
        return (
            np.full(n_clusters, least if self.gamma_1 else 0, dtype=np.int64),
            np.full(n_clusters, most if self.gamma_2 else self.n, dtype=np.int64),
        )


def correlation_clustering(w_in: object, w_out: object) -> ClusteringProblem:
    """Pairs want to be together or apart, and not all wishes can be granted: deny as little as possible.

    The objective is the sum of ``w_in`` over pairs that were parted and of ``w_out`` over pairs put together, each pair
    counted once: the disagreements. Psi is ``w_out - w_in``. The number of clusters is found, up to ``n_clusters``.

    Parameters
    ----------
    w_in, w_out : array, shape (n, n)
        How much is gained by having i and j in one cluster, and in two. The diagonal has no meaning.
    """
    W_in, W_out = _symmetric(w_in, name="w_in"), _symmetric(w_out, name="w_out")
    if W_in.shape != W_out.shape:
        raise InvalidInputError(f"w_in and w_out must have one shape; they have {W_in.shape} and {W_out.shape}.")
    Psi = W_out - W_in
    constant = (W_in.sum() - np.trace(W_in) - np.trace(Psi)) / 2
    return ClusteringProblem(Psi, factor=0.5, constant=float(constant))


def diffrac(X: object, *, lam: float, n_min: int | None = None, n_max: int | None = None) -> ClusteringProblem:
    """Find the clusters that a linear classifier tells apart best (DIFFRAC).

    The objective is the least value over W and b of ``sum_i |y_i - W^T x_i - b|^2 / n + lam |W|^2``.

    Parameters
    ----------
    X : array, shape (n, d)
        Points.
    lam : float
        Ridge, above zero.
    n_min, n_max : int, optional
        Cluster sizes; without them all in one cluster would be perfect. Equal by default.
    """
    return ClusteringProblem(_ridge_cost(X, lam), gamma_1=True, gamma_2=True, n_min=n_min, n_max=n_max)


def diffrac_cosegmentation(
    X: object, S: object, *, lam: float, mu: float, n_min: int | None = None, n_max: int | None = None
) -> ClusteringProblem:
    """Segment several images at once: pixels that a classifier tells apart, and that are smooth within an image.

    The objective is that of :func:`diffrac` plus ``mu / n sum_j y_j^T L y_j`` with the normalised Laplacian
    ``L = I - D^{-1/2} S D^{-1/2}``.

    Parameters
    ----------
    X : array, shape (n, d)
        Pixels of all images.
    S : array, shape (n, n)
        How similar neighbouring pixels of one image are; zero between images.
    lam : float
        Ridge, above zero.
    mu : float
        Weight of smoothness, zero or more.
    n_min, n_max : int, optional
        Segment sizes, equal by default.
    """
    A = _ridge_cost(X, lam)
    L, _ = _normalised_laplacian(S)
    if A.shape != L.shape:
        raise InvalidInputError(f"S must be ({len(A)}, {len(A)}) to match X; it has shape {L.shape}.")
    Psi = A + validation.as_positive(mu, name="mu", allow_zero=True) / len(A) * L
    return ClusteringProblem(Psi, gamma_1=True, gamma_2=True, n_min=n_min, n_max=n_max)


def kmeans(X: object) -> ClusteringProblem:
    """Find clusters whose points are near their mean; the objective is the sum of squared distances to it."""
    P = validation.as_features(X, name="X").detach().cpu().numpy().astype(np.float64)
    P = P - P.mean(0)  # distances to means do not change, and products lose no digits to what the points share
    return kernel_kmeans(P @ P.T)


def kernel_kmeans(K: object) -> ClusteringProblem:
    """Find clusters whose points are near their mean in the space of a kernel matrix K (n, n)."""
    gram = _symmetric(K, name="K")
    return ClusteringProblem(-gram, beta=1, constant=float(np.trace(gram)))


def balanced_cut(S: object, *, n_min: int | None = None, n_max: int | None = None) -> ClusteringProblem:
    """Cut a graph where least is cut, into parts of bounded size, equal by default.

    The objective is the sum over clusters of what leads out of them, so that each cut edge counts twice.

    Parameters
    ----------
    S : array, shape (n, n)
        Similarities of zero or more.
    n_min, n_max : int, optional
        Cluster sizes.
    """
    W = _similarities(S)
    return ClusteringProblem(np.diag(W.sum(1)) - W, gamma_1=True, gamma_2=True, n_min=n_min, n_max=n_max)


def normalised_cut(S: object) -> ClusteringProblem:
    """Cut a graph so that little of what each part is connected by leads out of it.

    The objective is the sum over clusters of ``Cut(C, rest) / Vol(C)``; no cluster is empty.
    """
    L, degree = _normalised_laplacian(S)
    return ClusteringProblem(L, np.sqrt(degree), beta=1, gamma_1=True, n_min=1)


def ratio_cut(S: object) -> ClusteringProblem:
    """Cut a graph so that little leads out of each part for its number of points.

    The objective is the sum over clusters of ``Cut(C, rest) / |C|``; no cluster is empty.
    """
    W = _similarities(S)
    return ClusteringProblem(np.diag(W.sum(1)) - W, beta=1, gamma_1=True, n_min=1)


def stochastic_block_model(A: object, *, p: float, q: float) -> ClusteringProblem:
    """Find the most likely groups of a graph whose edges are drawn with probability p within and q between them.

    The objective is minus the log-likelihood. With J the matrix of ones,
    ``Psi = -A log(p (1 - q) / ((1 - p) q)) - J log((1 - p) / (1 - q))``. Table 1 prints ``1 - p q`` for ``(1 - p) q``
    and the identity for J; with the identity the second term would be constant, and one cluster always best for p > q.

    Parameters
    ----------
    A : array, shape (n, n)
        Symmetric adjacency matrix of zeros and ones; the diagonal has no meaning.
    p, q : float
        Probabilities, strictly between 0 and 1.
    """
    edges = _symmetric(A, name="A")
    np.fill_diagonal(edges, 0.0)
    if not np.isin(edges, (0.0, 1.0)).all():
        raise InvalidInputError(
            "A must hold zeros and ones: 1 where an edge is. Weighted graphs have no likelihood here."
        )
    if not (0 < p < 1 and 0 < q < 1):
        raise InvalidInputError(f"p and q must lie strictly between 0 and 1; they are {p!r} and {q!r}.")
    odds, absent = np.log(p * (1 - q) / ((1 - p) * q)), np.log((1 - p) / (1 - q))
    n = len(edges)
    pairs, present = n * (n - 1) / 2, edges.sum() / 2
    apart = present * np.log(q) + (pairs - present) * np.log1p(-q)  # log-likelihood with everyone alone
    return ClusteringProblem(-edges * odds - absent, factor=0.5, constant=float(n * absent / 2 - apart))


def known_matrix(constraints: Constraints, *, order: object = None) -> npt.NDArray[np.int8]:
    """Tell which entries of M are known, to be drawn as in Figure 2.

    Parameters
    ----------
    constraints : Constraints
        What is known, closed.
    order : array of int, shape (b,), optional
        Points in the order of the rows, ``np.argsort(classes)`` say; all in their own order by default.

    Returns
    -------
    array of int8, shape (b, b)
        1 for a known one (the diagonal always), 0 for a known zero, -1 for an unknown entry.
    """
    known = constraints.entries(order)
    M = np.full((known.n, known.n), UNKNOWN, dtype=np.int8)
    np.fill_diagonal(M, KNOWN_ONE)
    for pairs, value in ((known.ones, KNOWN_ONE), (known.zeros, KNOWN_ZERO)):
        i, j = pairs.numpy().T
        M[i, j] = M[j, i] = value
    return M


def _square(value: object, *, name: str) -> Floats:
    array: Floats = validation.as_square(value, name=name).detach().cpu().numpy().astype(np.float64)
    return array


def _symmetric(value: object, *, name: str) -> Floats:
    array = _square(value, name=name)
    if not np.allclose(array, array.T, rtol=1e-9, atol=1e-12 * np.abs(array).max()):
        i, j = divmod(int(np.abs(array - array.T).argmax()), len(array))
        raise InvalidInputError(
            f"{name} must be symmetric; entries ({i}, {j}) and ({j}, {i}) are {array[i, j]:g} and {array[j, i]:g}."
            f" Give ({name} + {name}.T) / 2 if that is meant."
        )
    return (array + array.T) / 2


def _similarities(S: object) -> Floats:
    W = _symmetric(S, name="S")
    if (W < 0).any():
        raise InvalidInputError("S must hold similarities of zero or more; some are negative.")
    return W


def _normalised_laplacian(S: object) -> tuple[Floats, Floats]:
    W = _similarities(S)
    degree = W.sum(1)
    if (degree <= 0).any():
        alone = np.flatnonzero(degree <= 0).tolist()
        raise InvalidInputError(
            f"S must connect every point, since its degree divides; {validation.named(alone)} are not connected."
            " Leave them out or connect each to itself."
        )
    scale = 1 / np.sqrt(degree)
    return scale[:, None] * (np.diag(degree) - W) * scale, degree


def _ridge_cost(X: object, lam: float) -> Floats:
    Phi = validation.as_features(X, name="X").detach().to(torch.float64)
    A: Floats = cost_matrix(Phi, lam).cpu().numpy()
    return A
