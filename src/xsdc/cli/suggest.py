"""``xsdc suggest``: the most useful questions about the data of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xsdc.cli.console import ERR, OUT
from xsdc.errors import InvalidInputError

KINDS = "group,pair,set,label"


def suggest(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    n: Annotated[int, typer.Option("--number", "-n", help="How many questions.", min=1, metavar="COUNT")] = 20,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to write, by default RUN/questions.csv.", show_default=False),
    ] = None,
    kinds: Annotated[
        str, typer.Option(help="Kinds that may be asked, with commas between them.", metavar="KINDS")
    ] = KINDS,
    strategy: Annotated[
        str, typer.Option(help="Which points to ask about: useful, margin, typical or random.", metavar="NAME")
    ] = "useful",
    seed: Annotated[int, typer.Option(help="Source of chance.", min=0, max=2**32 - 1)] = 0,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Suggest the questions about the data of a RUN whose answers would help most.

    Fill in the column answer of the file, then
    [bold]xsdc fit --config run/config.json --corrections run/questions.csv[/].
    """
    from xsdc.runs import RunFolder  # noqa: PLC0415
    from xsdc.runs.suggest import suggest_run, write_questions  # noqa: PLC0415

    target = run / "questions.csv" if out is None else out
    if target.exists() and not force:
        raise InvalidInputError(f"{target} exists already. Give another name with --out, or --force to write over it.")
    some = tuple(kind.strip() for kind in kinds.split(",") if kind.strip())
    questions, given = suggest_run(RunFolder(run), n, kinds=some, strategy=strategy, seed=seed)  # type: ignore[arg-type]
    write_questions(questions, given, target)
    for question in questions[:5]:
        names = ", ".join(str(given.dataset.ids[i]) for i in question.points[:2])
        OUT.print(f"{question.text}  {names}: {question.reason}", markup=False)
    ERR.print(f"{len(questions):,} questions: {target}")
    OUT.print(f"Answer them there, then: xsdc fit --config {run}/config.json --corrections {target} --out NEW")
