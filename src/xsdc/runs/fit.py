"""From a configuration to a folder that holds model, labels, metrics, history and report."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from xsdc import XSDC
from xsdc.data import Preparation, Prepared
from xsdc.errors import InvalidInputError
from xsdc.fitting import check_sizes, describe_ranking, read_knowledge
from xsdc.report import write_report
from xsdc.runs.configuration import Configuration
from xsdc.runs.drawing import FirstFeatures, choose_points, keep_drawing, read_findings
from xsdc.runs.folder import RunFolder, read_metrics, write_json
from xsdc.runs.given import Given, read_given
from xsdc.runs.learned import finish, learn
from xsdc.runs.metrics import list_suspicious, match_truth, summarise
from xsdc.runs.publishing import abandon, claim, held, open_run, publish, replace_output
from xsdc.runs.symptoms import FEW_LABELS, find_symptoms
from xsdc.runs.words import in_words
from xsdc.training import Callback, Processes

Announce = Callable[[str], None]
ASSESSED = 2**14  # points of a file at a time


def fit_run(
    configuration: Configuration,
    folder: RunFolder,
    *,
    force: bool = False,
    resume: bool = False,
    report: bool = True,
    callbacks: Sequence[Callback] = (),
    announce: Announce = lambda _stage: None,
) -> dict[str, Any]:
    """Read, prepare, fit, and write what was found.

    Of many processes each reads the data and fits; the first one writes.

    Parameters
    ----------
    configuration : Configuration
        What to do.
    folder : RunFolder
        Where to write; the metrics come last, so that a folder with metrics is a finished run.
    force : bool
        Whether to replace a run that is there.
    resume : bool
        Whether to go on with a run that was cut off, to the same end.
    report : bool
        Whether to draw the report.
    callbacks : sequence of Callback
        Observers of training.
    announce : callable
        Told what is being done.

    Returns
    -------
    dict
        The metrics.
    """
    begun = time.perf_counter()
    processes = Processes.here()
    work = folder.unfinished
    fresh = not resume and processes.first
    with _held_by_first(folder, processes):
        announce("Reading")
        given, learned = processes.each(partial(_read, configuration, work, resume=resume))
        processes.agree(partial(_begin, folder, configuration, force=force, resume=resume))
        again = processes.agree(work.preparation.is_file)
        with _abandoned_on_error(folder, really=fresh), _place_for_points(work, processes) as where:
            prepared = processes.each(partial(finish, learned, given, where, again=again))
            if processes.first:
                prepared.preparation.save(work.preparation)
            read = time.perf_counter()

            announce("Training and labelling")
            points = choose_points(given, seed=configuration.seed)
            first = FirstFeatures(points)
            model = make_estimator(configuration, given, callbacks=[first, *callbacks])
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.fit(prepared.Z, given.y, **given.facts, checkpoints=work.checkpoints, resume=resume)
            fitted = time.perf_counter()

            write = partial(
                _write,
                configuration,
                work,
                given,
                prepared,
                model,
                points=points,
                before=first.features,
                caught=caught,
                times=(begun, read, fitted),
                report=report,
                announce=announce,
            )
            metrics = processes.agree(write)
        processes.agree(partial(_end, folder, metrics))
        return metrics


@contextmanager
def _held_by_first(folder: RunFolder, processes: Processes) -> Iterator[None]:
    """Hold the lock of a folder; of many processes the first one does."""
    with ExitStack() as stack:

        def hold() -> None:
            stack.enter_context(held(folder))

        processes.agree(hold)
        yield


def _end(folder: RunFolder, metrics: dict[str, Any]) -> None:
    """Put what was made in its place; a finished run is not replaced by one that was interrupted."""
    interrupted = metrics["training"]["interrupted"]
    if not (interrupted and is_finished(folder)):
        publish(folder, keep_states=interrupted)


def _read(configuration: Configuration, folder: RunFolder, *, resume: bool) -> tuple[Given, Prepared | Preparation]:
    """Read the data, check what is known of it, and learn how to make numbers of it."""
    given = read_given(configuration.data, seed=configuration.seed, in_memory=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit will say it again
        check_knowledge(given, configuration)
    return given, learn(given, configuration, folder, resume=resume)


@contextmanager
def _place_for_points(folder: RunFolder, processes: Processes) -> Iterator[Path]:
    """A folder for prepared points that do not fit in memory: that of the run, or one of a further process's own."""
    if not processes.first:
        with tempfile.TemporaryDirectory(prefix="xsdc-") as other:
            yield Path(other) / "prepared"
        return
    try:
        yield folder.prepared
    finally:
        folder.drop_prepared()


@contextmanager
def _abandoned_on_error(folder: RunFolder, *, really: bool) -> Iterator[None]:
    """Leave no folder behind that holds nothing but a beginning; one with states of training is more than that."""
    try:
        yield
    except InvalidInputError:
        steps = [int(path.stem.removeprefix("step-")) for path in folder.unfinished.checkpoints.glob("step-*.state")]
        if really and not any(steps):
            abandon(folder)
        raise


def _begin(folder: RunFolder, configuration: Configuration, *, force: bool, resume: bool) -> None:
    """Make room for the run, or clear away what one that was cut off was just writing."""
    work = folder.unfinished
    if resume:
        work.path.mkdir(exist_ok=True)
        work.drop_prepared()
    else:
        data = configuration.data
        read = (data.source, data.must_link, data.cannot_link, data.links)
        claim(folder, force=force, inputs=[Path(name) for name in read if name is not None])
    write_json(work.configuration, configuration.as_dict())


def _write(
    configuration: Configuration,
    folder: RunFolder,
    given: Given,
    prepared: Prepared,
    model: XSDC,
    *,
    points: npt.NDArray[np.int64],
    before: npt.NDArray[np.float32],
    caught: Sequence[warnings.WarningMessage],
    times: tuple[float, float, float],
    report: bool,
    announce: Announce,
) -> dict[str, Any]:
    """Write what was found, the metrics last."""
    announce("Writing")
    Z = prepared.Z
    model.save(folder.model)
    codes, probability = assess(model, Z)
    write_labels(folder.labels, given, model, codes, probability)
    suspicious = list_suspicious(model, given)
    if suspicious is None:
        folder.suspicious.unlink(missing_ok=True)  # of a run that was cut off
    else:
        suspicious.to_csv(folder.suspicious, index=False)
    write_json(folder.history, model.history_)
    truth = match_truth(model, given, codes)
    keep_drawing(folder.points, given, model, Z, points=points, before=before, truth=truth)
    notes = [in_words(text) for text in (*given.dataset.notes, *prepared.preparation.notes_)]
    said = list_warnings(given, configuration, model, caught)
    metrics = summarise(model, given, codes, probability, shape=Z.shape[1:], notes=notes, warnings=said)
    begun, read, fitted = times
    metrics["seconds"] = {"read": read - begun, "fit": fitted - read, "total": time.perf_counter() - begun}

    if report:
        announce("Drawing the report")
        write_report(read_findings(folder, metrics), folder.report)
    else:
        folder.report.unlink(missing_ok=True)  # of a run that was cut off
    write_json(folder.metrics, metrics)
    return metrics


def check_knowledge(given: Given, configuration: Configuration) -> None:
    """Raise in the user's own words where facts contradict each other or sizes cannot be met."""
    knowledge = read_knowledge(
        given.dataset.n,
        y=given.y,
        **given.facts,
        n_clusters=configuration.options["n_clusters"],
        point_names=given.dataset.ids.tolist(),
    )
    check_sizes(read_bounds(configuration.options["cluster_size"], given), knowledge)


def read_resumed(folder: RunFolder, asked: Configuration | None) -> Configuration:
    """Read the configuration of a run to go on with; refuse another one."""
    begun = folder.unfinished if folder.begun else folder
    begun.require(begun.configuration)
    configuration = Configuration.read(begun.configuration)
    if asked is not None and asked.as_dict() != configuration.as_dict():
        old, new = (flatten(c.as_dict()) for c in (configuration, asked))
        name = next(name for name in {**old, **new} if old.get(name) != new.get(name))
        raise InvalidInputError(
            f"The run in {folder.path} was begun with {name} = {old.get(name)!r}, not {new.get(name)!r}. Give the same"
            " options, or only --out and --resume."
        )
    return configuration


@dataclass(frozen=True)
class Task:
    """What is to be done with a folder.

    Attributes
    ----------
    configuration : Configuration
        Of the run.
    resume : bool
        Whether to go on with what is there.
    finished : bool
        Whether there is nothing to go on with.
    """

    configuration: Configuration
    resume: bool = False
    finished: bool = False


def find_task(folder: RunFolder, asked: Configuration | None, *, resume: bool, restarted: bool = False) -> Task:
    """Find out whether to begin or to go on; a process that was started anew goes on with its own run unasked."""
    if restarted and asked is not None and folder.begun:
        resume = resume or Configuration.read(folder.unfinished.configuration).as_dict() == asked.as_dict()
    if asked is not None and not resume:
        return Task(asked)
    folder = open_run(folder.path)
    finished = not folder.begun and is_finished(folder)
    return Task(read_resumed(folder, asked), resume=True, finished=finished)


def is_finished(folder: RunFolder) -> bool:
    """Whether a run has come to its end in its place, and was not interrupted."""
    return folder.finished and not read_metrics(folder)["training"]["interrupted"]


def remake_report(folder: RunFolder, out: Path | None = None) -> Path:
    """Draw the report of a finished run again."""
    folder.require(folder.metrics, folder.history, folder.configuration, folder.labels, folder.points)
    findings = read_findings(folder, read_metrics(folder))
    target = folder.report if out is None else out
    with tempfile.TemporaryDirectory(prefix=".xsdc-", dir=target.parent) as place:  # on the disk of the target
        made = Path(place) / target.name
        write_report(findings, made)
        if target.resolve() == folder.report.resolve():
            replace_output(folder, made, folder.report)
        else:
            made.replace(target)
    return target


def assess(model: XSDC, Z: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Class of each point as a position, and how probable the classifier finds it."""
    position = {name: code for code, name in enumerate(model.classes_.tolist())}
    codes = np.array([position[label] for label in model.labels_.tolist()], dtype=np.int64)
    rows = ASSESSED if isinstance(Z, np.memmap) else len(codes)
    probability = np.empty(len(codes))
    for begin in range(0, len(codes), rows):
        here = codes[begin : begin + rows]
        given = model.predict_proba(np.asarray(Z[begin : begin + rows]))
        probability[begin : begin + rows] = given[np.arange(len(here)), here]
    return codes, probability


def write_labels(
    path: Path, given: Given, model: XSDC, codes: npt.NDArray[np.int64], probability: npt.NDArray[np.float64]
) -> None:
    """Write id, label, probability and where the label comes from."""
    known = [label is not None for label in given.dataset.labels]
    table = pd.DataFrame(
        {
            "id": given.dataset.ids,
            "label": model.classes_[codes],
            "probability": np.round(probability, 6),
            "source": np.where(known, "given", "inferred"),
        }
    )
    table.to_csv(path, index=False)


def list_warnings(
    given: Given, configuration: Configuration, model: XSDC, caught: Sequence[warnings.WarningMessage]
) -> list[str]:
    """Say once what the fit warned of, what the data is suspicious of, and what was only guessed."""
    said = list(dict.fromkeys(in_words(str(warning.message)) for warning in caught if is_for_users(warning)))
    grave = [s for s in find_symptoms(given) if s.level == "warning" and s.what != FEW_LABELS]  # few are what it is for
    said += [f"{symptom.what}: {symptom.detail}" for symptom in grave]
    if configuration.options["n_clusters"] is None and not given.names_classes:
        sure = describe_ranking(model.n_clusters_ranking_)
        said.append(
            f"The number of clusters, {model.n_clusters_}, was not given and is {sure}. --n-clusters sets another."
        )
    return said


def is_for_users(warning: warnings.WarningMessage) -> bool:
    """Whether a warning speaks of the data and not of code."""
    return not issubclass(warning.category, DeprecationWarning | FutureWarning | PendingDeprecationWarning)


def flatten(nested: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Join the keys of nested dictionaries by points."""
    flat: dict[str, Any] = {}
    for name, value in nested.items():
        inner = isinstance(value, dict) and name in ("data", "options")
        flat |= flatten(value, f"{name}.") if inner else {f"{prefix}{name}": value}
    return flat


def make_estimator(configuration: Configuration, given: Given, *, callbacks: Sequence[Callback] = ()) -> XSDC:
    """Make the estimator of a run."""
    options = dict(configuration.options)
    options["cluster_size"] = read_bounds(options["cluster_size"], given)
    return XSDC(**options, callbacks=tuple(callbacks), progress=False, random_state=configuration.seed)


def read_bounds(bounds: Any, given: Given) -> Any:
    """Read bounds on sizes from JSON, which has neither tuples nor numbers as keys."""
    if isinstance(bounds, dict):
        names = {str(label): label for label in given.dataset.labels if label is not None}
        names |= {str(label): label for some in given.dataset.allowed.values() for label in some}
        if not names:  # clusters are then called by their numbers
            names = {key: int(key) for key in bounds if key.isdecimal()}
        return {names.get(key, key): tuple(pair) for key, pair in bounds.items()}
    return tuple(bounds) if isinstance(bounds, list) else bounds
