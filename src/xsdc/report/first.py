"""Points to look at first: those whose correction would help most."""

from __future__ import annotations

import numpy as np
import torch

from xsdc.core.graph import NeighborIndex
from xsdc.queries import Situation, useful
from xsdc.report.findings import Findings, Ints

MOST = 24  # points that are listed
FEWEST = 20  # drawn points, below which neighbors say nothing


def points_to_ask(findings: Findings) -> Ints:
    """Places among the drawn points, the most useful first: doubtful ones that many doubtful ones are near to."""
    drawn = findings.points
    if len(drawn) < FEWEST or len(findings.classes) < 2:
        return np.empty(0, dtype=np.int64)
    Z = np.asarray(findings.features_after, dtype=np.float64).reshape(len(drawn), -1)
    found = np.maximum(np.nan_to_num(findings.probability[drawn].astype(np.float64)), 0.5)
    known = findings.given[drawn] >= 0
    situation = Situation(
        Z=Z,
        graph=NeighborIndex.of(torch.from_numpy(Z)).graph(),
        probabilities=np.stack([found, 1 - found], axis=1),
        codes=np.zeros(len(drawn), dtype=np.int64),
        names=("found", "another"),
        named=np.array([True, True]),
        known=known,
    )
    picks = useful(situation, min(MOST, int((~known).sum())), np.random.RandomState(0)).points
    doubtful = found[picks] < 1.0
    return np.asarray(picks[doubtful], dtype=np.int64)
