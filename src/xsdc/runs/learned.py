"""From what a run is given to numbers: in memory where they fit, else in a file of the run."""

from __future__ import annotations

from pathlib import Path

from xsdc.data import Preparation, Prepared, Rows, learn_from_sample, prepare
from xsdc.errors import InvalidInputError
from xsdc.runs.configuration import Configuration
from xsdc.runs.folder import RunFolder
from xsdc.runs.given import Given

NOTHING_VARIES = "All points are equal once they are made numbers, so nothing tells them apart. Look at the data."


def learn(given: Given, configuration: Configuration, folder: RunFolder, *, resume: bool) -> Prepared | Preparation:
    """Learn how to make numbers of the data, and make them if they are in memory; nothing is written yet.

    A run that goes on takes the preparation that it began with: how much memory is free may have changed since.
    """
    begun = Preparation.load(folder.preparation) if resume and folder.preparation.is_file() else None
    large = isinstance(given.dataset.X, Rows)
    if begun is not None:
        return begun if large else prepare(given.dataset, begun, again=True)
    preparation = configuration.data.preparation()
    if large:
        return learn_from_sample(given.dataset, given.at_hand, preparation)
    return prepare(given.dataset, preparation.fit(given.dataset))


def finish(learned: Prepared | Preparation, given: Given, where: Path, *, again: bool) -> Prepared:
    """Make the numbers that are not made yet, block by block, in a file.

    Parameters
    ----------
    learned : Prepared or Preparation
        What `learn` gave.
    given : Given
        The data.
    where : Path
        A folder for the file, to be made.
    again : bool
        Whether the run goes on with a preparation that was complete.
    """
    if isinstance(learned, Prepared):
        prepared = learned
    else:
        where.mkdir()
        prepared = prepare(given.dataset, learned, where / "points.npy", again=again)
    if len(prepared.Z) > 1 and not prepared.varies:
        raise InvalidInputError(NOTHING_VARIES)
    return prepared
