"""Estimators that leave the representation as it is: what learning one has to be compared with."""

from xsdc.baselines.diffrac import DIFFRAC
from xsdc.baselines.seeded import SeededKMeans

__all__ = ["DIFFRAC", "SeededKMeans"]
