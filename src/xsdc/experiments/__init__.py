"""The paper's experiments: declared as data, run by one runner, the authors' figures beside ours."""

from xsdc.experiments.declared import EXPERIMENTS, Experiment
from xsdc.experiments.runner import reproduce

__all__ = ["EXPERIMENTS", "Experiment", "reproduce"]
