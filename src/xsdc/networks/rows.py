"""What training and labelling ask of the data: how many points there are, and some of them at a time."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor


class Rows(Protocol):
    """Prepared inputs, read when they are asked for; a tensor is the simplest kind."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Tensor:
        """Rows at some positions, given as a slice or as a tensor of integers."""
