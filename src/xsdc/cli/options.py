"""The options of the command line: what to read, and what the estimator takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from xsdc.cli.groups import parsed, text

ABOUT_DATA, KNOWN, READING, TRAINING = "Data", "What is known", "How a table is written", "Training"
LETTERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "point": "."}


def number(value: str) -> float:
    """Read a number."""
    return float(_read(float, value, "a number"))


def count(value: str) -> int:
    """Read a whole number."""
    return int(_read(int, value, "a whole number"))


def or_word(read: Callable[[str], Any], *words: str) -> Callable[[str], Any]:
    """Read a value, or one of some words that stand for themselves."""

    def parse(value: str) -> Any:
        return value if value in words else read(value)

    return parse


def share_or_none(value: str) -> float | str | None:
    """Read the share of labels to hold out: a fraction, "auto" or "none"."""
    return value if value in ("auto", "none") else number(value)


def cluster_size(value: str) -> Any:
    """Read bounds on sizes: a word, "0.05,0.2", or JSON with a pair for each class."""
    if value in ("auto", "equal"):
        return value
    try:
        if value.lstrip().startswith(("{", "[")):
            return json.loads(value)
        low, high = value.split(",")
        return [float(low), float(high)]
    except ValueError as error:
        raise typer.BadParameter(
            f"{value!r} is neither auto, equal, MIN,MAX as in 0.05,0.2, nor JSON as in"
            ' \'{"cat": [0.1, 0.3], "dog": [0.2, 0.9]}\'.'
        ) from error


def network(value: str) -> Any:
    """Read the name of a network, or a JSON file with its layers."""
    if not value.endswith(".json"):
        return value
    try:
        return json.loads(Path(value).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{value} cannot be read as JSON ({error}).") from error


def letter(value: str) -> str:
    """Read what separates cells, or a decimal sign: one letter, or its name."""
    return LETTERS.get(value, value)


def yes_or_no(value: str) -> bool:
    """Read yes or no."""
    if value.lower() not in ("yes", "no"):
        raise typer.BadParameter(f"{value!r} is neither yes nor no.")
    return value.lower() == "yes"


def limits(value: str) -> dict[str, float]:
    """Read limits of reading: rows=1e6,seconds=60."""
    pairs = [part.split("=") for part in value.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise typer.BadParameter(f"{value!r} must be names with numbers, as in rows=1e6,seconds=60.")
    return {name.strip(): number(text) for name, text in pairs}


def named_path(value: str | Path) -> Path:
    """Read a path; an empty one is a mistake, not the present folder."""
    if not str(value).strip():
        raise typer.BadParameter("the name is empty.")
    return Path(value)


def _read(kind: Callable[[str], Any], value: str, what: str) -> Any:
    try:
        return kind(value)
    except ValueError as error:
        raise typer.BadParameter(f"{value!r} is not {what}.") from error


DATA: dict[str, Any] = {
    "label_column": text("Column of labels; empty where unknown, 4|9 for one of these.", panel=KNOWN, metavar="COLUMN"),
    "must_link": text("CSV of pairs in the same class, by id or row number.", panel=KNOWN, metavar="FILE"),
    "cannot_link": text("CSV of pairs in different classes.", panel=KNOWN, metavar="FILE"),
    "links": text("CSV of both: a,b,same or a,b,different.", panel=KNOWN, metavar="FILE"),
    "corrections": Annotated[
        list[str] | None,
        typer.Option(
            help="CSV of answers (xsdc suggest), of id,label or of a,b,same; with --config says what changed.",
            metavar="FILE",
            rich_help_panel=KNOWN,
            show_default=False,
        ),
    ],
    "keep_labels": parsed(
        count, "Keep this many labels and hide the others, to measure by.", panel=KNOWN, metavar="COUNT"
    ),
    "truth_column": text(
        "Column of true labels to measure by; the fit never sees them.", panel=ABOUT_DATA, metavar="COLUMN"
    ),
    "id_column": text("Column that names the rows.", panel=ABOUT_DATA, metavar="COLUMN"),
    "ignore": Annotated[
        list[str] | None,
        typer.Option(
            help="Column that takes no part; may be given several times.",
            metavar="COLUMN",
            rich_help_panel=ABOUT_DATA,
            show_default=False,
        ),
    ],
    "scale": text("How numbers are scaled: auto, standard or none.", panel=ABOUT_DATA, metavar="HOW"),
    "kind": text("What vectors hold: auto, numbers, counts or words (counted).", panel=ABOUT_DATA, metavar="KIND"),
    "text_encoder": text(
        "Sentence encoder of sentence-transformers for free text, instead of tf-idf.", panel=ABOUT_DATA
    ),
    "image_size": parsed(count, "Side to which images are brought, in pixels.", panel=ABOUT_DATA, metavar="PIXELS"),
    "limits": parsed(
        limits,
        "What reading may take at most: bytes, rows, columns, seconds, as in rows=1e6,seconds=60.",
        panel=ABOUT_DATA,
        metavar="NAME=NUMBER,...",
    ),
}

READ_AS: dict[str, Any] = {
    "delimiter": parsed(letter, "What separates cells: a letter, or tab.", panel=READING, metavar="LETTER"),
    "decimal": parsed(letter, "Decimal sign: . or ,", panel=READING, metavar="SIGN"),
    "encoding": text("Letters of the file: utf-8, cp1252, ...", panel=READING),
    "header": parsed(yes_or_no, "Whether a line names the columns: yes or no.", panel=READING, metavar="YES|NO"),
    "skip_rows": parsed(count, "Lines before the table.", panel=READING, metavar="COUNT"),
    "missing": Annotated[
        list[str] | None,
        typer.Option(
            help="A cell that means that nothing is known, such as -999; may be given several times.",
            metavar="CELL",
            rich_help_panel=READING,
            show_default=False,
        ),
    ],
    "sheet": text("Sheet of an Excel workbook; by default the first.", panel=READING),
}
DATA |= READ_AS

# What doctor needs to know of the estimator.
SIZES: dict[str, Any] = {
    "n_clusters": parsed(
        count, "Number of classes; by default as many as labels name, else suggested.", panel=KNOWN, metavar="COUNT"
    ),
    "cluster_size": parsed(
        cluster_size,
        "Bounds on the share of points in a class: auto, equal, MIN,MAX, or JSON with a pair for each class.",
        panel=KNOWN,
        metavar="BOUNDS",
    ),
}

ESTIMATOR: dict[str, Any] = SIZES | {
    "algorithm": text("ensemble, or published: train, label and classify as the paper does.", panel=TRAINING),
    "effort": text(
        "When to train: fast (never), normal (images, a network that is named) or best (always, longer).",
        panel=TRAINING,
    ),
    "network": parsed(
        network,
        "auto, kn, lenet5-ckn, ckn-gm, ckn, cnn, or a JSON file of layers.",
        panel=TRAINING,
        metavar="NAME|FILE",
    ),
    "labeler": text(
        "Algorithm that estimates M: auto, graph, balancing, pseudo-labels, deep-clustering, eigen, eigen-kmeans, hard",
        panel=TRAINING,
    ),
    "max_iter": parsed(or_word(count, "auto"), "Steps on all points.", panel=TRAINING, metavar="COUNT|auto"),
    "supervised_iter": parsed(
        or_word(count, "auto"), "Steps on labeled points before them.", panel=TRAINING, metavar="COUNT|auto"
    ),
    "batch_size": parsed(or_word(count, "auto"), "Unlabeled points in a step.", panel=TRAINING, metavar="COUNT|auto"),
    "labeled_batch_size": parsed(count, "Labeled points in a step.", panel=TRAINING, metavar="COUNT"),
    "piece_size": parsed(
        count,
        "Points of a step that go through the network at a time, to save memory; by default all.",
        panel=TRAINING,
        metavar="COUNT",
    ),
    "memory_size": parsed(
        count, "Points of earlier steps that are balanced along with a batch.", panel=TRAINING, metavar="COUNT"
    ),
    "learning_rate": parsed(
        or_word(number, "auto"), "Length of a step on all points.", panel=TRAINING, metavar="NUMBER|auto"
    ),
    "supervised_learning_rate": parsed(
        or_word(number, "auto"), "Length of a step on labeled points.", panel=TRAINING, metavar="NUMBER|auto"
    ),
    "ridge": parsed(or_word(number, "auto"), "Ridge, lambda.", panel=TRAINING, metavar="NUMBER|auto"),
    "filter_penalty": parsed(number, "Penalty on filters, zeta.", panel=TRAINING, metavar="NUMBER"),
    "entropy": parsed(
        or_word(number, "median"), "Entropic weight of balancing, nu.", panel=TRAINING, metavar="NUMBER|median"
    ),
    "augmentation": text("Changes to images in training: auto, images or none.", panel=TRAINING),
    "copies": parsed(count, "Changed copies of an image in a step.", panel=TRAINING, metavar="COUNT"),
    "validation": parsed(
        share_or_none, "Share of labels held out of training, auto or none.", panel=TRAINING, metavar="SHARE|auto|none"
    ),
    "patience": parsed(
        count, "Evaluations without a better score after which to stop.", panel=TRAINING, metavar="COUNT"
    ),
    "evaluate_every": parsed(count, "Steps between two evaluations.", panel=TRAINING, metavar="COUNT"),
    "device": text("cpu, cuda, ...", panel=TRAINING),
    "dtype": text("auto, float32 or float64.", panel=TRAINING),
    "channels": text("Axis of colours in image arrays: first or last.", panel=TRAINING),
}
