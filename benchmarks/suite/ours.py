"""XSDC as the suite runs it."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.suite.measures import Answer
from benchmarks.suite.regimes import Given
from xsdc import XSDC

TRAINED, UNTRAINED = {"effort": "best"}, {"effort": "fast"}


def fit_xsdc(given: Given, **options: Any) -> Answer:
    """Fit with defaults but for the options; the number of classes is told only where no label tells it."""
    model = XSDC(
        None if given.has_labels else given.k,
        cluster_size="auto" if given.sizes is None else given.sizes,  # type: ignore[arg-type]
        random_state=given.seed,
        progress=False,
        **options,
    ).fit(
        given.X,
        given.y if given.has_labels else None,
        must_link=given.must_link if len(given.must_link) else None,
        cannot_link=given.cannot_link if len(given.cannot_link) else None,
    )
    found = model.predict_proba(given.X_test)
    probabilities = np.zeros((len(found), max(given.k, found.shape[1])))
    probabilities[:, model.classes_.astype(int)] = found
    return Answer(model.labels_, model.predict(given.X_test), probabilities)
