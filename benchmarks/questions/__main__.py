"""The benchmarks of questions and of the page.

python -m benchmarks.questions simulate --sets digits usps --seeds 5
python -m benchmarks.questions table
python -m benchmarks.questions latency --points 10000 100000
python -m benchmarks.questions kills --times 50
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from benchmarks.questions.simulate import accuracy_of_all, make_case, simulate_labels, simulate_pairs
from benchmarks.suite.sets import MissingDataError

LOG = Path(__file__).parents[2] / "docs" / "questions.jsonl"
WAYS = ("useful", "random", "margin", "typical", "pairs")


def simulate(options: argparse.Namespace) -> None:
    """Simulate people; lines that are in the log are not made again."""
    made = {(each["set"], each["way"], each["seed"]) for each in read(options.log)}
    for name in options.sets:
        if all((name, way, seed) in made for way in options.ways for seed in range(options.seeds)):
            continue
        try:
            case = make_case(name)
        except MissingDataError as error:
            raise SystemExit(str(error)) from error
        whole = accuracy_of_all(case)
        for seed in range(options.seeds):
            for way in options.ways:
                if (name, way, seed) in made:
                    continue
                begun = time.perf_counter()
                found = (
                    simulate_pairs(case, seed, most=options.pairs)
                    if way == "pairs"
                    else simulate_labels(case, way, seed, most=options.answers)
                )
                line = {"set": name, "way": way, "seed": seed, "whole": round(whole, 5), **found}
                with options.log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                print(name, way, seed, f"{whole:.3f}", found["curve"][-1], f"{time.perf_counter() - begun:.0f} s")


def read(log: Path) -> list[dict[str, object]]:
    """Read the log."""
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_subparsers(dest="what", required=True)
    sub = what.add_parser("simulate")
    sub.add_argument("--sets", nargs="+", default=["digits", "usps"])
    sub.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    sub.add_argument("--seeds", type=int, default=5)
    sub.add_argument("--answers", type=int, default=150)
    sub.add_argument("--pairs", type=int, default=150)
    sub.add_argument("--log", type=Path, default=LOG)
    sub = what.add_parser("table")
    sub.add_argument("--log", type=Path, default=LOG)
    sub = what.add_parser("latency")
    sub.add_argument("--points", type=int, nargs="+", default=[10_000])
    sub.add_argument("--answers", type=int, default=60)
    sub = what.add_parser("kills")
    sub.add_argument("--times", type=int, default=50)
    options = parser.parse_args()
    if options.what == "simulate":
        simulate(options)
    elif options.what == "table":
        from benchmarks.questions.table import write_table  # noqa: PLC0415

        write_table(read(options.log))
    elif options.what == "latency":
        from benchmarks.questions.latency import measure  # noqa: PLC0415

        for n in options.points:
            measure(n, options.answers)
    else:
        from benchmarks.questions.kills import kill_often  # noqa: PLC0415

        kill_often(options.times)


if __name__ == "__main__":
    main()
