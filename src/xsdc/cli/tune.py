"""``xsdc tune``: search for options that suit the data."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, Any

import typer

from xsdc.cli.console import ERR, OUT, Watch, note, print_json, print_table
from xsdc.cli.fit import Json, Quiet, read_configuration
from xsdc.cli.groups import takes
from xsdc.cli.options import DATA, ESTIMATOR
from xsdc.errors import InvalidInputError


class Sampler(enum.StrEnum):
    """How to search."""

    tpe, random, sequential = "tpe", "random", "sequential"


class Criterion(enum.StrEnum):
    """What to score by."""

    auto, validation = "auto", "validation"
    label_free = "label-free"


@takes(data=DATA, options=ESTIMATOR)
def tune(
    data: dict[str, Any],
    options: dict[str, Any],
    source: Annotated[str, typer.Argument(metavar="DATA", help="A file, a folder of images, or a data set.")],
    out: Annotated[Path, typer.Option(help="Folder for the study and the best options.", metavar="FOLDER")] = Path(
        "tuned"
    ),
    search: Annotated[
        list[str] | None,
        typer.Option(
            help="What to search: an option, or option=LOW:HIGH, option=LOW:HIGH:log, option=A,B,C; may be given"
            " several times. By default what the paper searches.",
            metavar="OPTION[=RANGE]",
            show_default=False,
        ),
    ] = None,
    sampler: Annotated[Sampler, typer.Option(help="How to search; sequential is the paper's.")] = Sampler.tpe,
    criterion: Annotated[Criterion, typer.Option(help="What a trial is scored by.")] = Criterion.auto,
    hold_out: Annotated[
        str,
        typer.Option(help="Labels held out to score by: a share, a number of folds, or auto.", metavar="SHARE|FOLDS"),
    ] = "auto",
    trials: Annotated[int | None, typer.Option(help="Number of trials.", min=1, show_default=False)] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which no trial is begun.", show_default=False)
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            help="Address of an Optuna storage that several machines may share; by default a file in the folder.",
            metavar="URL",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Source of chance.", min=0, max=2**32 - 1)] = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Search for options of XSDC that suit DATA, with labels or without, and write a config.json for `xsdc fit`.

    A study that was left goes on when the command is given again.

    [bold]xsdc tune data.csv --label-column kind --out tuned/ && xsdc fit --config tuned/config.json --out run/[/]
    """
    from xsdc.runs.tune import read_search, tune_run  # noqa: PLC0415

    configuration = read_configuration(source, data, options, seed=seed)
    assert configuration is not None  # noqa: S101  there is a source
    watch = Watch(quiet=quiet or json)
    with watch.shown():
        result = tune_run(
            configuration,
            out,
            space=read_search(search or []),
            sampler=sampler.value,
            criterion=criterion.value,
            validation=read_hold_out(hold_out),
            n_trials=trials,
            timeout=timeout,
            storage=storage,
            announce=watch.announce,
            advance=watch.advance,
        )
    if json:
        print_json(result)
        return
    if not result["complete"]:
        note("Not all trials were made. Give the same command again to go on.")
    best = ", ".join(f"{name} = {value}" for name, value in result["best_options"].items()) or "as they were"
    print_table(
        [
            (
                "trials",
                f"{len(result['trials'])}, {sum(t['state'] == 'failed' for t in result['trials'])} of them failed",
            ),
            ("criterion", result["criterion"]),
            ("first score", _shown(result["first_value"])),
            ("best score", _shown(result["best_value"])),
            ("best options", best),
        ]
    )
    OUT.print(f"\nTo fit with them:  xsdc fit --config {out / 'config.json'} --out run/")
    ERR.print(f"[dim]Trials: {out / 'trials.csv'}[/]")


def read_hold_out(value: str) -> float | int | str:
    """Read a share, a number of folds, or "auto"."""
    if value == "auto":
        return value
    try:
        return float(value) if "." in value else int(value)
    except ValueError as error:
        raise InvalidInputError(
            f"--hold-out must be a share like 0.2, a number of folds, or auto; it is {value}."
        ) from error


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
