"""``xsdc reproduce``: the paper's experiments."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from xsdc.cli.console import ERR, OUT, print_json
from xsdc.errors import InvalidInputError


class Protocol(enum.StrEnum):
    """How a trial is made and measured."""

    authors, honest = "authors", "honest"


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Experiment; without one, they are listed.", show_default=False),
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(help="Data set; may be given several times.", metavar="NAME", show_default=False)
    ] = None,
    labels: Annotated[
        list[int] | None,
        typer.Option(help="Number of labels; may be given several times.", metavar="COUNT", show_default=False),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="Trials; by default as many as the authors made.", min=1, show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the first trial.", min=0)] = 0,
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    protocol: Annotated[
        Protocol,
        typer.Option(
            help="authors: their values, and their use of validation and test labels; honest: XSDC as it comes."
        ),
    ] = Protocol.authors,
    quick: Annotated[bool, typer.Option("--quick", help="A few steps on the digits, to see that it runs.")] = False,
    tune: Annotated[
        bool, typer.Option("--tune", help="Search the hyperparameters as Appendix D.1 does, then run with them.")
    ] = False,
    plot: Annotated[bool, typer.Option("--plot", help="Draw the figure from the trials that are there.")] = False,
    out: Annotated[Path, typer.Option(help="Folder of trials and figures.", metavar="FOLDER")] = Path("reproduction"),
    json: Annotated[bool, typer.Option("--json", help="Print the trials as JSON.")] = False,
) -> None:
    """Run an experiment of the paper. The same command goes on where it stopped, also in the middle of a trial.

    [bold]xsdc reproduce accuracy-vs-labels --dataset magic --labels 50 --trials 3[/]
    """
    from xsdc.experiments import EXPERIMENTS  # noqa: PLC0415
    from xsdc.experiments.runner import find_experiment  # noqa: PLC0415

    if name is None:
        table = Table(box=None, padding=(0, 2, 0, 0))
        for heading in ("name", "shows", "data sets"):
            table.add_column(heading)
        for experiment in EXPERIMENTS.values():
            table.add_row(experiment.name, experiment.shows, ", ".join(experiment.datasets))
        OUT.print(table)
        return
    experiment = find_experiment(name)
    if name == "feature-maps":
        _refuse("feature-maps draws one trial", dataset=dataset, labels=labels, trials=trials, jobs=jobs > 1)
        _refuse("feature-maps draws one trial", protocol=protocol != Protocol.authors, tune=tune, plot=plot, json=json)
        _draw_maps(experiment, out, quick=quick, seed=seed)
        return
    if quick:
        _refuse("--quick is one trial on the digits", dataset=dataset, trials=trials)
    if tune:
        _refuse("--tune makes one trial after the other, and --plot makes none", jobs=jobs > 1, plot=plot)
    asked: dict[str, Any] = {"datasets": dataset, "labels": labels, "trials": trials, "seed": seed}
    asked |= {"quick": quick, "protocol": protocol.value}
    try:
        records = _tuned(experiment, out, **asked) if tune else _run(name, out, jobs=jobs, plot=plot, **asked)
    except KeyboardInterrupt:
        ERR.print("The same command goes on from here.")
        raise
    if json:
        print_json(records)
    else:
        _show(records)
    if plot:
        from xsdc.experiments.figures import draw_figure  # noqa: PLC0415

        path = out / f"{name}{'-honest' if protocol == Protocol.honest else ''}{'-quick' if quick else ''}.svg"
        draw_figure(experiment, records, path)
        ERR.print(f"Figure: {path}")


def _refuse(why: str, **given: Any) -> None:
    """Refuse options that would have no effect."""
    used = [f"--{option}" for option, value in given.items() if value]
    if used:
        raise InvalidInputError(f"{why}; leave out {' and '.join(used)}.")


def _run(name: str, out: Path, *, jobs: int, plot: bool, **asked: Any) -> list[dict[str, Any]]:
    from xsdc.experiments.runner import reproduce as run  # noqa: PLC0415

    observers = _observers() if jobs == 1 else ()
    return run(name, out=out, jobs=jobs, only_finished=plot, report=_told, callbacks=observers, **asked)


def _observers() -> tuple[Any, ...]:
    """Show how far a trial is, where someone looks on."""
    from xsdc.training import Progress  # noqa: PLC0415

    return (Progress(),) if ERR.is_terminal else ()


def _told(record: dict[str, Any], done: int, total: int) -> None:
    setting = record["setting"]
    ERR.print(
        f"{done}/{total}  {setting['dataset']}, {escape(setting['curve'])}, {setting['x']:g}, seed {record['seed']}:"
        f" {record['accuracy']:.4f} in {record['seconds']:.0f} s"
    )


def _tuned(experiment: Any, out: Path, **asked: Any) -> list[dict[str, Any]]:
    from xsdc.experiments.runner import Log, list_tasks  # noqa: PLC0415
    from xsdc.experiments.search import tuned  # noqa: PLC0415

    if asked["protocol"] != "authors":
        raise InvalidInputError("--tune is part of the authors' protocol; the honest one has nothing to tune.")
    if experiment.name == "sensitivity":
        raise InvalidInputError("sensitivity varies what --tune would settle; leave out --tune.")
    return tuned(
        list_tasks(experiment, **asked),
        log=Log(out / "trials.jsonl"),
        quick=asked["quick"],
        tell=lambda line: ERR.print(escape(line)),
        report=_told,
        callbacks=_observers(),
    )


def _show(records: list[dict[str, Any]]) -> None:
    from xsdc.experiments.summary import summarise  # noqa: PLC0415

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("data set", "curve", "at", "ours", "trials", "the authors"):
        table.add_column(heading)
    for row in summarise(records):
        theirs = "" if row["theirs"] is None else f"{row['theirs'].mean:.4f} ± {row['theirs'].deviation:.4f}"
        ours = f"{row['mean']:.4f} ± {row['deviation']:.4f}"
        table.add_row(row["dataset"], escape(row["curve"]), f"{row['x']:g}", ours, str(row["trials"]), theirs)
    OUT.print(table)


def _draw_maps(experiment: Any, out: Path, *, quick: bool, seed: int) -> None:
    from xsdc.experiments.maps import draw_maps  # noqa: PLC0415

    out.mkdir(parents=True, exist_ok=True)
    path = out / f"feature-maps{'-quick' if quick else ''}.png"
    draw_maps([setting.quick() if quick else setting for setting in experiment.expand()], path, seed=seed)
    OUT.print(f"Figure: {path}")
