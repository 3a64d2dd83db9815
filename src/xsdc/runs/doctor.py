"""A look at labels, constraints and columns before any training."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from xsdc.data import prepare
from xsdc.errors import ContradictionError, InfeasibleError, InvalidInputError
from xsdc.runs.configuration import Configuration
from xsdc.runs.fit import check_knowledge
from xsdc.runs.given import Given, read_given
from xsdc.runs.learned import NOTHING_VARIES
from xsdc.runs.symptoms import Symptom, find_symptoms
from xsdc.runs.words import with_option


def examine(configuration: Configuration) -> tuple[Given, list[Symptom]]:
    """Read what a fit would read, and look for what may go wrong; the gravest first."""
    given = read_given(configuration.data, seed=configuration.seed, in_memory=False)
    found = [
        *_clashes(given, configuration),
        *find_symptoms(given),
        *(Symptom("note", "reading", text) for text in given.dataset.notes),
        *_pairs(given),
        *_preparation(given, configuration),
    ]
    order = ("error", "warning", "note")
    return given, sorted(found, key=lambda symptom: order.index(symptom.level))


def _pairs(given: Given) -> Iterator[Symptom]:
    """How many pairs were read of each kind."""
    same, different = len(given.must_link), len(given.cannot_link)
    if same or different:
        yield Symptom("note", "pairs", f"{same:,} in the same class and {different:,} in different classes were read.")


def _clashes(given: Given, configuration: Configuration) -> Iterator[Symptom]:
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            check_knowledge(given, configuration)
    except ContradictionError as error:
        yield Symptom("error", "contradiction", str(error))
    except InfeasibleError as error:
        yield Symptom("error", "sizes that cannot be met", str(error))
    except InvalidInputError as error:
        yield Symptom("error", "labels or options", with_option(str(error), error.option))
    else:
        yield from (Symptom("warning", "labels or options", str(warning.message)) for warning in caught)


def _preparation(given: Given, configuration: Configuration) -> Iterator[Symptom]:
    try:
        preparation = configuration.data.preparation().fit(given.at_hand)
        prepared = prepare(given.at_hand, preparation)
    except InvalidInputError as error:
        yield Symptom("error", "columns", with_option(str(error), error.option))
    else:
        if not prepared.varies:
            yield Symptom("error", "nothing varies", NOTHING_VARIES)
        yield from (Symptom("note", "columns", text) for text in prepared.preparation.notes_)
