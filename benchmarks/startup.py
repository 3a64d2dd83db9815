"""How long the command line takes to answer.

python -m benchmarks.startup [--docs PATH]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import best_seconds, markdown_table, milliseconds, write_between_markers

DOCS = Path(__file__).parents[1] / "docs" / "benchmarks.md"
COMMANDS = (("--help",), ("fit", "--help"))


def seconds(words: tuple[str, ...]) -> float:
    """Time one command in a process of its own."""
    command = [sys.executable, "-m", "xsdc", *words]
    return best_seconds(lambda: subprocess.run(command, check=True, capture_output=True))  # noqa: S603


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, default=DOCS, help="page whose table is written")
    docs = parser.parse_args().docs
    rows = [[f"`xsdc {' '.join(words)}`", milliseconds(seconds(words))] for words in COMMANDS]
    table = markdown_table(["command", "time"], rows)
    print(table)
    write_between_markers(docs, table, name="startup")


if __name__ == "__main__":
    main()
