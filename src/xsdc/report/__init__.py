"""Pictures of what was given and found."""

from xsdc.report.findings import Equivalence, Findings
from xsdc.report.known import draw_known
from xsdc.report.page import render_report, write_report

__all__ = ["Equivalence", "Findings", "draw_known", "render_report", "write_report"]
