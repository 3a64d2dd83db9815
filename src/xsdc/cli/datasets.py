"""``xsdc datasets``: data sets that have a name."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from xsdc.cli.console import OUT, print_json


def datasets(
    fetch: Annotated[
        list[str] | None, typer.Option(help="Fetch a data set now.", metavar="NAME", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the data sets that have a name, and where they lie.

    They are looked for in the folder that XSDC_DATA names, then in a cache, and else fetched from OpenML.
    """
    from xsdc.data import DATASETS, available, load_dataset  # noqa: PLC0415

    for name in fetch or []:
        load_dataset(name)
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "points": entry.n,
            "shape": list(entry.shape),
            "classes": entry.n_classes,
            "description": entry.description,
            "licence": entry.licence,
            "source": entry.source,
            "at": None if (place := available(name)) is None else str(place),
        }
        for name, entry in DATASETS.items()
    ]
    if json:
        print_json(rows)
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("name", "points", "shape", "classes", "what", "at hand"):
        right = heading in ("points", "classes")
        table.add_column(heading, justify="right" if right else "left", no_wrap=heading == "name", overflow="fold")
    for row in rows:
        table.add_row(
            row["name"],
            f"{row['points']:,}",
            " × ".join(map(str, row["shape"])),
            str(row["classes"]),
            row["description"],
            "yes" if row["at"] else "to be fetched",
        )
    OUT.print(table)
