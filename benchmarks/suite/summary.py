"""What the trials say: each cell of set and level, ours beside the best of the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import Any

from scipy.stats import rankdata

from benchmarks.suite.methods import IGNORE_CONSTRAINTS, METHODS
from benchmarks.suite.regimes import LEVELS, UNLABELED
from benchmarks.suite.runner import Record
from benchmarks.suite.sets import BY_NAME, SETS, Half

OURS, TRAINED, UNTRAINED = "xsdc", "xsdc, trained", "xsdc, untrained"
NEAR = 0.01  # accuracy within which a faster method counts as an equal


@dataclass(frozen=True)
class Cell:
    """Trials of a data set at a level, on splits that all methods here have in common.

    Attributes
    ----------
    set, level : str
        Which cell it is.
    trials : dict
        From a method to its trials, in the order of the seeds.
    """

    set: str
    level: str
    trials: dict[str, list[Record]]

    def mean(self, method: str, measure: str = "accuracy") -> float:
        """Mean of a measure over the splits."""
        return fmean(trial[measure] for trial in self.trials[method])

    @property
    def rivals(self) -> list[str]:
        """Methods that are not ours."""
        return [name for name in self.trials if not METHODS[name].ours]

    @property
    def best(self) -> str:
        """The rival of the highest mean accuracy: nobody knows beforehand which one that is."""
        return max(self.rivals, key=self.mean)

    def difference(self, method: str, other: str) -> tuple[float, float | None]:
        """Mean difference of accuracy on the same splits, and its standard error."""
        pairs = zip(self.trials[method], self.trials[other], strict=True)
        values = [a["accuracy"] - b["accuracy"] for a, b in pairs]
        mean = round(fmean(values), 4)  # a tie is no lead; accuracies have five digits
        return mean, stdev(values) / len(values) ** 0.5 if len(values) > 1 else None

    @property
    def lead(self) -> float:
        """Accuracy by which XSDC is ahead of the best rival."""
        return self.difference(OURS, self.best)[0]

    @property
    def lead_over_chosen(self) -> float | None:
        """Lead over the rival that is best on the other splits and could be chosen; None where there are none."""
        count = len(self.trials[OURS])
        if count < 2:
            return None
        leads = []
        for split in range(count):
            others = [place for place in range(count) if place != split]
            chosen = max(self.rivals, key=lambda name: fmean(self._accuracy(name, place) for place in others))
            leads.append(self._accuracy(OURS, split) - self._accuracy(chosen, split))
        return round(fmean(leads), 4)

    def _accuracy(self, method: str, split: int) -> float:
        return float(self.trials[method][split]["accuracy"])

    @property
    def rank(self) -> float:
        """Place of XSDC among all methods, 1 for the best."""
        names = [OURS, *self.rivals]
        return float(rankdata([-self.mean(name) for name in names])[0])

    @property
    def slowdown(self) -> float | None:
        """Seconds of XSDC by those of the fastest rival within a point of it, None where none is."""
        near = [name for name in self.rivals if self.mean(name) >= self.mean(OURS) - NEAR]
        if not near:
            return None
        return self.seconds(OURS) / max(min(self.seconds(name) for name in near), 1e-3)

    def seconds(self, method: str) -> float:
        """Median time of a fit; the first one of a process also compiles and imports."""
        return float(median(trial["seconds"] for trial in self.trials[method]))


def collect(records: Iterable[Record], *, code: str, methods: Sequence[str] = (OURS,)) -> list[Cell]:
    """Arrange trials in cells.

    Parameters
    ----------
    records : iterable of dict
        Lines of the logs.
    code : str
        Version of XSDC whose trials count; of the rivals the present version counts.
    methods : sequence of str
        Those of ours that a cell must have; others of ours are left out. Defaults do not train on vectors, where their
        trials count as untrained ones too.

    Returns
    -------
    list of Cell
        In the order of sets and levels. A method that failed, or was not run, on one of the splits of ours has no
        place in the cell.
    """
    found: dict[tuple[str, str], dict[str, dict[int, Record]]] = defaultdict(lambda: defaultdict(dict))
    for record in records:
        method = METHODS.get(record["method"])
        if method is None or "error" in record or record["code"] != (code if method.ours else method.code):
            continue
        name = _counted_as(record, methods)
        levels = UNLABELED if name in IGNORE_CONSTRAINTS else (record["level"],)
        for level in levels if not method.ours or name in methods else ():
            found[record["set"], level][name][record["seed"]] = record
    cells = []
    for entry in SETS:
        for level in LEVELS:
            by_method = found.get((entry.name, level), {})
            if not all(name in by_method for name in methods):
                continue
            seeds = sorted(set.intersection(*(set(by_method[name]) for name in methods)))
            whole = {name: [of[s] for s in seeds] for name, of in by_method.items() if set(seeds) <= set(of)}
            if seeds and any(not METHODS[name].ours for name in whole):
                cells.append(Cell(entry.name, level, {name: trials for name, trials in whole.items() if trials}))
    return cells


def _counted_as(record: Record, methods: Sequence[str]) -> str:
    """Name of the method of a trial; defaults do not train on vectors, and are then the untrained method too."""
    untrained = record["method"] == OURS and UNTRAINED in methods and BY_NAME[record["set"]].kind != "image"
    return UNTRAINED if untrained else str(record["method"])


def of_half(cells: Iterable[Cell], half: Half) -> list[Cell]:
    """Cells of one half."""
    names = {entry.name for entry in SETS if entry.half == half}
    return [cell for cell in cells if cell.set in names]


def overall(cells: Sequence[Cell]) -> dict[str, Any]:
    """The figures of one line: how often ahead, by how much in the mean, where it is worst, at what cost."""
    leads = [cell.lead for cell in cells]
    worst = min(cells, key=lambda cell: cell.lead)
    slowdowns = [s for cell in cells if (s := cell.slowdown) is not None]
    chosen = [lead for cell in cells if (lead := cell.lead_over_chosen) is not None]
    return {
        "cells": len(cells),
        "seeds": min(len(cell.trials[OURS]) for cell in cells),
        "ahead": sum(lead > 0 for lead in leads),
        "within_two": sum(lead >= -0.02 for lead in leads),
        "far_behind": sum(lead < -0.05 for lead in leads),
        "mean_lead": fmean(leads),
        "worst": worst,
        "rank": fmean(cell.rank for cell in cells),
        "methods": fmean(1 + len(cell.rivals) for cell in cells),
        "slowdown": median(slowdowns) if slowdowns else None,
        "over_chosen": chosen,
    }
