"""Files that nobody has tidied are read right, or refused with a sentence that helps."""

from __future__ import annotations

import numpy as np
import pytest

from tests.data.corpus import cases
from xsdc.data import Preparation, Reading, read_data
from xsdc.data.columns import as_days
from xsdc.errors import InvalidInputError

CASES = cases()


def test_there_are_enough():
    assert len(CASES) >= 60


@pytest.mark.parametrize("name", CASES)
def test_a_file_as_it_comes(tmp_path, name):
    case = CASES[name]
    path = tmp_path / f"a.{case.ending}"
    path.write_bytes(case.content)
    roles = {key: value for key, value in case.options.items() if key == "id_column"}
    reading = Reading(**{key: value for key, value in case.options.items() if key not in roles})
    if case.refused:
        with pytest.raises(InvalidInputError, match=case.refused):
            read_data(path, reading=reading, **roles)
        return
    data = read_data(path, reading=reading, **roles)
    assert case.n is None or data.n == case.n
    for column, cells in case.columns.items():
        read = data.X[column]
        if isinstance(cells[0], str):
            assert read.tolist() == cells
        else:
            np.testing.assert_allclose(read.to_numpy(dtype=float), cells)
    if case.roles or case.days:
        prepared = Preparation().fit(data)
        assert {column: prepared.roles_.get(column) for column in case.roles} == case.roles
        for column, days in case.days.items():
            np.testing.assert_allclose(as_days(data.X[column], prepared.dates_[column]), days)
