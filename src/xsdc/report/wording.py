"""Numbers and sentences of a report, for readers who do not program."""

from __future__ import annotations

import math
from typing import Any

LINKS = {"found.n_doubtful": "#first", "found.n_suspicious": "#suspicious", "measured.accuracy": "#measured"}
NOTHING = "\N{EN DASH}"


def count(value: float | None) -> str:
    """Write a whole number with thousands set apart: 1,797."""
    return NOTHING if value is None else f"{value:,.0f}"


def percent(value: float | None, *, digits: int = 1) -> str:
    """Write a share: 95.1 %. What is not quite all is never rounded to all."""
    if value is None or not math.isfinite(value):
        return NOTHING
    text = f"{100 * value:.{digits}f}"
    if float(text) == 100:
        text = "100" if value >= 1 else f">{100 - 10.0**-digits:.{digits}f}"
    return f"{text}\N{NO-BREAK SPACE}%"


def score(value: float | None) -> str:
    """Write an index between -1 and 1: 0.912."""
    return NOTHING if value is None or not math.isfinite(value) else f"{value:.3f}"


def duration(seconds: float | None) -> str:
    """Write a time: 1.5 s, 90 s, 3 min, 2.5 h."""
    if seconds is None:
        return NOTHING
    text = f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds >= 120:
        text = f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def counted(number: float, one: str, many: str) -> str:
    """Write a number and what it counts: 1 class, 10 classes."""
    return f"{count(number)} {one if number == 1 else many}"


def grouping(metrics: dict[str, Any]) -> tuple[str, str]:
    """What a group is called, one and many: labels make classes of clusters."""
    return ("class", "classes") if metrics["found"]["named"] else ("cluster", "clusters")


def lead(metrics: dict[str, Any]) -> str:
    """Say in two short sentences what was found and how good it is; the figures stand below."""
    data, found, measured = metrics["data"], metrics["found"], metrics["measured"]
    labeled = (
        f"with {counted(data['n_labeled'], 'label', 'labels')} given" if data["n_labeled"] else "without any label"
    )
    were = "was" if data["n"] == 1 else "were"
    said = (
        f"{counted(data['n'], 'point', 'points')} {were} put into {counted(found['n_clusters'], *grouping(metrics))},"
    )
    said = f"{said} {labeled}."
    if measured is not None:
        said += f" About {percent(measured['accuracy'], digits=0)} of the answers are right."
    return said


def interval(measured: dict[str, Any]) -> str:
    """Write the interval of the accuracy."""
    low, high = (percent(bound) for bound in measured["interval"])
    return f"95\N{NO-BREAK SPACE}% interval {low} to {high}"


def tiles(metrics: dict[str, Any]) -> list[dict[str, str | None]]:
    """Key figures: where each stands in the metrics, its text, its name and what it means."""
    one, many = grouping(metrics)
    met = (
        "" if metrics["measured"] is None else f"share of known answers that were met; {interval(metrics['measured'])}"
    )
    rows = [
        ("data.n", count, "points", "everything that was read"),
        ("data.n_labeled", count, "with a label", f"points whose {one} was given"),
        ("found.n_clusters", count, many, "groups in the answer"),
        ("measured.accuracy", percent, "accuracy", met),
        ("found.mean_probability", percent, "probability", "how sure the model is, on average"),
        ("found.n_doubtful", count, "doubtful", "below 50\N{NO-BREAK SPACE}%: look at these first"),
        ("found.n_suspicious", count, "suspicious labels", "given, but probably wrong"),
        ("seconds.total", duration, "taken", "from reading to writing"),
    ]
    return [
        {
            "metric": path,
            "text": write(value),
            "name": name,
            "meaning": meaning,
            "href": LINKS.get(path) if value else None,
        }
        for path, write, name, meaning in rows
        if (value := at(metrics, path)) is not None and (value or path != "found.n_suspicious")
    ]


def scores(metrics: dict[str, Any]) -> list[dict[str, str]]:
    """What was measured against known answers, as tiles."""
    rows = [
        ("accuracy", percent, "accuracy", "share of known answers that were met"),
        ("balanced_accuracy", percent, "balanced accuracy", "the same, every class counting alike"),
        ("adjusted_rand", score, "adjusted Rand index", "do the groups agree? 0 by chance, 1 fully"),
        (
            "normalised_mutual_information",
            score,
            "mutual information",
            "how much one grouping tells of the other, 0 to 1",
        ),
    ]
    return [
        {"metric": f"measured.{key}", "text": write(metrics["measured"][key]), "name": name, "meaning": meaning}
        for key, write, name, meaning in rows
        if metrics["measured"].get(key) is not None
    ]


def knowledge(metrics: dict[str, Any]) -> list[dict[str, str]]:
    """What was told to the model, kind by kind."""
    rows = [
        ("data.n_labeled", "labels", "this point is of that class"),
        ("data.n_allowed", "choices", "this point is of one of these classes"),
        ("data.n_must_link", "must-links", "these two are together"),
        ("data.n_cannot_link", "cannot-links", "these two are apart"),
        ("found.violated_links", "violated links", "what the answer could not keep"),
    ]
    return [
        {"metric": path, "text": count(at(metrics, path)), "name": name, "meaning": meaning}
        for path, name, meaning in rows
    ]


def at(metrics: dict[str, Any], path: str) -> Any:
    """Value at a dotted path, None where it or a part of the way is missing."""
    value: Any = metrics
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def origin(history: dict[str, Any]) -> str | None:
    """Say where classes come from, where it is not from groups: the matrix then shows something else than they do."""
    if not any(choice["option"] == "classifier" for choice in history.get("choices", [])):
        return None
    return (
        "The classes were not taken from these groups: each point without a label has its class from classifiers of the"
        " labels given. Where classes are no groups, squares are faint."
    )
