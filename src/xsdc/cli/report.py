"""``xsdc report``: draw the report of a run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xsdc.cli.console import OUT
from xsdc.errors import InvalidInputError


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    out: Annotated[
        Path | None, typer.Option(help="HTML file; by default the run's own.", metavar="FILE", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Draw the report of a RUN again, from its files alone."""
    from xsdc.runs import open_run, remake_report  # noqa: PLC0415

    folder = open_run(run)
    target = folder.report if out is None else out
    if target.exists() and not force:
        raise InvalidInputError(f"{target} exists already. Give another name with --out, or --force to write over it.")
    OUT.print(f"Report:  {remake_report(folder, target)}")
