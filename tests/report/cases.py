"""Small runs to report on, made up."""

from __future__ import annotations

from typing import Any

import numpy as np

from xsdc.report import Equivalence, Findings

NASTY = ["<script>alert(1)</script>", "</script><b>&\"'"]


def make_findings(
    *,
    n: int = 60,
    classes: list[str] | None = None,
    n_labeled: int = 12,
    named: bool = True,
    truth: bool = True,
    look: str = "images",
    steps: int = 12,
    bounds: bool = False,
    seed: int = 0,
) -> Findings:
    """A run on groups of points around as many corners, one in ten of them mistaken for another."""
    rng = np.random.default_rng(seed)
    classes = ["zero", "one", "two"] if classes is None else classes
    k = len(classes)
    true = np.arange(n) % k
    given = np.where(np.arange(n) < n_labeled, true, -1)
    codes = np.where((rng.random(n) < 0.1) & (given < 0), (true + 1) % k, true)
    probability = np.where(given >= 0, 1.0, rng.uniform(0.3, 1.0, n))
    features = 8 * np.eye(max(k, 4))[true] + rng.normal(size=(n, max(k, 4)))
    order = np.argsort(codes, kind="stable")
    return Findings(
        title="a small run",
        metrics=_metrics(
            classes, codes, probability, given, true if truth else None, named=named, bounds=bounds, steps=steps
        ),
        history=_history(steps),
        configuration={"xsdc": "0.1.0", "options": {"ridge": "auto"}, "seed": seed},
        classes=classes,
        ids=[NASTY[0] if i == 0 else f"point {i}" for i in range(n)],
        codes=codes,
        probability=probability,
        given=given,
        truth=true if truth else None,
        points=np.arange(n),
        features_before=features + 4 * rng.normal(size=features.shape),
        features_after=features,
        pictures=_pictures(true, rng, look),
        cells=[{"size": f"{x:.2f}", NASTY[1]: NASTY[0]} for x in features[:, 0]] if look == "cells" else None,
        equivalence=Equivalence(order, (codes[order][:, None] == codes[order]) * 0.9),
    )


def _pictures(true: Any, rng: np.random.Generator, look: str) -> Any:
    if look == "images":
        drawings = np.zeros((len(true), 12, 12), dtype=np.uint8)
        drawings[:, 3:9, 5:7] = 255
        return drawings
    if look == "photographs":
        return rng.integers(0, 256, (len(true), 40, 60, 3)).astype(np.uint8)
    return None


def _history(steps: int) -> dict[str, Any]:
    records: list[dict[str, Any]] = [
        {
            "iteration": i,
            "stage": "supervised" if i <= steps // 3 else "joint",
            "objective": 1 / i,
            "ridge": 10.0 ** -(i % 4),
            "eigengap": 0.1,
        }
        for i in range(1, steps + 1)
    ]
    for record in records[::5]:
        record["score"] = 0.5 + 0.01 * record["iteration"]
    choices = [
        {"option": "ridge", "value": 0.012345678, "why": "it was best"},
        {"option": "cluster_size", "value": [[0.1, 0.2]] * 6, "why": NASTY[0]},
    ]
    return {"choices": choices, "steps": records, "stopped": "all steps made", "best_iteration": steps or None}


def _metrics(classes, codes, probability, given, true, *, named, bounds, steps) -> dict[str, Any]:
    n, k = len(codes), len(classes)
    sizes = np.bincount(codes, minlength=k)
    return {
        "version": "0.1.0",
        "data": {
            "name": "a small run",
            "kind": "images",
            "n": n,
            "shape": [4],
            "n_labeled": int((given >= 0).sum()),
            "labels_per_class": {name: int((given == c).sum()) for c, name in enumerate(classes)},
            "n_allowed": 3,
            "n_must_link": 0,
            "n_cannot_link": 2,
            "notes": ["Columns were scaled.", NASTY[1]],
        },
        "found": {
            "n_clusters": k,
            "n_clusters_ranking": [[k, 0.7], [k + 1, 0.3]],
            "named": named,
            "sizes": dict(zip(classes, sizes.tolist(), strict=True)),
            "share": dict(zip(classes, (sizes / n).tolist(), strict=True)),
            "bounds": {"minimum": dict.fromkeys(classes, 0.1), "maximum": dict.fromkeys(classes, 0.5), "kept": False}
            if bounds
            else None,
            "mean_probability": float(probability.mean()),
            "n_doubtful": int((probability < 0.5).sum()),
            "violated_links": 1,
            "violations": [{"kind": "cannot-link", "points": [NASTY[0], "point 3"]}],
            "n_checked": int((given >= 0).sum()),
            "n_suspicious": min(2, int((given >= 0).sum())),
            "suspicious": [
                {
                    "id": NASTY[0] if i == 0 else f"point {i}",
                    "row": i,
                    "label": classes[given[i]],
                    "probability": 0.0021,
                    "likelier": classes[(given[i] + 1) % k],
                    "likelier_probability": 0.9432,
                }
                for i in np.flatnonzero(given >= 0)[:2].tolist()
            ],
            "eigenvalues": [1.0],
        },
        "measured": None if true is None else _measured(classes, codes, probability, given, true, matched=not named),
        "unmeasured": "no true label is known. Name a column of them." if true is None else None,
        "training": {
            "steps": steps,
            "best_iteration": steps or None,
            "stopped": "all steps made",
            "interrupted": False,
        },
        "seconds": {"read": 0.2, "fit": 12.1, "total": 15.0},
    }


def _measured(classes, codes, probability, given, true, *, matched) -> dict[str, Any]:
    unseen = given < 0
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(counts, (true[unseen], codes[unseen]), 1)
    right = (true == codes)[unseen]
    bin_ = {"low": 0.3, "high": 1.0, "n": len(right), "confidence": 0.65, "accuracy": float(right.mean())}
    return {
        "on": f"{len(right):,} true labels that the fit did not see",
        "note": "Few labels: read with care.",
        "n": len(right),
        "matched": matched,
        "accuracy": float(right.mean()),
        "interval": [0.123, 0.987],
        "balanced_accuracy": float(right.mean()) - 0.0123,
        "adjusted_rand": 0.8765,
        "normalised_mutual_information": 0.6543,
        "confusion": {"truth": classes, "found": classes, "counts": counts.tolist()},
        "calibration": {"error": 0.0321, "bins": [{**bin_, "low": 0.1, "confidence": 0.2, "accuracy": 0.1}, bin_]},
    }


VARIANTS: dict[str, dict[str, Any]] = {
    "images with truth": {"bounds": True},
    "photographs": {"look": "photographs", "classes": ["cat", "dog"]},
    "table without labels": {
        "look": "cells",
        "named": False,
        "truth": False,
        "n_labeled": 0,
        "classes": ["0", "1", "2"],
    },
    "clusters matched": {"look": "vectors", "named": False, "n_labeled": 0, "classes": ["0", "1", "2", "3"]},
    "tiny and untrained": {"n": 6, "n_labeled": 2, "steps": 0, "classes": ["yes", "no"]},
    "odd names": {"classes": [*NASTY, "a name of very many letters " * 8], "look": "cells"},
    "fifty classes": {"n": 200, "classes": [f"species number {i}" for i in range(50)], "look": "vectors"},
}
