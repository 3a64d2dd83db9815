"""What a run wrote, with hashes: the only files that another run may replace."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from xsdc.errors import InvalidInputError
from xsdc.runs.folder import read_json, write_json


@dataclass(frozen=True)
class Manifest:
    """Names and hashes (SHA-256) of files in one folder.

    Attributes
    ----------
    files : mapping from name to hash
        Files that a command of xsdc has written.
    """

    files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, paths: Iterable[Path]) -> Manifest:
        """Describe files as they are."""
        return cls({path.name: hash_file(path) for path in paths})

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read a manifest; that of a folder without one is empty."""
        if not path.is_file():
            return cls()
        content = read_json(path)
        files = content.get("files") if isinstance(content, dict) else None
        if not isinstance(files, dict) or any(Path(name).name != name for name in files):
            raise InvalidInputError(f"{path} is damaged. Take what you need from the folder, and give another one.")
        return cls({str(name): str(value) for name, value in files.items()})

    def write(self, path: Path) -> None:
        """Write the manifest, whole or not at all."""
        write_json(path, {"files": dict(sorted(self.files.items()))})

    def owns(self, path: Path) -> bool:
        """Whether a file is as it was written; one that was changed since belongs to who has changed it."""
        return path.is_file() and not path.is_symlink() and self.files.get(path.name) == hash_file(path)

    def foreign(self, paths: Iterable[Path]) -> list[Path]:
        """Return what is there and must not be replaced."""
        return [path for path in paths if os.path.lexists(path) and not self.owns(path)]

    def with_files(self, paths: Iterable[Path]) -> Manifest:
        """Add files as they are."""
        return Manifest({**self.files, **Manifest.of(paths).files})


def hash_file(path: Path) -> str:
    """Hash a file, which is on the disk afterwards, whatever happens to the machine."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    return digest
