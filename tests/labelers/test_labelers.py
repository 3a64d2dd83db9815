from __future__ import annotations

import pytest
import torch

from tests.problems import blobs, gaussian, label_entries
from xsdc.core.balancing import balance
from xsdc.core.known import Known
from xsdc.core.objective import decompose
from xsdc.core.problem import Fractions
from xsdc.errors import InvalidInputError
from xsdc.labelers import LABELERS, Balancing, Labeler, resolve_labeler


@pytest.mark.parametrize("name", list(LABELERS))
def test_every_labeler_keeps_what_is_known(name):
    X, y = blobs(60, 3)
    entries = label_entries(y, torch.arange(12))
    M = resolve_labeler(name).label(
        decompose(X), lam=0.1, known=Known.from_entries(60, *entries), size=Fractions(0.2, 0.5)
    )
    dense = M @ torch.eye(60, dtype=torch.float32)
    assert torch.equal(dense[entries[0], entries[1]], entries[2].to(dense.dtype))


def test_balancing_is_algorithm_1_on_the_cost_of_the_batch():
    spectrum, known = decompose(gaussian(40, 5)), Known.nothing(40)
    found = Balancing(dtype=torch.float64).label(spectrum, lam=0.05, known=known, size=Fractions(0.25, 0.25))
    torch.testing.assert_close(found, balance(spectrum.cost(0.05).dense(), size=(10, 10)).M)


def test_balancing_passes_its_options_on():
    spectrum, known, size = decompose(gaussian(40, 5)), Known.nothing(40), Fractions(0.25, 0.25)
    plain = Balancing().label(spectrum, lam=0.05, known=known, size=size)
    assert plain.max() > 1
    capped = Balancing(cap=1.0, symmetric=True).label(spectrum, lam=0.05, known=known, size=size)
    assert capped.max() <= 1
    assert torch.equal(capped, capped.T)
    soft = Balancing(nu=1e3).label(spectrum, lam=0.05, known=known, size=size)
    assert soft.std() < plain.std()
    early = Balancing(max_iter=1).label(spectrum, lam=0.05, known=known, size=size)
    assert not torch.allclose(early, plain)


def test_names_and_objects_resolve():
    own = Balancing(cap=1.0)
    assert resolve_labeler(own) is own
    assert isinstance(resolve_labeler("balancing"), Labeler)
    with pytest.raises(InvalidInputError, match="one of balancing"):
        resolve_labeler("guessing")
    with pytest.raises(InvalidInputError, match="method `label`"):
        resolve_labeler(3)  # type: ignore[arg-type]
