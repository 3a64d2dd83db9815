"""Run the suite and write down what it shows.

python -m benchmarks.suite run [--half settle|report|both] [--bundled] [--sets ...] [--levels ...] [--methods ...]
    [--seeds 3] [--jobs 2] [--why "..."]
python -m benchmarks.suite table [--code FINGERPRINT]
python -m benchmarks.suite record
"""

from __future__ import annotations

import argparse
import datetime
import sys
from pathlib import Path

from benchmarks.suite.methods import METHODS
from benchmarks.suite.regimes import LEVELS
from benchmarks.suite.runner import LOGS, Unit, current_commit, run
from benchmarks.suite.sets import SETS

LOOKS = LOGS / "looks.md"


def chosen_sets(options: argparse.Namespace) -> list[str]:
    """Names of the data sets that are asked for and present; says which are not."""
    names = []
    for entry in SETS:
        if options.sets is not None:
            wanted = entry.name in options.sets
        else:
            wanted = options.half in {entry.half, "both"} and (entry.bundled or not options.bundled)
        if not wanted:
            continue
        why = entry.why_missing()
        if why is None:
            names.append(entry.name)
        else:
            print(f"Skipped: {why}.", file=sys.stderr)
    return names


def chosen_methods(wanted: list[str] | None) -> list[str]:
    """Names of methods; "rivals" stands for all that are not ours."""
    names = wanted or ["xsdc"]
    rivals = [name for name, method in METHODS.items() if not method.ours]
    return [name for given in names for name in (rivals if given == "rivals" else [given])]


def note_look(names: list[str], why: str | None, path: Path = LOOKS) -> None:
    """Write down that the half `report` is looked at; refuse to look without a reason."""
    report = [entry.name for entry in SETS if entry.half == "report" and entry.name in names]
    if not report:
        return
    if not why:
        raise SystemExit(
            f'{", ".join(report)} belong to the half "report", by which nothing may be settled. To look at them, say'
            f" why: --why '...'; the look is written down in {path.name}."
        )
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M")
    with path.open("a", encoding="utf-8") as file:
        file.write(f"| {now} | {current_commit()} | {', '.join(report)} | {why} |\n")


def run_trials(options: argparse.Namespace) -> None:
    """Make what is missing."""
    names = chosen_sets(options)
    methods = chosen_methods(options.methods)
    note_look(names, options.why)
    units = [
        Unit(name, level, seed, at_level)
        for seed in range(options.seeds)  # outermost: a run that is cut off has whole seeds
        for name in names
        for level in options.levels
        if (at_level := tuple(m for m in methods if level in METHODS[m].levels))
    ]
    made = run(units, jobs=options.jobs)
    failed = sum("error" in record for record in made)
    print(f"{len(made)} trials made, {failed} of them failed; logs in {LOGS}.")


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.suite", description="Accuracy on many data sets beside other methods."
    )
    commands = parser.add_subparsers(required=True)
    runs = commands.add_parser("run", help="make the trials that are missing")
    runs.add_argument("--half", choices=("settle", "report", "both"), default="settle")
    runs.add_argument("--bundled", action="store_true", help="only data sets that come with scikit-learn")
    runs.add_argument("--sets", nargs="+", choices=[entry.name for entry in SETS], metavar="SET")
    runs.add_argument("--levels", nargs="+", choices=LEVELS, default=LEVELS)
    runs.add_argument("--methods", nargs="+", choices=["rivals", *METHODS], metavar="METHOD", help='default: "xsdc"')
    runs.add_argument("--seeds", type=int, default=3)
    runs.add_argument("--jobs", type=int, default=2)
    runs.add_argument("--why", help="reason for a look at the half report")
    runs.set_defaults(call=run_trials)
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
