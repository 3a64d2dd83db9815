"""Classes for points by those of others: rules, the choice among them, and all points labeled by one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

from xsdc.core.assignment import assign
from xsdc.core.classifier import fit_classifier
from xsdc.core.constraints import Constraints
from xsdc.core.extension import Extension
from xsdc.core.labelling import nearness
from xsdc.core.objective import decompose, one_hot
from xsdc.networks.rows import Rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
BLOCK = 8192


@dataclass(frozen=True)
class Rule:
    """A way to tell the classes of points by their features.

    Attributes
    ----------
    name : str
        What it is.
    scores : callable
        Features (n, D) to scores (n, k), minus infinity for a class that no point shows.
    right : callable
        Counts the share of the points shown whose class it tells, each left out.
    why : str
        Why it was chosen.
    """

    name: str
    scores: Callable[[Tensor], Floats]
    right: Callable[[], float]
    why: str = ""


def choose_rule(Phi: Tensor, codes: Ints, k: int, *, extension: Extension | None) -> Rule:
    """Choose the rule that best tells the class of a point left out.

    Parameters
    ----------
    Phi : Tensor, shape (m, D)
        Features of points with a class.
    codes : array of int, shape (m,)
        Their classes.
    k : int
        Number of classes.
    extension : Extension or None
        Places points among eigenvectors, where there are any.
    """
    rules = [by_classifier(Phi, codes, k)]
    if extension is not None:
        among = "nearest point among eigenvectors"
        rules = [
            _by_centre(Phi, codes, k, extension),
            by_neighbour(Phi, codes, k, name=among, embed=extension.embed),
            *rules,
        ]
    right = [rule.right() for rule in rules]
    told = ", ".join(f"{rule.name} {share:.3f}" for rule, share in zip(rules, right, strict=True))
    return replace(rules[int(np.argmax(right))], why=f"tells most classes of points left out: {told}")


def _by_centre(Phi: Tensor, codes: Ints, k: int, extension: Extension) -> Rule:
    Z = extension.embed(Phi).cpu().numpy()
    present, local, counts = np.unique(codes, return_inverse=True, return_counts=True)
    centres = [Z[codes == c].mean(0, keepdims=True) for c in present]

    def scores(X: Tensor) -> Floats:
        return _spread(nearness(extension.embed(X).cpu().numpy(), centres), codes, k)

    def right() -> float:
        left_out = nearness(Z, centres)
        own = (np.arange(len(Z)), local)
        with np.errstate(divide="ignore", invalid="ignore"):  # without a point its centre moves away, or is gone
            left_out[own] = np.where(counts[local] > 1, left_out[own] * counts[local] / (counts[local] - 1), -np.inf)
        return float((left_out.argmax(1) == local).mean())

    return Rule("nearest centre among eigenvectors", scores, right)


def by_neighbour(Phi: Tensor, codes: Ints, k: int, *, name: str, embed: Callable[[Tensor], Tensor]) -> Rule:
    """Tell the class of a point by the nearest one that has a class, where ``embed`` places them."""
    Z = embed(Phi).cpu().numpy()
    sets = [Z[codes == c] for c in np.unique(codes)]

    def scores(X: Tensor) -> Floats:
        return _spread(nearness(embed(X).cpu().numpy(), sets), codes, k)

    def right() -> float:
        others = NearestNeighbors(n_neighbors=1).fit(Z).kneighbors(return_distance=False)[:, 0]  # each without itself
        return float((codes[others] == codes).mean())

    return Rule(name, scores, right)


def by_classifier(Phi: Tensor, codes: Ints, k: int, *, lam: float | None = None) -> Rule:
    """Tell the class of a point by a ridge classifier of those that have a class; its ridge is chosen where None."""
    spectrum = decompose(Phi)
    present, local = np.unique(codes, return_inverse=True)
    classes = torch.from_numpy(local.astype(np.int64))
    classifier = fit_classifier(spectrum, classes, n_classes=len(present), lam=lam).to(Phi.device)

    def scores(X: Tensor) -> Floats:
        return _spread(classifier.scores(X).cpu().numpy(), codes, k)

    def right() -> float:
        left_out = spectrum.leave_one_out(one_hot(classes, n_classes=len(present)).to(spectrum.s), classifier.lam)
        return float((left_out.argmax(1).cpu() == classes).double().mean())

    return Rule("ridge classifier", scores, right)


def _spread(scores: Floats, codes: Ints, k: int) -> Floats:
    """Put scores of the classes that points show into columns of all classes."""
    out = np.full((len(scores), k), -np.inf)
    out[:, np.unique(codes)] = scores
    return out


def label_by_rule(
    rule: Rule,
    Phi: Tensor | Rows,
    anchors: Ints,
    constraints: Constraints,
    *,
    k: int,
    counts: tuple[Floats, Floats] | None,
) -> Ints:
    """Give every point a class by a rule; those that have one keep it, unless sizes or links make them give way.

    Parameters
    ----------
    rule : Rule
        How.
    Phi : Tensor of shape (n, D), or Rows
        Features.
    anchors : array of int, shape (n,)
        Classes, -1 where there is none yet.
    constraints : Constraints
        What is known of the points.
    k : int
        Number of classes.
    counts : pair of arrays, each of shape (k,), or None
        Least and largest number of points of each class.
    """
    n = len(anchors)
    # Points that something else than their own place decides about are scored for all classes, and then together.
    tied = np.flatnonzero(_is_tied(constraints)) if counts is None else np.arange(n)
    scores = np.full((len(tied), k), -np.inf)
    found: Ints = np.empty(n, dtype=np.int64)
    for start in range(0, n, BLOCK):
        block = slice(start, min(start + BLOCK, n))
        here = rule.scores(Phi[block])
        found[block] = here.argmax(1)
        first, last = np.searchsorted(tied, [block.start, block.stop])
        scores[first:last] = here[tied[first:last] - start]
    found[anchors >= 0] = anchors[anchors >= 0]
    if len(tied):
        found[tied] = assign(scores, constraints.restricted(tied), sizes=counts)
    return found


def _is_tied(constraints: Constraints) -> npt.NDArray[np.bool_]:
    """Tell which points are apart from others, or have no class but are in a group or barred from some class."""
    group = constraints.group
    together = np.bincount(group)[group] > 1
    apart = (np.diff(constraints.apart.indptr) > 0)[group]
    barred = constraints.group_set[group] > 0
    tied: npt.NDArray[np.bool_] = apart | ((constraints.classes < 0) & (together | barred))
    return tied
