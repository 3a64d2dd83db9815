"""Learning a preparation: what columns are, medians, means and deviations, categories."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from xsdc.data.columns import Numbers, Role, as_finite, judge
from xsdc.data.dataset import Dataset
from xsdc.data.preparation import Preparation, measured_columns, named_columns
from xsdc.data.remarks import Lost, Remarks
from xsdc.data.roles import listed
from xsdc.errors import InvalidInputError

Scale = Literal["auto", "standard", "none"]
SCALES = ("auto", "standard", "none")
MAX_CATEGORIES = 20
MAX_NOTES = 10
NAMED = 4  # columns of numbers
UNLIKE = 10.0  # deviations that differ more are of columns with units of their own
# Values more than twenty times as far from the median of their column as nine tenths of those that differ from it tell
# nothing about its scale. On the half `settle` of the suite, five and ten also changed the scales of columns that are
# only skewed, up to elevenfold, and took up to three points from spambase with five labels per class; twenty took none.
USUAL_SHARE, UNUSUAL = 0.9, 20.0


def fit_preparation(dataset: Dataset, *, scale: Scale = "auto") -> tuple[Preparation, npt.NDArray[Any]]:
    """Learn how to make numbers of a data set, and make them.

    Tables: numbers and dates are filled in by medians and standardised; words, flags and categories become columns of
    0 and 1, at most 20 each, with one for missing cells. Vectors: with "auto", columns of one unit are divided by one
    number, so that their shape is kept; columns whose deviations differ more than tenfold (between the 5 % and 95 %
    quantiles) are standardised, unless they are like pixels: never negative, and most reach the same maximum. Images
    are left alone.

    Parameters
    ----------
    dataset : Dataset
        What was read; it is not modified.
    scale : {"auto", "standard", "none"}
        Whether numbers are brought to mean 0 and deviation 1.

    Returns
    -------
    preparation : Preparation
    X : array
        The data set, prepared.
    """
    learned = learn_preparation(dataset, scale=scale)
    remarks = Remarks(learned)
    remarks.add(dataset)
    preparation = with_losses(learned, remarks.lost)
    return preparation, preparation.transform(dataset)


def learn_preparation(dataset: Dataset, *, scale: Scale = "auto") -> Preparation:
    """Learn how to make numbers of a data set; its notes do not say yet which cells are missing."""
    if scale not in SCALES:
        raise InvalidInputError(f"scale must be one of {', '.join(SCALES)}; it is {scale!r}.")
    if dataset.kind == "table":
        return _fit_table(dataset, scale=scale)
    if dataset.kind == "vectors":
        return _fit_vectors(dataset.X, scale=scale)
    return Preparation("images", shape=dataset.X.shape[1:], levels=dataset.levels)


def with_losses(preparation: Preparation, lost: Lost) -> Preparation:
    """Add to the notes which cells are missing or make no sense."""
    replaced = f"{lost.numbers} missing or infinite numbers were replaced by the median of their column."
    return replace(preparation, notes=[*([replaced] if lost.numbers else []), *preparation.notes, *lost.said()])


def _fit_table(dataset: Dataset, *, scale: Scale) -> Preparation:
    frame: pd.DataFrame = dataset.X
    judged = {column: judge(frame[column]) for column in frame.columns}
    roles: dict[str, Role] = {}
    for wanted in ("number", "date", "category"):
        roles |= {column: role for column, (role, _) in judged.items() if role == wanted}
    dropped = {column: reason for column, (role, reason) in judged.items() if role is None}
    if not roles:
        raise InvalidInputError(f"`{dataset.name}` has nothing to learn from. {' '.join(_dropped_notes(dropped))}")
    measured = [column for column, role in roles.items() if role != "category"]
    named = [column for column, role in roles.items() if role == "category"]
    imputer = SimpleImputer(strategy="median").fit(measured_columns(frame, roles)) if measured else None
    scaler = None
    if imputer is not None and scale != "none":
        scaler = StandardScaler().fit(usual(imputer.transform(measured_columns(frame, roles))))
    encoder = None
    if named:
        encoder = OneHotEncoder(
            max_categories=MAX_CATEGORIES, handle_unknown="infrequent_if_exist", sparse_output=False
        ).fit(named_columns(frame, roles))
    features = _category_features(encoder, named)
    notes = [
        *_number_notes(roles, scaled=scaler is not None),
        *_category_notes(features),
        *_dropped_notes(dropped),
    ]
    return Preparation(
        "table",
        roles=roles,
        dropped=list(dropped),
        feature_names=[*measured, *(f"{column}={word}" for column, words in features.items() for word in words)],
        notes=notes,
        numerals=dataset.numerals,
        imputer=imputer,
        scaler=scaler,
        encoder=encoder,
    )


def _category_features(encoder: Any, columns: list[str]) -> dict[str, list[str]]:
    """Name the columns of 0 and 1 that each column of categories becomes."""
    features = {}
    for i, column in enumerate(columns):
        rare = encoder.infrequent_categories_[i]
        common = [word for word in encoder.categories_[i] if rare is None or word not in rare]
        features[column] = [word or "(missing)" for word in common] + ([] if rare is None else ["(rare)"])
    return features


def _number_notes(roles: dict[str, Role], *, scaled: bool) -> list[str]:
    how = "scaled to mean 0 and deviation 1" if scaled else "taken as they are"
    numbers, dates = ([column for column, role in roles.items() if role == kind] for kind in ("number", "date"))
    some = "1 column of numbers was" if len(numbers) == 1 else f"{len(numbers)} columns of numbers were"
    named = [f"{some} {how}: {listed(numbers, limit=NAMED)}."] if numbers else []
    return named + ([f"Dates became numbers of days, {how}: {listed(dates)}."] if dates else [])


def _category_notes(features: dict[str, list[str]]) -> list[str]:
    notes = []
    for column, words in list(features.items())[:MAX_NOTES]:
        rare = ", one of them for all rare ones" if "(rare)" in words else ""
        notes.append(f"`{column}`: its categories became {len(words)} columns of 0 and 1{rare}.")
    more = len(features) - len(notes)
    return [*notes, f"So did those of {more} more columns."] if more > 0 else notes


def _dropped_notes(dropped: dict[str, str]) -> list[str]:
    by_reason = defaultdict(list)
    for column, reason in dropped.items():
        by_reason[reason].append(column)
    return [f"Left out because {reason}: {listed(columns)}." for reason, columns in by_reason.items()]


def _fit_vectors(X: npt.NDArray[Any], *, scale: Scale) -> Preparation:
    values = as_finite(X)
    notes = []
    imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(values)
    filled = usual(imputer.transform(values))
    deviations = filled.std(axis=0, dtype=np.float64)
    scaler, factor = None, 1.0
    if scale == "standard" or (scale == "auto" and _differ(filled, deviations)):
        scaler = StandardScaler().fit(filled)
        notes.append("Each column was scaled to mean 0 and deviation 1.")
    elif scale == "auto" and deviations.any():
        factor = float(np.sqrt(np.mean(deviations**2)))
        notes.append(f"All columns were divided by one number, {factor:.4g}, their common deviation.")
    return Preparation(
        "vectors",
        shape=X.shape[1:],
        feature_names=[str(i) for i in range(X.shape[1])],
        notes=notes,
        factor=factor,
        imputer=imputer,
        scaler=scaler,
    )


def usual(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Clip each column of X (n, d) to its usual values: one absurd cell must not decide the scale of its column."""
    clipped = X.copy()
    for column in clipped.T:
        distance = np.abs(column - np.median(column))
        apart = distance[distance > 0]
        if len(apart):
            near = column[distance <= UNUSUAL * np.quantile(apart, USUAL_SHARE, method="lower")]
            np.clip(column, near.min(), near.max(), out=column)
    return clipped


def _differ(X: npt.NDArray[Any], deviations: Numbers) -> bool:
    """Tell whether columns have units of their own."""
    varied = deviations > 0
    if not varied.any():
        return False
    highest = X[:, varied].max(axis=0)
    pixels = X.min() >= 0 and np.mean(highest >= 0.99 * highest.max()) > 0.5
    low, high = np.quantile(deviations[varied], [0.05, 0.95])
    return bool(not pixels and high > UNLIKE * low)
