"""Run the suite and write down what it shows.

python -m benchmarks.suite run [--half settle|report|both] [--bundled] [--sets ...] [--levels ...] [--methods ...]
    [--seeds 3] [--jobs 2] [--why "..."]
python -m benchmarks.suite table [--code FINGERPRINT]
python -m benchmarks.suite record
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from pathlib import Path

from benchmarks.measure import write_between_markers
from benchmarks.suite import guard
from benchmarks.suite.methods import METHODS
from benchmarks.suite.picture import draw
from benchmarks.suite.regimes import LEVELS
from benchmarks.suite.runner import LOGS, ROOT, Record, Unit, current_commit, read_log, run
from benchmarks.suite.sets import SETS, Half
from benchmarks.suite.summary import OURS, TRAINED, UNTRAINED, Cell, collect, of_half
from benchmarks.suite.table import (
    headline_table,
    lead_table,
    means_table,
    methods_table,
    sentence,
    training_sentence,
    training_table,
    write_csv,
)

HALVES: tuple[Half, ...] = ("settle", "report")
LOOKS = LOGS / "looks.md"
PAGE = ROOT / "docs" / "suite.md"
README = ROOT / "README.md"


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
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M")
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


def write_tables(options: argparse.Namespace) -> None:
    """Write docs/suite.md, its picture, all figures as CSV, and the lines of the README.

    Each half shows the version asked for or, where it has no trials of that, the last one that it has.
    """
    records = read_log()
    asked = options.code or METHODS[OURS].code
    halves: dict[Half, list[Cell]] = {}
    versions = []
    for half in HALVES:
        code = code_of_half(records, half, asked, strict=options.code is not None)
        halves[half] = of_half(collect(records, code=code), half)
        commits = sorted({trial["commit"] for cell in halves[half] for trial in cell.trials[OURS]})
        versions.append(f"`{half}`: XSDC as of commit {', '.join(commits)} (fingerprint {code}).")
        write_between_markers(PAGE, f"{sentence(halves[half])}\n\n{lead_table(halves[half])}", name=half)
    write_between_markers(PAGE, "\n".join(versions), name="version")
    write_between_markers(PAGE, means_table(halves["settle"]), name="means")
    code = code_of_half(records, "settle", asked, methods=(TRAINED,))
    both = of_half(collect(records, code=code, methods=(UNTRAINED, TRAINED)), "settle")
    said = f"{training_sentence(both)} (Fingerprint {code}.)"
    write_between_markers(PAGE, f"{said}\n\n{training_table(both)}", name="training")
    cells = [cell for half in HALVES for cell in halves[half]]
    write_between_markers(PAGE, methods_table(cells), name="methods")
    write_between_markers(README, headline_table(cells), name="suite")
    write_csv(cells, LOGS / "cells.csv")
    draw(cells, ROOT / "docs" / "suite.svg")
    print(f"Wrote {PAGE.relative_to(ROOT)}, docs/suite.svg, docs/suite/cells.csv and the table of the README.")


def code_of_half(
    records: list[Record], half: Half, asked: str, *, methods: tuple[str, ...] = (OURS,), strict: bool = False
) -> str:
    """Find which version of XSDC a half shows: the one asked for or, unless strict, the last one in the logs."""
    names = {entry.name for entry in SETS if entry.half == half}
    logged = {m: [r["code"] for r in records if r["set"] in names and r["method"] == m] for m in methods}
    common = [code for code in logged[methods[-1]] if all(code in logged[m] for m in methods)]
    if asked in common:
        return asked
    known = {r["code"]: r["commit"] for r in records if METHODS[r["method"]].ours}
    if strict or not common:
        listed = ", ".join(f"{version} (commit {commit})" for version, commit in known.items()) or "none"
        raise SystemExit(f"The logs have no trials of the code {asked} on {half}. They have: {listed}.")
    return str(common[-1])


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
    table = commands.add_parser("table", help="write docs/suite.md, its picture and the table of the README")
    table.add_argument("--code", help="fingerprint of the version to show (default: the present one, else the last)")
    table.set_defaults(call=write_tables)
    record = commands.add_parser("record", help="write down the accuracies that the tests compare with")
    record.set_defaults(call=lambda _: guard.record())
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
