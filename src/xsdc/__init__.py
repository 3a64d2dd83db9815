"""Clustering and classification with any ratio of labeled to unlabeled data."""

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["XSDC", "__version__"]

if TYPE_CHECKING:
    from xsdc.estimator import XSDC


def __getattr__(name: str) -> object:
    """Import the estimator when it is first asked for: torch takes seconds that ``--help`` should not."""
    if name == "XSDC":
        from xsdc.estimator import XSDC  # noqa: PLC0415

        return XSDC
    raise AttributeError(f"module 'xsdc' has no attribute {name!r}")
