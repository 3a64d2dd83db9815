"""The search over the options of XSDC."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from xsdc.errors import InvalidInputError
from xsdc.estimator import XSDC
from xsdc.fitting.telling import describe_options
from xsdc.networks.images import is_image_array
from xsdc.tuning.criteria import Criterion, choose_criterion
from xsdc.tuning.problem import Problem, read_problem
from xsdc.tuning.space import Space, describe, read_space
from xsdc.validation import as_count, as_positive

SAMPLERS = ("tpe", "random", "sequential")
N_TRIALS = 50
IRRELEVANT = ("random_state", "progress", "callbacks", "device")  # options that a score does not depend on


@dataclass(frozen=True)
class TuningResult:
    """What a search has found.

    Attributes
    ----------
    best_options : dict
        Options of the best trial, of those searched; one that is missing stays as it was.
    best_value : float
        Its score, the higher the better.
    criterion : str
        "validation" or "label-free": what the score is.
    estimator : XSDC
        With the best options, not fitted: ``result.estimator.fit(X, y)`` uses all labels.
    trials : list of dict
        Each with ``number``, ``state`` ("complete", "failed", "running", "interrupted"), ``value``, ``options``,
        ``seconds`` and ``notes``: warnings, and why it failed. The first is the estimator as it was given.
    complete : bool
        Whether all trials asked for were made.
    """

    best_options: dict[str, Any]
    best_value: float
    criterion: str
    estimator: XSDC = field(repr=False)
    trials: list[dict[str, Any]] = field(repr=False)
    complete: bool


def tune(
    X: Any,
    y: Any = None,
    *,
    estimator: XSDC | None = None,
    space: Mapping[str, Any] | Sequence[str] | None = None,
    sampler: Literal["tpe", "random", "sequential"] = "tpe",
    criterion: Literal["auto", "validation", "label-free"] = "auto",
    validation: float | int | tuple[Any, Any] | Literal["auto"] = "auto",
    n_trials: int | None = None,
    timeout: float | None = None,
    storage: str | None = None,
    study_name: str = "xsdc",
    must_link: Any = None,
    cannot_link: Any = None,
    allowed_labels: Mapping[int, Iterable[Any]] | None = None,
    random_state: int | np.random.RandomState | None = None,
    callback: Callable[[dict[str, Any]], object] | None = None,
) -> TuningResult:
    """Search for options of `XSDC` that suit the data, with labels or without.

    The first trial is the estimator as it is given, so that the best is never worse by the criterion. All trials
    fit with the same seed.

    Parameters
    ----------
    X, y, must_link, cannot_link, allowed_labels
        As in `XSDC.fit`.
    estimator : XSDC, optional
        Its options hold wherever they are not searched; by default ``XSDC(effort="best")``, for most options that are
        searched are of training.
    space : mapping, sequence of str, or None
        What to search: from option to ``(low, high)``, ``(low, high, "log")``, a list of values, or None for its
        default range; or names of options with a default range; by default what the paper searches.
    sampler : {"tpe", "random", "sequential"}
        How: Optuna's tree-structured Parzen estimator, at random, or the paper's hold-out search, one option after the
        other with the others at the best so far, in the order of ``space``.
    criterion : {"auto", "validation", "label-free"}
        What a trial is scored by: accuracy on labels held out of it, or how well its groups hold without labels.
        "auto" holds labels out where there are 50 or more and two of each class.
    validation : "auto", float, int or (X, y)
        Labels to hold out: a share, a number of folds, or a set of its own. "auto" takes a quarter where that makes
        100, and four folds where it does not.
    n_trials : int, optional
        Trials in the study, those made before included; by default 50 or, with the sequential sampler, all. With
        a timeout alone there is no such limit.
    timeout : float, optional
        Seconds after which no trial is begun.
    storage : str, optional
        Where trials are kept, as an address of Optuna: ``"sqlite:///study.db"``. Several processes may share it, and
        a study that was left goes on.
    study_name : str
        Name of the study in the storage.
    random_state : int, RandomState or None
        Seed of everything. A study that goes on keeps its own where none is given.
    callback : callable, optional
        Called after each trial with its row of ``trials``, to which ``best_value`` so far and ``n_trials`` are added.

    Returns
    -------
    TuningResult
    """
    _require_optuna()
    from xsdc.tuning import studies  # noqa: PLC0415  needs Optuna
    from xsdc.tuning.trials import Trials  # noqa: PLC0415

    if sampler not in SAMPLERS:
        raise InvalidInputError(f"sampler must be one of {', '.join(SAMPLERS)}; it is {sampler!r}.")
    if n_trials is not None:
        n_trials = as_count(n_trials, name="n_trials")
    elif timeout is None and sampler != "sequential":
        n_trials = N_TRIALS
    timeout = None if timeout is None else as_positive(timeout, name="timeout")
    model = XSDC(effort="best") if estimator is None else estimator
    problem = read_problem(
        X, y, must_link=must_link, cannot_link=cannot_link, allowed_labels=allowed_labels, n_clusters=model.n_clusters
    )
    searched = read_space(
        space,
        model,
        labeled=problem.n_labels > 0,
        images=is_image_array(problem.X),
        n_clusters=problem.knowledge.n_clusters,
        sequential=sampler == "sequential",
    )
    with studies.quiet():
        study = studies.open_study(storage, study_name)
        seed = studies.settle_seed(study, _as_seed(random_state))
        judge = choose_criterion(criterion, validation, problem, seed=seed)
        studies.claim(study, _marks(problem, judge, model, searched, seed))
        study.sampler = studies.make_sampler(sampler, searched, seed=seed)
        trials = Trials(study, searched, problem, judge, model, seed, n_trials)
        trials.run(timeout, callback)
        best = trials.best()
        return TuningResult(
            best_options=best["options"],
            best_value=best["value"],
            criterion=judge.name,
            estimator=clone(model).set_params(**best["options"], random_state=seed),
            trials=trials.rows(),
            complete=trials.complete,
        )


def _require_optuna() -> None:
    if importlib.util.find_spec("optuna") is None:
        raise InvalidInputError('tune needs Optuna, which is not installed: pip install "xsdc[tune]".')


def _as_seed(random_state: int | np.random.RandomState | None) -> int | None:
    if random_state is None or isinstance(random_state, int | np.integer):
        return None if random_state is None else int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def _marks(problem: Problem, criterion: Criterion, estimator: XSDC, space: Space, seed: int) -> dict[str, Any]:
    """What a study belongs to."""
    return {
        "data": problem.fingerprint(),
        "criterion": criterion.name,
        "random_state": seed,
        "options": describe_options(estimator.get_params(deep=False), without=IRRELEVANT),
        "space": describe(space),
        "held-out labels": hashlib.sha256(criterion.describe().encode()).hexdigest()[:16],
    }
