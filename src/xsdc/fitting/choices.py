"""What was chosen for the user, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Choices:
    """A record of choices in the order in which they were made.

    Attributes
    ----------
    made : list of dict
        Each with ``option``, ``value`` and ``why``, plain data all three.
    """

    made: list[dict[str, Any]] = field(default_factory=list)

    def note(self, option: str, value: Any, why: str) -> None:
        """Write down a choice."""
        self.made.append({"option": option, "value": value, "why": why})
