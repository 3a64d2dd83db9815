"""The options of a fit, checked together; what is left to be chosen stands as "auto"."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from xsdc import validation
from xsdc.core.sizes import ClassSizes
from xsdc.errors import InvalidInputError
from xsdc.labelers import Balancing, Hard, Labeler, resolve_labeler
from xsdc.training import Callback
from xsdc.training.augmentation import resolve_augmentation
from xsdc.training.batches import Augment

Auto = Literal["auto"]
ClusterSize = str | tuple[float, float] | Sequence[tuple[float, float]] | Mapping[Any, tuple[float, float]]
ALGORITHMS = ("ensemble", "published")
EFFORTS = ("fast", "normal", "best")
DTYPES = {"float32": torch.float32, "float64": torch.float64}


@dataclass(frozen=True)
class Settings:
    """Options of a fit; :class:`xsdc.XSDC` describes each.

    ``continued`` says that a network goes on that was trained before, with a tenth of the steps.
    """

    algorithm: str
    effort: str
    network_given: bool
    cluster_size: ClusterSize
    labeler: Labeler
    max_iter: int | Auto
    supervised_iter: int | Auto
    batch_size: int | Auto
    labeled_batch_size: int
    piece_size: int | None
    memory_size: int
    learning_rate: float | Auto
    supervised_learning_rate: float | Auto
    ridge: float | Auto
    filter_penalty: float
    entropy: float | Literal["median"]
    augment: Augment | Auto | None
    copies: int
    validation: float | tuple[Any, Any] | Auto | None
    patience: int | None
    evaluate_every: int
    device: torch.device
    dtype: torch.dtype | Auto
    callbacks: tuple[Callback, ...]
    progress: bool | Auto
    continued: bool = False


def read_settings(
    *,
    algorithm: str,
    effort: str,
    network_given: bool,
    cluster_size: ClusterSize,
    labeler: str | Labeler,
    max_iter: int | Auto,
    supervised_iter: int | Auto,
    batch_size: int | Auto,
    labeled_batch_size: int,
    piece_size: int | None,
    memory_size: int,
    learning_rate: float | Auto,
    supervised_learning_rate: float | Auto,
    ridge: float | Auto,
    filter_penalty: float,
    entropy: float | Literal["median"],
    augmentation: str | Callable[[Tensor, torch.Generator], Tensor] | None,
    copies: int,
    validation_set: float | tuple[Any, Any] | Auto | None,
    patience: int | None,
    evaluate_every: int,
    device: str | torch.device,
    dtype: str,
    callbacks: Sequence[Callback],
    progress: bool | Auto,
) -> Settings:
    """Check options as a user gives them."""
    if algorithm not in ALGORITHMS:
        raise InvalidInputError(f"algorithm must be {' or '.join(ALGORITHMS)}; it is {algorithm!r}.")
    if effort not in EFFORTS:
        raise InvalidInputError(f"effort must be {', '.join(EFFORTS[:-1])} or {EFFORTS[-1]}; it is {effort!r}.")
    augment: Augment | Auto | None = "auto"
    if not isinstance(augmentation, str) or augmentation != "auto":
        augment = resolve_augmentation(augmentation)
    copies = validation.as_count(copies, name="copies")
    if copies > 1 and augment is None:
        raise InvalidInputError(f"copies is {copies}, but there is no augmentation to make them differ. Set it, or 1.")
    if not isinstance(entropy, str) or entropy != "median":
        entropy = validation.as_positive(entropy, name="entropy")
    # A copy: a labeler may remember what it saw, and an estimator's options stay as they are.
    chosen = "balancing" if algorithm == "published" else "graph"
    found = copy.deepcopy(resolve_labeler(chosen if isinstance(labeler, str) and labeler == "auto" else labeler))
    if isinstance(labeler, str) and isinstance(found, Balancing | Hard):  # those that balance
        found = replace(found, nu=entropy)
    if dtype not in DTYPES and dtype != "auto":
        raise InvalidInputError(f"dtype must be auto, {' or '.join(DTYPES)}; it is {dtype!r}.")
    if progress not in (True, False, "auto"):
        raise InvalidInputError(f'progress must be true, false or "auto"; it is {progress!r}.')
    return Settings(
        algorithm=algorithm,
        effort=effort,
        network_given=network_given,
        cluster_size=cluster_size,
        labeler=found,
        max_iter=_count_or_auto(max_iter, "max_iter"),
        supervised_iter=_count_or_auto(supervised_iter, "supervised_iter"),
        batch_size=_count_or_auto(batch_size, "batch_size", minimum=2),
        labeled_batch_size=validation.as_count(labeled_batch_size, name="labeled_batch_size", minimum=2),
        piece_size=None if piece_size is None else validation.as_count(piece_size, name="piece_size"),
        memory_size=validation.as_count(memory_size, name="memory_size", minimum=0),
        learning_rate=_number_or_auto(learning_rate, "learning_rate"),
        supervised_learning_rate=_number_or_auto(supervised_learning_rate, "supervised_learning_rate"),
        ridge=_number_or_auto(ridge, "ridge"),
        filter_penalty=validation.as_positive(filter_penalty, name="filter_penalty", allow_zero=True),
        entropy=entropy,
        augment=augment,
        copies=copies,
        validation=_validation(validation_set, patience),
        patience=None if patience is None else validation.as_count(patience, name="patience"),
        evaluate_every=validation.as_count(evaluate_every, name="evaluate_every"),
        device=_device(device),
        dtype="auto" if dtype == "auto" else DTYPES[dtype],
        callbacks=_callbacks(callbacks),
        progress=progress,
    )


def read_sizes(cluster_size: ClusterSize, names: Sequence[Any], n_clusters: int | None) -> ClassSizes | None:
    """Read bounds on the classes; None for "auto".

    Parameters
    ----------
    cluster_size : "auto", "equal", pair, sequence of pairs or mapping
        As given by a user.
    names : sequence
        What the classes are called.
    n_clusters : int or None
        Their number, None where it is open.
    """
    if isinstance(cluster_size, str):
        if cluster_size == "auto":
            return None
        if cluster_size != "equal":
            raise InvalidInputError(
                'cluster_size must be "auto", "equal", a pair (minimum, maximum) of fractions, or one pair per class;'
                f" it is {cluster_size!r}."
            )
        if n_clusters is None:
            raise InvalidInputError('cluster_size="equal" needs to know how many: set n_clusters, or give labels.')
        return ClassSizes.around(n_clusters, 1, 1)
    if isinstance(cluster_size, Mapping):
        return _sizes_by_name(cluster_size, names, n_clusters)
    try:
        bounds = np.asarray(cluster_size, dtype=np.float64)
    except (TypeError, ValueError):
        bounds = np.empty(0)
    if bounds.shape == (2,):
        return ClassSizes(*(np.full(n_clusters or 1, x) for x in bounds))
    if bounds.ndim != 2 or bounds.shape[1] != 2:
        raise InvalidInputError(
            "cluster_size must be a pair (minimum, maximum) of fractions, or one such pair per class; it is"
            f" {cluster_size!r}."
        )
    if n_clusters is None or len(bounds) != n_clusters:
        count = "an open number of" if n_clusters is None else str(n_clusters)
        raise InvalidInputError(
            f"cluster_size holds {len(bounds)} pairs, but there are {count} classes; give one each."
        )
    return ClassSizes(bounds[:, 0], bounds[:, 1])


def _sizes_by_name(given: Mapping[Any, Any], names: Sequence[Any], n_clusters: int | None) -> ClassSizes:
    listed = list(names)
    strange = [name for name in given if name not in listed]
    if n_clusters is None or strange:
        raise InvalidInputError(
            f"cluster_size names {(strange or list(given))[0]!r}, which is no class; they are"
            f" {', '.join(repr(name) for name in listed[:10]) or 'not known'}."
        )
    pairs = [given.get(name, (0.0, 1.0)) for name in listed]
    return read_sizes(pairs, names, n_clusters) or ClassSizes.around(n_clusters, 0, n_clusters)


def _count_or_auto(value: int | Auto, name: str, *, minimum: int = 0) -> int | Auto:
    if isinstance(value, str) and value == "auto":
        return "auto"
    return validation.as_count(value, name=name, minimum=minimum)


def _number_or_auto(value: float | Auto, name: str) -> float | Auto:
    if isinstance(value, str) and value == "auto":
        return "auto"
    return validation.as_positive(value, name=name)


def _validation(value: Any, patience: int | None) -> float | tuple[Any, Any] | Auto | None:
    if value is None:
        if patience is not None:
            raise InvalidInputError(
                "patience counts evaluations on a validation set, but validation is None. Set it to a fraction of the"
                " labels, or to a pair (X, y)."
            )
        return None
    if isinstance(value, str) and value == "auto":
        return "auto"
    if isinstance(value, tuple | list):
        if len(value) != 2:
            raise InvalidInputError(f"validation must be a pair (X, y) or a fraction; it holds {len(value)} things.")
        return value[0], value[1]
    share = validation.as_positive(value, name="validation")
    if share >= 1:
        raise InvalidInputError(f"validation must be below 1: the share of the labels to hold out; it is {share}.")
    return share


def _device(device: str | torch.device) -> torch.device:
    try:
        found = torch.device(device)
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError, TypeError) as error:
        raise InvalidInputError(f"device must be one that torch can use here; {device!r} is not ({error}).") from error
    return found


def _callbacks(callbacks: Sequence[Callback]) -> tuple[Callback, ...]:
    wrong = [callback for callback in callbacks if not isinstance(callback, Callback)]
    if wrong:
        raise InvalidInputError(
            f"callbacks must be objects of xsdc.training.Callback; one is {type(wrong[0]).__name__}."
        )
    return tuple(callbacks)
