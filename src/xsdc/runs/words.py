"""Options in the words of the command line."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from functools import cache

from xsdc.runs.configuration import NOT_KEPT, DataOptions

OPTION = re.compile(r"option `(\w+)`")
OTHERS = {"n_trials": "--trials"}  # of commands that take more than data and estimator


@cache
def option_words() -> dict[str, str]:
    """How each option is typed, by its name: --image-size for image_size."""
    from xsdc.estimator import XSDC  # noqa: PLC0415  torch takes a second

    names = [field.name for field in fields(DataOptions) if field.name != "source"]
    names += [name for name in inspect.signature(XSDC).parameters if name not in NOT_KEPT]
    return {name: f"--{name.replace('_', '-')}" for name in names} | OTHERS


@cache
def _pattern() -> re.Pattern[str]:
    """Find names of options: those of one word, like ridge, only where they stand as in a file of configuration."""
    long = sorted((name for name in option_words() if "_" in name), key=len, reverse=True)
    return re.compile(
        rf"(?<![\w.-])(?:(?:data|options)\.(?P<stored>{'|'.join(option_words())})|(?P<said>{'|'.join(long)}))(?!\w)"
    )


def in_words(message: str) -> str:
    """Say options as they are typed: --image-size for image_size, and for data.image_size of a configuration.

    Names of one word, like ridge, are left: they are words of their own.
    """
    message = OPTION.sub(lambda found: f"option {option_words().get(found[1], found[0])}", message)
    said = _pattern().sub(lambda found: option_words()[found["stored"] or found["said"]], message)
    return said.replace("data.source", "DATA").replace("another study_name", "another --out")
