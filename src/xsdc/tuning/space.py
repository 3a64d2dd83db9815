"""What a search may try: ranges and choices for the options of XSDC, and the paper's grids."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xsdc.errors import InvalidInputError
from xsdc.estimator import XSDC

Scalar = None | bool | int | float | str
AS_GIVEN = "as given"  # the choice that leaves an option as the estimator has it
STEPS = 9  # values of a range that is not on a log scale, where a grid is asked for

SIZES = ("batch_size", "labeled_batch_size", "memory_size")
WHOLE = ("max_iter", "supervised_iter", *SIZES, "copies", "patience", "evaluate_every")
NUMBERS = ("learning_rate", "supervised_learning_rate", "ridge", "filter_penalty", "entropy")
CHOSEN = ("algorithm", "effort", "cluster_size", "network", "labeler", "augmentation")
TUNABLE = (*NUMBERS, *WHOLE, *CHOSEN)
NOT_TUNABLE = {
    "n_clusters": "groupings into different numbers of clusters have no common score; see XSDC.relabel",
    "validation": "it says what training is scored by",
    "random_state": "a lucky seed is no better method",
}


@dataclass(frozen=True)
class Range:
    """Numbers from low to high, both included."""

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def grid(self) -> list[Any]:
        """Powers of two on a log scale, as in the paper; else values evenly apart."""
        if self.log:
            first, last = math.ceil(math.log2(self.low) - 1e-9), math.floor(math.log2(self.high) + 1e-9)
            values = [2.0**i for i in range(first, last + 1)] or [self.low, self.high]
        else:
            values = [self.low + (self.high - self.low) * i / (STEPS - 1) for i in range(STEPS)]
        return sorted({round(x) for x in values}) if self.whole else values


@dataclass(frozen=True)
class Choice:
    """Values to choose among, as plain data."""

    values: tuple[Any, ...]

    def grid(self) -> list[Any]:
        """All of them."""
        return list(self.values)


Space = dict[str, Range | Choice]
LEARNING_RATE = Range(2.0**-10, 2.0**5, log=True)
RIDGE = Range(2.0**-40, 1.0, log=True)
FILTER_PENALTY = Range(2.0**-10, 2.0**10, log=True)
# Samplers would spend half of their trials above 1, where filters shrink to nothing; the paper never chose there.
SAMPLED_FILTER_PENALTY = Range(2.0**-10, 1.0, log=True)
COPIES = Choice(tuple(2**i for i in range(8)))


def read_space(
    space: Mapping[str, Any] | Sequence[str] | None,
    estimator: XSDC,
    *,
    labeled: bool,
    images: bool,
    n_clusters: int | None,
    sequential: bool = False,
) -> Space:
    """Read what a user wants searched; by default what the paper searches, in its order.

    Parameters
    ----------
    space : mapping, sequence of names, or None
        From option to ``(low, high)``, ``(low, high, "log")``, a list of values, or None for its default range; or
        names of options with a default range.
    estimator : XSDC
        Whose options are searched.
    labeled, images : bool
        Whether there are labels, and whether the data are images.
    n_clusters : int or None
        Number of classes.
    sequential : bool
        Whether the search is the paper's: ranges become grids that begin with what the estimator has.
    """
    if space is None:
        space = _searched_by_default(estimator, labeled=labeled, images=images)
    if isinstance(space, str) or not isinstance(space, Mapping | Sequence):
        raise InvalidInputError(
            f"space must map options to ranges or lists of values, or be a list of options; it is {space!r}."
        )
    if not space:
        raise InvalidInputError("space is empty: there is nothing to search. Name an option, as in ['learning_rate'].")
    for name in space:
        _refuse_unknown(name)
    given = space if isinstance(space, Mapping) else dict.fromkeys(space)
    read = {
        name: _default_entry(name, n_clusters, sequential=sequential) if entry is None else _read_entry(name, entry)
        for name, entry in given.items()
    }
    return _as_grids(read, estimator) if sequential else read


def encode(value: Any) -> Scalar:
    """Write a choice as one of the plain values that any storage holds."""
    return value if value is None or isinstance(value, bool | int | float | str) else json.dumps(value, sort_keys=True)


def decode(space: Space, params: Mapping[str, Any]) -> dict[str, Any]:
    """Read the options of a trial; those left as given are not among them."""
    options = {}
    for name, value in params.items():
        entry = space[name]
        if value == AS_GIVEN:
            continue
        options[name] = next(x for x in entry.values if encode(x) == value) if isinstance(entry, Choice) else value
    return options


def describe(space: Space) -> str:
    """Write a space as text, the same for the same space."""
    return json.dumps({name: [type(entry).__name__, vars(entry)] for name, entry in space.items()})


def _as_grids(space: Space, estimator: XSDC) -> Space:
    own = estimator.get_params(deep=False)
    return {
        name: Choice((AS_GIVEN, *(x for x in entry.grid() if not _same(x, own[name])))) for name, entry in space.items()
    }


def _searched_by_default(estimator: XSDC, *, labeled: bool, images: bool) -> list[str]:
    """Name the options that the paper searches, in its order (Appendix D.1), where they have an effect."""
    burn_in = images if estimator.supervised_iter == "auto" else estimator.supervised_iter > 0
    names = ["ridge", *(["supervised_learning_rate"] if burn_in else []), "learning_rate"]
    if not labeled:
        names = ["learning_rate", "ridge"]
    if not images:
        names.append("filter_penalty")  # filters of the networks for images lie on the sphere
    return names if estimator.augmentation in (None, "auto") else [*names, "copies"]


def _default_entry(name: str, n_clusters: int | None, *, sequential: bool) -> Range | Choice:
    known: Space = {
        "ridge": RIDGE,
        "supervised_learning_rate": LEARNING_RATE,
        "learning_rate": LEARNING_RATE,
        "filter_penalty": FILTER_PENALTY if sequential else SAMPLED_FILTER_PENALTY,
        "copies": COPIES,
    }
    if name == "cluster_size":
        if n_clusters is None:
            raise InvalidInputError("The default choices of cluster_size need n_clusters. Set it, or give choices.")
        return _sizes(n_clusters)
    if name not in known:
        raise InvalidInputError(
            f"{name} has no default range; they are for {', '.join([*known, 'cluster_size'])}. Give one:"
            f" {{{name!r}: (low, high)}}."
        )
    return known[name]


def _sizes(k: int) -> Choice:
    """Upper bounds from the equal share 1/k to twice that, in tenths; lower ones as far below it, as in the paper."""
    shares = [(i / 10 / k, (20 - i) / 10 / k) for i in range(10, -1, -1)]
    # Down and up in the fourth digit, so that k classes always fit.
    return Choice(
        tuple((math.floor(low * 1e4 + 1e-6) / 1e4, math.ceil(high * 1e4 - 1e-6) / 1e4) for low, high in shares)
    )


def _refuse_unknown(name: Any) -> None:
    if name in TUNABLE:
        return
    if name in NOT_TUNABLE:
        raise InvalidInputError(f"{name} cannot be searched: {NOT_TUNABLE[name]}.")
    if name in XSDC().get_params(deep=False):
        raise InvalidInputError(f"{name} cannot be searched; it does not change what is learned. Set it on estimator.")
    near = difflib.get_close_matches(str(name), TUNABLE, n=2)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"They are {', '.join(TUNABLE)}."
    raise InvalidInputError(f"space names {name!r}, which is no option of XSDC. {hint}")


def _read_entry(name: str, given: Any) -> Range | Choice:
    if isinstance(given, Range | Choice):
        return given
    if isinstance(given, list):
        return _read_choices(name, given)
    if not isinstance(given, tuple) or len(given) not in (2, 3) or (len(given) == 3 and given[2] != "log"):
        raise InvalidInputError(
            f'space[{name!r}] must be a tuple (low, high) or (low, high, "log"), or a list of values; it is {given!r}.'
        )
    if name in CHOSEN:
        raise InvalidInputError(f"space[{name!r}] must be a list of values: {name} has no range.")
    low, high = (_as_number(name, x) for x in given[:2])
    log, whole = len(given) == 3, name in WHOLE
    if not low < high or low < 0 or (log and low == 0) or (whole and (low != int(low) or high != int(high))):
        needed = "0 <= low < high" if not log else "0 < low < high"
        raise InvalidInputError(
            f"space[{name!r}] must have {needed}{', whole numbers' if whole else ''}; it is {given!r}."
        )
    return Range(low, high, log, whole)


def _read_choices(name: str, given: list[Any]) -> Choice:
    if not given:
        raise InvalidInputError(f"space[{name!r}] is an empty list. Give the values to try.")
    try:
        texts = [encode(value) for value in given]
    except TypeError as error:
        raise InvalidInputError(
            f"space[{name!r}] must hold plain data (numbers, strings, pairs, configurations); {error}."
        ) from error
    if AS_GIVEN in texts or len({(type(x), x) for x in texts}) < len(texts):
        raise InvalidInputError(f"space[{name!r}] must hold distinct values; it is {given!r}.")
    return Choice(tuple(given))


def _as_number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInputError(f"space[{name!r}] must be bounded by finite numbers; one is {value!r}.")
    return value


def _same(one: Any, other: Any) -> bool:
    try:
        return type(one) is type(other) and encode(one) == encode(other)
    except TypeError:  # a module or a function, which no plain value equals
        return False
