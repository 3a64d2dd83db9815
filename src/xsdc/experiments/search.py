"""The hold-out search of Appendix D.1: one hyperparameter after the other, each on its grid, by one seed.

lambda is not among them where there are labels: each trial chooses it on the validation set. Without labels the best
accuracy on the test set is what decides, as in the paper; what is found so is optimistic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from xsdc.experiments.runner import Log, Record, Report, Task
from xsdc.experiments.setting import Setting
from xsdc.experiments.splits import NETWORKS, make_splits
from xsdc.experiments.trial import KMEANS
from xsdc.training import Callback

RATES = tuple(2.0**i for i in range(-10, 6))
PENALTIES = tuple(2.0**i for i in range(-10, 11))
RIDGES = tuple(2.0**i for i in range(-40, 1))
SIZES = tuple((round(0.2 - top / 100, 2), top / 100) for top in range(10, 21))
WEIGHTS = tuple(i / 100 for i in range(1, 11))
COPIES = tuple(2**i for i in range(8))
EVERY = (10, 25, 50, 100)
GROUPS_PER_CLASS = tuple(2**i for i in range(6))
Tell = Callable[[str], object]


@dataclass(frozen=True)
class Stage:
    """One hyperparameter of the search.

    Attributes
    ----------
    name : str
        Field of a setting.
    grid : tuple
        Its values.
    changes : dict
        What else is different in the trials that decide on it.
    """

    name: str
    grid: tuple[Any, ...]
    changes: dict[str, Any] = field(default_factory=dict)


def tuned(
    tasks: Sequence[Task], *, log: Log, quick: bool, tell: Tell, report: Report, callbacks: tuple[Callback, ...] = ()
) -> list[Record]:
    """Search the hyperparameters of each setting with its first seed, then make all trials with what was found."""
    found: dict[Setting, Setting] = {}
    records: list[Record] = []
    for done, task in enumerate(tasks, 1):
        if task.setting not in found:
            found[task.setting] = search(task.setting, log, seed=task.seed, quick=quick, tell=tell, callbacks=callbacks)
        record = _made(replace(task, setting=found[task.setting]), log, callbacks)
        report(record, done, len(tasks))
        records.append(record)
    return records


def search(
    setting: Setting, log: Log, *, seed: int, quick: bool, tell: Tell, callbacks: tuple[Callback, ...] = ()
) -> Setting:
    """Find the hyperparameters of a setting; of the authors' own values none is used."""
    if setting.method.startswith(KMEANS):
        return setting  # nothing to settle
    stages = list_stages(setting, seed=seed)
    setting = forgetful(setting)
    for stage in stages:
        scores = {}
        for value in stage.grid[:: len(stage.grid) // 2] if quick else stage.grid:
            trial = replace(setting, **{stage.name: value}, **stage.changes)
            record = _made(Task(trial, seed, "authors"), log, callbacks)
            scores[value] = max(record["validation"] or record["test"])
            tell(f"{stage.name} = {value}: {scores[value]:.4f}")
        setting = replace(setting, **{stage.name: max(scores, key=scores.__getitem__)})
    return setting


def list_stages(setting: Setting, *, seed: int) -> list[Stage]:
    """List what a setting has to settle, in the order of the paper."""
    stages = [Stage("learning_rate", RATES)]
    if setting.n_labeled:
        if setting.imbalance is not None:
            stages.insert(0, Stage("sizes", SIZES))
        # Steps on labeled points alone decide on their rate.
        stages.insert(0, Stage("supervised_learning_rate", RATES, {"iterations": setting.burn_in}))
    else:
        stages.append(Stage("ridge", RIDGES))
    if NETWORKS[setting.dataset] == "kn":  # filters of the other networks lie on the sphere
        stages.append(Stage("filter_penalty", PENALTIES))
    if setting.method == "deep-clustering":
        k = make_splits(setting, seed=seed).n_classes
        stages += [Stage("n_groups", tuple(k * i for i in GROUPS_PER_CLASS)), Stage("every", EVERY)]
    if setting.weight is not None:
        stages.append(Stage("weight", WEIGHTS))
    if setting.copies > 1:
        stages.append(Stage("copies", COPIES))
    return stages


def forgetful(setting: Setting) -> Setting:
    """Put in place of the authors' values those that the search begins with.

    The paper names 2^-5 for the rate, 2^-4 for the penalty, and k groups made anew every 50 steps; the others, which
    it does not name, are the middles of their grids, and no copies.
    """
    return replace(
        setting,
        supervised_learning_rate=2.0**-5 if setting.n_labeled else 0.0,
        learning_rate=2.0**-5,
        filter_penalty=2.0**-4 if NETWORKS[setting.dataset] == "kn" else 0.0,
        ridge=None if setting.n_labeled else 2.0**-20,
        sizes=None,
        n_groups=None,
        every=None,
        weight=None if setting.weight is None else 0.05,
        copies=1,
    )


def _made(task: Task, log: Log, callbacks: tuple[Callback, ...]) -> Record:
    """Find a trial in the log, or make it."""
    record = log.of(task)
    if record is None:
        record = task.run(log.states(task), callbacks)
        log.add(task, record)
    return record
