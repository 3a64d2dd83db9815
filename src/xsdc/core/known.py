"""Entries of the equivalence matrix that are known, as lists of pairs.

Known entries are few beside n²; a dense mask of them would cost more than the balancing itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from xsdc import validation
from xsdc.errors import InvalidInputError


@dataclass(frozen=True)
class Known:
    """Known off-diagonal entries of a symmetric ``M (n, n)``; the diagonal is always known to be 1.

    Build it with :meth:`from_entries`, which checks; the constructor trusts its arguments.

    Attributes
    ----------
    n : int
        Number of points.
    ones, zeros : Tensor of int64, shape (m, 2)
        Pairs known to be in the same group and in different groups: i < j, each pair once.
    """

    n: int
    ones: Tensor
    zeros: Tensor

    @classmethod
    def nothing(cls, n: int) -> Known:
        """Only the diagonal is known."""
        none = torch.empty(0, 2, dtype=torch.int64)
        return cls(n, none, none)

    @classmethod
    def from_entries(cls, n: int, rows: object, cols: object, values: object) -> Known:
        """Read lists of entries ``M[rows, cols] = values``, one or both of (i, j) and (j, i) given.

        Raises
        ------
        InvalidInputError
            If an index is outside, a value is not 0 or 1, the diagonal is said to be 0, or two entries
            for the same pair differ.
        """
        i, j, value = (_as_indices(x) for x in (rows, cols, values))
        if not len(i) == len(j) == len(value):
            raise InvalidInputError(
                f"known must hold rows, columns and values of one length; it holds {len(i)}, {len(j)}, {len(value)}."
            )
        pairs = torch.from_numpy(validation.as_pairs(torch.stack([i, j], 1), n=n, name="known"))
        if bool(((value != 0) & (value != 1)).any()):
            raise InvalidInputError(
                f"known values must be 0 or 1; {value[(value != 0) & (value != 1)][0].item()} came."
            )
        own = pairs[:, 0] == pairs[:, 1]
        if bool((value[own] == 0).any()):
            point = int(pairs[own & (value == 0)][0, 0])
            raise InvalidInputError(f"known says that point {point} is not in its own group; the diagonal of M is 1.")
        lo, hi = pairs[~own].min(1).values, pairs[~own].max(1).values
        # Key and value in one integer: equal neighbours after sorting are one pair with two values.
        keyed = torch.unique((lo * n + hi) * 2 + value[~own])
        key, said = keyed // 2, keyed % 2
        clash = (key[1:] == key[:-1]).nonzero().flatten()
        if len(clash):
            a, b = divmod(int(key[clash[0]]), n)
            raise InvalidInputError(
                f"known must be symmetric: entry ({a}, {b}) is said to be both 0 and 1"
                f" ({len(clash)} such pairs; ({a}, {b}) and ({b}, {a}) are the same entry)."
            )
        unordered = torch.stack([key // n, key % n], 1)
        return cls(n, unordered[said == 1], unordered[said == 0])

    def to(self, device: torch.device) -> Known:
        """Move the lists to a device."""
        return Known(self.n, self.ones.to(device), self.zeros.to(device))

    def ones_per_row(self) -> Tensor:
        """Return the sum of the known entries of each row, the diagonal among them, shape (n,)."""
        return self._per_row(self.ones) + 1

    def zeros_per_row(self) -> Tensor:
        """Count the known zeros of each row, shape (n,)."""
        return self._per_row(self.zeros)

    def _per_row(self, pairs: Tensor) -> Tensor:
        return torch.bincount(pairs.flatten(), minlength=self.n)


def both_orders(pairs: Tensor) -> tuple[Tensor, Tensor]:
    """Rows and columns of pairs and their mirror images."""
    return torch.cat([pairs[:, 0], pairs[:, 1]]), torch.cat([pairs[:, 1], pairs[:, 0]])


def _as_indices(values: object) -> Tensor:
    try:
        tensor = torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInputError(f"known must hold three flat lists of whole numbers; {values!r} came.") from error
    if tensor.ndim != 1:
        raise InvalidInputError(f"known must hold three flat lists; one has shape {tuple(tensor.shape)}.")
    if tensor.is_floating_point() and not bool((tensor == tensor.round()).all()):
        raise InvalidInputError("known must hold whole numbers: row, column and a value of 0 or 1.")
    return tensor.to(torch.int64).cpu()
