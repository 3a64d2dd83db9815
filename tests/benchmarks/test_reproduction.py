"""The tables of docs/reproduction.md say what the trials say."""

import pytest

from benchmarks.reproduction import own_steps

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
