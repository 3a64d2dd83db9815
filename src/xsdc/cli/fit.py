"""``xsdc fit``: from a file to model, labels, metrics and report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xsdc.cli.console import ERR, OUT, Watch, accuracy_text, note, print_json, print_table
from xsdc.cli.groups import takes
from xsdc.cli.options import DATA, ESTIMATOR, named_path
from xsdc.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    from xsdc.runs import Configuration, RunFolder

MOST_SUSPICIOUS = 10  # labels that are listed; all of them stand in a file
WRONG_INPUT = 2  # exit code of those who leave it to another process to tell
KNOWN = {
    "n_labeled": ("label", "labels"),
    "n_allowed": ("row with a choice of labels", "rows with a choice of labels"),
    "n_must_link": ("pair that belongs together", "pairs that belong together"),
    "n_cannot_link": ("pair that does not", "pairs that do not"),
}
Json = Annotated[bool, typer.Option("--json", help="Print the metrics as JSON, and nothing else on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing of progress.")]
Source = Annotated[
    str | None,
    typer.Argument(
        metavar="[DATA]",
        help="A file (csv, tsv, xlsx, jsonl, parquet, npz, npy, h5ad), a folder or zip of"
        " images or texts, - for stdin, or a data set.",
    ),
]


@takes(data=DATA, options=ESTIMATOR)
def fit(
    data: dict[str, Any],
    options: dict[str, Any],
    source: Source = None,
    out: Annotated[
        Path, typer.Option(help="Folder for what is found.", metavar="FOLDER", parser=named_path, show_default="run")
    ] = Path("run"),
    config: Annotated[
        Path | None, typer.Option(help="Run again what a config.json says.", metavar="FILE", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a run that is in the folder.")] = False,
    labeled: Annotated[
        Path | None,
        typer.Option(
            help="Also write the table that was read with a label and a probability for each row, in the format it came"
            " in; for images, a folder with one for each label.",
            metavar="PATH",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was cut off.")] = False,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Whether to draw the report.")] = True,
    seed: Annotated[int | None, typer.Option(help="Source of chance.", min=0, max=2**32 - 1, show_default="0")] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Fit to DATA, label every point, and write a model, labels.csv, metrics, history and a report.

    [bold]xsdc fit data.csv --label-column kind --out run/[/]
    """
    from xsdc.runs import RunFolder, find_task, fit_run, is_finished  # noqa: PLC0415
    from xsdc.runs.labeled import require_free, write_labeled  # noqa: PLC0415
    from xsdc.training.processes import joined, restarted  # noqa: PLC0415

    if force and resume:
        raise InvalidInputError("--force begins anew and --resume goes on; give one of them.")
    if labeled is not None:
        require_free(labeled, force=force)
    asked = read_configuration(source, data, options, config=config, seed=seed, needed=not resume)
    folder = RunFolder(out)
    before = read_former(config) if "corrections" in data else None
    with joined("cpu" if asked is None else str(asked.options["device"])) as processes, _told_once(processes.first):
        task = processes.agree(lambda: find_task(folder, asked, resume=resume, restarted=restarted()))
        watch = Watch(quiet=quiet or json or not processes.first)
        if not task.finished:
            with watch.shown():
                metrics = fit_run(
                    task.configuration,
                    folder,
                    force=force and not task.resume,
                    resume=task.resume,
                    report=report,
                    callbacks=[watch.callback()],
                    announce=watch.announce,
                )
            if metrics["training"]["interrupted"] and is_finished(folder):
                note(
                    f"The finished run in {out} stays as it was; what the interrupted one has found is in"
                    f" {folder.unfinished.path}. Go on with it by --resume."
                )
                folder = folder.unfinished
        elif processes.first:
            note(f"The run in {out} is finished; there is nothing to go on with.")
        if processes.first:
            if labeled is not None:
                write_labeled(task.configuration.data, folder, labeled)
            if before is not None:
                show_changes(folder, before, to_stderr=json)
            show(folder, json=json)


def read_former(config: Path | None) -> pd.DataFrame | None:
    """Read what the run has found whose configuration is corrected."""
    from xsdc.runs import RunFolder  # noqa: PLC0415
    from xsdc.runs.corrections import read_labels  # noqa: PLC0415

    labels = None if config is None else RunFolder(config.parent).labels
    return None if labels is None or not labels.is_file() else read_labels(labels)


def show_changes(folder: RunFolder, before: pd.DataFrame, *, to_stderr: bool) -> None:
    """Write and print which rows have another class than before the corrections."""
    from xsdc.runs.corrections import MOST_LISTED, compare, read_labels  # noqa: PLC0415
    from xsdc.runs.publishing import replace_output  # noqa: PLC0415

    changes = compare(before, read_labels(folder.labels))
    made = folder.changes.with_name(f".{folder.changes.name}.partial")
    changes.table.to_csv(made, index=False)
    replace_output(folder, made, folder.changes)
    out = ERR if to_stderr else OUT
    out.print(f"[bold]{changes.said()}[/]")
    for row in changes.table.head(MOST_LISTED).itertuples():
        out.print(f"  {row.id}: {row.before} -> {row.after} ({row.why})", markup=False)
    if len(changes.table) > MOST_LISTED:
        out.print(f"  ... all in {folder.changes}")


@contextmanager
def _told_once(tells: bool) -> Iterator[None]:
    """Let one of many processes tell what all have met."""
    try:
        yield
    except InvalidInputError as error:
        if tells:
            raise
        raise typer.Exit(WRONG_INPUT) from error


def read_configuration(
    source: str | None,
    data: dict[str, Any],
    options: dict[str, Any],
    *,
    config: Path | None = None,
    seed: int | None = None,
    needed: bool = True,
) -> Configuration | None:
    """Read what to do from the command line, or from a file; None where nothing was said and nothing is needed."""
    from xsdc.runs import Configuration, DataOptions  # noqa: PLC0415
    from xsdc.runs.corrections import with_corrections  # noqa: PLC0415

    corrections = data.get("corrections", ())
    if config is not None:
        if source or data.keys() - {"corrections"} or options or seed is not None:
            raise InvalidInputError("--config says it all but --corrections; leave out DATA and the other options.")
        return with_corrections(Configuration.read(config), corrections)
    if source is None:
        if needed:
            raise InvalidInputError("Say what to read: a file, a folder of images, or a data set (xsdc datasets).")
        if data or options or seed is not None:
            raise InvalidInputError("Give DATA too, or only --out and --resume.")
        return None
    options |= {name: None for name in ("validation", "augmentation") if options.get(name) == "none"}
    paths: dict[str, Any] = {
        name: absolute(data[name]) for name in ("must_link", "cannot_link", "links") if name in data
    }
    listed: dict[str, Any] = {name: tuple(data.get(name, ())) for name in ("ignore", "missing")}
    listed["corrections"] = ()
    asked = Configuration.make(DataOptions(absolute(source), **(data | paths | listed)), options, seed=seed or 0)
    return with_corrections(asked, corrections)


def absolute(source: str) -> str:
    """Make a path whole, so that a run can be repeated from another folder; names of data sets stay."""
    path = Path(source)
    return str(path.resolve()) if path.exists() else source


def show(folder: RunFolder, *, json: bool) -> None:
    """Print what a run has found."""
    from xsdc.runs import read_metrics  # noqa: PLC0415

    metrics = read_metrics(folder)
    files = {path.stem if path.suffix else path.name: str(path) for path in folder.written()}
    if json:
        print_json({**metrics, "files": files})
        return
    for message in metrics["warnings"]:
        note(message)
    print_table(summary(metrics), title=metrics["data"]["name"])
    OUT.print()
    OUT.print(f"Labels:  {folder.labels}\nModel:   {folder.model}")
    if folder.report.exists():
        OUT.print(f"Report:  {folder.report}")


def _points(count: int) -> str:
    return f"{count:,} point{'' if count == 1 else 's'}"


def suspicious_rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    """List given labels that are probably wrong; nothing where there are none."""
    if not found["n_suspicious"]:
        return []
    rows = [("suspicious", f"{found['n_suspicious']:,} of {found['n_checked']:,} labels checked, see suspicious.csv")]
    for each in found["suspicious"][:MOST_SUSPICIOUS]:
        given = f"{each['id']}: given {each['label']} ({each['probability']:.3f})"
        rows.append(("", f"{given}, likelier {each['likelier']} ({each['likelier_probability']:.3f})"))
    return rows + ([("", "...")] if found["n_suspicious"] > MOST_SUSPICIOUS else [])


def summary(metrics: dict[str, Any]) -> list[tuple[str, str]]:
    """Say in a few lines what was given and found."""
    data, found, measured = metrics["data"], metrics["found"], metrics["measured"]
    facts = [f"{data[key]:,} {one if data[key] == 1 else many}" for key, (one, many) in KNOWN.items() if data[key]]
    sizes = list(found["sizes"].values())
    rows = [
        ("points", f"{data['n']:,} ({data['kind']}, {' × '.join(map(str, data['shape']))})"),
        ("known", ", ".join(facts) or "nothing"),
        *(("", text) for text in data["notes"]),
        ("classes", f"{found['n_clusters']}, of {min(sizes):,} to {_points(max(sizes))}"),
        ("doubtful", f"{_points(found['n_doubtful'])} whose class is less likely than not"),
    ]
    rows += suspicious_rows(found)
    if found["bounds"] is not None:
        rows.append(("bounds on sizes", "kept" if found["bounds"]["kept"] else "not kept everywhere"))
    if data["n_must_link"] or data["n_cannot_link"]:
        rows.append(("violated pairs", str(found["violated_links"])))
    if measured is not None:
        how = " (clusters matched to classes)" if measured["matched"] else ""
        rows.append(("accuracy", f"{accuracy_text(measured)}{how}"))
        rows += [("", measured["note"])] if measured["note"] else []
    else:
        rows.append(("accuracy", f"not measured: {metrics['unmeasured']}"))
    training = metrics["training"]
    trained = f"{training['steps']} steps, {training['stopped']}" if training["steps"] else "none"
    rows += [("training", trained), ("seconds", f"{metrics['seconds']['total']:.0f}")]
    return rows
