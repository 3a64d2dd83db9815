"""Labels spread over a neighbour graph."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, diags

from xsdc.defaults import DEFAULTS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
TOLERANCE = 1e-5
MOST_STEPS = 1000


class Propagation:
    """The equation ``(D (1 + leak) - W) U = sources``, solved for many right-hand sides at once.

    W are the weights of a graph and D their sums. Its solution is the expected number of visits of a random walk that
    starts at the sources and ends with probability ``leak / (1 + leak)`` at each step. The leak keeps the equation well
    conditioned whether or not the graph is connected, and what no label reaches gets nothing.

    Parameters
    ----------
    W : sparse matrix, shape (n, n)
        Symmetric weights.
    leak : float
        How soon walks end.
    tolerance : float
        Relative residual at which the equation counts as solved.

    Attributes
    ----------
    degrees : array, shape (n,)
        Sums of the weights, 1 where there are none.
    normalized : sparse matrix, shape (n, n)
        ``D^(-1/2) W D^(-1/2)``.
    """

    def __init__(self, W: csr_matrix, *, leak: float = DEFAULTS.leak, tolerance: float = TOLERANCE) -> None:
        degrees = np.asarray(abs(W).sum(axis=1)).ravel()
        self.degrees = np.where(degrees > 0, degrees, 1.0)
        scale = diags(self.degrees**-0.5)
        self.normalized = (scale @ W @ scale).tocsr()
        self.leak = leak
        self._tolerance = tolerance

    def visits(self, sources: Floats) -> Floats:
        """Solve for sources (n, c)."""
        return self._solve(sources, np.zeros((len(sources), 1), dtype=np.float64))

    def interpolate(self, values: Floats, known: Floats, *, fidelity: float) -> Floats:
        """Extend values (n, c) from points where they are known, 1 in (n, 1), to all, smoothly along the graph.

        Minimises the sum of ``w_ij (u_i - u_j)²``, of ``leak d_i u_i²`` and, where values are known, of
        ``fidelity d_i (u_i - value_i)²``.
        """
        held = fidelity * known
        return self._solve(held * values * self.degrees[:, None], held)

    def _solve(self, sources: Floats, held: Floats) -> Floats:
        """Solve ``(D (1 + leak + held) - W) U = sources`` by conjugate gradients, every column by itself.

        Scaled by the degrees its condition is at most 2 / leak + 1 where nothing is held, so that a few dozen steps do.
        """
        root = np.sqrt(self.degrees)[:, None]
        diagonal = held + (1 + self.leak)
        R = sources / root
        goal = self._tolerance * np.linalg.norm(R, axis=0)
        X, Z = np.zeros_like(R), R / diagonal
        P, rz = Z, (R * Z).sum(axis=0)
        for _ in range(MOST_STEPS):
            if (np.linalg.norm(R, axis=0) <= goal).all():
                break
            Q = diagonal * P - self.normalized @ P
            step = _ratio(rz, (P * Q).sum(axis=0))
            X, R = X + step * P, R - step * Q
            Z = R / diagonal
            fresh = (R * Z).sum(axis=0)
            P, rz = Z + _ratio(fresh, rz) * P, fresh
        else:
            warnings.warn(f"Labels were not spread to the end in {MOST_STEPS} steps.", UserWarning, stacklevel=4)
        return np.asarray(X / root)


def _ratio(a: Floats, b: Floats) -> Floats:
    """Divide a by b, zero where b is: a column that is solved stays as it is."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
