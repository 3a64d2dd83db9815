"""What several tests of data do."""

from __future__ import annotations

from typing import Any

from xsdc.data import Dataset, Preparation, prepare


def fit_preparation(dataset: Dataset, **options: Any) -> tuple[Preparation, Any]:
    """Prepare a data set as a run does."""
    done = prepare(dataset, Preparation(**options).fit(dataset))
    return done.preparation, done.Z
