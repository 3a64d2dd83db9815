"""``xsdc doctor``: a look at the data before training."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from xsdc.cli.console import OUT, plain, print_json
from xsdc.cli.fit import read_configuration
from xsdc.cli.groups import takes
from xsdc.cli.options import DATA, SIZES

COLOURS = {"error": "bold red", "warning": "yellow", "note": "dim"}


@takes(data=DATA, options=SIZES)
def doctor(
    data: dict[str, Any],
    options: dict[str, Any],
    source: Annotated[str, typer.Argument(metavar="DATA", help="A file, a folder of images, or a data set.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check labels, pairs, sizes and columns of DATA before training; exit code 2 where a fit would refuse them."""
    from xsdc.runs.doctor import examine  # noqa: PLC0415

    configuration = read_configuration(source, data, options)
    assert configuration is not None  # noqa: S101  there is a source
    given, symptoms = examine(configuration)
    grave = any(symptom.level == "error" for symptom in symptoms)
    if json:
        print_json({"healthy": not grave, "symptoms": [asdict(symptom) for symptom in symptoms]})
    else:
        OUT.print(f"[bold]{plain(given.dataset.name)}[/]: {given.dataset.n:,} points")
        for symptom in symptoms:
            said = f"{symptom.what}: {symptom.detail}"
            OUT.print(f"[{COLOURS[symptom.level]}]{symptom.level}[/]  {plain(said)}")
        warned = any(symptom.level == "warning" for symptom in symptoms)
        OUT.print(
            "A fit would refuse this."
            if grave
            else "A fit can go ahead; mind the warnings."
            if warned
            else "All is well."
        )
    if grave:
        raise typer.Exit(2)
