"""What was given, found and measured, as plain data: the only source of numbers for summary, report and files."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from xsdc import XSDC, __version__
from xsdc.core.agreement import wilson_interval
from xsdc.core.constraints import linked_components
from xsdc.fitting.settings import read_sizes
from xsdc.runs.given import Given

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Texts = npt.NDArray[np.str_]
DOUBTFUL = 0.5
BINS = 10
MOST_VIOLATIONS = 50
MOST_SUSPICIOUS = 50
SAMPLE = "It holds for all points as far as the labeled ones are a random sample of them."
BEFORE_TRAINING = "Measured without training, which has seen all labels; the final labels are mostly better. "


def describe_data(given: Given, shape: tuple[int, ...], names: list[str], notes: list[str]) -> dict[str, Any]:
    """Say what was given."""
    dataset = given.dataset
    counts = Counter(str(label) for label in dataset.labels if label is not None)
    return {
        "name": dataset.name,
        "kind": dataset.kind,
        "n": dataset.n,
        "shape": list(shape),
        "n_labeled": sum(counts.values()),
        "labels_per_class": {name: counts.get(name, 0) for name in names},
        "n_allowed": len(dataset.allowed),
        "n_must_link": len(given.must_link),
        "n_cannot_link": len(given.cannot_link),
        "notes": notes,
    }


def describe_found(model: XSDC, given: Given, codes: Ints, probability: Floats) -> dict[str, Any]:
    """Say what was found."""
    names, n = [str(name) for name in model.classes_], len(codes)
    counts = np.bincount(codes, minlength=len(names))
    violations = [
        {"kind": kind, "points": [str(given.dataset.ids[i]), str(given.dataset.ids[j])]}
        for kind, pairs, wrong in (
            ("must-link", given.must_link, np.not_equal),
            ("cannot-link", given.cannot_link, np.equal),
        )
        for i, j in pairs[wrong(codes[pairs[:, 0]], codes[pairs[:, 1]])]
    ]
    return {
        "n_clusters": len(names),
        "n_clusters_ranking": [list(pair) for pair in model.n_clusters_ranking_],
        "named": bool(model._named),
        "sizes": dict(zip(names, counts.tolist(), strict=True)),
        "share": dict(zip(names, (counts / n).tolist(), strict=True)),
        "bounds": _describe_bounds(model, names, counts),
        "mean_probability": float(probability.mean()),
        "n_doubtful": int((probability < DOUBTFUL).sum()),
        "violated_links": len(violations),
        "violations": violations[:MOST_VIOLATIONS],
        **_describe_suspicious(model, given),
        "eigenvalues": model.eigenvalues_.tolist(),
    }


def list_suspicious(model: XSDC, given: Given) -> pd.DataFrame | None:
    """List given labels that are probably wrong, the most improbable first; None where none could be checked."""
    found = model.suspicious_labels_
    if found is None:
        return None
    return pd.DataFrame(
        {
            "id": given.dataset.ids[found.points],
            "row": found.points,
            "label": found.labels,
            "probability": np.round(found.probabilities, 6),
            "likelier": found.likelier,
            "likelier_probability": np.round(found.likelier_probabilities, 6),
        }
    )


def _describe_suspicious(model: XSDC, given: Given) -> dict[str, Any]:
    table = list_suspicious(model, given)
    if table is None or model.checked_ is None:
        return {"n_checked": 0, "n_suspicious": 0, "suspicious": []}
    words = table.astype({"id": str, "label": str, "likelier": str}).head(MOST_SUSPICIOUS)
    return {
        "n_checked": len(model.checked_.points),
        "n_suspicious": len(table),
        "suspicious": words.to_dict("records"),
    }


def _describe_bounds(model: XSDC, names: list[str], counts: Ints) -> dict[str, Any] | None:
    bounds = read_sizes(model.cluster_size, model.classes_.tolist(), len(names))
    if bounds is None:
        return None
    low, high = (np.broadcast_to(x, (len(names),)) for x in (bounds.minimum, bounds.maximum))
    n = counts.sum()
    kept = (counts >= np.floor(low * n + 1e-9)) & (counts <= np.ceil(high * n - 1e-9))
    return {
        "minimum": dict(zip(names, low.tolist(), strict=True)),
        "maximum": dict(zip(names, high.tolist(), strict=True)),
        "kept": bool(kept.all()),
    }


def match_truth(model: XSDC, given: Given, codes: Ints) -> Ints | None:
    """True class of each point as a position in ``model.classes_``, -1 where unknown; None where no truth is at hand.

    Clusters that no label names are matched to the true classes one to one, so that most points agree.
    """
    truth = given.dataset.truth
    if truth is None:
        return None
    known = np.flatnonzero([label is not None for label in truth])
    matched = np.full(len(truth), -1, dtype=np.int64)
    if not len(known):
        return matched
    classes, true = np.unique([str(truth[i]) for i in known], return_inverse=True)
    if model._named:
        position = {str(name): code for code, name in enumerate(model.classes_)}
        partner = np.array([position.get(str(name), -1) for name in classes])
    else:
        table = np.zeros((len(classes), len(model.classes_)))
        np.add.at(table, (true, codes[known]), 1)
        rows, columns = linear_sum_assignment(table, maximize=True)
        partner = np.full(len(classes), -1)
        partner[rows] = columns
    matched[known] = partner[true]
    return matched


def measure(model: XSDC, given: Given, codes: Ints, probability: Floats) -> dict[str, Any] | None:
    """Compare with labels that neither training nor labeling has seen; None where there are none."""
    names = np.array([str(name) for name in model.classes_])
    labels, truth = given.dataset.labels, given.dataset.truth
    if truth is not None:
        unknown = np.array([t is not None for t in truth]) & ~tell_classes(given)
        unseen = np.flatnonzero(unknown)
        if len(unseen):
            matched = match_truth(model, given, codes)
            assert matched is not None  # noqa: S101  there is a truth
            return {
                "on": f"{len(unseen):,} true labels that the fit did not see",
                "note": None,
                "matched": not model._named,
                **_compare(
                    np.array([str(truth[i]) for i in unseen]),
                    names[codes[unseen]],
                    matched[unseen] == codes[unseen],
                    probability[unseen],
                ),
            }
    checked = model.checked_
    if checked is None:
        return None
    true = np.array([str(labels[i]) for i in checked.points])
    found = names[checked.probabilities.argmax(1)]
    return {
        "on": f"{len(true):,} given labels, each held out of the classifiers that tell it",
        "note": (BEFORE_TRAINING if model.history_["best_iteration"] else "") + SAMPLE,
        "matched": False,
        **_compare(true, found, true == found, checked.probabilities.max(1)),
    }


def tell_classes(given: Given) -> npt.NDArray[np.bool_]:
    """Whether a label, or a choice of labels, was given for each point, or for one that must-links join to it."""
    told = np.array([label is not None for label in given.dataset.labels])
    told[list(given.dataset.allowed)] = True
    component = linked_components(len(told), given.must_link)
    return np.isin(component, component[told])


def explain_unmeasured(given: Given) -> str:
    """Say why there is no accuracy, and how to get one."""
    if given.y is None:
        return "no true label is known; --truth-column names a column of labels to measure by."
    return "the fit needs all labels given; give more, and hold some back by --keep-labels or --truth-column."


def _compare(true: Texts, found: Texts, right: npt.NDArray[np.bool_], confidence: Floats) -> dict[str, Any]:
    rows, columns = sorted(set(true.tolist()), key=_natural), sorted(set(found.tolist()), key=_natural)
    pairs = Counter(zip(true.tolist(), found.tolist(), strict=True))
    recall = [right[true == name].mean() for name in rows]
    return {
        "n": len(true),
        "accuracy": float(right.mean()),
        "interval": list(wilson_interval(int(right.sum()), len(right))),
        "balanced_accuracy": float(np.mean(recall)),
        "adjusted_rand": float(adjusted_rand_score(true, found)),
        "normalised_mutual_information": float(normalized_mutual_info_score(true, found)),
        "confusion": {"truth": rows, "found": columns, "counts": [[pairs[r, c] for c in columns] for r in rows]},
        "calibration": _calibrate(right, confidence),
    }


def _calibrate(right: npt.NDArray[np.bool_], confidence: Floats) -> dict[str, Any]:
    """Share of right answers among those of like probability, and the mean gap between the two."""
    place = np.minimum((confidence * BINS).astype(int), BINS - 1)
    bins, error = [], 0.0
    for b in range(BINS):
        here = place == b
        if not here.any():
            continue
        mean, share = float(confidence[here].mean()), float(right[here].mean())
        error += abs(mean - share) * here.mean()
        bins.append(
            {"low": b / BINS, "high": (b + 1) / BINS, "n": int(here.sum()), "confidence": mean, "accuracy": share}
        )
    return {"error": float(error), "bins": bins}


def _natural(name: str) -> tuple[int, float, str]:
    """Sort numbers by value, before words."""
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name


def summarise(
    model: XSDC,
    given: Given,
    codes: Ints,
    probability: Floats,
    *,
    shape: tuple[int, ...],
    notes: list[str],
    warnings: list[str],
) -> dict[str, Any]:
    """Put all of it together."""
    names = [str(name) for name in model.classes_]
    measured = measure(model, given, codes, probability)
    return {
        "version": __version__,
        "data": describe_data(given, shape, names, notes),
        "found": describe_found(model, given, codes, probability),
        "measured": measured,
        "unmeasured": explain_unmeasured(given) if measured is None else None,
        "training": {
            "steps": model.n_iter_,
            "best_iteration": model.history_["best_iteration"],
            "stopped": model.history_["stopped"],
            "interrupted": model.history_["stopped"] == "interrupted",
        },
        "warnings": warnings,
    }
