"""The trials of a study, one after the other until a limit is reached."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
import torch
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from scipy.sparse.linalg import ArpackError

from xsdc.errors import DivergedError, InvalidInputError
from xsdc.estimator import XSDC
from xsdc.tuning.criteria import Criterion
from xsdc.tuning.problem import Problem
from xsdc.tuning.sequential import SequentialSampler
from xsdc.tuning.space import Space
from xsdc.tuning.studies import FINISHED, as_row, suggest

# What options that suit the data badly may end in.
NUMERICAL = (DivergedError, ArpackError, np.linalg.LinAlgError, torch.linalg.LinAlgError)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Trials:
    """Makes trials and reads them.

    Attributes
    ----------
    study : Study
        Where they are kept.
    space : Space
        What is searched.
    problem, criterion, estimator, seed
        What is fitted and scored.
    n_trials : int or None
        How many there are to be.
    """

    study: Study
    space: Space
    problem: Problem
    criterion: Criterion
    estimator: XSDC
    seed: int
    n_trials: int | None

    def run(self, timeout: float | None, callback: Callable[[dict[str, Any]], object] | None) -> None:
        """Make the trials that are left, as long as there is time."""

        def report(_study: Study, trial: FrozenTrial) -> None:
            if callback is not None:
                callback({**self._row(trial), "best_value": self._best_value(), "n_trials": self.n_trials})

        begun = time.monotonic()
        while not self.complete and (timeout is None or time.monotonic() - begun < timeout):
            self.study.optimize(self._objective, n_trials=1, callbacks=[report])

    @property
    def complete(self) -> bool:
        """Whether no trial is left to be made."""
        sampler = self.study.sampler
        if isinstance(sampler, SequentialSampler) and sampler.is_finished(self.study):
            return True
        return self.n_trials is not None and len(self._finished()) >= self.n_trials

    def rows(self) -> list[dict[str, Any]]:
        """All trials as plain data."""
        return [self._row(trial) for trial in self.study.get_trials(deepcopy=False)]

    def best(self) -> dict[str, Any]:
        """The best trial, of equal ones the first."""
        complete = [row for row in self.rows() if row["state"] == "complete"]
        if not complete:
            notes = [note for trial in self._finished() for note in trial.user_attrs.get("notes", [])]
            why = f"The last one said: {notes[-1]}" if notes else "Allow more trials or time."
            raise InvalidInputError(f"No trial of the study {self.study.study_name!r} could be scored. {why}")
        return max(complete, key=lambda row: row["value"])

    def _objective(self, trial: optuna.Trial) -> float:
        sequential = isinstance(self.study.sampler, SequentialSampler)  # its first point is the estimator as given
        options = suggest(trial, self.space) if trial.number or sequential else {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            value, error = self._score(options)
        notes = [*dict.fromkeys(str(warning.message) for warning in caught), *([] if error is None else [str(error)])]
        trial.set_user_attr("notes", notes)
        if value is None:
            raise optuna.TrialPruned
        return value

    def _score(self, options: dict[str, Any]) -> tuple[float | None, Exception | None]:
        try:
            value = self.criterion.score(self.problem, self.estimator, options, seed=self.seed)
            if not math.isfinite(value):  # Optuna would forget the trial, and the search would not end
                raise DivergedError(f"The score is {value}.")
            return value, None
        except NUMERICAL as error:
            return None, error
        except InvalidInputError as error:
            if not options:
                raise  # the data or the estimator are at fault: no trial could be fitted
            return None, error

    def _finished(self) -> list[FrozenTrial]:
        return self.study.get_trials(deepcopy=False, states=FINISHED)

    def _best_value(self) -> float | None:
        values = [t.value for t in self._finished() if t.state == TrialState.COMPLETE and t.value is not None]
        return max(values, default=None)

    def _row(self, trial: FrozenTrial) -> dict[str, Any]:
        return as_row(trial, self.space)
