"""How options are typed on the command line."""

from __future__ import annotations

import inspect
from dataclasses import fields
from functools import cache

from xsdc.runs.configuration import NOT_KEPT, DataOptions

# Of commands that take more than data and estimator, and what is no option.
OTHERS = {"n_trials": "--trials", "study_name": "--out", "source": "DATA"}


@cache
def option_words() -> dict[str, str]:
    """How each option is typed, by its name: --image-size for image_size."""
    from xsdc.estimator import XSDC  # noqa: PLC0415  torch takes a second

    names = [field.name for field in fields(DataOptions)]
    names += [name for name in inspect.signature(XSDC).parameters if name not in NOT_KEPT]
    return {name: f"--{name.replace('_', '-')}" for name in names} | OTHERS


def typed(option: str) -> str:
    """How an option is typed; its name where it is none of the command line."""
    return option_words().get(option, option)


def with_option(message: str, option: str | None) -> str:
    """Add to a message how the option that it is about is typed, where its name is not how it is typed."""
    word = None if option is None else option_words().get(option)
    return message if word is None or word in message else f"{message} On the command line it is {word}."
