from __future__ import annotations

import numpy as np
import pytest

from tests.experiments.test_experiments import digits
from xsdc.experiments import EXPERIMENTS
from xsdc.experiments.runner import Log, Task
from xsdc.experiments.search import forgetful, list_stages, search, tuned


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path / "trials.jsonl")


@pytest.fixture
def judged(monkeypatch):
    """Stand in for trials: near their best at rates 2^-3 and 2^2, a penalty of 2^3, and so on."""
    made = []

    def score(self, *_):
        setting = self.setting
        made.append(setting)
        far = abs(np.log2(setting.supervised_learning_rate) + 3) if setting.n_labeled else 0.0
        if setting.iterations > setting.burn_in:
            far += abs(np.log2(setting.learning_rate) - 2)
            far += abs(np.log2(setting.filter_penalty) - 3) if setting.filter_penalty else 0.0
            far += abs(np.log2(setting.ridge) + 12) if setting.ridge else 0.0
            far += abs((setting.n_groups or 10) - 40) + abs((setting.every or 50) - 25)
            far += 0.0 if setting.sizes is None else abs(setting.sizes[1] - 0.13)
            far += abs(setting.copies - 4) + abs((setting.weight or 0.03) - 0.03)
        record = {"setting": setting.as_dict(), "seed": self.seed, "protocol": "authors", "accuracy": 0.5}
        return record | {"validation": [-far] if setting.n_labeled else [], "test": [-far]}

    monkeypatch.setattr(Task, "run", score)
    return made


def found(setting, log, **changes):
    return search(setting, log, **{"seed": 0, "quick": False, "tell": lambda _: None, **changes})


def test_the_best_of_each_grid_is_kept(log, judged):
    best = found(digits(learning_rate=0.01), log)
    assert (best.supervised_learning_rate, best.learning_rate) == (2.0**-3, 2.0**2)
    assert len(log.records) == 16 + 16
    assert {setting.iterations for setting in judged[:16]} == {
        best.burn_in
    }  # labeled points alone decide on their rate
    assert {setting.iterations for setting in judged[16:]} == {best.iterations}


def test_without_labels_the_ridge_is_searched(log, judged):
    best = found(digits(n_labeled=0, x=0, burn_in=0, ridge=2.0**-7), log)
    assert (best.learning_rate, best.ridge) == (2.0**2, 2.0**-12)
    assert len(judged) == 16 + 41 - 1  # one of them is made already


@pytest.mark.parametrize(
    ("changes", "name", "best"),
    [
        ({"dataset": "magic"}, "filter_penalty", 2.0**3),
        ({"method": "deep-clustering", "n_groups": 320, "every": 100}, "n_groups", 40),
        ({"method": "deep-clustering", "n_groups": 320, "every": 100}, "every", 25),
        ({"imbalance": 0.3, "sizes": (0.1, 0.1)}, "sizes", (0.07, 0.13)),
        ({"copies": 16}, "copies", 4),
        ({"n_labeled": 0, "burn_in": 0, "ridge": 0.1, "method": "eigen", "weight": 0.08}, "weight", 0.03),
    ],
)
@pytest.mark.usefixtures("judged")
def test_what_else_an_experiment_settles(log, changes, name, best):
    assert getattr(found(digits(**changes), log), name) == pytest.approx(best)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_no_value_of_the_authors_is_left(name):
    for setting in EXPERIMENTS[name].expand(labels=EXPERIMENTS[name].labels[:2]):
        if setting.method.startswith("seeded"):
            continue
        begun = forgetful(setting)
        assert (begun.learning_rate, begun.copies, begun.n_groups, begun.every) == (2.0**-5, 1, None, None)
        assert begun.ridge == (None if setting.n_labeled else 2.0**-20)
        assert begun.sizes is None
        changed = {key for key, value in begun.as_dict().items() if value != setting.as_dict()[key]}
        settled = {"supervised_learning_rate", "learning_rate", "filter_penalty", "ridge", "sizes"}
        assert changed <= settled | {"n_groups", "every", "weight", "copies"}


def test_stages_follow_the_order_of_the_paper():
    names = [stage.name for stage in list_stages(digits(imbalance=0.3), seed=0)]
    assert names == ["supervised_learning_rate", "sizes", "learning_rate"]


def test_seeded_kmeans_has_nothing_to_settle(log, judged):
    setting = digits(method="seeded k-means: linear")
    assert found(setting, log) == setting
    assert not judged


def test_all_trials_are_made_with_what_the_first_seed_found(log, judged):
    tasks = [Task(digits(), seed, "authors") for seed in (0, 1)]
    told = []
    records = tuned(
        tasks, log=log, quick=True, tell=lambda _: None, report=lambda _r, done, total: told.append((done, total))
    )
    assert told == [(1, 2), (2, 2)]
    assert [record["seed"] for record in records] == [0, 1]
    assert records[0]["setting"] == records[1]["setting"] != digits().as_dict()
    assert len(judged) == 2 + 2 + 1  # two values of each rate; the second seed needs a trial of its own
