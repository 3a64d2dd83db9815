from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from xsdc import XSDC
from xsdc.fitting.telling import describe_options, tell_apart
from xsdc.labelers import Eigen

LARGE = np.arange(5000.0)
PAIRS = {
    "numbers": (1, 2),
    "a number and a word": (1, "1"),
    "labelers": (Eigen(weight=0.05), Eigen(weight=0.1)),
    "modules": (torch.nn.Linear(3, 2), torch.nn.Linear(3, 4)),
    "transformers": (PCA(2), PCA(3)),
    "functions": (np.sin, np.cos),
    "large arrays that differ in the middle": (LARGE, np.where(LARGE == 2500, 0, LARGE)),
    "tensors": (torch.zeros(3), torch.ones(3)),
    "pairs of arrays": ((LARGE, LARGE), (LARGE, LARGE[::-1])),
    "mappings by number and by word": ({1: (0, 1)}, {"1": (0, 1)}),
    "types of array": (np.zeros(2), np.zeros(2, dtype=np.float32)),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_what_differs_is_told_apart(kind):
    one, two = PAIRS[kind]
    assert json.dumps(tell_apart(one)) != json.dumps(tell_apart(two))


def test_what_is_alike_is_not():
    for one, two in [(Eigen(weight=0.05), Eigen(weight=0.05)), (LARGE, LARGE.copy()), (PCA(2), PCA(2))]:
        assert tell_apart(one) == tell_apart(two)
    assert tell_apart(torch.nn.Linear(3, 2)) == tell_apart(torch.nn.Linear(3, 2))  # whatever it starts from
    assert tell_apart(np.float64(0.5)) == 0.5


def test_options_left_out_do_not_count():
    one, two = (XSDC(3, progress=progress).get_params(deep=False) for progress in (True, False))
    assert describe_options(one) != describe_options(two)
    assert describe_options(one, without=["progress"]) == describe_options(two, without=["progress"])
