"""``xsdc demo``: handwritten digits, in a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xsdc.cli.console import OUT, Watch
from xsdc.cli.fit import Quiet


def demo(
    out: Annotated[Path, typer.Option(help="Folder for what is found.", metavar="FOLDER")] = Path("demo"),
    force: Annotated[bool, typer.Option("--force", help="Replace a demo that is in the folder.")] = False,
    quiet: Quiet = False,
) -> None:
    """Recognise 1,797 handwritten digits with 0, 10 and 50 labels, beside scikit-learn's methods; draw a report."""
    from xsdc.runs.demo import demo_run  # noqa: PLC0415

    OUT.print("1,797 handwritten digits of 10 classes. How many of those without a label are recognised?\n")
    OUT.print(f"{'labels':>6}  {'xsdc':>6}  {'seconds':>7}  scikit-learn")
    watch = Watch(quiet=quiet)
    with watch.shown():
        for row in demo_run(out, force=force, callbacks=[watch.callback()], announce=watch.announce):
            others = ", ".join(f"{name} {accuracy:.3f}" for name, accuracy in row["rivals"].items())
            OUT.print(f"{row['labels']:>6}  {row['accuracy']:>6.3f}  {row['seconds']:>7.1f}  {others}")
            last = row["folder"]
    OUT.print("\nWithout labels, clusters are matched to the digits one to one before counting.")
    OUT.print("These are single draws of the labels; the project's docs/results.md has means of ten.\n")
    OUT.print(f"The run with 50 labels:  {last.path}\nIts labels:  {last.labels}\nIts report:  {last.report}")
    OUT.print("\nThe same by hand:  xsdc fit digits --keep-labels 50 --out run/")
