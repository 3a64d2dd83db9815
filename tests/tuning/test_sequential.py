"""The sampler apart from XSDC: any function of a few choices will do."""

from __future__ import annotations

import optuna
import pytest
from optuna.trial import TrialState, create_trial

from xsdc.errors import InvalidInputError
from xsdc.tuning.sequential import SequentialSampler, next_point

GRIDS = {"a": [0, 1, 2], "b": ["x", "y"], "c": [0.5, 0.1]}
# The best b is y only where a is 2: the order of the search matters.
GAIN = {"a": {0: 0.0, 1: 3.0, 2: 5.0}, "b": {"x": 0.0, "y": 1.0}, "c": {0.5: 0.0, 0.1: -1.0}}


def value_of(params, sign=1):
    return sign * sum(GAIN[name][value] for name, value in params.items())


def objective(trial, sign=1):
    return value_of({name: trial.suggest_categorical(name, values) for name, values in GRIDS.items()}, sign)


@pytest.fixture(autouse=True)
def quiet_optuna():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


def new_study(**options):
    return optuna.create_study(sampler=SequentialSampler(GRIDS), **{"direction": "maximize", **options})


def run(study, **options):
    while not study.sampler.is_finished(study):
        study.optimize(lambda trial: objective(trial, **options), n_trials=1)


def visited(study):
    return [tuple(trial.params.values()) for trial in study.trials]


IN_ORDER = [(0, "x", 0.5), (1, "x", 0.5), (2, "x", 0.5), (2, "y", 0.5), (2, "y", 0.1)]


@pytest.mark.parametrize(("direction", "sign"), [("maximize", 1), ("minimize", -1)])
def test_one_parameter_after_the_other_with_the_best_so_far_fixed(direction, sign):
    study = new_study(direction=direction)
    run(study, sign=sign)
    assert visited(study) == IN_ORDER
    assert study.best_params == {"a": 2, "b": "y", "c": 0.5}


def test_after_the_end_the_best_point_is_drawn_again():
    study = new_study()
    run(study)
    study.optimize(objective, n_trials=1)
    assert visited(study)[-1] == (2, "y", 0.5)


def test_goes_on_where_a_study_was_left(tmp_path):
    address = f"sqlite:///{tmp_path}/study.db"
    for trials in (2, 1, 1):
        study = new_study(storage=address, study_name="s", load_if_exists=True)
        study.optimize(objective, n_trials=trials)
    assert visited(study) == IN_ORDER[:4]


def test_two_processes_share_the_points_and_late_news_counts():
    study = new_study()
    for _ in range(2):
        study.optimize(objective, n_trials=1)
    late = study.ask()  # a = 2, the best, but still running elsewhere
    assert objective(late) == 5
    study.optimize(objective, n_trials=1)
    assert visited(study)[-1] == (1, "y", 0.5)  # goes on with the best so far
    study.tell(late, 5.0)
    run(study)
    assert visited(study)[4:] == [(2, "y", 0.5), (2, "y", 0.1)]
    assert study.best_params == {"a": 2, "b": "y", "c": 0.5}


def test_a_point_abandoned_while_running_is_tried_in_the_end():
    study = new_study()
    objective(study.ask())  # never told
    run(study)
    complete = [trial for trial in study.trials if trial.state == TrialState.COMPLETE]
    assert IN_ORDER[0] in [tuple(trial.params.values()) for trial in complete]
    assert study.best_params == {"a": 2, "b": "y", "c": 0.5}


def test_failed_points_are_tried_again_and_pruned_ones_lose():
    study = new_study()
    for state, point in ((TrialState.FAIL, (0, "x", 0.5)), (TrialState.PRUNED, (2, "x", 0.5))):
        params = dict(zip(GRIDS, point, strict=True))
        space = {name: optuna.distributions.CategoricalDistribution(values) for name, values in GRIDS.items()}
        study.add_trial(create_trial(state=state, params=params, distributions=space))
    run(study)
    assert visited(study)[2:] == [(0, "x", 0.5), (1, "x", 0.5), (1, "y", 0.5), (1, "y", 0.1)]


def test_of_equal_points_the_first_stays():
    tried = {(0, "x", 0.5): 1.0, (1, "x", 0.5): 1.0, (2, "x", 0.5): 0.0}
    assert next_point(GRIDS, tried, set(tried)) == {"a": 0, "b": "y", "c": 0.5}


def test_bad_input_is_named():
    with pytest.raises(InvalidInputError, match="needs a value"):
        SequentialSampler({"a": []})
    study = new_study()
    with pytest.raises(InvalidInputError, match="no grid for 'd'"):
        study.optimize(lambda trial: trial.suggest_float("d", 0, 1), n_trials=1)
