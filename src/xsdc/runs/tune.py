"""From a configuration to one with better options."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from xsdc.data.roles import listed
from xsdc.errors import InvalidInputError
from xsdc.runs.configuration import Configuration
from xsdc.runs.fit import check_knowledge, make_estimator
from xsdc.runs.folder import RunFolder, write_json
from xsdc.runs.given import Given, read_given
from xsdc.runs.manifest import Manifest
from xsdc.runs.publishing import held
from xsdc.tuning import tune

WRITTEN = ("config.json", "trials.csv", "tuning.json")  # beside the study, which goes on


def tune_run(
    configuration: Configuration,
    out: Path,
    *,
    space: Mapping[str, Any] | None,
    sampler: Any,
    criterion: Any,
    validation: Any,
    n_trials: int | None,
    timeout: float | None,
    storage: str | None,
    announce: Callable[[str], None],
    advance: Callable[[int, int, str], None],
) -> dict[str, Any]:
    """Search for better options; write them as a configuration, and all trials beside.

    Most options that are searched are of training: the normal effort becomes the best, which always trains.

    Parameters
    ----------
    configuration : Configuration
        Data, and the options that stay as they are.
    out : Path
        Folder for ``study.db``, ``trials.csv``, ``tuning.json`` and ``config.json``.
    space, sampler, criterion, validation, n_trials, timeout
        As in `xsdc.tuning.tune`.
    storage : str or None
        Address of an Optuna storage; by default a file in the folder.
    announce, advance : callable
        Told what is being done, and how far it has come.
    """
    if configuration.options["effort"] == "normal":
        configuration = replace(configuration, options=configuration.options | {"effort": "best"})
    announce("Reading")
    given = read_given(configuration.data, seed=configuration.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the trials say it again
        check_knowledge(given, configuration)
    Z = configuration.data.preparation().fit_transform(given.dataset)
    with held(RunFolder(out)):
        return _search(
            configuration,
            given,
            Z,
            out,
            space=space,
            sampler=sampler,
            criterion=criterion,
            validation=validation,
            n_trials=n_trials,
            timeout=timeout,
            storage=storage,
            announce=announce,
            advance=advance,
        )


def _search(
    configuration: Configuration,
    given: Given,
    Z: Any,
    out: Path,
    *,
    space: Mapping[str, Any] | None,
    sampler: Any,
    criterion: Any,
    validation: Any,
    n_trials: int | None,
    timeout: float | None,
    storage: str | None,
    announce: Callable[[str], None],
    advance: Callable[[int, int, str], None],
) -> dict[str, Any]:
    """Make the trials and write what they say; only what an earlier search wrote is replaced."""
    written = [out / name for name in WRITTEN]
    if RunFolder(out).finished or RunFolder(out).begun:
        raise InvalidInputError(f"{out} holds a run. Give another folder with --out.")
    manifest = Manifest.read(RunFolder(out).manifest)
    foreign = manifest.foreign(written)
    if foreign:
        raise InvalidInputError(
            f"{listed([path.name for path in foreign])} in {out} was not written by a search, or was changed since; it"
            " would be replaced. Move it away, or give another folder with --out."
        )
    announce("Trials")

    def told(trial: dict[str, Any]) -> None:
        best = trial["best_value"]
        total = trial["n_trials"] or trial["number"] + 1
        advance(trial["number"] + 1, total, "" if best is None else f"best {best:.4f}")

    result = tune(
        Z,
        given.y,
        **given.facts,
        estimator=make_estimator(configuration, given),
        space=space,
        sampler=sampler,
        criterion=criterion,
        validation=validation,
        n_trials=n_trials,
        timeout=timeout,
        storage=storage or f"sqlite:///{(out / 'study.db').resolve()}",
        random_state=configuration.seed,
        callback=told,
    )
    best = replace(configuration, options=configuration.options | result.best_options)
    write_json(out / "config.json", best.as_dict())
    flat = [{**trial, **trial["options"], "notes": "; ".join(trial["notes"])} for trial in result.trials]
    pd.DataFrame(flat).drop(columns="options").to_csv(out / "trials.csv", index=False)
    said = {
        "criterion": result.criterion,
        "first_value": result.trials[0]["value"],
        "best_value": result.best_value,
        "best_options": result.best_options,
        "complete": result.complete,
        "trials": result.trials,
    }
    write_json(out / "tuning.json", said)
    manifest.with_files(written).write(RunFolder(out).manifest)
    return said


def read_search(entries: Sequence[str]) -> dict[str, Any] | None:
    """Read what to search: ``ridge``, ``ridge=1e-9:1:log``, ``labeler=balancing,eigen``; None where nothing is said."""
    space: dict[str, Any] = {}
    for entry in entries:
        name, _, values = entry.partition("=")
        name = name.strip().replace("-", "_")
        if name in space:
            raise InvalidInputError(f"--search names {name} twice.")
        space[name] = None if not values else _range(name, values) if ":" in values else _choices(values)
    return space or None


def _range(name: str, text: str) -> tuple[Any, ...]:
    low, high, *scale = text.split(":")
    try:
        if scale not in ([], ["log"]):
            raise ValueError(scale)
        return (_number(low), _number(high), *scale)
    except ValueError as error:
        raise InvalidInputError(
            f"--search {name}={text} must be LOW:HIGH or LOW:HIGH:log with numbers, or values with commas between."
        ) from error


def _choices(text: str) -> list[Any]:
    values: list[Any] = []
    for word in text.split(","):
        try:
            values.append(_number(word))
        except ValueError:
            values.append(word.strip())
    return values


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() and "." not in text and "e" not in text.lower() else value
