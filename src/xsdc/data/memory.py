"""Refusing what would not fit into memory before it is tried."""

from __future__ import annotations

import os
from pathlib import Path

from xsdc.errors import InvalidInputError

MEMINFO = Path("/proc/meminfo")
PROCESS, GROUPS = Path("/proc/self"), Path("/sys/fs/cgroup")
# By version of control groups: the limit, what is taken of it, and what of that are files that the system can let go.
FILES = {
    2: ("memory.max", "memory.current", "inactive_file"),
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
UNLIMITED = 2**60
SHARE = 0.5  # of the free memory; what takes more is read block by block
ASSUMED = 2**33  # bytes that are free where the system does not say


def available_memory() -> int | None:
    """Bytes that can still be had, or None where the system does not say.

    What a container (a control group of Linux) may still take counts, where it is less than what the machine has.
    """
    found = [free for free in (_machine(), _group()) if free is not None]
    return min(found, default=None)


def _machine() -> int | None:
    try:
        for line in MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass  # no Linux; the next question is answered on other systems
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        return None


def _group() -> int | None:
    """Bytes that the control groups of this process, one within the other, leave it."""
    try:
        lines = (PROCESS / "cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return None
    left: list[int] = []
    for line in lines:
        _, controllers, place = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        version = 2 if controllers == "" else 1
        root = GROUPS if version == 2 else GROUPS / "memory"
        inner = root / place.strip("/")
        # Within a container its own group is mounted as the root, under whatever name it has outside.
        for folder in (inner, *inner.parents):
            if folder == root.parent:
                break
            free = _left(folder, version)
            left += [] if free is None else [free]
    return min(left, default=None)


def _left(folder: Path, version: int) -> int | None:
    most, used, reclaimable = FILES[version]
    try:
        limit = (folder / most).read_text(encoding="ascii").strip()
        if limit == "max" or int(limit) >= UNLIMITED:
            return None
        stat = dict(line.split() for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines())
        taken = int((folder / used).read_text(encoding="ascii")) - int(stat.get(reclaimable, 0))
        return max(0, int(limit) - taken)
    except (OSError, ValueError):
        return None


def spare_memory() -> int:
    """Bytes that can be had, or a guess where the system does not say."""
    free = available_memory()
    return ASSUMED if free is None else free


def is_large(needed: int) -> bool:
    """Tell whether ``needed`` bytes are more than data in memory should take."""
    return needed > SHARE * spare_memory()


def require_memory(needed: int, *, what: str) -> None:
    """Raise where ``needed`` bytes are more than there are.

    Parameters
    ----------
    needed : int
        Bytes.
    what : str
        What would take them, as the subject of the sentence.
    """
    free = available_memory()
    if free is not None and needed > free:
        raise InvalidInputError(
            f"{what} would take about {_gigabytes(needed)} of memory and {_gigabytes(free)} are free."
            " Take a part of the data, or a larger machine."
        )


def _gigabytes(size: int) -> str:
    return f"{size / 2**30:.1f} GB"
