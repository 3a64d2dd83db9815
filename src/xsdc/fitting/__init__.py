"""From what a user gave to a fitted model: knowledge and options, what is open, training, labels."""

from xsdc.fitting.automatic import choose_network
from xsdc.fitting.bounds import check_sizes
from xsdc.fitting.choices import Choices
from xsdc.fitting.features import scaled_features
from xsdc.fitting.fit import fit_model
from xsdc.fitting.fitted import Fitted
from xsdc.fitting.knowledge import Knowledge, read_knowledge
from xsdc.fitting.number import describe_ranking
from xsdc.fitting.settings import Settings, read_settings

__all__ = [
    "Choices",
    "Fitted",
    "Knowledge",
    "Settings",
    "check_sizes",
    "choose_network",
    "describe_ranking",
    "fit_model",
    "read_knowledge",
    "read_settings",
    "scaled_features",
]
