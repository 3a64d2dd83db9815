"""From what was read to what a network takes: numbers, none missing, of like size."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from xsdc.data.columns import Role, as_days, as_finite, as_numbers, as_words, is_ambiguous, judge
from xsdc.data.dataset import Dataset
from xsdc.data.forms import Form, Guess, Numbers
from xsdc.data.pixels import as_coloured
from xsdc.data.remarks import Remarks, category_notes, date_notes, dropped_notes, number_notes, text_notes
from xsdc.data.roles import listed, near_miss
from xsdc.data.scientific import Levels
from xsdc.data.storage import read_parts, write_parts
from xsdc.data.texts import CountEncoder, TextEncoder, encode_sentences, looks_like_counts
from xsdc.errors import InvalidInputError

SCALES = ("auto", "standard", "none")
KINDS = ("auto", "numbers", "counts", "words")
FACTS = (
    *("kind_", "shape_", "roles_", "dropped_", "feature_names_", "notes_", "factor_", "forms_", "dates_", "levels_"),
    *("scale", "kind", "text_encoder"),
)
TRUTH = frozenset(("True", "False", ""))
TRANSFORMERS = {"imputer": "SimpleImputer", "scaler": "StandardScaler", "encoder": "OneHotEncoder"}
MAX_CATEGORIES = 20
UNLIKE = 10.0  # deviations that differ more are of columns with units of their own
# Values more than twenty times as far from the median of their column as nine tenths of those that differ from it tell
# nothing about its scale. On the half `settle` of the suite, five and ten also changed the scales of columns that are
# only skewed, up to elevenfold, and took up to three points from spambase with five labels per class; twenty took none.
USUAL_SHARE, UNUSUAL = 0.9, 20.0


class Preparation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Make numbers of columns of any kind, none missing and of like size, as `xsdc fit` does.

    Tables: numbers and dates are filled in by medians and standardised; words, flags and categories become columns of
    0 and 1, at most 20 each, with one for missing cells; free text becomes tf-idf of words and parts of words, reduced
    to 300 singular vectors. Columns of no use (constant, ids) are left out. Vectors: with "auto", columns of one unit
    are divided by one number, so that their shape is kept; columns whose deviations differ more than tenfold (between
    the 5 % and 95 % quantiles) are standardised, unless they are like pixels: never negative, and most reach the same
    maximum. Counts, which are recognised where they are sparse, are prepared as their fields do. Images are left alone.

    Parameters
    ----------
    scale : {"auto", "standard", "none"}
        Whether numbers are brought to mean 0 and deviation 1.
    kind : {"auto", "numbers", "counts", "words"}
        What vectors hold: "counts" are brought to one sum a row and to log1p, "words" to tf-idf.
    text_encoder : str, optional
        Name of a sentence encoder of sentence-transformers for free text, where that is installed; tf-idf by default.

    Attributes
    ----------
    notes_ : list of str
        What is done with each column, a sentence each.
    kind_ : {"table", "vectors", "images"}
        What it prepares.
    roles_ : dict from str to {"number", "date", "category", "text"}
        The columns of a table that are used.
    dropped_ : list of str
        Those that are of no use.
    feature_names_ : list of str
        What each column of the result is; empty for images.
    shape_ : tuple of int
        Shape of one point, for vectors and images.

    Examples
    --------
    >>> import pandas as pd
    >>> from xsdc.data import Preparation
    >>> X = pd.DataFrame({"size": [1.0, 2.0, None], "colour": ["red", "blue", "red"]})
    >>> Preparation().fit_transform(X).shape
    (3, 3)
    """

    def __init__(
        self,
        *,
        scale: Literal["auto", "standard", "none"] = "auto",
        kind: Literal["auto", "numbers", "counts", "words"] = "auto",
        text_encoder: str | None = None,
    ) -> None:
        self.scale, self.kind, self.text_encoder = scale, kind, text_encoder

    def fit(self, X: Any, y: Any = None) -> Preparation:  # noqa: ARG002  scikit-learn's pipelines pass it
        """Learn how to make numbers of data.

        Parameters
        ----------
        X : data frame, array, sparse matrix or Dataset
            It is not modified.
        y : ignored
        """
        if self.scale not in SCALES:
            raise InvalidInputError(f"scale must be one of {', '.join(SCALES)}; it is {self.scale!r}.", option="scale")
        if self.kind not in KINDS:
            raise InvalidInputError(f"kind must be one of {', '.join(KINDS)}; it is {self.kind!r}.", option="kind")
        self._learn(as_dataset(X))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> npt.NDArray[Any]:  # noqa: ARG002
        """Learn how to make numbers of data, and make them."""
        dataset = as_dataset(X)
        return self.fit(dataset).transform(dataset)

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """Prepare data like those of the fit.

        Parameters
        ----------
        X : data frame, array, sparse matrix or Dataset
            Of the same kind, with the same columns (in any order; others are passed over) or of the same shape. Gray
            images become coloured, and coloured ones gray, as those of the fit were.

        Returns
        -------
        array
            Numbers (n, d), or images.
        """
        check_is_fitted(self, "kind_")
        dataset = as_dataset(X)
        if dataset.kind != self.kind_:
            raise InvalidInputError(
                f"`{dataset.name}` must be of the kind that was fitted, {self.kind_}; it is {dataset.kind}."
            )
        if self.kind_ == "table":
            return self._transform_table(dataset)
        points = dataset.X if self.kind_ == "vectors" else as_coloured(dataset.X, coloured=len(self.shape_) == 3)
        if points.shape[1:] != self.shape_:
            hint = " Read it with the image_size of the fit." if self.kind_ == "images" else ""
            raise InvalidInputError(
                f"Points of `{dataset.name}` must have shape {self.shape_} as in the fit; they have"
                f" {points.shape[1:]}.{hint}"
            )
        return self._transform_vectors(points) if self.kind_ == "vectors" else points

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:  # noqa: ARG002
        """Return what each column of the result is."""
        check_is_fitted(self, "kind_")
        return np.array(self.feature_names_, dtype=object)

    @property
    def words(self) -> list[str]:
        """Columns whose cells are words; truth values are none."""
        categories: list[Any] = [] if self.encoder_ is None else self.encoder_.categories_
        named = zip(self._columns("category"), categories, strict=True)
        return [column for column, some in named if not set(some) <= TRUTH] + self._columns("text", "date")

    def remarks(self, X: Any) -> list[str]:
        """Say what of further data is passed over or filled in."""
        remarks = Remarks(self)
        remarks.add(as_dataset(X))
        return remarks.said()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `load` reads."""
        facts = {name: getattr(self, name) for name in FACTS}
        facts["terms"] = {column: encoder.terms for column, encoder in self.texts_.items()}
        facts["text_scale"] = {column: encoder.scale for column, encoder in self.texts_.items()}
        arrays = {column: [encoder.weights, encoder.directions] for column, encoder in self.texts_.items()}
        parts = {name: getattr(self, f"{name}_") for name in TRANSFORMERS} | {"texts": arrays, "counts": None}
        if self.counts_ is not None:
            facts["counts"] = [self.counts_.how, self.counts_.total]
            parts["counts"] = [self.counts_.weights, self.counts_.directions]
        write_parts(path, facts, parts)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Preparation:
        """Read a file that `save` wrote; nothing in it is run."""
        facts, parts = read_parts(path)
        for name, kind in TRANSFORMERS.items():
            found = type(parts.get(name)).__name__
            if found not in (kind, "NoneType"):
                raise InvalidInputError(f"`{path}` is not a preparation: its {name} must be {kind}; it is {found}.")
        try:
            loaded = Preparation(scale=facts["scale"], kind=facts["kind"], text_encoder=facts["text_encoder"])
            for name in FACTS:
                setattr(loaded, name, facts[name])
            loaded.shape_ = tuple(facts["shape_"])
            loaded.forms_ = {column: Form(*form) for column, form in facts["forms_"].items()}
            loaded.levels_ = Levels(*facts["levels_"]) if facts["levels_"] else None
            loaded.imputer_, loaded.scaler_, loaded.encoder_ = (parts[name] for name in TRANSFORMERS)
            loaded.texts_ = {
                column: TextEncoder(facts["terms"][column], facts["text_scale"][column], *arrays)
                for column, arrays in parts["texts"].items()
            }
            loaded.counts_ = None
            if parts["counts"] is not None:
                (how, total), (weights, directions) = facts["counts"], parts["counts"]
                loaded.counts_ = CountEncoder(how, weights, total, directions)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"`{path}` is not a whole preparation: {error}. Save it again.") from error
        return loaded

    def _learn(self, dataset: Dataset) -> None:
        self.kind_: str = dataset.kind
        self.shape_: tuple[int, ...] = () if dataset.kind == "table" else tuple(dataset.X.shape[1:])
        self.roles_: dict[str, Role] = {}
        self.dropped_: list[str] = []
        self.feature_names_: list[str] = []
        self.notes_: list[str] = []
        self.factor_ = 1.0
        self.forms_: dict[str, Form] = {}
        self.dates_: dict[str, str] = {}
        self.levels_: Levels | None = dataset.levels
        self.texts_: dict[str, TextEncoder] = {}
        self.counts_: CountEncoder | None = None
        self.imputer_: Any = None
        self.scaler_: Any = None
        self.encoder_: Any = None
        if dataset.kind == "table":
            self._learn_table(dataset)
        elif dataset.kind == "vectors":
            self._learn_vectors(dataset.X, name=dataset.name)

    def _learn_table(self, dataset: Dataset) -> None:
        frame: pd.DataFrame = dataset.X
        guess = Guess()
        self.forms_ = {**guess.forms(frame), **dataset.forms}
        judged = {str(column): judge(frame[column], self.forms_.get(str(column))) for column in frame.columns}
        for wanted in ("number", "date", "category", "text"):
            self.roles_ |= {column: wanted for column, found in judged.items() if found.role == wanted}
        dropped = {column: found.reason for column, found in judged.items() if found.role is None}
        self.dropped_ = list(dropped)
        self.dates_ = {column: found.format for column, found in judged.items() if found.role == "date"}
        if not self.roles_:
            raise InvalidInputError(f"`{dataset.name}` has nothing to learn from. {' '.join(dropped_notes(dropped))}")
        measured, named, texts = self._columns("number", "date"), self._columns("category"), self._columns("text")
        if measured:
            self.imputer_ = SimpleImputer(strategy="median").fit(self._measured(frame))
        if self.imputer_ is not None and self.scale != "none":
            self.scaler_ = StandardScaler().fit(usual(self.imputer_.transform(self._measured(frame))))
        if named:
            self.encoder_ = OneHotEncoder(
                max_categories=MAX_CATEGORIES, handle_unknown="infrequent_if_exist", sparse_output=False
            ).fit(_columns_of_words(frame, named))
        features = category_features(self.encoder_, named)
        widths = {column: self._learn_text(column, frame) for column in texts}
        self.feature_names_ = [
            *measured,
            *(f"{column}={word}" for column, words in features.items() for word in words),
            *(f"{column} {i}" for column, width in widths.items() for i in range(width)),
        ]
        ambiguous = [c for c, how in self.dates_.items() if how and is_ambiguous(_present(frame[c]), how)]
        self.notes_ = [
            *guess.notes,
            *guess.doubts,
            *number_notes(self._columns("number"), scaled=self.scaler_ is not None),
            *date_notes(self._columns("date"), ambiguous, self.dates_, scaled=self.scaler_ is not None),
            *category_notes(features),
            *text_notes(widths, self.text_encoder),
            *dropped_notes(dropped),
        ]

    def _learn_text(self, column: str, frame: pd.DataFrame) -> int:
        """Learn how to encode a column of free text; return how many columns it becomes."""
        words = list(as_words(frame[column]))
        if self.text_encoder is not None:
            return int(encode_sentences(words[:1], name=self.text_encoder).shape[1])
        self.texts_[column] = TextEncoder.fit(words)
        return self.texts_[column].width

    def _learn_vectors(self, X: Any, *, name: str) -> None:
        how = self.kind
        if how == "auto":
            genes = name.lower().endswith(".h5ad")
            how = ("counts" if genes else "words") if looks_like_counts(X) else "numbers"
            recognised = how != "numbers"
            if recognised:
                self.notes_.append(
                    f"{name}: whole numbers, most of them zero, were taken for counts; `kind` overrules it."
                )
        if how != "numbers" or sparse.issparse(X):
            if how != "numbers" and ((X.data if sparse.issparse(X) else X) < 0).any():
                raise InvalidInputError(f"Counts must not be negative; `{name}` holds some. Leave `kind` out.")
            self.counts_ = CountEncoder.fit(X, how=how)
            self.notes_.append(self.counts_.said())
            X = self.counts_.transform(X)
        values = as_finite(X)
        self.imputer_ = SimpleImputer(strategy="median", keep_empty_features=True).fit(values)
        filled = usual(self.imputer_.transform(values))
        deviations = filled.std(axis=0, dtype=np.float64)
        unlike = self.counts_ is None and _differ(filled, deviations)
        if self.scale == "standard" or (self.scale == "auto" and unlike):
            self.scaler_ = StandardScaler().fit(filled)
            self.notes_.append("Each column was scaled to mean 0 and deviation 1.")
        elif self.scale == "auto" and deviations.any():
            self.factor_ = float(np.sqrt(np.mean(deviations**2)))
            self.notes_.append(f"All columns were divided by one number, {self.factor_:.4g}, their common deviation.")
        self.feature_names_ = [str(i) for i in range(X.shape[1])]

    def _transform_table(self, dataset: Dataset) -> npt.NDArray[Any]:
        frame: pd.DataFrame = dataset.X
        absent = [column for column in self.roles_ if column not in frame.columns]
        if absent:
            raise InvalidInputError(
                f"`{dataset.name}` must have the columns of the fit; {listed(absent)} are not there"
                f"{near_miss(absent[0], list(frame.columns))}."
            )
        parts: list[npt.NDArray[Any]] = []
        if self.imputer_ is not None:
            filled = self.imputer_.transform(self._measured(frame))
            parts.append(filled if self.scaler_ is None else self.scaler_.transform(filled))
        if self.encoder_ is not None:
            parts.append(self.encoder_.transform(_columns_of_words(frame, self._columns("category"))))
        for column in self._columns("text"):
            words = list(as_words(frame[column]))
            encoder = self.texts_.get(column)
            named = self.text_encoder or ""
            parts.append(encode_sentences(words, name=named) if encoder is None else encoder.transform(words))
        return np.hstack(parts)

    def _transform_vectors(self, X: Any) -> npt.NDArray[Any]:
        assert self.imputer_ is not None  # noqa: S101  vectors have one
        filled = self.imputer_.transform(as_finite(X if self.counts_ is None else self.counts_.transform(X)))
        scaled: npt.NDArray[Any] = filled / self.factor_ if self.scaler_ is None else self.scaler_.transform(filled)
        return scaled

    def _columns(self, *roles: Role) -> list[str]:
        return [column for column, role in self.roles_.items() if role in roles]

    def measured(self, column: pd.Series) -> Numbers | None:
        """Read a column of numbers or dates of a table; None if it is one of words."""
        role = self.roles_[str(column.name)]
        if role == "number":
            return as_numbers(column, self.forms_.get(str(column.name)))
        return as_days(column, self.dates_[str(column.name)]) if role == "date" else None

    def _measured(self, frame: pd.DataFrame) -> Numbers:
        columns = [self.measured(frame[column].rename(column)) for column in self._columns("number", "date")]
        return np.column_stack([column for column in columns if column is not None])


def as_dataset(X: Any, *, name: str = "X") -> Dataset:
    """Put what Python users have into the form that readers give."""
    if isinstance(X, Dataset):
        return X
    if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    kind: Literal["table", "vectors", "images"] = "table"
    if isinstance(X, pd.DataFrame):
        X = X.set_axis([str(column) for column in X.columns], axis="columns").reset_index(drop=True)
    else:
        X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        kind = "vectors" if X.ndim == 2 else "images"
        if X.ndim < 2 or X.ndim > 4 or X.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"X must be a data frame, numbers (n, d) or images; it is an array of {X.dtype} of shape {X.shape}."
            )
    n = X.shape[0]
    return Dataset(name, kind, X, np.arange(n), "row", np.full(n, None, dtype=object))


def _columns_of_words(frame: pd.DataFrame, columns: list[str]) -> npt.NDArray[np.object_]:
    return np.column_stack([as_words(frame[column]) for column in columns])


def _present(column: pd.Series) -> npt.NDArray[np.object_]:
    words = as_words(column)
    present: npt.NDArray[np.object_] = words[words != ""]
    return present


def category_features(encoder: Any, columns: list[str]) -> Mapping[str, list[str]]:
    """Name the columns of 0 and 1 that each column of categories becomes."""
    features = {}
    for i, column in enumerate(columns):
        rare = encoder.infrequent_categories_[i]
        common = [word for word in encoder.categories_[i] if rare is None or word not in rare]
        features[column] = [word or "(missing)" for word in common] + ([] if rare is None else ["(rare)"])
    return features


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
