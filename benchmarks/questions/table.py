"""The table and the picture of docs/questions.md, from the log of the simulations."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import markdown_table, write_between_markers

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "results.md"
ENOUGH = 0.95  # of the accuracy that all labels give
LABELS = ("useful", "typical", "random", "margin")
SHOWN = (10, 20, 40, 80, 150)


def write_table(lines: list[dict[str, Any]]) -> None:
    """Write answers needed, accuracies, what a pair is worth and the coverage of audits."""
    by = defaultdict(list)
    for line in lines:
        by[line["set"], line["way"]].append(line)
    sets = list(dict.fromkeys(line["set"] for line in lines if line["way"] == "useful"))
    write_between_markers(PAGE, needed_table(by, sets) + "\n\n" + curves_table(by, sets), name="questions")
    write_between_markers(PAGE, pairs_table(by, sets) + "\n\n" + audits_line(lines), name="pairs-and-audits")
    draw(by, sets)


def needed(line: dict[str, Any]) -> float:
    """Answers until the accuracy stays at what is enough for two solutions; infinity where it never does."""
    goal = ENOUGH * line["whole"]
    accuracies = [accuracy >= goal for _, accuracy in line["curve"]]
    for place, (answers, _) in enumerate(line["curve"]):
        if all(accuracies[place : place + 2]):
            return float(answers)
    return float("inf")


def needed_table(by: dict[tuple[str, str], list[dict[str, Any]]], sets: list[str]) -> str:
    """Median answers needed by each way."""
    rows = []
    for name in sets:
        counts = {way: float(np.median([needed(line) for line in by[name, way]])) for way in LABELS if by[name, way]}
        ours, random = counts.get("useful", np.inf), counts.get("random", np.inf)
        ratio = f"{100 * ours / random:.0f} %" if np.isfinite([ours, random]).all() else "-"
        whole = by[name, "useful"][0]["whole"]
        seeds = ", ".join(str(len(by[name, way])) for way in LABELS)
        rows.append([name, seeds, f"{whole:.3f}", *(_count(counts.get(way)) for way in LABELS), ratio])
    return markdown_table(["data", "seeds of each", "all labels", *LABELS, "useful of random"], rows)


def _count(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if np.isfinite(value) else "not reached"


def curves_table(by: dict[tuple[str, str], list[dict[str, Any]]], sets: list[str]) -> str:
    """Mean accuracy after some numbers of answers."""
    rows = []
    for name in sets:
        for way in (*LABELS, "pairs"):
            if by[name, way]:
                curve = mean_curve(by[name, way])
                rows.append([name, way, *(f"{curve[a]:.3f}" if a in curve else "-" for a in SHOWN)])
    return markdown_table(["data", "way", *(f"{a} answers" for a in SHOWN)], rows)


def mean_curve(lines: list[dict[str, Any]]) -> dict[int, float]:
    """Mean over seeds of the accuracy after each number of answers that all have."""
    curves = [dict(map(tuple, line["curve"])) for line in lines]
    shared = set(curves[0]).intersection(*curves[1:])
    return {answers: float(np.mean([curve[answers] for curve in curves])) for answers in sorted(shared)}


def pairs_table(by: dict[tuple[str, str], list[dict[str, Any]]], sets: list[str]) -> str:
    """What pairs alone bring, and how many of them raise the accuracy as far as a label does."""
    rows = []
    for name in sets:
        if not by[name, "pairs"]:
            continue
        pairs, labels = mean_curve(by[name, "pairs"]), mean_curve(by[name, "useful"])
        last = max(pairs)
        enough = [answers for answers, accuracy in labels.items() if accuracy >= pairs[last]]
        first = enough[0] if enough else 0
        worth = f"{last / first:.1f}" if first else "-"
        rows.append([name, f"{pairs[0]:.3f}", f"{pairs[last]:.3f}", str(last), worth])
    return markdown_table(["data", "no answer", "pairs alone", "pairs", "pairs for a label"], rows)


def audits_line(lines: list[dict[str, Any]]) -> str:
    """How often the interval of the audits held the accuracy."""
    shares = [share for line in lines for share in line["covered"].values()]
    return f"The 95 % interval of the audits held the accuracy in {100 * np.mean(shares):.0f} % of the simulations."


def draw(by: dict[tuple[str, str], list[dict[str, Any]]], sets: list[str]) -> None:
    """Draw answers against accuracy."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "xsdc"
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(1, len(sets), figsize=(4.2 * len(sets), 3.4), squeeze=False)
    for axis, name in zip(axes[0], sets, strict=True):
        for way in LABELS:
            if by[name, way]:
                curve = mean_curve(by[name, way])
                axis.plot(list(curve), list(curve.values()), label=way, lw=2 if way == "useful" else 1.2)
        axis.axhline(ENOUGH * by[name, "useful"][0]["whole"], color="0.5", lw=0.8, ls=":")
        axis.set(title=name, xlabel="answers", ylim=(0, 1))
    axes[0][0].set_ylabel("accuracy")
    axes[0][0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(DOCS / "questions.svg", metadata={"Date": None})
