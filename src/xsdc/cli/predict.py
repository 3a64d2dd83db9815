"""``xsdc predict``: what a run says of further points."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from xsdc.cli.console import ERR, OUT, note
from xsdc.cli.groups import takes
from xsdc.cli.options import READ_AS
from xsdc.cli.options import limits as read_limits
from xsdc.errors import InvalidInputError

PIECE = 2**20  # letters


@takes(reading=READ_AS)
def predict(
    reading: dict[str, Any],
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, or a model file.")],
    source: Annotated[str, typer.Argument(metavar="DATA", help="A file, a folder of images, or a data set.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write, CSV, or Parquet if it ends so; by default CSV to stdout.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option(help="Column that names the rows.", metavar="COLUMN", show_default=False)
    ] = None,
    all_classes: Annotated[bool, typer.Option("--all", help="Give the probability of every class.")] = False,
    limits: Annotated[
        Any | None,
        typer.Option(
            help="What reading may take at most: bytes, rows, columns, seconds, as in rows=1e6,seconds=60.",
            metavar="NAME=NUMBER,...",
            parser=read_limits,
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Predict the class of each point of DATA with the model of a RUN.

    [bold]xsdc predict run/ new.csv --out predictions.csv[/]
    """
    from xsdc.data import Limits  # noqa: PLC0415
    from xsdc.runs import Prediction  # noqa: PLC0415

    if out is not None and not out.parent.is_dir():
        raise InvalidInputError(f"There is no folder {out.parent}. Make it, or give another name with --out.")
    if out is not None and out.exists() and not force:
        raise InvalidInputError(f"{out} exists already. Give another name, or --force to write over it.")
    prediction = Prediction(
        run, source, id_column=id_column, all_classes=all_classes, reading=reading, limits=Limits.of(limits)
    )
    with TemporaryDirectory(prefix="xsdc-") as folder:
        written = Path(folder) / "predictions.csv" if out is None else out
        n = prediction.write(written)
        for message in prediction.notes():
            note(message)
        if out is None:
            show(written)
            return
    ERR.print(f"{n:,} predictions: {out}")


def show(path: Path) -> None:
    """Print a file, a piece at a time."""
    with path.open(encoding="utf-8", newline="") as file:
        while piece := file.read(PIECE):
            OUT.out(piece, end="")
