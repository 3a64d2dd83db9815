"""Models and preparations that were damaged or tampered with: a sentence, or the same answers as before."""

from __future__ import annotations

import io
import json
import time
import zipfile

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from tests.data.cases import fit_preparation
from xsdc import XSDC
from xsdc.data import Dataset, Preparation
from xsdc.data.blocks import unlabeled
from xsdc.errors import InvalidInputError


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) + 4 * np.repeat([[0, 0, 0], [1, 1, 0]], 20, axis=0)
    y = np.where(np.arange(40) % 4 == 0, np.repeat([0, 1], 20), -1)
    model = XSDC(random_state=0).fit(X, y)
    path = tmp_path_factory.mktemp("saved") / "model.xsdc"
    model.save(path)
    return path, X, model.predict_proba(X)


def parts(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def pack(path, contents, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in contents.items():
            file.writestr(name, content)
    return path


def with_arrays(contents, part, change):
    arrays = dict(np.load(io.BytesIO(contents[part])))
    change(arrays)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return contents | {part: buffer.getvalue()}


def with_facts(contents, part, change):
    facts = json.loads(contents[part])
    change(facts)
    return contents | {part: json.dumps(facts).encode()}


def trees(arrays):
    return next(name.removeprefix("children of ") for name in arrays if name.startswith("children"))


def cycle(arrays):
    arrays[f"children of {trees(arrays)}"][:] = 0


def beyond(arrays):
    arrays[f"children of {trees(arrays)}"][:] = 10**9


def other_column(arrays):
    feature = arrays[f"feature of {trees(arrays)}"]
    feature[feature >= 0] = 10**6


def not_a_number(arrays):
    for array in arrays.values():
        if array.dtype.kind == "f" and array.ndim:
            array.flat[0] = np.nan


def shorter(arrays):
    for name in arrays:
        arrays[name] = arrays[name][:-1]


CLASSIFIER = {"cycle": cycle, "beyond": beyond, "other column": other_column, "NaN": not_a_number, "shorter": shorter}
FACTS = {
    "a huge network": ("model.json", lambda facts: facts.update(format=2, facts=[])),
    "another format": ("model.json", lambda facts: facts.update(format=99)),
    "other options": ("model.json", lambda facts: facts["params"].update(nonsense=3)),
    "no views": ("classifier.json", lambda facts: facts.update(views=0)),
    "views that are not there": ("classifier.json", lambda facts: facts.update(views=10**9)),
    "another member": ("classifier.json", lambda facts: facts["members"][0].update({"is": "magic"})),
    "another view": ("classifier.json", lambda facts: [each.update(view=7) for each in facts["members"]]),
    "no members": ("classifier.json", lambda facts: facts.update(members=[])),
    "a norm of zero": ("model.json", lambda facts: facts["facts"].update(_norm=0.0)),
}


def refused(path):
    begun = time.monotonic()
    with pytest.raises(InvalidInputError, match=r"damaged|finite|format|not a model|do not fit"):
        XSDC.load(path)
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("case", CLASSIFIER)
def test_classifiers_that_make_no_sense(saved, tmp_path, case):
    refused(pack(tmp_path / "m", with_arrays(parts(saved[0]), "classifier.npz", CLASSIFIER[case])))


@pytest.mark.parametrize("case", FACTS)
def test_descriptions_that_make_no_sense(saved, tmp_path, case):
    part, change = FACTS[case]
    if case == "a norm of zero":
        contents = parts(saved[0])
        assert "_norm" in json.loads(contents["model.json"])["facts"]
    refused(pack(tmp_path / "m", with_facts(parts(saved[0]), part, change)))


def test_labels_that_are_no_classes(saved, tmp_path):
    def change(arrays):
        arrays["labels_"][3] = 77

    refused(pack(tmp_path / "m", with_arrays(parts(saved[0]), "arrays.npz", change)))


@pytest.mark.parametrize("case", ["NaN", "size"])
def test_networks_that_make_no_sense(saved, tmp_path, case):
    contents = parts(saved[0])
    (tmp_path / "network").write_bytes(contents["network.safetensors"])
    with safe_open(tmp_path / "network", framework="pt") as file:
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        header = file.metadata()
    if case == "NaN":
        next(tensor for tensor in tensors.values() if tensor.ndim)[0] = torch.nan
    else:
        description = json.loads(header["xsdc_network"])
        description["config"]["layers"][0]["width"] = 10**11
        header["xsdc_network"] = json.dumps(description)
    save_file(tensors, tmp_path / "network", metadata=header)
    refused(pack(tmp_path / "m", contents | {"network.safetensors": (tmp_path / "network").read_bytes()}))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_parts_that_unpack_without_bounds(saved, tmp_path, method):
    with pytest.raises(InvalidInputError, match="deflate"):
        XSDC.load(pack(tmp_path / "m", parts(saved[0]), method))


def test_bytes_at_random(saved, tmp_path):
    """Of a file some bytes of which were changed either nothing is read, or what comes out is the same."""
    path, X, expected = saved
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        changed = bytearray(content)
        for place in rng.integers(len(content), size=rng.integers(1, 4)):
            changed[place] = rng.integers(256)
        (tmp_path / "m").write_bytes(changed)
        try:
            found = XSDC.load(tmp_path / "m").predict_proba(X)
        except InvalidInputError:
            continue
        np.testing.assert_array_equal(found, expected)


def test_preparations(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    data = Dataset("a", "vectors", X, np.arange(30), "row", unlabeled(30))
    preparation, Z = fit_preparation(data, scale="standard")
    preparation.save(tmp_path / "p")
    np.testing.assert_array_equal(Preparation.load(tmp_path / "p").transform(data), Z)
    contents = parts(tmp_path / "p")
    for method in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        with pytest.raises(InvalidInputError, match="deflate"):
            Preparation.load(pack(tmp_path / "q", contents, method))
    content, rng = (tmp_path / "p").read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        changed = bytearray(content)
        for place in rng.integers(len(content), size=3):
            changed[place] = rng.integers(256)
        (tmp_path / "q").write_bytes(changed)
        try:
            found = Preparation.load(tmp_path / "q").transform(data)
        except InvalidInputError:
            continue
        np.testing.assert_array_equal(found, Z)
