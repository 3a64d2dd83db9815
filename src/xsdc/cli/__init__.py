"""The command line: parse, call, print. Heavy imports wait until a command needs them."""

from __future__ import annotations

import os
import sys

import typer

from xsdc.cli import datasets, demo, doctor, fit, info, label, predict, report, reproduce, suggest, tune
from xsdc.cli.console import fail

DONE, BUG, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130

app = typer.Typer(
    name="xsdc",
    help="Cluster and classify with any ratio of labels: none, some, all, and what is known short of a label.",
    epilog="Exit codes: 0 done, 1 an error of the program, 2 input that cannot be used, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("fit")(fit.fit)
app.command("predict")(predict.predict)
app.command("tune")(tune.tune)
app.command("doctor")(doctor.doctor)
app.command("report")(report.report)
app.command("label")(label.label)
app.command("suggest")(suggest.suggest)
app.command("reproduce")(reproduce.reproduce)
app.command("datasets")(datasets.datasets)
app.command("info")(info.info)


def main() -> None:
    """Run a command; what goes wrong is told in a sentence or two and by the exit code."""
    try:
        app(prog_name="xsdc")
    except (KeyboardInterrupt, SystemExit) as error:
        if isinstance(error, SystemExit):
            raise
        fail("Interrupted.")
        sys.exit(INTERRUPTED)
    except Exception as error:  # the last resort: a user is owed a sentence, not a traceback
        if os.environ.get("XSDC_DEBUG"):
            raise
        sys.exit(_tell(error))


def _tell(error: Exception) -> int:
    from xsdc.errors import InvalidInputError  # noqa: PLC0415

    if isinstance(error, InvalidInputError):
        from xsdc.runs.words import in_words  # noqa: PLC0415

        fail(in_words(str(error)))
        return WRONG_INPUT
    if isinstance(error, MemoryError):
        fail("There is not enough memory for this. Give fewer points, or smaller images with --image-size.")
        return WRONG_INPUT
    if isinstance(error, OSError):
        fail(f"{error.filename or 'A file'} cannot be read or written: {error.strerror or error}.")
        return WRONG_INPUT
    fail(f"{type(error).__name__}: {error}. This should not happen; XSDC_DEBUG=1 shows where it did.")
    return BUG
