"""Reads all of an HDF5 file that `xsdc.data.h5ad` would read, in a process of its own, and says nothing.

The HDF5 library crashes, hangs or takes all memory on some damaged files, which no check from outside can prevent. This
program needs nothing of the package, so that it starts quickly:

    python hdf5_probe.py FILE BYTES_OF_MEMORY
"""

from __future__ import annotations

import sys
from typing import Any

import h5py
import numpy as np

PIECE = 2**20  # cells


def probe(path: str) -> None:
    """Look at each part of ``X`` and ``obs``, links to other files aside, which are refused elsewhere."""
    with h5py.File(path, "r") as file:
        dict(file.attrs)
        for key in ("X", "obs"):
            if isinstance(file.get(key, getlink=True), h5py.HardLink):
                _look(file[key])


def _look(found: Any) -> None:
    dict(found.attrs)
    if isinstance(found, h5py.Group):
        for key in found:
            if isinstance(found.get(key, getlink=True), h5py.HardLink):
                _look(found[key])
    elif found.shape and not found.is_virtual and not found.external:
        if not found.id.get_storage_size():
            return  # nothing to read but one value again and again, as often as the limits of the reader allow
        rows = max(1, PIECE // max(1, int(np.prod(found.shape[1:], dtype=object))))
        for begin in range(0, found.shape[0], rows):
            found[begin : begin + rows]
    elif found.shape == ():
        found[()]


def limit_memory(size: int) -> None:
    """Have the system refuse ``size`` bytes more than are taken already, where it can."""
    try:
        import resource  # noqa: PLC0415  not on Windows

        with open("/proc/self/statm", encoding="ascii") as file:
            taken = int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        return
    resource.setrlimit(resource.RLIMIT_AS, (taken + size, taken + size))


if __name__ == "__main__":
    limit_memory(int(sys.argv[2]))
    probe(sys.argv[1])
