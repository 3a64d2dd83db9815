"""Ways to fill in the unknown entries of M for a batch: one strategy a file, one base class, one table of names."""

from __future__ import annotations

from collections.abc import Callable

from xsdc.errors import InvalidInputError
from xsdc.labelers.balancing import Balancing
from xsdc.labelers.base import BatchProblem, Labeler, WholeData
from xsdc.labelers.deep_clustering import DeepClustering
from xsdc.labelers.eigen import Eigen, EigenKMeans
from xsdc.labelers.graph import Graph
from xsdc.labelers.hard import Hard
from xsdc.labelers.pseudo_labels import PseudoLabels

LABELERS: dict[str, Callable[[], Labeler]] = {
    "balancing": Balancing,
    "pseudo-labels": PseudoLabels,
    "deep-clustering": DeepClustering,
    "eigen": Eigen,
    "eigen-kmeans": EigenKMeans,
    "hard": Hard,
    "graph": Graph,
}

__all__ = [
    "LABELERS",
    "Balancing",
    "BatchProblem",
    "DeepClustering",
    "Eigen",
    "EigenKMeans",
    "Graph",
    "Hard",
    "Labeler",
    "PseudoLabels",
    "WholeData",
    "resolve_labeler",
]


def resolve_labeler(labeler: str | Labeler) -> Labeler:
    """Turn a name into a labeler; an object that is one stays as it is."""
    if isinstance(labeler, str):
        if labeler not in LABELERS:
            raise InvalidInputError(f"labeler must be one of {', '.join(LABELERS)}, or a Labeler; it is {labeler!r}.")
        return LABELERS[labeler]()
    if not isinstance(labeler, Labeler):
        raise InvalidInputError(
            f"labeler must be a name or an object of a class derived from Labeler; it is {type(labeler).__name__}."
        )
    return labeler
