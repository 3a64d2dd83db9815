"""How many groups the eigenvalues of M tell of."""

from __future__ import annotations

import math

from torch import Tensor

from xsdc.core.sizes import ClassSizes


def suggest_number(eigenvalues: Tensor, sizes: ClassSizes) -> int:
    """Suggest a number of groups within the bounds on their sizes: where the eigenvalues of M fall most.

    Parameters
    ----------
    eigenvalues : Tensor, shape (m,)
        Leading eigenvalues of the normalised M, in descending order.
    sizes : ClassSizes
        One bound for all groups.
    """
    values = eigenvalues.cpu().numpy()
    fewest = max(1, math.ceil(1 / float(sizes.maximum.max()) - 1e-9))
    most = min(len(values) - 1, largest_number(sizes, len(values)))
    if most <= fewest:
        return min(fewest, len(values))
    gaps = values[fewest - 1 : most] - values[fewest : most + 1]
    return fewest + int(gaps.argmax())


def largest_number(sizes: ClassSizes, limit: int) -> int:
    """Return the largest number of groups that a bound on their sizes allows, up to a limit."""
    smallest = float(sizes.minimum.min())
    return min(limit, math.floor(1 / smallest + 1e-9)) if smallest > 0 else limit
