"""Pictures of what was given and found."""

from xsdc.report.known import draw_known

__all__ = ["draw_known"]
