"""From a relaxed matrix or from features to labels.

The balanced M is not an equivalence matrix; spectral clustering finds the one nearest in spirit. With labels at
hand, the nearest labeled neighbours in feature space decide instead (Algorithms 2 and 3).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.linalg import get_blas_funcs
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, lobpcg
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from torch import Tensor

from xsdc import validation
from xsdc.core.balanced import BalancedOperator
from xsdc.core.operators import symmetric_part, symmetric_product
from xsdc.errors import InvalidInputError, NotConvergedWarning

SMALL = 500  # points up to which a full eigendecomposition is quicker than Lanczos
MOST_RESTARTS = 300  # of Lanczos, before a rough answer is taken
ROUGHLY = 1e-3
TOO_ROUGH = 1e-2  # off by so much, eigenvectors are warned of
SPARE = 4  # columns beyond those asked for, which speed up the iteration on blocks
MOST_PASSES = 40
BLOCK_ENTRIES = 1 << 22

RandomState = int | np.random.RandomState | None


@dataclass(frozen=True)
class Spectral:
    """Result of :func:`spectral_clustering`.

    Attributes
    ----------
    labels : Tensor of int64, shape (n,)
        Cluster of each point.
    eigenvalues : Tensor of float64, shape (m,)
        Largest eigenvalues of the normalised matrix, in descending order: 1 for each group that is cut off
        from the others. One more than the clusters, where there are that many.
    embedding : Tensor of float64, shape (n, n_clusters)
        Leading eigenvectors with rows scaled to length one, which were clustered.
    """

    labels: Tensor
    eigenvalues: Tensor
    embedding: Tensor


def spectral_clustering(M: Tensor | BalancedOperator, n_clusters: int, *, random_state: RandomState = None) -> Spectral:
    """Cluster the points of a similarity matrix by the eigenvectors of its normalised Laplacian.

    Parameters
    ----------
    M : Tensor of shape (n, n), or BalancedOperator
        Non-negative similarities; the symmetric part is taken.
    n_clusters : int
        Number of clusters.
    random_state : int or RandomState, optional
        Seed of the k-means that ends it, and of the Lanczos iteration.

    Returns
    -------
    Spectral
    """
    rng = check_random_state(random_state)
    values, embedding = spectral_embedding(M, n_clusters, random_state=rng)
    kmeans = KMeans(n_clusters, n_init=10, random_state=rng).fit(embedding.cpu().numpy())
    return Spectral(torch.from_numpy(kmeans.labels_.astype(np.int64)), values, embedding)


def spectral_embedding(
    M: Tensor | BalancedOperator, n_clusters: int, *, random_state: RandomState = None, guess: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Place the points of a similarity matrix so that clusters lie together: the first half of spectral clustering.

    Parameters
    ----------
    M, n_clusters, random_state
        As for :func:`spectral_clustering`.
    guess : Tensor of int, shape (n,), optional
        Clusters that may be near the right ones; the iteration for an operator starts from them.

    Returns
    -------
    eigenvalues : Tensor of float64, shape (m,)
    embedding : Tensor of float64, shape (n, n_clusters)
        Both as in :class:`Spectral`.
    """
    values, vectors, _ = leading_eigenvectors(M, n_clusters, random_state=random_state, guess=guess)
    return values, unit_rows(vectors)


def unit_rows(X: Tensor) -> Tensor:
    """Scale rows to length one; a row of zeros stays."""
    scaled: Tensor = X / X.norm(dim=1, keepdim=True).clamp(min=torch.finfo(X.dtype).tiny)
    return scaled


def leading_eigenvectors(
    M: Tensor | BalancedOperator, n_clusters: int, *, random_state: RandomState = None, guess: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Leading eigenvectors of ``D^{-1/2} M D^{-1/2}`` with the symmetric part of M, and D.

    Parameters
    ----------
    M, n_clusters, random_state, guess
        As for :func:`spectral_embedding`.

    Returns
    -------
    eigenvalues : Tensor of float64, shape (m,)
    vectors : Tensor of float64, shape (n, n_clusters)
    degree : Tensor of float64, shape (n,)
        Row sums of the symmetric part of M, in its largest entry as unit where it is dense.
    """
    if not isinstance(M, BalancedOperator):
        M = validation.as_square(M, name="M").detach()
        if bool(M.min() < 0):
            raise InvalidInputError("M must hold similarities of zero or more; some are negative.")
        M = M / M.max().clamp(min=torch.finfo(M.dtype).tiny)  # clusters do not depend on the unit
    n = M.shape[0]
    n_clusters = validation.as_count(n_clusters, name="n_clusters", maximum=n)
    one = torch.ones(n, 1, dtype=torch.float64, device=_device(M))
    degree = (M.symmetric_product(one) if isinstance(M, BalancedOperator) else symmetric_product(M, one)).flatten()
    if bool((degree <= 0).any()):
        alone = (degree <= 0).nonzero().flatten().tolist()
        raise InvalidInputError(f"M must connect every point, if only to itself; {validation.named(alone)} are not.")
    rng = check_random_state(random_state)
    count = min(n_clusters + 1, n)
    if isinstance(M, BalancedOperator) and n > SMALL and 5 * (count + SPARE) < n:
        values, vectors = _by_blocks(M, degree, count, guess, rng)
    else:
        values, vectors = _decomposed(M, degree.rsqrt(), count, rng)
    return values, vectors[:, :n_clusters], degree


def nearest_labels(Phi: Tensor, reference: Tensor, y_reference: Tensor, *, n_neighbors: int = 1) -> Tensor:
    """Label points by a vote of their nearest labeled neighbours in feature space.

    Parameters
    ----------
    Phi : Tensor, shape (n, D)
        Features of the points to label.
    reference : Tensor, shape (m, D)
        Features of labeled points.
    y_reference : Tensor of int, shape (m,)
        Their classes, 0, 1, ...
    n_neighbors : int
        Voters; the paper takes 1. A tie goes to the class of the nearest voter among those tied.

    Returns
    -------
    Tensor of int64, shape (n,)
    """
    # In float64: distances from norms and products lose digits to whatever the points have in common.
    X = validation.as_features(Phi, min_rows=1).detach().to(torch.float64)
    R = validation.as_features(reference, name="reference", min_rows=1).detach().to(X)
    if X.shape[1] != R.shape[1]:
        raise InvalidInputError(f"Phi has {X.shape[1]} features, but reference has {R.shape[1]}; they must agree.")
    y = validation.as_codes(y_reference, n=len(R), name="y_reference").to(X.device)
    k = validation.as_count(n_neighbors, name="n_neighbors", maximum=len(R))
    shift = R.mean(0)
    X, R = X - shift, R - shift
    half_norms = (R**2).sum(1) / 2
    labels = torch.empty(len(X), dtype=torch.int64, device=X.device)
    step = max(1, BLOCK_ENTRIES // len(R))
    for start in range(0, len(X), step):
        closeness = torch.addmm(-half_norms, X[start : start + step], R.T)  # up to a term per row, -distance² / 2
        if k == 1:
            labels[start : start + step] = y[closeness.argmax(1)]
        else:
            labels[start : start + step] = _vote(y[closeness.topk(k, dim=1).indices], int(y.max()) + 1)
    return labels


def _decomposed(
    M: Tensor | BalancedOperator, scale: Tensor, count: int, rng: np.random.RandomState
) -> tuple[Tensor, Tensor]:
    """Largest eigenpairs of ``D^{-1/2} M D^{-1/2}``, the mirror image of the normalised Laplacian's smallest."""
    n = len(scale)
    if count >= n or (isinstance(M, Tensor) and (n <= SMALL or count > n // 2)):  # Lanczos finds all but one
        return _all_decomposed(M, scale, count)
    half = symmetric_part(M) if isinstance(M, Tensor) else None  # once, not in each of hundreds of products
    symv = get_blas_funcs("symv", [half.numpy()]) if half is not None and half.device.type == "cpu" else None

    def product(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        X = scale * torch.from_numpy(np.ascontiguousarray(x).reshape(n)).to(scale)
        if half is None:
            MX = symmetric_product(M, X[:, None])[:, 0]
        elif symv is None:
            MX = (half @ X.to(half.dtype)).to(scale)
        else:  # reads one half of the matrix, and reading is what takes the time
            MX = torch.from_numpy(symv(1.0, half.numpy().T, X.to(half.dtype).numpy())).to(scale)
        result: npt.NDArray[np.float64] = (scale * MX).cpu().numpy()
        return result.reshape(x.shape)

    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    # Products are no more exact than M; asked for more, Lanczos may search for thousands of products in vain. Where
    # eigenvalues lie close, roughly the right subspace must do: any of its bases parts the points alike.
    exactness = 100 * torch.finfo(torch.float32 if half is None else half.dtype).eps
    vectors_kept = min(n, 2 * count + 18)  # more of them save products, but then ARPACK's own work outweighs those
    start = rng.uniform(-1, 1, n)
    try:
        values, vectors = eigsh(
            operator, k=count, which="LA", v0=start, tol=exactness, ncv=vectors_kept, maxiter=MOST_RESTARTS
        )
    except ArpackNoConvergence:
        try:
            values, vectors = eigsh(operator, k=count, which="LA", v0=start, tol=ROUGHLY, ncv=vectors_kept)
        except ArpackNoConvergence:  # slow, and sure
            return _all_decomposed(M, scale, count)
    order = np.argsort(-values)
    return torch.from_numpy(values[order]).to(scale), torch.from_numpy(vectors[:, order]).to(scale)


def _all_decomposed(M: Tensor | BalancedOperator, scale: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Find the same by way of all eigenpairs."""
    dense = M.dense() if isinstance(M, BalancedOperator) else M
    S = scale[:, None] * (dense + dense.T).to(torch.float64) / 2 * scale
    values, vectors = torch.linalg.eigh(S)
    return values.flip(0)[:count], vectors.flip(1)[:, :count]


def _by_blocks(
    M: BalancedOperator, degree: Tensor, count: int, guess: Tensor | None, rng: np.random.RandomState
) -> tuple[Tensor, Tensor]:
    """Find the same for an operator by LOBPCG: few passes over M, each with many columns.

    A pass computes all entries of M anew, whether it multiplies one column or thirty; Lanczos would make hundreds.
    """
    scale = degree.rsqrt()[:, None]
    start = torch.from_numpy(rng.uniform(-1, 1, (len(degree), count + SPARE)))
    start[:, 0] = 1.0  # up to the scale, the first eigenvector
    if guess is not None:
        groups = torch.nn.functional.one_hot(guess).to(start)[:, : count - 2]  # the last is what the others leave
        start[:, 1 : 1 + groups.shape[1]] = groups + 0.01 * start[:, 1 : 1 + groups.shape[1]]  # none is empty
    start = start.to(degree) * degree.sqrt()[:, None]

    def product(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        X = scale * torch.from_numpy(np.ascontiguousarray(x).reshape(len(degree), -1)).to(degree)
        result: npt.NDArray[np.float64] = (scale * M.symmetric_product(X)).cpu().numpy()
        return result.reshape(x.shape)

    operator = LinearOperator((len(degree),) * 2, matvec=product, matmat=product, dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it also tells of the last columns, which are spare; see below for the others
        values, vectors, residuals = lobpcg(
            operator,
            start.cpu().numpy(),
            largest=True,
            tol=ROUGHLY,
            maxiter=MOST_PASSES,
            retResidualNormsHistory=True,
        )
    order = np.argsort(-values)[:count]
    off = float(np.asarray(residuals[-1])[order[:-1]].max())  # the last column only tells the next eigenvalue
    if off > TOO_ROUGH:
        warnings.warn(
            f"Eigenvectors of M are off by {off:.1g} after {MOST_PASSES} passes; clusters may be parted otherwise than"
            " M would part them.",
            NotConvergedWarning,
            stacklevel=2,
        )
    return torch.from_numpy(values[order]).to(degree), torch.from_numpy(vectors[:, order]).to(degree)


def _device(M: Tensor | BalancedOperator) -> torch.device:
    return M.device if isinstance(M, Tensor) else M.log_u.device


def _vote(neighbours: Tensor, n_classes: int) -> Tensor:
    """Most frequent class in each row; a bonus below one vote, larger for nearer voters, breaks ties."""
    n, k = neighbours.shape
    votes = torch.zeros(n, n_classes, dtype=torch.float64, device=neighbours.device)
    bonus = torch.tensor([1 + 0.5 ** (rank + 2) for rank in range(k)], dtype=torch.float64, device=neighbours.device)
    return votes.scatter_add_(1, neighbours, bonus.expand(n, k)).argmax(1)
