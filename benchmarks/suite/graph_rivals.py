"""Learning on the neighbour graph: Laplace and Poisson learning, and how graph methods answer for new points."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from benchmarks.suite.sets import Array

NEIGHBORS = 10


def fit_graph(X: Array, y: Array, X_test: Array, *, kind: Literal["laplace", "poisson"]) -> tuple[Array, Array]:
    """Spread labels over the neighbour graph of the training points (`graphlearning`).

    A test point takes the class with the largest weighted mean among its ten nearest training points.

    Parameters
    ----------
    X, X_test : array
        Training and test points.
    y : array of int
        Labels, -1 where unknown.
    kind : {"laplace", "poisson"}
        The equation that is solved.

    Returns
    -------
    labels of training and of test points
    """
    import graphlearning as gl  # noqa: PLC0415  an extra, and slow to import

    search = NearestNeighbors(n_neighbors=min(NEIGHBORS + 1, len(X))).fit(X)
    distances, neighbors = search.kneighbors(X)
    W = connect(gl.weightmatrix.knn(None, neighbors.shape[1], knn_data=(neighbors, distances)), X)
    given = np.flatnonzero(y >= 0)
    classes, labels = np.unique(y[given], return_inverse=True)
    model = gl.ssl.laplace(W) if kind == "laplace" else gl.ssl.poisson(W)
    U = model.fit(given, labels)
    distances, neighbors = search.kneighbors(X_test, n_neighbors=min(NEIGHBORS, len(X)))
    scale = np.maximum(distances[:, -1:], np.finfo(float).tiny)
    weights = np.exp(-4 * (distances / scale) ** 2)  # the weights of the graph
    return classes[U.argmax(axis=1)], classes[(weights[:, :, None] * U[neighbors]).sum(axis=1).argmax(axis=1)]


def connect(W: csr_matrix, X: Array) -> csr_matrix:
    """Join the components of a graph along the shortest tree through all points; Poisson learning needs one component.

    The new edges weigh as much as that to a farthest neighbour.
    """
    n_components, component = connected_components(W, directed=False)
    if n_components == 1:
        return W
    distances = pairwise_distances(X) + np.finfo(np.float32).tiny  # 0 means no edge
    first, second = minimum_spanning_tree(distances).nonzero()
    joining = component[first] != component[second]
    first, second = first[joining], second[joining]
    bridges = csr_matrix((np.full(len(first), np.exp(-4.0)), (first, second)), shape=W.shape)
    return csr_matrix(W + bridges + bridges.T)
