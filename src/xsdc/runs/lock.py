"""A lock on the folder of a run: one process writes at a time, and the others can say which one it is."""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from xsdc.errors import InvalidInputError

BEYOND = 2**30  # the byte that Windows locks; what is locked there cannot be read, and the holder should be
HELD = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK}
PAUSE = 0.05  # seconds between two attempts


@contextmanager
def locked(path: Path, *, patience: float = 0.0) -> Iterator[None]:
    """Hold a lock, whose file is removed afterwards, as are folders that were made for it and stayed empty.

    The system drops the lock when its process ends, however it ends. Where a file system has no locks there is none.

    Parameters
    ----------
    path : Path
        The file of the lock; folders above it are made.
    patience : float
        Seconds to wait for another holder.

    Raises
    ------
    InvalidInputError
        If another process holds it; the message says which one.
    """
    made = _make_folders(path.parent)
    handle: int | None = None
    try:
        handle = _acquire(path, time.monotonic() + patience)
        yield
    finally:
        if handle is not None:
            with suppress(OSError):
                path.unlink()  # before it is let go, so that nobody locks a file that is then removed
            os.close(handle)
        for folder in made:
            with suppress(OSError):
                folder.rmdir()  # fails where something was written


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and those above it; return those that were not there, the innermost first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if folder.exists():
            raise InvalidInputError(f"{folder} is a file, not a folder. Give another name with --out.") from error
        raise InvalidInputError(f"{folder} cannot be made: {error.strerror}.") from error
    return missing


def _acquire(path: Path, deadline: float) -> int:
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise InvalidInputError(f"{path.parent} cannot be written to: {error.strerror}.") from error
        if _lock(handle) and _is_at(handle, path):
            break
        os.close(handle)
        if time.monotonic() >= deadline and path.exists():
            raise InvalidInputError(
                f"{path.parent} is being written by {_holder(path)}. Wait until it has ended, or give another folder"
                " with --out."
            )
        time.sleep(PAUSE)
    with suppress(OSError):  # a full disk keeps nobody from locking
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps({"process": os.getpid(), "host": socket.gethostname()}).encode())
    return handle


def _lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415  Windows only

            os.lseek(handle, BEYOND, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415  not on Windows

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in HELD
    return True


def _is_at(handle: int, path: Path) -> bool:
    """Whether the file that was locked is still the one under its name, and not one that its holder has removed."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except OSError:
        return False


def _holder(path: Path) -> str:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        return f"process {said['process']} on {said['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
