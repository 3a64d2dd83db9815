from __future__ import annotations

import json
import math

import pytest
import torch

from xsdc import XSDC
from xsdc.errors import InvalidInputError
from xsdc.tuning.space import AS_GIVEN, Choice, Range, decode, describe, encode, read_space


def read(space, *, estimator=None, labeled=False, images=False, n_clusters=10, sequential=False):
    return read_space(
        space, estimator or XSDC(), labeled=labeled, images=images, n_clusters=n_clusters, sequential=sequential
    )


def exponents(entry):
    first, *values = entry.grid()
    assert first == AS_GIVEN
    return [math.log2(x) for x in values]


def test_the_default_is_what_the_paper_searches_in_its_order():
    assert list(read(None)) == ["learning_rate", "ridge", "filter_penalty"]
    assert list(read(None, images=True)) == ["learning_rate", "ridge"]
    assert list(read(None, labeled=True)) == ["ridge", "learning_rate", "filter_penalty"]
    assert list(read(None, labeled=True, images=True)) == ["ridge", "supervised_learning_rate", "learning_rate"]
    burn_in = read(None, labeled=True, estimator=XSDC(supervised_iter=100))
    assert list(burn_in) == ["ridge", "supervised_learning_rate", "learning_rate", "filter_penalty"]
    copies = read(None, labeled=True, images=True, estimator=XSDC(augmentation="images"))
    assert list(copies)[-1] == "copies"
    assert copies["copies"].grid() == [1, 2, 4, 8, 16, 32, 64, 128]


def test_the_grids_are_those_of_appendix_d():
    space = read(["ridge", "learning_rate", "filter_penalty"], sequential=True)
    assert exponents(space["ridge"]) == list(range(-40, 1))
    assert exponents(space["learning_rate"]) == list(range(-10, 6))
    assert exponents(space["filter_penalty"]) == list(range(-10, 11))
    sizes = read(["cluster_size"])["cluster_size"].grid()
    assert sizes[0] == (0.1, 0.1)
    assert sizes[-1] == (0.0, 0.2)
    assert all(low + high == pytest.approx(0.2) for low, high in sizes)


@pytest.mark.parametrize("k", [3, 7, 13])
def test_default_sizes_let_that_many_classes_be(k):
    assert all(low * k <= 1 <= high * k for low, high in read(["cluster_size"], n_clusters=k)["cluster_size"].grid())


def test_ranges_and_choices_are_read():
    space = read({"learning_rate": (0.5, 8, "log"), "max_iter": (0, 40), "entropy": ["median", 1e-5]})
    assert space == {
        "learning_rate": Range(0.5, 8, log=True),
        "max_iter": Range(0, 40, whole=True),
        "entropy": Choice(("median", 1e-5)),
    }
    assert space["learning_rate"].grid() == [0.5, 1, 2, 4, 8]
    assert space["max_iter"].grid() == [0, 5, 10, 15, 20, 25, 30, 35, 40]
    assert Range(0.3, 0.4, log=True).grid() == [0.3, 0.4]
    assert read({"ridge": None}) == read(["ridge"])


def test_grids_begin_with_what_the_estimator_has_and_name_it_once():
    grids = read({"max_iter": [10, 20], "ridge": ["auto", 1.0]}, estimator=XSDC(max_iter=20), sequential=True)
    assert grids == {"max_iter": Choice((AS_GIVEN, 10)), "ridge": Choice((AS_GIVEN, 1.0))}
    own_module = read({"network": ["kn"]}, estimator=XSDC(network=torch.nn.Linear(2, 2)), sequential=True)
    assert own_module["network"].grid() == [AS_GIVEN, "kn"]


def test_choices_come_back_as_they_were():
    network = {"name": "kn", "input": "vectors", "layers": [{"width": 8, "kernel": "rbf"}]}
    space = read(
        {"network": ["auto", network], "cluster_size": [(0.1, 0.5), "equal"], "augmentation": [None, "images"]}
    )
    params = {"network": encode(network), "cluster_size": encode((0.1, 0.5)), "augmentation": None}
    assert decode(space, params) == {"network": network, "cluster_size": (0.1, 0.5), "augmentation": None}
    assert decode(space, {"network": AS_GIVEN}) == {}
    assert json.loads(describe(space))["augmentation"][1] == {"values": [None, "images"]}


BAD = {
    "near miss": ({"learning_rat": (0.1, 1)}, "Did you mean learning_rate"),
    "far miss": ({"depth": (1, 2)}, "no option of XSDC. They are learning_rate"),
    "number of clusters": ({"n_clusters": [2, 3]}, "relabel"),
    "seed": (["random_state"], "lucky seed"),
    "device": ({"device": ["cpu"]}, "does not change what is learned"),
    "reversed": ({"ridge": (1.0, 0.5)}, "0 <= low < high"),
    "log from zero": ({"ridge": (0, 0.5, "log")}, "0 < low < high"),
    "half a step": ({"max_iter": (0.5, 3)}, "whole numbers"),
    "no scale": ({"ridge": (0.1, 1, "cubic")}, "tuple"),
    "text": ({"ridge": ("a", "b")}, "finite numbers"),
    "range of networks": ({"network": (1, 2)}, "has no range"),
    "module": ({"network": [torch.nn.Linear(2, 2)]}, "plain data"),
    "no values": ({"ridge": []}, "empty list"),
    "twice": ({"ridge": [1.0, 1.0]}, "distinct"),
    "nothing": ({}, "nothing to search"),
    "string": ("ridge", "must map options"),
    "no default": (["entropy"], "no default range"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_bad_spaces_are_refused_with_a_way_out(case):
    space, message = BAD[case]
    with pytest.raises(InvalidInputError, match=message):
        read(space)


def test_default_sizes_need_the_number_of_classes():
    with pytest.raises(InvalidInputError, match="need n_clusters"):
        read(["cluster_size"], n_clusters=None)
