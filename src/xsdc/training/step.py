"""One step of the paper's Algorithms 2 and 3: features of a batch, who is with whom, and the objective."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from xsdc.core.constraints import Constraints
from xsdc.core.objective import decompose, trace_objective
from xsdc.core.operators import LabelEquivalence
from xsdc.core.sizes import ClassSizes
from xsdc.errors import DivergedError
from xsdc.labelers import BatchProblem, Labeler
from xsdc.networks import Network, normalize_features
from xsdc.training.batches import Augment, Batch
from xsdc.training.memory import Memory


def batch_features(
    network: Network,
    data: Tensor,
    batch: Batch,
    *,
    augment: Augment | None,
    generator: torch.Generator,
    memory: Memory | None = None,
) -> Tensor:
    """Features of a batch with gradients, the labeled and the unlabeled part each on its own scale.

    Remembered features are part of the unlabeled ones as constants; ``memory`` then takes those of the batch.
    """
    inputs = [data[batch.labeled], data[batch.unlabeled]]
    if augment is not None and len(batch.unlabeled):
        inputs[1] = augment(inputs[1], generator)
    parts = []
    for i, part in enumerate(inputs):
        if not len(part):
            continue
        Phi = network(part)
        if i == 1:
            if memory is not None:
                memory.take(batch.unlabeled, Phi)
            Phi = _with_remembered(Phi, batch)
        if not bool(Phi.detach().isfinite().all()):
            raise DivergedError("The features are not finite. Lower the learning rate, or check the network.")
        if not float((Phi.detach() - Phi.detach().mean(1, keepdim=True)).norm()) > 0:
            raise DivergedError("Every feature vector is constant. Lower the learning rate, or check the network.")
        parts.append(normalize_features(Phi)[0])
    return torch.cat(parts)


def _with_remembered(Phi: Tensor, batch: Batch) -> Tensor:
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
    """

    value: Tensor
    eigengap: float | None


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
        return Objective(trace_objective(Phi, LabelEquivalence(classes), lam, spectrum=spectrum), eigengap)
    known = constraints.entries(points)
    problem = BatchProblem(
        spectrum=spectrum,
        lam=lam,
        known=known,
        size=sizes.among_sample(constraints, known, points),
        constraints=constraints.restricted(points),
        points=points,
        n_clusters=n_clusters,
        generator=generator,
    )
    return Objective(trace_objective(Phi, labeler.label(problem), lam, spectrum=spectrum), eigengap)
