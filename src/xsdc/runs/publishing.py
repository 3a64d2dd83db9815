"""Making a run beside what is there, and moving it to its place once it is whole.

1. `claim` refuses a folder with files that a run would replace and that no run has written.
2. The run is made in ``.unfinished-run``. Whatever happens there, the finished run above it stays as it was.
3. `publish` writes the manifest and renames the folder to ``.complete-run``: from here on the new run counts.
4. `settle` moves its files to their place. Where this is cut off, the next command that opens the folder does it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from xsdc.data.roles import listed
from xsdc.errors import InvalidInputError
from xsdc.runs.folder import RunFolder, read_metrics
from xsdc.runs.lock import locked
from xsdc.runs.manifest import Manifest

COPIED = ".complete-run.partial"
SEARCH = "tuning.json"  # written by `xsdc tune`
PATIENCE = 10.0  # seconds that a reader waits for a run that is being moved to its place


@contextmanager
def held(folder: RunFolder) -> Iterator[None]:
    """Keep other processes from writing to a folder; end what one that was cut off had begun to move."""
    if folder.path.exists() and not folder.path.is_dir():
        raise InvalidInputError(f"{folder.path} is a file, not a folder. Give another name with --out.")
    with locked(folder.lock):
        settle(folder)
        yield


def open_run(path: Path) -> RunFolder:
    """Open the folder of a run to read it, with all files of one run."""
    folder = RunFolder(path)
    if folder.complete.path.exists():
        with locked(folder.lock, patience=PATIENCE):
            settle(folder)
    return folder


def claim(folder: RunFolder, *, force: bool, inputs: Sequence[Path] = ()) -> None:
    """Make room for a new run; what a former one left is only replaced by force, and only when the new one is whole.

    Parameters
    ----------
    folder : RunFolder
        Whose lock is held.
    force : bool
        Whether to replace a run that is there.
    inputs : sequence of Path
        What the run reads; it is never replaced.
    """
    manifest = Manifest.read(folder.manifest)
    if SEARCH in manifest.files:
        raise InvalidInputError(f"{folder.path} holds a search. Give another folder with --out.")
    there = any(os.path.lexists(folder.path / name) for name in manifest.files) or folder.begun
    if there and not force:
        raise InvalidInputError(
            f"{folder.path} already holds a run. Give another folder with --out, --force to replace it"
            + (", or --resume to go on with it." if folder.begun else ".")
        )
    refuse_foreign(folder)
    _refuse_inputs(folder, manifest, inputs)
    for left in (folder.unfinished.path, folder.path / COPIED):
        if left.exists():
            shutil.rmtree(left)
    folder.unfinished.path.mkdir()


def refuse_foreign(folder: RunFolder) -> None:
    """Refuse a folder with files that a run would replace, and that no run has written or that were changed since."""
    manifest = Manifest.read(folder.manifest)
    foreign = manifest.foreign([*folder.outputs(), *([] if manifest.files else [folder.manifest])])
    if not foreign:
        return
    changed = [path.name for path in foreign if path.name in manifest.files]
    what = (
        f"{listed(changed)} in {folder.path} was changed since a run wrote it"
        if changed
        else f"{folder.path} has {listed([path.name for path in foreign])}, which no run of this release has written"
    )
    raise InvalidInputError(f"{what}; a run would replace it. Move it away, or give another folder with --out.")


def _refuse_inputs(folder: RunFolder, manifest: Manifest, inputs: Iterable[Path]) -> None:
    ours = [(folder.path / name).resolve() for name in manifest.files]
    for path in inputs:
        whole = path.resolve()
        if whole in ours or folder.unfinished.path.resolve() in (whole, *whole.parents):
            raise InvalidInputError(
                f"{path} is a file of the run in {folder.path} and is to be read by the one that replaces it. Copy it,"
                " or give another folder with --out."
            )


def publish(folder: RunFolder, *, keep_states: bool = False) -> None:
    """Put a run that is whole in its place.

    Parameters
    ----------
    folder : RunFolder
        Whose lock is held.
    keep_states : bool
        Whether the run can still be gone on with.
    """
    source = folder.unfinished
    Manifest.of(source.written()).write(source.manifest)
    if keep_states:
        copy = RunFolder(folder.path / COPIED)
        if copy.path.exists():
            shutil.rmtree(copy.path)
        copy.path.mkdir()
        for path in [*source.written(), source.manifest]:
            shutil.copyfile(path, copy.path / path.name)
        source = copy
    source.path.rename(folder.complete.path)
    settle(folder)


def settle(folder: RunFolder) -> None:
    """Move the files of a complete run to their place; do nothing where there is none."""
    source = folder.complete
    if not source.path.exists():
        return
    if source.manifest.exists():
        _move(source, folder)
    if folder.unfinished.path.exists() and not read_metrics(folder)["training"]["interrupted"]:
        shutil.rmtree(folder.unfinished.path)
    shutil.rmtree(source.path)


def _move(source: RunFolder, folder: RunFolder) -> None:
    """Move all files, the metrics and then the manifest last; what has become the user's meanwhile is not replaced."""
    new, old = Manifest.read(source.manifest), Manifest.read(folder.manifest)
    waiting = [path for path in source.outputs() if path.name in new.files and path.exists()]
    foreign = old.foreign(folder.path / path.name for path in waiting)
    if foreign:
        raise InvalidInputError(
            f"{listed([path.name for path in foreign])} came into {folder.path}, or was changed, while a run was made"
            f" that would replace it. Move it away and give the command again; the new run waits in {source.path}."
        )
    for path in waiting:
        path.replace(folder.path / path.name)
    for name in old.files.keys() - new.files.keys():
        if old.owns(folder.path / name):
            (folder.path / name).unlink()
    source.manifest.replace(folder.manifest)


def abandon(folder: RunFolder) -> None:
    """Leave nothing behind of a run that could not begin."""
    shutil.rmtree(folder.unfinished.path, ignore_errors=True)


def write_output(folder: RunFolder, target: Path, write: Callable[[Path], object]) -> None:
    """Write one file of a run anew, whole or not at all."""
    with tempfile.TemporaryDirectory(prefix=".xsdc-", dir=folder.path) as place:  # on the disk of the target
        made = Path(place) / target.name
        write(made)
        replace_output(folder, made, target)


def replace_output(folder: RunFolder, made: Path, target: Path) -> None:
    """Put one file of a run anew in its place, and say so in the manifest; refuse to replace one of the user's."""
    with held(folder):
        manifest = Manifest.read(folder.manifest)
        if manifest.foreign([target]):
            raise InvalidInputError(
                f"{target} was changed since the run wrote it, or is your own. Move it away, or give another name with"
                " --out."
            )
        made.replace(target)
        manifest.with_files([target]).write(folder.manifest)
