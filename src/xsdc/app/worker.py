"""The process that trains: fits a run, and writes what it is doing on stdout, a line of JSON at a time.

python -m xsdc.app.worker CONFIG FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from xsdc.errors import InvalidInputError
from xsdc.runs import Configuration, RunFolder, fit_run
from xsdc.training import Callback, Trainer


class Progress(Callback):
    """Tells how far training has come."""

    def on_step(self, trainer: Trainer, record: dict[str, Any]) -> None:
        """Tell it after each step."""
        say(stage="Training", done=trainer.iteration, total=trainer.plan.total, objective=record["objective"])


def say(**content: Any) -> None:
    """Write a line."""
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Fit; 0 where that went well."""
    configuration, folder = Configuration.read(Path(arguments[0])), RunFolder(Path(arguments[1]))
    try:
        fit_run(configuration, folder, force=True, callbacks=[Progress()], announce=lambda stage: say(stage=stage))
    except InvalidInputError as error:
        say(error=str(error))
        return 2
    say(finished=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
