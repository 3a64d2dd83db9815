"""``xsdc label``: a page to answer the most useful questions on."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from xsdc.cli.console import ERR, OUT
from xsdc.cli.fit import read_configuration
from xsdc.cli.groups import takes
from xsdc.cli.options import DATA, ESTIMATOR, named_path
from xsdc.errors import InvalidInputError


@takes(data=DATA, options=ESTIMATOR)
def label(
    data: dict[str, Any],
    options: dict[str, Any],
    source: Annotated[
        str | None,
        typer.Argument(metavar="[DATA]", help="A file, a folder of images, or a data set; not needed to go on."),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(help="Folder for answers and results.", metavar="FOLDER", parser=named_path, show_default="run"),
    ] = Path("run"),
    host: Annotated[str, typer.Option(help="Address to listen on; others than 127.0.0.1 let other machines in.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="Port; by default a free one.", min=0, max=65535, show_default=False)] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open a browser.")] = True,
    seed: Annotated[int | None, typer.Option(help="Source of chance.", min=0, max=2**32 - 1, show_default="0")] = None,
) -> None:
    """Open a page to name groups and answer questions about DATA, on this machine and without an account.

    [bold]xsdc label data.csv --out run/[/]
    """
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise InvalidInputError('The page needs FastAPI and uvicorn, which are not installed: pip install "xsdc[app]".')
    from xsdc.app.opening import open_run  # noqa: PLC0415
    from xsdc.app.serve import serve  # noqa: PLC0415
    from xsdc.runs import RunFolder  # noqa: PLC0415

    configuration = read_configuration(source, data, options, seed=seed, needed=False)
    opened = open_run(configuration, RunFolder(out), announce=lambda stage: ERR.print(f"{stage} ..."))
    if host not in ("127.0.0.1", "::1", "localhost"):
        ERR.print("[yellow]Note:[/] other machines can reach this page; who has the address below is let in.")

    def announce(address: str) -> None:
        OUT.print(f"Label on {address}")
        OUT.print(f"Answers are kept in {out}; Ctrl+C ends, the same command goes on.")

    serve(opened, host=host, port=port, browse=browser, announce=announce)
