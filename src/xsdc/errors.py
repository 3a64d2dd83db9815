"""The few exceptions and warnings of the package."""

from __future__ import annotations

from collections.abc import Sequence


class InvalidInputError(ValueError):
    """The input is not what was required; the message says what came and what to do.

    Attributes
    ----------
    option : str or None
        The option or parameter that it is about, by its name in Python, for those who have another name for it.
    """

    def __init__(self, message: str, *, option: str | None = None) -> None:
        super().__init__(message)
        self.option = option


class InfeasibleError(InvalidInputError):
    """No solution meets the bounds and the known entries together.

    Attributes
    ----------
    rows : tuple of int
        The points whose bounds cannot be met.
    """

    def __init__(self, message: str, *, rows: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.rows = tuple(rows)


class ContradictionError(InvalidInputError):
    """The given labels and constraints contradict each other.

    Attributes
    ----------
    chain : tuple of str
        The given facts that clash, in order, as they appear in the message.
    """

    def __init__(self, message: str, *, chain: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.chain = tuple(chain)


class DivergedError(InvalidInputError):
    """Training has led to features that say nothing, not finite or all alike, or to such a gradient."""


class NotConvergedWarning(UserWarning):
    """An iteration stopped at its limit; the result says how far it got."""
