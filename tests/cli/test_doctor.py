"""What the doctor says of tables as people write them."""

from __future__ import annotations

import json

import numpy as np
import pytest

N = 120
RNG = np.random.default_rng(1)
KIND = np.arange(N) % 3
COUNT = np.abs(RNG.normal([700, 950, 1300], 60, (N, 3))[np.arange(N), KIND]).astype(int)
WIDTH = np.round(RNG.normal(5, 1, N), 2)
LABEL = ["abc"[KIND[i]] if i % 4 == 0 else "" for i in range(N)]
CODE = RNG.permutation(9000)[:N]


def rows(row):
    return "".join(f"{row(i)}\n" for i in range(N))


def plain(i):
    return f"{COUNT[i]},{WIDTH[i]},{LABEL[i]}"


HEAD = "count,width,kind\n"
WINES = ("Asti", "Barolo", "Barollo")
WARNED = {
    "decimal commas or thousands": (
        "count;n;kind\n" + rows(lambda i: f"{COUNT[i] * 10:,};{i % 5};{LABEL[i]}"),
        "reading",
        "with a decimal comma, as",
    ),
    "a class -1": (HEAD + rows(lambda i: plain(i) + ("" if LABEL[i] else "-1")), "unknown", "`-1` (90 labels)"),
    "a class -": (HEAD + rows(lambda i: plain(i) + ("" if LABEL[i] else "-")), "unknown", "Empty these cells"),
    "a class ?": (HEAD + rows(lambda i: plain(i) + ("" if LABEL[i] else "??")), "unknown", "`??` (90 labels)"),
    "a choice": (
        HEAD + rows(lambda i: plain(i) + ("a or b" if i == 1 else "")),
        "choice",
        "`a or b` (1 label): taken for a class of its own. Write `a|b` instead",
    ),
    "limits": (
        HEAD + rows(lambda i: f"{'<500' if i % 3 == 0 else COUNT[i] + i / 1000},{WIDTH[i]},{LABEL[i]}"),
        "columns of numbers and other cells",
        "80 of 120 cells of `count` are numbers; `<500` is not, and the column is left out",
    ),
    "a typing error": (
        "count,width,kind\n" + rows(lambda i: f"{COUNT[i]},{WIDTH[i]},{WINES[i % 2 + (i == 3)]}"),
        "typing errors",
        "labels: `Barollo` (1) beside `Barolo` (59).",
    ),
    "an absurd value": (
        HEAD + rows(lambda i: f"{1337000 if i == 7 else COUNT[i]},{WIDTH[i]},{LABEL[i]}"),
        "absurd values",
        "`count`: 1.337e+06 in row 7, where the median is",
    ),
    "ids": (
        "n,width,kind\n" + rows(lambda i: f"{CODE[i]},{WIDTH[i]},{LABEL[i]}"),
        "columns that look like ids",
        "n: whole numbers that are all different",
    ),
    "codes": (
        "ward_nr,width,kind\n" + rows(lambda i: f"{CODE[i] % 9},{WIDTH[i]},{LABEL[i]}"),
        "columns of codes",
        "ward_nr: whole numbers",
    ),
}


@pytest.mark.parametrize("case", WARNED)
def test_doctor_warns(xsdc, tmp_path, case):
    content, what, detail = WARNED[case]
    (tmp_path / "a.csv").write_text(content)
    ended = xsdc("doctor", "a.csv", "--label-column", "kind", "--json")
    assert ended.code == 0, ended.err
    symptoms = json.loads(ended.out)["symptoms"]
    assert [s for s in symptoms if s["level"] == "warning" and what in s["what"] and detail in s["detail"]], symptoms


def test_doctor_does_not_warn_of_what_is_well(xsdc, tmp_path):
    salts = ["Na", "K", "Ca"]
    (tmp_path / "salt.csv").write_text(
        "count\twidth\tkind\n" + rows(lambda i: f"{COUNT[i]:,}\t{WIDTH[i]}\t{salts[KIND[i]] if LABEL[i] else 'NA'}")
    )
    ended = xsdc("doctor", "salt.csv", "--label-column", "kind")
    assert "All is well." in ended.out
    said = ended.out.replace("\n", " ")
    assert "30 of 120 points have a label (3 different)" in said
    assert "`kind`: taken for unknown, and for no class: `NA` (90 cells)." in said
    assert "the comma was read as standing between thousands" in said
    assert "2 columns of numbers were scaled to mean 0 and deviation 1: `count`, `width`." in said


def test_doctor_counts_pairs(xsdc, tmp_path):
    (tmp_path / "a.csv").write_text("name," + HEAD + rows(lambda i: f"s {i},{plain(i)}"))
    (tmp_path / "same.csv").write_text("Sample ID 1,Sample ID 2\ns 1,s 4\n,\ns 4,s 7\n")
    (tmp_path / "other.csv").write_text("s 1,s 2\n")
    options = ("--label-column", "kind", "--id-column", "name", "--must-link", "same.csv")
    ended = xsdc("doctor", "a.csv", *options, "--cannot-link", "other.csv")
    assert ended.code == 0, ended.err
    assert "pairs: 2 in the same class and 1 in different classes were read." in ended.out.replace("\n", " ")
