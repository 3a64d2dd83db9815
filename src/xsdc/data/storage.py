"""Fitted transformers of scikit-learn and plain facts in one file, of which nothing is run when it is read."""

from __future__ import annotations

import importlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xsdc.data.archives import open_zip
from xsdc.errors import InvalidInputError

FORMAT = 1
FACTS, TRANSFORMERS = "preparation.json", "transformers.skops"
TRUSTED = ["numpy.dtype"]  # beside what skops trusts by itself: scikit-learn's and NumPy's own types


def write_parts(path: str | os.PathLike[str], facts: Mapping[str, Any], transformers: Mapping[str, Any]) -> None:
    """Write facts as JSON and transformers by skops; an existing file is replaced once the new one is complete."""
    skops_io = importlib.import_module("skops.io")  # it takes its time

    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    with zipfile.ZipFile(partial, "w", compression=zipfile.ZIP_DEFLATED) as file:
        file.writestr(FACTS, json.dumps({"format": FORMAT, **facts}, indent=1))
        file.writestr(TRANSFORMERS, skops_io.dumps(dict(transformers)))
    partial.replace(target)


def read_parts(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what `write_parts` wrote, and nothing that would run code."""
    skops_io = importlib.import_module("skops.io")  # it takes its time

    name = Path(path).name
    if not Path(path).is_file():
        raise InvalidInputError(f"There is no file `{path}`.")
    try:
        with open_zip(Path(path), name=name, what="a preparation") as file:
            facts = json.loads(file.read(FACTS))
            packed = file.read(TRANSFORMERS)
        if facts.pop("format") != FORMAT:
            raise InvalidInputError(f"`{name}` was written by another version of xsdc. Fit again, or use that version.")
        with open_zip(io.BytesIO(packed), name=TRANSFORMERS):
            pass  # skops reads all of it
        strange = sorted(set(skops_io.get_untrusted_types(data=packed)) - set(TRUSTED))
        if strange:
            raise InvalidInputError(f"`{name}` holds types that no preparation has, and was not read: {strange[0]}.")
        transformers: dict[str, Any] = skops_io.load(io.BytesIO(packed), trusted=TRUSTED)
    except InvalidInputError:
        raise
    except Exception as error:  # of any kind, depending on where it is damaged
        raise InvalidInputError(
            f"`{name}` is not a preparation, or is damaged ({str(error) or repr(error)}). Save it again."
        ) from error
    return facts, transformers
