"""Optuna's part: opening a study that belongs to this search, its samplers, its trials as plain data."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.exceptions import OptunaError
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import IntegrityError, OperationalError, SQLAlchemyError

from xsdc.errors import InvalidInputError
from xsdc.tuning.sequential import SequentialSampler
from xsdc.tuning.space import Choice, Range, Space, decode, encode

WAIT = 1.0  # seconds
FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)
STATES = {TrialState.COMPLETE: "complete", TrialState.PRUNED: "failed", TrialState.RUNNING: "running"}


class SeededSampler(BaseSampler):
    """TPE or random sampling whose draws depend on the seed and the number of the trial alone.

    So a study that was interrupted goes on as if it had not been, and processes that share one draw different points.

    Parameters
    ----------
    kind : {"tpe", "random"}
        The sampler.
    seed : int
        The seed of the study.
    """

    def __init__(self, kind: str, *, seed: int) -> None:
        self.kind, self.seed = kind, seed
        self._sampler = self._make(0)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Begin afresh."""
        self._sampler = self._make(trial.number)
        self._sampler.before_trial(study, trial)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """As the sampler does."""
        return self._sampler.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """As the sampler does."""
        return self._sampler.sample_relative(study, trial, search_space)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """As the sampler does."""
        return self._sampler.sample_independent(study, trial, param_name, param_distribution)

    def _make(self, number: int) -> BaseSampler:
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        if self.kind == "random":
            return RandomSampler(seed=seed)
        # The first trial has no parameters, which leaves the multivariate kind no common space.
        return TPESampler(seed=seed, multivariate=False)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep Optuna from reporting each trial on stderr."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


def open_study(storage: str | None, name: str) -> Study:
    """Open a study, or make it."""
    try:
        try:
            return _create(storage, name)
        except (IntegrityError, OperationalError):  # another process makes the tables of a new file right now
            time.sleep(WAIT)
            return _create(storage, name)
    except (ValueError, ImportError, OptunaError, SQLAlchemyError) as error:
        raise InvalidInputError(
            f"storage must be an address that Optuna can open, as sqlite:///study.db; {storage!r} is not ({error})."
        ) from error


def _create(storage: str | None, name: str) -> Study:
    return optuna.create_study(storage=storage, study_name=name, direction="maximize", load_if_exists=True)


def settle_seed(study: Study, seed: int | None) -> int:
    """Take the seed of a study that goes on, where none was given."""
    if seed is None:
        seed = study.user_attrs.get("random_state")
    return int(np.random.SeedSequence().generate_state(1)[0] >> 1) if seed is None else seed


def claim(study: Study, marks: Mapping[str, Any]) -> None:
    """Mark a new study as belonging to this search; refuse one that belongs to another."""
    found = study.user_attrs
    if not found and study.get_trials(deepcopy=False):
        raise InvalidInputError(
            f"The study {study.study_name!r} holds trials that are not of this search. Give another study_name or"
            " storage.",
            option="study_name",
        )
    for what, mark in marks.items():
        if what not in found:
            study.set_user_attr(what, mark)
        elif found[what] != mark:
            raise InvalidInputError(
                f"The study {study.study_name!r} belongs to another search: other {what.replace('_', ' ')}"
                f"{_difference(found[what], mark)}. Give the same, or another study_name or storage.",
                option="study_name",
            )


def make_sampler(kind: str, space: Space, *, seed: int) -> BaseSampler:
    """Make the sampler of a name; ``space`` holds grids where that is sequential."""
    if kind == "sequential":
        return SequentialSampler({name: [encode(x) for x in entry.grid()] for name, entry in space.items()})
    return SeededSampler(kind, seed=seed)


def suggest(trial: optuna.Trial, space: Space) -> dict[str, Any]:
    """Draw the options of a trial."""
    return decode(space, {name: _suggest(trial, name, entry) for name, entry in space.items()})


def as_row(trial: FrozenTrial, space: Space) -> dict[str, Any]:
    """Write a trial as plain data."""
    seconds = trial.duration.total_seconds() if trial.duration else None
    return {
        "number": trial.number,
        "state": STATES.get(trial.state, "interrupted"),
        "value": trial.value if trial.state == TrialState.COMPLETE else None,
        "options": decode(space, trial.params),
        "seconds": seconds,
        "notes": list(trial.user_attrs.get("notes", [])),
    }


def _suggest(trial: optuna.Trial, name: str, entry: Range | Choice) -> Any:
    if isinstance(entry, Choice):
        return trial.suggest_categorical(name, [encode(x) for x in entry.values])
    if entry.whole:
        return trial.suggest_int(name, int(entry.low), int(entry.high), log=entry.log)
    return trial.suggest_float(name, entry.low, entry.high, log=entry.log)


def _difference(one: Any, other: Any) -> str:
    short = all(len(str(x)) <= 40 for x in (one, other))
    return f" ({one}, here {other})" if short else ""
