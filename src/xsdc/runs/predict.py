"""From a run and a file to a class for each of its points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from xsdc import XSDC
from xsdc.data import Dataset, Preparation, holds_image_files, read_data
from xsdc.errors import InvalidInputError
from xsdc.runs.folder import RunFolder, read_json


@dataclass(frozen=True)
class Predicted:
    """What a run says of further points.

    Attributes
    ----------
    table : data frame
        Id, label and probability; with all classes, a column for the probability of each.
    notes : list of str
        What was passed over or filled in.
    """

    table: pd.DataFrame
    notes: list[str]


def predict_run(
    where: Path, source: str, *, id_column: str | None = None, all_classes: bool = False, network: Any = None
) -> Predicted:
    """Predict the class of each point of a file.

    Parameters
    ----------
    where : Path
        The folder of a run, or a model file; then the data is taken as it comes.
    source : str
        A file, a folder of images, or the name of a data set. Labels in it are not looked at.
    id_column : str, optional
        Column that names the rows; by default that of the run, where the file has it.
    all_classes : bool
        Whether to give the probability of every class.
    network : object, optional
        The user's own network, where the model was fitted with one.
    """
    if where.is_dir():
        folder = RunFolder(where)
        folder.require(folder.model, folder.preparation, folder.configuration)
        model, preparation = XSDC.load(folder.model, network=network), Preparation.load(folder.preparation)
        roles = read_json(folder.configuration)["data"]
    else:
        model, preparation, roles = XSDC.load(where, network=network), None, {}
    size = None
    if preparation is not None and preparation.kind == "images" and holds_image_files(source):
        size = preparation.shape[0], preparation.shape[1]
    dataset = read_data(source, image_size=size)
    ids = find_ids(dataset, id_column, roles.get("id_column"))
    Z = dataset.X if preparation is None else preparation.transform(dataset)
    notes = [] if preparation is None else preparation.remarks(without_roles(dataset, roles, id_column))
    if isinstance(Z, pd.DataFrame):
        raise InvalidInputError(
            f"A model file takes arrays of numbers or images; for a table like {source}, give the run."
        )
    probabilities = model.predict_proba(Z)
    best = probabilities.argmax(1)
    table = pd.DataFrame(
        {
            "id": ids,
            "label": model.classes_[best],
            "probability": np.round(probabilities[np.arange(len(best)), best], 6),
        }
    )
    if all_classes:
        more = {f"probability of {name}": np.round(probabilities[:, c], 6) for c, name in enumerate(model.classes_)}
        table = pd.concat([table, pd.DataFrame(more)], axis=1)
    return Predicted(table, notes)


def without_roles(dataset: Dataset, roles: dict[str, Any], id_column: str | None) -> Dataset:
    """Leave out columns that the fit has used otherwise than as features."""
    if not isinstance(dataset.X, pd.DataFrame):
        return dataset
    names = {id_column, *(roles.get(name) for name in ("label_column", "truth_column", "id_column"))}
    names |= set(roles.get("ignore", ()))
    return replace(dataset, X=dataset.X[[column for column in dataset.X.columns if column not in names]])


def find_ids(dataset: Dataset, asked: str | None, usual: str | None) -> Any:
    """Take ids from a column that was asked for, or from that of the run where the table has it."""
    columns = list(dataset.X.columns) if isinstance(dataset.X, pd.DataFrame) else []
    if asked is not None and asked not in columns:
        raise InvalidInputError(f"{dataset.name} has no column {asked!r}.")
    column = asked or usual
    return dataset.X[column].to_numpy() if column in columns else dataset.ids
