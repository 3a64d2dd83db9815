"""Clustering and classification with any ratio of labeled to unlabeled data."""

__version__ = "0.1.0"
