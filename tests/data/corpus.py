"""Tables as programs and people write them, with what is right written down beforehand.

Each entry: the program and the trouble, the bytes, options, then either the rows expected (`n`) with some columns (numbers
as numbers, text as text), the days of dates since 1970, or a part of the sentence that refuses it.
"""

from __future__ import annotations

import gzip
import io
from dataclasses import dataclass, field
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Case:
    """A file and what is right."""

    content: bytes
    columns: dict[str, list[Any]] = field(default_factory=dict)
    n: int | None = None
    roles: dict[str, str | None] = field(default_factory=dict)
    days: dict[str, list[float]] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    refused: str = ""
    ending: str = "csv"


def text(content: str, encoding: str = "utf-8", **right: Any) -> Case:
    """Write a case down."""
    return Case(content.encode(encoding), **right)


WORDS = ["red", "blue", "green"]
JAN = [18262.0, 18293.0, 18321.0]  # 1 January, 1 February, 29 February of 2020


def dated(style: str) -> str:
    """Write twelve days of 2020, the 13th to 24th of each month, in a style of strftime."""
    days = [pd.Timestamp(2020, m, 12 + m) for m in range(1, 13)]
    return "day,x\n" + "".join(f'"{day.strftime(style)}",{day.month % 5}\n' for day in days)


DAYS = [float((pd.Timestamp(2020, m, 12 + m) - pd.Timestamp(0)).days) for m in range(1, 13)]


def rows(row: Any, n: int = 30) -> str:
    """Write rows."""
    return "".join(f"{row(i)}\n" for i in range(n))


def as_excel(frame: pd.DataFrame, **options: Any) -> bytes:
    """Write a workbook."""
    buffer = io.BytesIO()
    frame.to_excel(buffer, index=False, **options)
    return buffer.getvalue()


def cases() -> dict[str, Case]:
    """Return all cases by name."""
    return {
        **_delimiters(),
        **_numbers(),
        **_missing(),
        **_lines(),
        **_letters(),
        **_dates(),
        **_columns(),
        **_others(),
    }


def _delimiters() -> dict[str, Case]:
    plain = {"x": [1.5, 2.5], "k": ["a", "b"]}
    return {
        "pandas, with an index": text(",x,k\n0,1.5,a\n1,2.5,b\n", columns=plain, n=2),
        "write.csv of R, with row names": text('"","x","k"\n"1",1.5,"a"\n"2",2.5,"b"\n', columns=plain, n=2),
        "write.table of R, one name short": text('"x"\t"k"\n"1"\t1.5\t"a"\n"2"\t2.5\t"b"\n', columns=plain, n=2),
        "write.csv2 of R": text('"x";"k"\n1,5;"a"\n2,5;"b"\n', columns=plain, n=2),
        "Excel in German": text("x;k\r\n1,5;a\r\n2,5;b\r\n", "cp1252", columns=plain, n=2),
        "Excel, Unicode text": text("x\tk\r\n1.5\ta\r\n2.5\tb\r\n", "utf-16", columns=plain, n=2),
        "SQL Server, UTF-16 without a mark": text("x,k\r\n1.5,a\r\n2.5,b\r\n", "utf-16-le", columns=plain, n=2),
        "Excel, UTF-8 with a mark": text("\ufeffx,k\n1.5,a\n2.5,b\n", columns=plain, n=2),
        "Excel, sep=": text("sep=;\nx;k\n1.5;a\n2.5;b\n", columns=plain, n=2),
        "PostgreSQL, COPY with bars": text("x|k\n1.5|a\n2.5|b\n", columns=plain, n=2),
        "MySQL, tabs and \\N": text(
            "x\tk\n1.5\ta\n\\N\tb\n", options={"missing": ("\\N",)}, columns={"k": ["a", "b"]}, n=2
        ),
        "old Mac, returns": text("x,k\r1.5,a\r2.5,b\r", columns=plain, n=2),
        "LibreOffice, all in quotes": text('"x","k"\n"1.5","a"\n"2.5","b"\n', columns=plain, n=2),
        "tildes, told": text("x~k\n1.5~a\n2.5~b\n", options={"delimiter": "~"}, columns=plain, n=2),
        "blanks after commas": text("x, k\n1.5, a\n2.5, b\n", columns=plain, n=2),
        "gzipped": Case(gzip.compress(b"x,k\n1.5,a\n2.5,b\n", mtime=0), columns=plain, n=2, ending="csv.gz"),
        "commas in quotes": text('x,k\n1.5,"a, b"\n2.5,"c, d"\n', columns={"k": ["a, b", "c, d"]}, n=2),
        "new lines in quotes": text('x,k\n1.5,"a\nb"\n2.5,"c"\n', columns={"x": [1.5, 2.5], "k": ["a\nb", "c"]}, n=2),
        "doubled quotes": text('x,k\n1.5,"5"" pipe"\n2.5,b\n', columns={"k": ['5" pipe', "b"]}, n=2),
        "one column": text("x\n1.5\n2.5\n", columns={"x": [1.5, 2.5]}, n=2),
        "a comma more at every end": text("x,k,\n1.5,a,\n2.5,b,\n", columns=plain, n=2),
    }


def _numbers() -> dict[str, Case]:
    return {
        "thousands and points": text('x,y\n"1,004",5.67\n"999",5.5\n', columns={"x": [1004, 999], "y": [5.67, 5.5]}),
        "German thousands": text("x;y\n1.004,5;1\n999,25;2\n", columns={"x": [1004.5, 999.25]}),
        "Swiss thousands": text("x;y\n1'234.9;1\n56.5;2\n", columns={"x": [1234.9, 56.5]}),
        "French thousands": text("x;y\n1\u202f234,9;1\n56,5;2\n", columns={"x": [1234.9, 56.5]}),
        "a blank between thousands": text("x;y\n1 234,9;1\n56,5;2\n", columns={"x": [1234.9, 56.5]}),
        "percent": text("x,y\n" + rows(lambda i: f"{i}%,{i % 3}"), columns={"x": [float(i) for i in range(30)]}),
        "millimetres": text("x,y\n" + rows(lambda i: f"{i}.5 mm,{i % 3}"), columns={"x": [i + 0.5 for i in range(30)]}),
        "dollars": text("x,y\n" + rows(lambda i: f"${i}.50,{i % 3}"), columns={"x": [i + 0.5 for i in range(30)]}),
        "two units": text(
            "x,y\n" + rows(lambda i: f"{i} {['mm', 'cm'][i % 2]},{i % 7}"), roles={"x": None, "y": "number"}
        ),
        "exponents": text("x,y\n1.5e3,1\n2E-2,2\n", columns={"x": [1500, 0.02]}),
        "limits here and there": text(
            "x,y\n" + rows(lambda i: f"{'<5' if i == 3 else i + 0.5},{i % 3}"), roles={"x": "number"}, n=30
        ),
        "signs": text("x,y\n+1.5,1\n-2.5,2\n", columns={"x": [1.5, -2.5]}),
        "a comma and three digits, told": text(
            "x;y\n1,004;1\n2,005;2\n", options={"decimal": "."}, columns={"x": [1004, 2005]}
        ),
        "both signs by column": text("x;y\n1,5;2.25\n2,5;3.5\n", columns={"x": [1.5, 2.5], "y": [2.25, 3.5]}),
    }


def _missing() -> dict[str, Case]:
    gap = float("nan")
    return {
        "NA of R": text("x,y\n1.5,1\nNA,2\n2.5,3\n", columns={"x": [1.5, gap, 2.5]}),
        "#N/A of Excel": text("x,y\n1.5,1\n#N/A,2\n2.5,3\n", columns={"x": [1.5, gap, 2.5]}),
        "n.d. in a fifteenth": text(
            "x,y\n" + rows(lambda i: f"{'n.d.' if i % 15 == 0 else i / 4},{i % 3}", 60), roles={"x": "number"}, n=60
        ),
        "a dash": text("x,y\n" + rows(lambda i: f"{'-' if i % 9 == 0 else i / 4},{i % 3}"), roles={"x": "number"}),
        "-999, told": text("x,y\n1.5,1\n-999,2\n", options={"missing": ("-999",)}, columns={"x": [1.5, gap]}),
        "NULL of a database": text("x,y\n1.5,1\nNULL,2\n", columns={"x": [1.5, gap]}),
    }


def _lines() -> dict[str, Case]:
    plain = {"x": [1.5, 2.5, 3.5], "y": [1, 2, 3]}
    return {
        "a title": text("Survey of 2020\nx,y\n1.5,1\n2.5,2\n3.5,3\n", columns=plain, n=3),
        "a title and a blank line": text("Survey of 2020\n\nx,y\n1.5,1\n2.5,2\n3.5,3\n", columns=plain, n=3),
        "a title as Excel pads it": text("Survey of 2020,\n,\nx,y\n1.5,1\n2.5,2\n3.5,3\n", columns=plain, n=3),
        "three lines, told": text(
            "by A, B\non Monday, noon\n...\nx,y\n1.5,1\n2.5,2\n3.5,3\n", options={"skip_rows": 3}, columns=plain
        ),
        "remarks": text("# made by a machine\n# at noon\nx,y\n1.5,1\n2.5,2\n3.5,3\n", columns=plain, n=3),
        "names in a remark": text("#x,y\n1.5,1\n2.5,2\n3.5,3\n", columns=plain, n=3),
        "units below the names": text("x,y\nmm,kg\n" + rows(lambda i: f"{i}.5,{i}"), n=30, roles={"x": "number"}),
        "blank rows": text("x,y\n1.5,1\n\n2.5,2\n,\n3.5,3\n,\n", columns=plain, n=3),
        "a footer": text("x,y,z\n1.5,1,a\n2.5,2,b\n3.5,3,a\nSource: the ministry\n", columns=plain, n=3),
        "no names": text("1.5,1\n2.5,2\n3.5,3\n", columns={"column 1": [1.5, 2.5, 3.5]}, n=3),
        "years for names": text("place,2019,2020\nhere,6,7\nthere,8,9\n", columns={"2019": [6, 8]}, n=2),
        "names that are numbers, told": text(
            "400,410\n1,2\n3,4\n", options={"header": True}, columns={"400": [1, 3]}, n=2
        ),
        "a name twice": text("x,x\n1.5,1\n2.5,2\n", columns={"x": [1.5, 2.5], "x (2)": [1, 2]}, n=2),
        "a row too long": text("x,y\n1.5,1\n2.5,2,7\n", refused="line 3 has 3.*`delimiter`"),
        "a row too short": text("x,y,z\n1.5,1,a\n2.5,2\n", refused="line 3 has 2.*`skip_rows`"),
        "an open quote": text('x,y\n1.5,"1\n2.5,2\n', refused="in the row of line 2.*Remove the quote"),
        "names and nothing else": text("x,y\n", refused="no rows"),
    }


def _letters() -> dict[str, Case]:
    return {
        "cp1252": text("x,k\n1.5,Zürich\n2.5,Café\n", "cp1252", columns={"k": ["Zürich", "Café"]}),
        "cp1252, a euro and a dash": text("x,k\n1.5,5 €\n2.5,a–b\n", "cp1252", columns={"k": ["5 €", "a–b"]}),
        "cp850, told": text("x,k\n1.5,Zürich\n", "cp850", options={"encoding": "cp850"}, columns={"k": ["Zürich"]}),
        "Shift JIS, told": text(
            "x,k\n1.5,東京\n", "shift_jis", options={"encoding": "shift_jis"}, columns={"k": ["東京"]}
        ),
        "not what was told": text(
            "x,k\n1.5,Zürich\n", "cp1252", options={"encoding": "utf-8"}, refused="option `encoding`"
        ),
        "no text": Case(b"x,y\n\x00\x01\x02,3\n", refused="no text has"),
    }


def _dates() -> dict[str, Case]:
    styles = {
        "ISO": "%Y-%m-%d",
        "German": "%d.%m.%Y",
        "British": "%d/%m/%Y",
        "American": "%m/%d/%Y",
        "of two digits": "%d.%m.%y",
        "with a month in letters": "%d %b %Y",
        "Oracle": "%d-%b-%Y",
        "American in letters": "%b %d, %Y",
        "Japanese": "%Y/%m/%d",
    }
    return {f"dates, {name}": text(dated(style), days={"day": DAYS}) for name, style in styles.items()} | {
        "dates and times": text(dated("%Y-%m-%d 12:00:00"), days={"day": [day + 0.5 for day in DAYS]}),
    }


def _columns() -> dict[str, Case]:
    return {
        "ids": text("id,x\n" + rows(lambda i: f"P{i:03},{i % 7}"), roles={"id": None, "x": "number"}),
        "uuids": text("id,x\n" + rows(lambda i: f"{i:08x}-aa-bb,{i % 7}"), roles={"id": None}),
        "leading zeros as ids": text("id,x\n007,1\n012,2\n", options={"id_column": "id"}, n=2, columns={"x": [1, 2]}),
        "flags": text("f,x\n" + rows(lambda i: f"{['TRUE', 'false'][i % 2]},{i % 7}"), roles={"f": "category"}),
        "few words": text("k,x\n" + rows(lambda i: f"{WORDS[i % 3]},{i % 7}"), roles={"k": "category"}),
        "free text": text(
            "t,x\n" + rows(lambda i: f"the {WORDS[i % 3]} wine of year {i},{i % 7}"), roles={"t": "text"}
        ),
        "sizes, mixed": text(
            "k,x\n" + rows(lambda i: f"{['S', 'M', '38', '40'][i % 4]},{i % 7}"), roles={"k": "category"}
        ),
        "constant": text("c,x\n" + rows(lambda i: f"5,{i % 7}"), roles={"c": None}),
        "counting": text("n,x\n" + rows(lambda i: f"{i + 1},{i % 7}"), roles={"n": None}),
        "addresses": text("ip,x\n" + rows(lambda i: f"10.0.{i}.7,{i % 7}"), roles={"ip": None}),
    }


def _others() -> dict[str, Case]:
    frame = pd.DataFrame(
        {"x": [1.5, None, 2.5], "k": ["a", "b", "a"], "day": pd.to_datetime(["2020-01-01", "2020-02-01", "2020-02-29"])}
    )
    gap = float("nan")
    return {
        "Excel": Case(
            as_excel(frame), ending="xlsx", columns={"x": [1.5, gap, 2.5], "k": ["a", "b", "a"]}, n=3, days={"day": JAN}
        ),
        "Excel, a title": Case(as_excel(frame, startrow=3), ending="xlsx", columns={"k": ["a", "b", "a"]}, n=3),
        "Excel, a sheet, told": Case(
            as_excel(frame, sheet_name="second"),
            ending="xlsx",
            options={"sheet": "second"},
            columns={"k": ["a", "b", "a"]},
        ),
        "Excel, no such sheet": Case(
            as_excel(frame), ending="xlsx", options={"sheet": "third"}, refused="has no sheet `third`"
        ),
        "JSON Lines": text(
            '{"x": 1.5, "k": "a"}\n{"x": null, "k": "b"}\n', ending="jsonl", columns={"x": [1.5, gap], "k": ["a", "b"]}
        ),
        "a list of JSON": text(
            '[{"x": 1, "k": "a"},\n {"x": 2}]', ending="json", columns={"x": [1, 2], "k": ["a", None]}
        ),
        "JSON called csv": text('{"x": 1.5}\n{"x": 2.5}\n', columns={"x": [1.5, 2.5]}),
        "JSON that is no table": text('{"x": 1.5}\n[1, 2]\n', ending="jsonl", refused="must hold objects"),
        "broken JSON": text('{"x": 1.5}\n{"x": 2.\n', ending="jsonl", refused="cannot be read as JSON"),
        "Word": Case(b"\xd0\xcf\x11\xe0" + bytes(60), ending="xls", refused="save the sheet as xlsx or CSV"),
    }
