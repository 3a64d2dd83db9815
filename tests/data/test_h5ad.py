from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from xsdc.data import memory, read_data
from xsdc.errors import InvalidInputError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    anndata = pytest.importorskip("anndata")
h5py = pytest.importorskip("h5py")

X = np.array([[0, 1.5, 0], [2, 0, 0], [0, 0, 3], [1, 1, 1]], dtype=np.float32)
OBS = {"kind": ["T", "B", "?", "T|B"], "donor": [1, 2, 1, 2]}


def write(path, matrix=None):
    """Write the format as its documentation has it: anndata itself cannot write the strings of pandas 3 yet."""
    frames = {"obs": {"_index": list("abcd"), **OBS}, "var": {"_index": ["g1", "g2", "g3"]}}
    with h5py.File(path, "w") as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        if matrix is not None:
            anndata.io.write_elem(file, "X", matrix)
        for name, columns in frames.items():
            group = file.create_group(name)
            group.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
            group.attrs["column-order"] = np.array([c for c in columns if c != "_index"], dtype=h5py.string_dtype())
            for column, cells in columns.items():
                anndata.io.write_elem(group, column, np.array(cells, dtype=type(cells[0])))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_matrix_and_columns(tmp_path, form):
    write(tmp_path / "a.h5ad", form(X))
    data = read_data(tmp_path / "a.h5ad", label_column="kind", truth_column="donor")
    assert data.kind == "vectors"
    np.testing.assert_array_equal(data.X, X)
    assert data.X.dtype == np.float32
    assert data.labels.tolist() == ["T", "B", None, None]
    assert data.allowed == {3: ["T", "B"]}
    assert data.truth.tolist() == ["1", "2", "1", "2"]
    assert (data.ids.tolist(), data.id_name) == (list("abcd"), "obs_names")
    assert "used as it is" in data.notes[0]


def test_what_is_wrong(tmp_path, monkeypatch):
    path = tmp_path / "a.h5ad"
    write(path, X)
    with pytest.raises(InvalidInputError, match=r"no column `kid` \(did you mean `kind`"):
        read_data(path, label_column="kid")
    with monkeypatch.context() as patch:
        patch.setattr(memory, "available_memory", lambda: 2000)
        write(path, np.ones((4, 300)))
        with pytest.raises(InvalidInputError, match="4 × 300, dense, would take"):
            read_data(path)
    write(path)
    with pytest.raises(InvalidInputError, match="must have a matrix X"):
        read_data(path)
    with h5py.File(path, "w") as file:
        file["anything"] = 3
    with pytest.raises(InvalidInputError, match=r"AnnData|matrix X"):
        read_data(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InvalidInputError, match="cannot be read as AnnData"):
        read_data(path)
