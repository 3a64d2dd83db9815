"""One step of the paper's Algorithms 2 and 3: features of a batch, who is with whom, and the objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from xsdc.core.constraints import Constraints
from xsdc.core.objective import decompose, trace_objective
from xsdc.core.operators import LabelEquivalence
from xsdc.core.sizes import UNBOUNDED, ClassSizes
from xsdc.labelers import BatchProblem, Labeler
from xsdc.networks import Network, normalize_features
from xsdc.networks.rows import Rows
from xsdc.training.batches import Augment, Batch
from xsdc.training.memory import Memory
from xsdc.training.processes import Processes, SharedFeatures


def batch_features(
    network: Network | SharedFeatures,
    data: Tensor | Rows,
    batch: Batch,
    *,
    augment: Augment | None,
    generator: torch.Generator,
    memory: Memory | None = None,
) -> Tensor:
    """Features of a batch with gradients, the labeled and the unlabeled part each on its own scale.

    Remembered features are part of the unlabeled ones as constants; ``memory`` then takes those of the batch.
    """
    shared = network if isinstance(network, SharedFeatures) else SharedFeatures(network, Processes())
    points = [part for part in (batch.labeled, batch.unlabeled) if len(part)]
    inputs: list[Callable[[Tensor], Tensor]]
    if augment is None:
        inputs = [partial(_rows, data, part) for part in points]
    else:
        # Every process changes all of them, with the same generator: the changes do not depend on who computes what.
        inputs = [augment(data[part], generator).__getitem__ for part in points]
    features = shared(inputs, [len(part) for part in points])
    if len(batch.unlabeled):
        if memory is not None:
            memory.take(batch.unlabeled, features[-1])
        features[-1] = _with_remembered(features[-1], batch)
    return torch.cat([normalize_features(Phi)[0] for Phi in features])


def _rows(data: Tensor | Rows, points: Tensor, rows: Tensor) -> Tensor:
    return data[points[rows]]


def _with_remembered(Phi: Tensor, batch: Batch) -> Tensor:
    """Append what is remembered.

    To weight the gradient of the fresh rows, so that they stand for the remembered ones too, does harm: the parts of
    the gradient that cancel over a whole batch, where linear maps of the features change nothing, do not over a part.
    """
    return Phi if batch.remembered is None else torch.cat([Phi, batch.remembered.features])


@dataclass(frozen=True)
class Objective:
    """Value of a step.

    Attributes
    ----------
    value : Tensor
        tr(M A), with a gradient.
    eigengap : float or None
        Gap of the eigenvalues of A after the k-th; None where the number of classes is open.
    flat : bool
        Whether M is the same everywhere. Since A 1 = 0, tr(M A) is then zero whatever the features are, and its
        gradient is rounding.
    bounded : bool
        Whether the bounds on sizes could be met, and held.
    """

    value: Tensor
    eigengap: float | None
    flat: bool = False
    bounded: bool = True


def batch_objective(
    Phi: Tensor,
    batch: Batch,
    *,
    constraints: Constraints,
    labeler: Labeler,
    sizes: ClassSizes,
    lam: float,
    n_clusters: int | None = None,
    generator: torch.Generator,
) -> Objective:
    """Value of tr(M A) for a batch, M filled in from what is known and held fixed in the gradient.

    Where every point of the batch has a class, nothing needs to be filled in: M = Y Y^T.
    """
    points = batch.index.cpu().numpy()
    spectrum = decompose(Phi)
    eigengap = None if n_clusters is None else spectrum.eigengap(lam, n_clusters)
    classes = torch.from_numpy(constraints.classes[points]).to(Phi.device)
    if bool((classes >= 0).all()):
        value = trace_objective(Phi, LabelEquivalence(classes), lam, spectrum=spectrum)
        return Objective(value, eigengap, flat=bool((classes == classes[0]).all()))
    known = constraints.entries(points)
    size = sizes.among_sample(constraints, known, points)
    bounded = size is not UNBOUNDED
    problem = BatchProblem(
        spectrum=spectrum,
        lam=lam,
        known=known,
        size=size,
        class_size=sizes.of_classes(constraints, points) if bounded else (np.zeros(1), np.full(1, float(len(points)))),
        constraints=constraints.restricted(points),
        points=points,
        n_clusters=n_clusters,
        generator=generator,
    )
    M = labeler.label(problem)
    flat = isinstance(M, Tensor) and bool((M[0] == M[0, 0]).all() and (M[0, 0] == M).all())
    return Objective(trace_objective(Phi, M, lam, spectrum=spectrum), eigengap, flat, bounded)
