from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from xsdc.core.constraints import close
from xsdc.core.family import known_matrix
from xsdc.errors import InvalidInputError
from xsdc.report import draw_known
from xsdc.report.known import COLOURS

SVG = "{http://www.w3.org/2000/svg}"


def area(picture: str, colour: str) -> float:
    """Area in a colour, the legend left out."""
    boxes = [box for box in ET.fromstring(picture).iter(f"{SVG}rect") if box.get("fill") == colour]  # noqa: S314
    return sum(float(b.get("width")) * float(b.get("height")) for b in boxes if float(b.get("y", 0)) < 400)


def test_each_kind_of_entry_has_its_share_of_the_picture():
    matrix = known_matrix(close(8, labels=[0, 0, 1, 1, -1, -1, -1, -1], must_link=[(4, 5)], n_classes=2))
    picture = draw_known(matrix)
    for value in (1, 0):
        assert area(picture, COLOURS[value]) == pytest.approx(160000 * (matrix == value).mean(), rel=1e-3)
    assert [t.text for t in ET.fromstring(picture).iter(f"{SVG}text")] == ["together", "apart", "not known"]  # noqa: S314


def test_the_diagonal_is_drawn_from_corner_to_corner():
    boxes = list(ET.fromstring(draw_known(2 * np.eye(4) - 1)).iter(f"{SVG}rect"))[1:5]  # noqa: S314
    assert [(b.get("x"), b.get("y")) for b in boxes] == [(f"{i * 100}.00", f"{i * 100}.00") for i in range(4)]


@pytest.mark.parametrize("matrix", [np.zeros((2, 3)), np.full((3, 3), 2), np.zeros((0, 0)), np.zeros((501, 501))])
def test_what_cannot_be_drawn_is_refused(matrix):
    with pytest.raises(InvalidInputError, match="matrix must"):
        draw_known(matrix)
