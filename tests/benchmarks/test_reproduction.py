"""The tables of docs/reproduction.md say what the trials say."""

import pytest

from benchmarks.reproduction import augmentation_table, imbalance_table, own_steps, sensitivity_table
from xsdc.experiments import EXPERIMENTS
from xsdc.experiments.runner import Log, Task

SETTING = {"burn_in": 20, "n_labeled": 50}


def record(*, validation, test, labels=50):
    scores = validation or test
    steps = list(range(0, 10 * len(test), 10))
    return {
        "setting": SETTING | {"n_labeled": labels},
        "iterations": steps,
        "validation": validation,
        "test": test,
        "best_iteration": steps[scores.index(max(scores))],
    }


@pytest.mark.parametrize(
    ("validation", "test", "labels", "expected"),
    [
        ([0.9, 0.1, 0.2, 0.3, 0.4], [0.8, 0.1, 0.2, 0.6, 0.5], 50, ("0 of 1", "0.500")),
        ([0.1, 0.1, 0.9, 0.4, 0.3], [0.8, 0.1, 0.2, 0.6, 0.5], 50, ("0 of 1", "0.600")),  # the end of the first steps
        ([0.1, 0.1, 0.2, 0.9, 0.4], [0.8, 0.1, 0.2, 0.6, 0.5], 50, ("1 of 1", "0.600")),
        ([], [0.3, 0.7, 0.2, 0.6, 0.5], 0, ("1 of 1", "0.700")),  # without labels all steps are XSDC's own
    ],
)
def test_a_best_step_before_xsdc_began_is_told_apart(validation, test, labels, expected):
    assert own_steps([record(validation=validation, test=test, labels=labels)]) == expected


def test_trials_are_counted_and_averaged():
    early = record(validation=[0.9, 0.1, 0.2, 0.3, 0.4], test=[0.8, 0.1, 0.2, 0.6, 0.5])
    late = record(validation=[0.1, 0.1, 0.2, 0.9, 0.4], test=[0.8, 0.1, 0.2, 0.6, 0.5])
    assert own_steps([early, late]) == ("1 of 2", "0.550")


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path / "trials.jsonl")


def cells(table):
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines()[2:]]


def test_imbalance_shows_its_bounds_and_the_start_beside(log):
    setting = EXPERIMENTS["imbalance"].expand()[0]
    tests = [0.1] * 11 + [0.7] * 40
    for seed in (0, 1):
        log.add(
            Task(setting, seed, "authors"),
            {
                "supervised_initialization": 0.6 + 0.02 * seed,
                "supervised_initialization_new_ridge": 0.65,
                "accuracy": 0.7,
                "best_iteration": 110,
                "iterations": list(range(0, 510, 10)),
                "validation": tests,
                "test": tests,
            },
        )
    assert cells(imbalance_table(log)) == [
        ["5%", "0.09 to 0.11", "2^-3", "0.610", "0.650", "0.700", "+9.0", "2 of 2", "0.700", "2"]
    ]


def test_copies_are_compared_where_there_is_something_to_compare(log):
    tests = [0.1] * 11 + [0.7] * 40
    said = {
        "protocol": "authors",
        "supervised_initialization": 0.6,
        "accuracy": 0.7,
        "best_iteration": 110,
        "iterations": list(range(0, 510, 10)),
        "validation": tests,
        "test": tests,
    }
    plain, copied, _ = EXPERIMENTS["augmentation"].expand(labels=[50])
    for seed in (0, 1):
        log.add(Task(plain, seed, "authors"), said | {"accuracy": 0.7 + 0.02 * seed})
    log.add(Task(copied, 0, "authors"), said | {"best_iteration": 50})
    log.add(Task(EXPERIMENTS["augmentation"].expand(labels=[100])[0], 0, "authors"), said)  # nothing beside it
    assert cells(augmentation_table(log)) == [
        ["without copies", "50", "0.600", "0.710 ± 0.010", "2 of 2", "0.700", "2"],
        ["with copies", "50", "0.600", "0.700", "0 of 1", "0.700", "1"],
    ]


def test_sensitivity_shows_which_values_are_near_the_best(log):
    rate = [setting for setting in EXPERIMENTS["sensitivity"].expand() if setting.curve == "learning rate"]
    rate.sort(key=lambda setting: setting.x)
    for setting, accuracy in zip(rate, (0.5, 0.845, 0.86, 0.79), strict=False):
        log.add(Task(setting, 0, "authors"), {"accuracy": accuracy})
    base = next(setting for setting in rate if setting.learning_rate == 2.0**-6)  # on both curves of rates
    log.add(Task(base, 0, "authors"), {"accuracy": 0.7})
    (row,) = cells(sensitivity_table(log))
    assert row == ["learning rate", "2^-10 to 2^-6 (5)", "0.860 at 2^-8", "0.500 at 2^-10", "-9, -8", "1"]
