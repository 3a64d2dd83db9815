"""The paper's hold-out search as a sampler of Optuna: one option after the other, the others at the best so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from xsdc.errors import InvalidInputError
from xsdc.tuning.space import Scalar

Point = dict[str, Scalar]


class SequentialSampler(BaseSampler):
    """Try every value of one parameter, keep the best, go on to the next parameter (Appendix D.1).

    All state is in the study: the search goes on where a study was left, and several processes may share one. A process
    that finds the last values of a parameter still running elsewhere goes on with the best so far; should one of
    them win in the end, what was tried in the meantime is tried again beside it.

    Parameters
    ----------
    grids : mapping from str to sequence
        Values of each parameter, in the order of the search. The first value is where a parameter stands until its
        turn comes.
    """

    def __init__(self, grids: Mapping[str, Sequence[Scalar]]) -> None:
        empty = [name for name, values in grids.items() if not values]
        if not grids or empty:
            raise InvalidInputError(f"Each parameter needs a value to try; {empty or 'none'} has one.")
        self.grids = {name: tuple(values) for name, values in grids.items()}

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return all parameters: a trial is one point of the grids."""
        del study, trial
        return {name: CategoricalDistribution(values) for name, values in self.grids.items()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the next point; once all are tried, the best."""
        del search_space
        return self._next(study, but=trial) or self._best(study)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Refuse parameters without a grid."""
        del study, trial, param_distribution
        raise InvalidInputError(f"The sequential sampler has no grid for {param_name!r}; it has {list(self.grids)}.")

    def is_finished(self, study: Study) -> bool:
        """Whether every point of the search has been tried."""
        return self._next(study) is None

    def _next(self, study: Study, but: FrozenTrial | None = None) -> Point | None:
        tried, running = self._visited(study, but)
        # Points that run elsewhere come last: most of them will be done by then, others were abandoned.
        return next_point(self.grids, tried, set(tried) | running) or next_point(self.grids, tried, set(tried))

    def _best(self, study: Study) -> Point:
        return best_point(self.grids, self._visited(study)[0])

    def _visited(
        self, study: Study, but: FrozenTrial | None = None
    ) -> tuple[dict[tuple[Scalar, ...], float], set[tuple[Scalar, ...]]]:
        """Points with their values, the higher the better, and points that are running."""
        sign = 1 if study.direction == StudyDirection.MAXIMIZE else -1
        tried: dict[tuple[Scalar, ...], float] = {}
        running = set()
        for trial in study.get_trials(deepcopy=False):
            if set(trial.params) != set(self.grids) or (but is not None and trial.number == but.number):
                continue
            key = tuple(trial.params[name] for name in self.grids)
            if trial.state == TrialState.COMPLETE and trial.value is not None:
                tried[key] = max(sign * trial.value, tried.get(key, -float("inf")))
            elif trial.state == TrialState.PRUNED:
                tried.setdefault(key, -float("inf"))
            elif trial.state == TrialState.RUNNING:
                running.add(key)
        return tried, running


def next_point(
    grids: Mapping[str, Sequence[Scalar]],
    tried: Mapping[tuple[Scalar, ...], float],
    taken: set[tuple[Scalar, ...]],
) -> Point | None:
    """First point on the way of the search that nobody has taken, None at its end.

    Parameters
    ----------
    grids : mapping
        Values of each parameter, in order.
    tried : mapping from point to float
        Values of the points that are done, the higher the better.
    taken : set of points
        Those that need not be tried.
    """
    best = _start(grids)
    for name in grids:
        stage = _stage(grids, best, name)
        for point in stage:
            if tuple(point.values()) not in taken:
                return point
        best = _best_of(stage, tried)
    return None


def best_point(grids: Mapping[str, Sequence[Scalar]], tried: Mapping[tuple[Scalar, ...], float]) -> Point:
    """Where the search stands."""
    best = _start(grids)
    for name in grids:
        best = _best_of(_stage(grids, best, name), tried)
    return best


def _start(grids: Mapping[str, Sequence[Scalar]]) -> Point:
    return {name: values[0] for name, values in grids.items()}


def _stage(grids: Mapping[str, Sequence[Scalar]], best: Point, name: str) -> list[Point]:
    return [{**best, name: value} for value in grids[name]]


def _best_of(stage: list[Point], tried: Mapping[tuple[Scalar, ...], float]) -> Point:
    """Take the best point of a stage; of equal ones the first."""
    return max(stage, key=lambda point: tried.get(tuple(point.values()), -float("inf")))
