"""Runs: from a file to a folder with model, labels, metrics, history and report, and back."""

from xsdc.runs.configuration import Configuration, DataOptions
from xsdc.runs.fit import find_task, fit_run, is_finished, make_estimator, remake_report
from xsdc.runs.folder import RunFolder, read_metrics
from xsdc.runs.given import Given, read_given
from xsdc.runs.predict import Prediction
from xsdc.runs.publishing import open_run

__all__ = [
    "Configuration",
    "DataOptions",
    "Given",
    "Prediction",
    "RunFolder",
    "find_task",
    "fit_run",
    "is_finished",
    "make_estimator",
    "open_run",
    "read_given",
    "read_metrics",
    "remake_report",
]
