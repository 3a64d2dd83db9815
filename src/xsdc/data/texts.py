"""Free text and counts to a few numbers: tf-idf, library sizes, and a singular value decomposition."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from xsdc.errors import InvalidInputError

Array = npt.NDArray[Any]
DIMENSIONS = 300  # that text, and what is too wide, is reduced to
LEAST = 0.01  # of the first singular value: what is below is noise
PIXEL = 16  # from which on what columns reach tells pixels from counts
WIDE = 3000  # columns of counts or of a sparse matrix from which on they are reduced
TERMS = 10_000  # of either kind
# Words and pairs of them, and parts of words: the first tell topics, the others endings and spelling.
ANALYZERS: tuple[dict[str, Any], ...] = (
    {"ngram_range": (1, 2), "token_pattern": r"(?u)\b\w+\b"},
    {"ngram_range": (2, 5), "analyzer": "char_wb"},
)
RARE = 20  # texts from which on a term must stand in two of them


@dataclass(frozen=True)
class TextEncoder:
    """A column of free text to numbers: tf-idf of words and of parts of words, and its singular vectors.

    Attributes
    ----------
    terms : list of list of str
        Terms of each kind.
    scale : float
        What the result is divided by: the variance of all its columns is that of one column of numbers.
    weights : array, shape (t,)
        Inverse document frequency of each.
    directions : array of float16, shape (t, k)
        What each adds to the result.
    """

    terms: list[list[str]]
    scale: float
    weights: npt.NDArray[np.float32]
    directions: npt.NDArray[np.float16]

    @classmethod
    def fit(cls, words: Sequence[str]) -> TextEncoder:
        """Learn terms and directions from texts."""
        least = 2 if len(words) >= RARE else 1
        found = []
        for options in ANALYZERS:
            vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=least, max_features=TERMS, **options)
            try:
                found.append(vectorizer.fit(words))
            except ValueError as error:  # no term is left
                if least == 1:
                    raise InvalidInputError("A column of text holds no words.") from error
                return cls.fit([*words, *words])
        terms = [vectorizer.get_feature_names_out().tolist() for vectorizer in found]
        weights = np.concatenate([vectorizer.idf_ for vectorizer in found]).astype(np.float32)
        encoder = cls(terms, 1.0, weights, np.empty((len(weights), 0), dtype=np.float16))
        directions = _directions(encoder._weighted(words)).astype(np.float16)
        encoder = cls(terms, 1.0, weights, directions)
        variance = float(encoder.transform(words).var(axis=0, dtype=np.float64).sum())
        return cls(terms, float(np.sqrt(variance)) or 1.0, weights, directions)

    def transform(self, words: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the numbers of texts, (n, k)."""
        numbers: npt.NDArray[np.float32] = self._weighted(words) @ self.directions.astype(np.float32)
        return numbers / np.float32(self.scale)

    def _weighted(self, words: Sequence[str]) -> sparse.csr_matrix:
        parts, begin = [], 0
        for terms, options in zip(self.terms, ANALYZERS, strict=True):
            vectorizer = TfidfVectorizer(sublinear_tf=True, vocabulary=terms, dtype=np.float32, **options)
            vectorizer.idf_ = self.weights[begin : begin + len(terms)].astype(np.float64)
            parts.append(vectorizer.transform(words))
            begin += len(terms)
        return sparse.hstack(parts, format="csr", dtype=np.float32)

    @property
    def width(self) -> int:
        """Number of columns of the result."""
        return int(self.directions.shape[1])


def encode_sentences(words: Sequence[str], *, name: str) -> npt.NDArray[np.float32]:
    """Have a sentence encoder make numbers of texts; it is the user's to install and name."""
    try:
        sentences = importlib.import_module("sentence_transformers")
    except ImportError as error:
        raise InvalidInputError(
            f"The sentence encoder `{name}` needs sentence-transformers, which is not installed: pip install"
            " sentence-transformers. Or leave `text_encoder` out, for tf-idf."
        ) from error
    encoder = sentences.SentenceTransformer(name)
    return np.asarray(encoder.encode(list(words), normalize_embeddings=True), dtype=np.float32)


def _directions(X: Any) -> Array:
    """Return the first right singular vectors of X (n, d), as columns."""
    k = min(DIMENSIONS, min(X.shape) - 1)
    if k < 1:
        return np.ones((X.shape[1], 1))
    svd = TruncatedSVD(k, random_state=0).fit(X)
    heard = svd.singular_values_ > LEAST * svd.singular_values_[0]
    return np.asarray(svd.components_[heard].T)


@dataclass(frozen=True)
class CountEncoder:
    """Counts (of words, of genes) to numbers, as their fields do.

    Attributes
    ----------
    how : {"words", "counts", "numbers"}
        tf-idf; sums brought to one number, and log1p; or nothing but fewer columns.
    weights : array, shape (d,)
        Inverse document frequencies, for words.
    total : float
        What sums are brought to, for counts.
    directions : array of float32, shape (d, k), or None
        What the columns are reduced by, where they are many.
    """

    how: str
    weights: npt.NDArray[np.float32]
    total: float
    directions: npt.NDArray[np.float32] | None

    @classmethod
    def fit(cls, X: Any, *, how: str) -> CountEncoder:
        """Learn weights, sums and directions."""
        n, d = X.shape
        present = np.asarray((X > 0).sum(axis=0)).reshape(-1)
        weights = np.log((1 + n) / (1 + present)) + 1 if how == "words" else np.empty(0)
        sums = np.asarray(X.sum(axis=1), dtype=np.float64).reshape(-1)
        total = float(np.median(sums[sums > 0])) if how == "counts" and (sums > 0).any() else 1.0
        encoder = cls(how, weights.astype(np.float32), total, None)
        if d <= WIDE:
            return encoder
        return cls(how, encoder.weights, total, _directions(encoder.transform(X)).astype(np.float32))

    def transform(self, X: Any) -> Any:
        """Return the numbers, dense unless nothing reduces a sparse X of many columns."""
        X = X.astype(np.float32)
        if self.how == "counts":
            sums = np.asarray(X.sum(axis=1), dtype=np.float32).reshape(-1, 1)
            X = _scaled_rows(X, self.total / np.where(sums > 0, sums, 1))
            X = X.log1p() if sparse.issparse(X) else np.log1p(X)
        elif self.how == "words":
            X = X.log1p() if sparse.issparse(X) else np.log1p(X)
            X = X.multiply(self.weights).tocsr() if sparse.issparse(X) else X * self.weights
            squares = X.multiply(X) if sparse.issparse(X) else X * X
            norms = np.sqrt(np.asarray(squares.sum(axis=1))).reshape(-1, 1)
            X = _scaled_rows(X, 1 / np.where(norms > 0, norms, 1))
        if self.directions is not None:
            return np.asarray(X @ self.directions)
        return X.toarray() if sparse.issparse(X) and X.shape[1] <= WIDE else X

    def said(self) -> str:
        """Say what is done."""
        done = {
            "words": "Counts of words became tf-idf (log1p of counts, rows of length 1)",
            "counts": f"Counts were brought to one sum a row, {self.total:.4g}, and to log1p",
            "numbers": "The sparse matrix was not scaled",
        }[self.how]
        return (
            f"{done}." if self.directions is None else f"{done}; {self.directions.shape[1]} singular vectors are used."
        )


def _scaled_rows(X: Any, factors: Array) -> Any:
    return X.multiply(factors).tocsr() if sparse.issparse(X) else X * factors.astype(np.float32)


def looks_like_counts(X: Any) -> bool:
    """Tell whether numbers are counts: whole and mostly zero, in columns of unlike heights, as pixels have not."""
    if X.ndim != 2 or X.shape[1] < 100:
        return False
    some = X[: min(X.shape[0], 2000)]
    values = some.data if sparse.issparse(some) else some[some != 0]
    if not values.size or values.size > 0.2 * some.shape[0] * some.shape[1]:
        return False
    if not (np.isfinite(values).all() and (values > 0).all() and (values == np.rint(values)).all()):
        return False
    highest = np.asarray(some.max(axis=0).todense() if sparse.issparse(some) else some.max(axis=0)).reshape(-1)
    unlike = values.max() < PIXEL or np.median(highest[highest > 0]) < 0.5 * values.max()
    return bool(values.max() > 1 and unlike)
