"""Refusing what would not fit into memory before it is tried."""

from __future__ import annotations

import os
from pathlib import Path

from xsdc.errors import InvalidInputError

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")
CONTROLS = (  # limit, use, and what of it can be given back, in the second and the first version
    ("memory.max", "memory.current", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
)
SHARE = 0.5  # of the free memory; what takes more is read block by block
ASSUMED = 2**33  # bytes that are free where the system does not say


def available_memory() -> int | None:
    """Bytes that can still be had, in the container if there is one, or None where the system does not say."""
    found = [size for size in (_free_memory(), _free_in_container()) if size is not None]
    return min(found, default=None)


def _free_in_container() -> int | None:
    """Bytes up to the limit of the control group, or None where there is no limit; pages of files do not count."""
    for limit, used, inactive in CONTROLS:
        try:
            most, now = (int((CGROUP / name).read_text(encoding="ascii")) for name in (limit, used))
            stat = (CGROUP / used).with_name("memory.stat").read_text(encoding="ascii")
        except (OSError, ValueError):  # another version of control groups, or "max"
            continue
        cached = next((int(line.split()[1]) for line in stat.splitlines() if line.startswith(f"{inactive} ")), 0)
        return max(0, most - now + cached)
    return None


def _free_memory() -> int | None:
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
