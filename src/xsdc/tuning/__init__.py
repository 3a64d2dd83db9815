"""Choosing the options of XSDC, with labels and without."""

from xsdc.tuning.search import TuningResult, tune

__all__ = ["TuningResult", "tune"]
