"""What a run is given: points, labels and pairs, read from where the user keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from xsdc.data import Dataset, Limits, Rows, draw_sample, read_data, read_links, read_pairs
from xsdc.errors import InvalidInputError
from xsdc.fitting.points import in_turn
from xsdc.runs.configuration import DataOptions
from xsdc.runs.corrections import correct, read_corrections

Pairs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Given:
    """Points and everything known of them.

    Attributes
    ----------
    dataset : Dataset
        Points, labels, allowed labels.
    must_link, cannot_link : array of int64, shape (m, 2)
        Pairs of positions.
    sample : Dataset or None
        Some of the points, in memory, where all of them are too many for it.
    """

    dataset: Dataset
    must_link: Pairs
    cannot_link: Pairs
    sample: Dataset | None = None

    @property
    def at_hand(self) -> Dataset:
        """The points that are in memory: all, or the sample."""
        return self.dataset if self.sample is None else self.sample

    @property
    def y(self) -> npt.NDArray[np.object_] | None:
        """Labels as the estimator takes them."""
        labels = self.dataset.labels
        return labels if any(label is not None for label in labels) else None

    @property
    def names_classes(self) -> bool:
        """Whether labels, or choices of them, say which classes there are."""
        return self.y is not None or bool(self.dataset.allowed)

    @property
    def facts(self) -> dict[str, Any]:
        """Pairs and allowed labels as the estimator takes them."""
        return {
            "must_link": self.must_link if len(self.must_link) else None,
            "cannot_link": self.cannot_link if len(self.cannot_link) else None,
            "allowed_labels": self.dataset.allowed or None,
        }


def read_given(options: DataOptions, *, seed: int = 0, in_memory: bool = True) -> Given:
    """Read data and pairs; hide labels where only some are to be kept.

    Parameters
    ----------
    options : DataOptions
        What to read.
    seed : int
        Which labels are kept.
    in_memory : bool
        Whether points must be in memory; if not, large data are left where they are and a sample is taken.
    """
    dataset = read_data(
        options.source,
        label_column=options.label_column,
        truth_column=options.truth_column,
        id_column=options.id_column,
        ignore=options.ignore,
        reading=options.reading(),
        image_size=options.image_size,
        in_memory=in_memory,
        limits=Limits.of(options.limits),
    )
    if options.keep_labels is not None:
        dataset = hide_labels(dataset, options.keep_labels, np.random.default_rng(seed))
    none = np.empty((0, 2), dtype=np.int64)
    must = none if options.must_link is None else read_pairs(options.must_link, dataset, name="must_link")
    cannot = none if options.cannot_link is None else read_pairs(options.cannot_link, dataset, name="cannot_link")
    more = (none, none) if options.links is None else read_links(options.links, dataset)
    if options.corrections:
        dataset, *corrected = correct(dataset, read_corrections(options.corrections, dataset))
        must, cannot = np.concatenate([must, corrected[0]]), np.concatenate([cannot, corrected[1]])
    sample = draw_sample(dataset) if isinstance(dataset.X, Rows) else None
    return Given(dataset, np.concatenate([must, more[0]]), np.concatenate([cannot, more[1]]), sample)


def hide_labels(dataset: Dataset, keep: int, rng: np.random.Generator) -> Dataset:
    """Keep some labels, as evenly over the classes as they last; the others become truth that no fit sees."""
    labels = dataset.labels
    known = np.flatnonzero([label is not None for label in labels])
    if keep < 0 or keep > len(known):
        raise InvalidInputError(
            f"--keep-labels must be between 0 and the number of labels, {len(known)}; it is {keep}."
        )
    kept = draw_evenly([labels[i] for i in known], keep, rng)
    left = np.full(dataset.n, None, dtype=object)
    left[known[kept]] = labels[known[kept]]
    truth = labels if dataset.truth is None else np.where([t is None for t in dataset.truth], labels, dataset.truth)
    note = f"{keep} of {len(known)} labels are kept; the others are hidden, and serve to measure by."
    return replace(dataset, labels=left, truth=truth, notes=[*dataset.notes, note])


def draw_evenly(labels: Sequence[Any], count: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw positions so that classes come in turn, as long as they last."""
    return in_turn(rng.permutation(len(labels)), np.array([*labels, None], dtype=object)[:-1])[:count]
