"""A classifier as plain data and arrays in a zip file. Nothing in it is run when it is read."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from xsdc.core.classifier import Classifier
from xsdc.core.graph import NeighborIndex
from xsdc.data.archives import read_arrays
from xsdc.errors import InvalidInputError
from xsdc.fitting.ensemble import ClassifierMember, Ensemble, GraphMember, Member
from xsdc.fitting.labels import LabelClassifier, PointClassifier
from xsdc.fitting.models import Linear, Trees
from xsdc.fitting.published import FeatureClassifier
from xsdc.fitting.representation import Representation

FACTS, ARRAYS = "classifier.json", "classifier.npz"
MODELS = {"linear": Linear, "trees": Trees}
Arrays = dict[str, npt.NDArray[Any]]


def write_classifier(classifier: PointClassifier, file: zipfile.ZipFile) -> None:
    """Write a classifier into an open zip file."""
    if isinstance(classifier, FeatureClassifier):
        ridge = classifier.ridge
        _write({"lam": ridge.lam, "sharpness": ridge.sharpness}, {"W": ridge.W.numpy(), "b": ridge.b.numpy()}, file)
        return
    assert isinstance(classifier, LabelClassifier)  # noqa: S101  there are these two
    facts: dict[str, Any] = {"views": len(classifier.representations), "members": []}
    arrays: Arrays = {"weights": classifier.ensemble.weights}
    for place, representation in enumerate(classifier.representations):
        arrays |= {f"mean {place}": representation.mean.numpy()}
        arrays |= {f"components {place}": representation.components.numpy()}
    for place, member in enumerate(classifier.ensemble.members):
        said, held = _taken_apart(member)
        facts["members"].append(said)
        arrays |= {f"{name} of member {place}": array for name, array in held.items()}
    _write(facts, arrays, file)


def _write(facts: dict[str, Any], arrays: Arrays, file: zipfile.ZipFile) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    file.writestr(FACTS, json.dumps(facts))
    file.writestr(ARRAYS, buffer.getvalue())


def read_classifier(file: zipfile.ZipFile) -> PointClassifier:
    """Read what `write_classifier` wrote."""
    facts = json.loads(file.read(FACTS))
    arrays = read_arrays(file.read(ARRAYS), name=ARRAYS)
    _require_numbers(arrays)
    if "lam" in facts:
        return FeatureClassifier(Classifier(torch.from_numpy(arrays["W"]), torch.from_numpy(arrays["b"]), **facts))
    members = []
    for place, said in enumerate(facts["members"]):
        ending = f" of member {place}"
        held = {name.removesuffix(ending): array for name, array in arrays.items() if name.endswith(ending)}
        members.append(_put_together(said, held))
    representations = tuple(
        Representation(*(torch.from_numpy(arrays[f"{name} {view}"]) for name in ("mean", "components")))
        for view in range(facts["views"])
    )
    return LabelClassifier(representations, Ensemble(tuple(members), arrays["weights"]))


def _require_numbers(arrays: Arrays) -> None:
    """Refuse what no fit writes: arrays of something else, and entries that are not finite."""
    for name, array in arrays.items():
        allowed = name.startswith("b of ") or name == "b"  # minus infinity for classes that were not shown
        if array.dtype.kind not in "iuf" or np.isnan(array).any() or (np.isinf(array).any() and not allowed):
            raise InvalidInputError(f"`{name}` of the classifier must hold finite numbers.")


def _require_trees(trees: Trees) -> None:
    """Refuse trees in which a point would not come to a leaf."""
    n = len(trees.feature)
    inner = np.flatnonzero(trees.feature >= 0)
    below = trees.children[inner]
    complete = {len(trees.threshold), len(trees.children), len(trees.values)} == {n}
    rooted = bool(((trees.roots >= 0) & (trees.roots < n)).all())
    if not (complete and rooted and ((below > inner[:, None]) & (below < n)).all()):
        raise InvalidInputError("The trees of the classifier are damaged: children must come after their parents.")


def _taken_apart(member: Member) -> tuple[dict[str, Any], Arrays]:
    """Describe a member by plain data and arrays."""
    if isinstance(member, ClassifierMember):
        (kind,) = (name for name, model in MODELS.items() if isinstance(member.model, model))
        return {"is": kind, "view": member.view}, dict(vars(member.model))
    index = member.index
    said = {"is": "graph", "view": member.view, "metric": index.metric, "n_neighbors": index.n_neighbors}
    said["names"] = member.names
    return said, {"points": index.points.numpy(), "center": index.center.numpy(), "spreads": member.spreads}


def _put_together(said: dict[str, Any], held: Arrays) -> Member:
    if said["is"] != "graph":
        model = MODELS[said["is"]](**held)
        if isinstance(model, Trees):
            _require_trees(model)
        return ClassifierMember(model, said["view"])
    points, center = torch.from_numpy(held["points"]), torch.from_numpy(held["center"])
    index = NeighborIndex(points, center, said["metric"], said["n_neighbors"])
    return GraphMember(index, held["spreads"], said["view"], tuple(said["names"]))
