"""Time, memory and faithfulness at scale; each part writes its tables into docs/scaling.md.

python -m benchmarks.scaling [PART ...]
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "scaling.md"
PARTS = sorted(
    path.stem for path in Path(__file__).parent.glob("[!_]*.py") if "def run(" in path.read_text(encoding="utf-8")
)


def main() -> None:
    """Run the parts asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--docs", type=Path, default=DOCS, help="page whose tables are written")
    given = parser.parse_args()
    for part in given.parts:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}; there are {', '.join(PARTS)}")
    for part in given.parts or PARTS:
        import_module(f"benchmarks.scaling.{part}").run(given.docs)


if __name__ == "__main__":
    main()
