"""How a table in text is laid out: its numbers, its first lines, rows with nothing in them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.data.cases import fit_preparation
from xsdc.data import Preparation, Reading, open_blocks, read_data
from xsdc.data.forms import Form
from xsdc.errors import InvalidInputError


@pytest.fixture
def write(tmp_path):
    def write(content, name="a.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode())
        return path

    return write


def both_ways(path, monkeypatch, **options):
    """Read a table as a whole and in blocks, which must come to the same."""
    whole = read_data(path, **options)
    monkeypatch.setattr("xsdc.data.blocks.MOST_CELLS", 6)
    opened = open_blocks(path)
    if not options:
        blocks = pd.concat([block.X for block in opened.read(2)], ignore_index=True)
        pd.testing.assert_frame_equal(blocks, whole.X)
        assert opened.doubts == whole.doubts
        assert opened.forms == whole.forms
    return whole


NUMERALS = {
    "thousands beside points": ("x\ty\n1,004\t5.67\n999\t5.5\n", [1004, 999], (".", ",")),
    "thousands beside points of three digits": ("x\ty\n1,004\t5.678\n999\t5.512\n", [1004, 999], (".", ",")),
    "millions": ("x;y\n1,234,567;1\n999;2\n", [1234567, 999], (".", ",")),
    "thousands with a fraction": ("x;y\n-1,234.5;1\n+1,000;2\n", [-1234.5, 1000], (".", ",")),
    "thousands in quotes": ('x,y\n"1,004",5.67\n999,5.5\n', [1004, 999], (".", ",")),
    "decimal commas": ("x;y\n1,5;2\n1,004;3\n", [1.5, 1.004], (",", "")),
    "a zero before the comma": ("x;y\n0,123;2\n1,004;3\n", [0.123, 1.004], (",", "")),
    "decimal commas in quotes": ('x,y\n"1,5","30,2"\n2,"4,25"\n', [1.5, 2], (",", "")),
    "German": ("x;y\n1.004.000,5;1,5\n2,25;2\n", [1004000.5, 2.25], (",", ".")),
    "German millions": ("x;y\n1.004.000;1\n1.004;2\n", [1004000, 1004], (",", ".")),
    "German thousands": ("x;y\n1.004;1,25\n999;2,5\n", [1004, 999], (",", ".")),
    "Swiss": ("x,y\n1'234.9,1\n56.5,2\n", [1234.9, 56.5], (".", "'")),
    "Swiss as Excel writes it": ("x;y\n1’234’567;1\n56;2\n", [1234567, 56], (".", "’")),
    "French": ("x;y\n1\u202f234,9;1\n56,5;2\n", [1234.9, 56.5], (",", "\u202f")),
    "plain": ("x,y\n1.004,1\n56.5,2\n", [1.004, 56.5], (".", "")),
    "plain, three digits": ("x;y\n1.004;1\n56.525;2\n", [1.004, 56.525], None),
    "whole": ("x,y\n1,1\n2,2\n", [1, 2], None),
}


@pytest.mark.parametrize("name", NUMERALS)
def test_numbers_are_read_as_they_are_written(write, monkeypatch, name):
    content, expected, numerals = NUMERALS[name]
    data = both_ways(write(content), monkeypatch)
    assert data.X["x"].tolist() == expected
    assert data.X["x"].dtype.kind in "if"
    assert data.doubts == []
    if numerals is not None:
        assert data.forms["x"][:2] == numerals


def test_a_comma_far_down_is_seen(write, monkeypatch):
    rows = [f"{i}{',5' if i >= 60 else ''};{i % 7}" for i in range(120)]
    data = both_ways(write("x;y\n" + "\n".join(rows)), monkeypatch)
    assert data.X["x"].tolist() == [i + 0.5 * (i >= 60) for i in range(120)]


def test_notes_quote_a_cell_of_the_file(write):
    assert "`30,2`" in read_data(write("x;y\n30,2;1\n1,5;2\n")).notes[0]
    (note,) = read_data(write("x\tz\n1,004\t5.67\n")).notes
    assert note == "In cells such as `1,004` the comma was read as standing between thousands: 1004."


@pytest.mark.parametrize(
    ("content", "x", "assumed"),
    [
        ("x;z\n1,004;1\n2,005;2\n", [1.004, 2.005], "with a decimal comma, as 1.004.*whether 1004 is meant"),
        ('x,z\n"1,004",1\n"2,005",2\n', [1004, 2005], "comma between thousands, as 1004.*whether 1.004 is meant"),
    ],
)
def test_what_cannot_be_known_is_doubted(write, monkeypatch, content, x, assumed):
    data = both_ways(write(content), monkeypatch)
    assert data.X["x"].tolist() == x
    (doubt,) = data.doubts
    assert pd.Series([doubt]).str.contains(assumed).all()
    assert "`1,004`" in doubt


def test_commas_and_points_side_by_side(write, monkeypatch):
    data = both_ways(write("x;z\n1,5;2.25\n2,5;3.5\n"), monkeypatch)
    _, Z = fit_preparation(data, scale="none")
    assert Z.tolist() == [[1.5, 2.25], [2.5, 3.5]]
    assert "decimal comma (`1,5`), others a decimal point (`2.25`)" in data.doubts[0]


def test_words_and_dates_do_not_speak_for_commas_and_points(write, monkeypatch):
    rows = "".join(f"{i}.5\t{'1,2' if i == 3 else 'word'}\n" for i in range(9))
    data = both_ways(write("x\tz\n" + rows), monkeypatch)
    assert data.X["x"].dtype == np.float64
    assert data.doubts == []
    rows = "".join(f"1.00{i};2{i}.01.2016\n" for i in range(9))
    data = both_ways(write("x;day\n" + rows + "1.004.000;20.01.2016\n"), monkeypatch)
    assert data.X["x"].tolist() == [*range(1000, 1009), 1004000]
    assert fit_preparation(data)[0].roles_ == {"x": "number", "day": "date"}


def test_a_cell_that_is_no_number_leaves_the_others_readable(write, monkeypatch):
    data = both_ways(write("x\tz\n1,004\t5.67\nhigh\t1.5\n999\t2.5\n"), monkeypatch)
    assert data.X["x"].tolist() == ["1,004", "high", "999"]
    rows = "".join(f"1,00{i}.50\t{i}.5\n" for i in range(9)) + "n.d.\t1.5\n\t1.5\n2.50\t1.5\n"
    data = both_ways(write("self\tz\n" + rows), monkeypatch)
    assert data.X["self"].tolist()[:2] == [1000.5, 1001.5]
    assert data.X["self"].isna().tolist() == [*[False] * 9, True, True, False]
    assert "`self`: 1 cells say that nothing is known (`n.d.`) and count as missing." in data.notes


def test_numerals_are_kept_with_the_preparation(write, tmp_path):
    preparation, _ = fit_preparation(read_data(write("x;z\n1,5;2\n2,5;1\n")))
    preparation.save(tmp_path / "p")
    assert Preparation.load(tmp_path / "p").forms_["x"] == Form(",")
    doubtful = write("x;z\n1,004;1\n2,005;2\n", "b.csv")
    blocks = open_blocks(doubtful, forms={"x": Form(".", ",")})
    assert next(iter(blocks.read(5))).X["x"].tolist() == [1004, 2005]
    assert blocks.doubts == []
    dotted = write("x;z\n1.004;1\n2.005;2\n", "c.csv")
    assert next(iter(open_blocks(dotted, forms={"x": Form(",", ".")}).read(5))).X["x"].tolist() == [1004, 2005]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(-(10**8), 10**8), min_size=2, max_size=9),
    st.sampled_from([(".", ","), (",", "."), (".", "'"), (",", "\u00a0")]),
    st.sampled_from("\t;,|"),
)
def test_numbers_in_any_manner_come_back(write, numbers, manner, delimiter):
    decimal, thousands = manner
    values = [1234567.25, *(number / 100 for number in numbers)]
    cells = [f"{value:,.2f}".replace(",", "t").replace(".", decimal).replace("t", thousands) for value in values]
    rows = "".join(f'"{cell}"{delimiter}w{i}\n' for i, cell in enumerate(cells))
    data = read_data(write(f"x{delimiter}y\n{rows}"))
    assert data.X["x"].tolist() == values
    assert data.forms["x"][:2] == manner


def test_rows_with_nothing_in_them_are_no_points(write, monkeypatch):
    content = 'x,y,z\n1,a,True\n,,\n2,"b\n,,\nc",False\n , ,\n"",,\n3,c,True\n,,\n,,\n'
    data = both_ways(write(content), monkeypatch)
    assert data.X["x"].tolist() == [1, 2, 3]
    assert data.X["y"].tolist() == ["a", "b\n,,\nc", "c"]
    assert data.X["x"].dtype == np.int64
    assert data.X["z"].tolist() == ["True", "False", "True"]
    assert data.ids.tolist() == [0, 1, 2]
    assert "5 rows with nothing in them were passed over and not counted." in data.notes
    assert "1 row with nothing in it was passed over" in read_data(write("\nx,y\n,\n1,2\n"[1:])).notes[0]
    assert read_data(write("x,z\n1,2\n\n3,4\n")).notes == []


def test_rows_of_marks_for_missing_cells_stay(write):
    assert read_data(write("x,y\n1,2\nNA,NA\n")).n == 2


@pytest.mark.parametrize(
    ("content", "options", "columns", "n"),
    [
        ("kind,400,410\n" + "a,1,5.5\n,2,5.5\nb,3,5.5\n" * 10, {}, ["kind", "400", "410"], 30),
        ("x,400,410\n1,1,5.5\n2,2,5.5\n", {}, ["x", "400", "410"], 2),
        ("kind,400,410\nz,1,5.5\n", {"label_column": "kind"}, ["400", "410"], 1),
        ("kind,400,410\nz,1,5.5\n", {"ignore": "400"}, ["kind", "410"], 1),
        ("5,1;3,5;setosa\n4,9;3;setosa\n", {}, ["column 1", "column 2", "column 3"], 2),
        ("<500,1.5\n600,2.5\n700,2.5\n", {}, ["column 1", "column 2"], 3),
        ("NA,1.5\n600,2.5\n700,2.5\n", {}, ["column 1", "column 2"], 3),
        ("5.1,setosa\n" + "4.9,setosa\n5.2,virginica\n" * 9, {}, ["column 1", "column 2"], 19),
        ("5.1,Anna\n" + "".join(f"5.1,name {i}\n" for i in range(30)), {}, ["column 1", "column 2"], 31),
    ],
)
def test_names_that_are_numbers(write, content, options, columns, n):
    data = read_data(write(content), **options)
    assert data.X.columns.tolist() == columns
    assert data.n == n


def test_a_guess_about_names_is_told(write):
    guessed = read_data(write("kind,400,410\n" + "a,1,5.5\nb,3,5.5\n" * 10)).notes
    assert guessed[0] == "The first line was taken for the names of columns: `kind`, `400`, `410`."
    (note,) = read_data(write("400,410\n1,2\n3,4\n")).notes
    assert "its first line (`400`, `410`) was taken for data" in note
    assert "as in `x400`" in note
    with pytest.raises(InvalidInputError, match=r"no column `kind`.*Its first line .* was taken for data"):
        read_data(write("400,410\n1,2\n3,4\n"), label_column="kind")


def test_columns_of_a_fit_are_found_in_a_line_of_numbers(write):
    path = write("400,410,420\n1,2,3\n3,4,5\n7,8,9\n")
    assert open_blocks(path).width == 3
    blocks = open_blocks(path, expected=["410", "400"])
    assert next(iter(blocks.read(5))).X.columns.tolist() == ["400", "410", "420"]
    assert next(iter(blocks.read(5))).n == 3
    unnamed = write("x,400\n1,2\n2,3\n", "b.csv")
    assert next(iter(open_blocks(unnamed, expected=["column 1", "column 2"]).read(5))).n == 3
    assert next(iter(open_blocks(unnamed).read(5))).n == 2


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("sep=;\nx;y\n1;2\n", r"says what separates cells \(`;`\)"),
        ('"sep=,"\r\nx,y\r\n1,2\r\n', "says what separates cells"),
        ("sep=|\nx|y\n1|2\n", "says what separates cells"),
        ("# made by a machine, on Monday, at noon\nx,y\n1,2\n", "passed over as remarks: `# made by a machine"),
        ("# one\n#two\n\nx,y\n1,2\n", "`# one` and 1 more that begin with #"),
        ("sep=;\n# one\nx;y\n1;2\n", "says what separates cells"),
    ],
)
def test_lines_before_the_table(write, monkeypatch, content, note):
    data = both_ways(write(content), monkeypatch)
    assert data.X.to_dict("list") == {"x": [1], "y": [2]}
    assert pd.Series(data.notes).str.contains(note).any()


@pytest.mark.parametrize("content", ["# x,y\n1,2\n3,4\n", "#x,y\na,b\nc,d\n", "# said\n# x,y\n1,2\n3,4\n"])
def test_a_remark_may_hold_the_names(write, monkeypatch, content):
    data = both_ways(write(content), monkeypatch)
    assert data.X.columns.tolist() == ["x", "y"]
    assert data.n == 2


def test_a_remark_further_down_is_a_row(write):
    assert read_data(write("x,y\n#a,1\n#b,2\n")).n == 2
    assert read_data(write("#,y\n1,7\n2,8\n")).X.columns.tolist() == ["#", "y"]


@pytest.mark.parametrize("title", ["My measurements,,", "My measurements"])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_title_is_passed_over(write, monkeypatch, title, delimiter):
    path = write(f"{title}\ncount,width,kind\n1,2,a\n3,4,b\n".replace(",", delimiter))
    data = both_ways(path, monkeypatch)
    assert data.X.columns.tolist() == ["count", "width", "kind"]
    assert "Lines above the table were passed over: `My measurements`" in data.notes[0]
    assert read_data(path, reading=Reading(skip_rows=1)).n == 2


def test_units_are_passed_over(write, monkeypatch):
    rows = "".join(f"{i},{i}.5,a\n" for i in range(6))
    data = both_ways(write("count,width,kind\n1/s,mm,\n" + rows), monkeypatch)
    assert (data.n, data.X["width"].dtype) == (6, np.float64)
    assert "The line below the names holds units (`1/s`, `mm`) and was passed over." in data.notes
    for first in ("<3,2,b", "NA,NA,b", "7,mm,b", "45%,,b"):
        assert read_data(write(f"count,width,kind\n{first}\n" + rows)).n == 7
    assert read_data(write("count,kind\n,a\n" + "1,b\n2,b\n" * 3)).n == 7


def test_remarks_at_the_end_are_passed_over(write, monkeypatch):
    data = both_ways(write("x;y;z\n1;2;a\n3;4;b\n\nSource: a survey\n"), monkeypatch)
    assert data.n == 2
    assert "Lines with a single cell were passed over as remarks: `Source: a survey`." in data.notes


def test_the_names_that_r_leaves_out(write, monkeypatch):
    data = both_ways(write('"x" "kind"\n"1" 2.5 "a"\n"2" 3.5 "b"\n'.replace(" ", ",")), monkeypatch)
    assert data.X.to_dict("list") == {"x": [2.5, 3.5], "kind": ["a", "b"]}


@pytest.mark.parametrize(
    ("content", "reading", "expected"),
    [
        ("1;2\n3;4\n", Reading(header=True), {"1": [3], "2": [4]}),
        ("a;b\n3;4\n", Reading(header=False), {"column 1": ["a", "3"], "column 2": ["b", "4"]}),
        ("x;y\n1,004;2\n2,005;3\n", Reading(decimal="."), {"x": [1004, 2005], "y": [2, 3]}),
        ("one, two\nx~y\n1~2\n", Reading(skip_rows=1, delimiter="~"), {"x": [1], "y": [2]}),
        ("x,y\n1,-9\n-9,3\n4,5\n", Reading(missing=("-9",)), {"x": [1, None, 4], "y": [None, 3, 5]}),
        ("x,y\n1,\xe9\n".encode("latin-1"), Reading(encoding="cp850"), {"x": [1], "y": ["Ú"]}),
    ],
)
def test_every_guess_can_be_overruled(tmp_path, content, reading, expected):
    path = tmp_path / "a.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    X = read_data(path, reading=reading).X
    assert X.astype(object).where(X.notna(), None).to_dict("list") == expected


def test_an_open_quote_is_named_where_it_begins(write):
    rows = "".join(f"{i},a,b\n" for i in range(40))
    with pytest.raises(
        InvalidInputError,
        match=r'`a.csv` has a quote \("\) in the row of line 2 that opens a cell and is not',
    ):
        read_data(write('x,y,z\n1,"a\n2,3","b\n' + rows))
    with pytest.raises(
        InvalidInputError,
        match=r'has a quote \("\) in the row of line 2 that opens a cell and makes',
    ):
        read_data(write('x,y,z\n1,"a,b\n' + rows * 500))
    with pytest.raises(InvalidInputError, match="3 cells in every row; the row in lines 2 to 3 has 2"):
        read_data(write('x,y,z\n1,"a,b\n2,a,b"\n' + rows))
