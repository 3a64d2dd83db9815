"""Predictions from file to file, block by block."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tests.cli.conftest import QUICK, ROLES, make_table
from xsdc.data import blocks
from xsdc.runs import Prediction

SRC = Path(__file__).parents[2] / "src"


def write_images(path, n=30):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 60, (n, 12, 12), dtype=np.uint8)
    pixels[::2, :, 3:6] += 150
    pixels[1::2, 3:6] += 150
    if path.suffix in (".npy", ".npz"):
        np.save(path, pixels) if path.suffix == ".npy" else np.savez_compressed(path, X=pixels, y=np.arange(n) % 2)
        return
    folder = path.with_suffix("")
    for i, picture in enumerate(pixels):
        (folder / str(i % 2)).mkdir(parents=True, exist_ok=True)
        colours = np.repeat(picture[..., None], 3, axis=2)
        colours[0, 0] = (0, 255, 7) if i == 22 else colours[0, 0]
        Image.fromarray(colours).save(folder / str(i % 2) / f"{i:02d}.png")
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as file:
            for name in folder.rglob("*.png"):
                file.write(name, name.relative_to(folder))


def write_vectors(path, n=30):
    X = make_table(n // 3)[["height", "width", "weight"]].to_numpy().copy(order="C")
    np.save(path, X) if path.suffix == ".npy" else np.savez(path, X=X, y=np.arange(n) // (n // 3), ids=np.arange(n) + 7)


def write_table(path, n=30):
    table = make_table(n // 3)
    table["colour"] = ["never seen" if i > 25 else colour for i, colour in enumerate(table["colour"])]
    table["weight"] = [None if 6 < i < 14 else weight for i, weight in enumerate(table["weight"])]  # a whole block
    table["width"] = [1, 2, 3, *table["width"][3:]]  # whole numbers at first
    table["code"] = [None if i == 28 else i for i in range(n)]
    {".parquet": lambda: table.to_parquet(path), ".tsv": lambda: table.to_csv(path, sep="\t", index=False)}.get(
        path.suffix, lambda: table.to_csv(path, index=False)
    )()


CASES = {
    "a.csv": (write_table, ROLES),
    "a.tsv": (write_table, ROLES),
    "a.csv.gz": (write_table, ROLES),
    "a.parquet": (write_table, ROLES),
    "v.npy": (write_vectors, ("--n-clusters", 3)),
    "v.npz": (write_vectors, ()),
    "i.npy": (write_images, ("--n-clusters", 2)),
    "i.npz": (write_images, ()),
    "photos": (write_images, ()),
    "photos.zip": (write_images, ()),
}


@pytest.mark.parametrize("name", CASES)
def test_the_size_of_blocks_does_not_matter(xsdc, tmp_path, monkeypatch, name):
    write, options = CASES[name]
    write(tmp_path / name)
    ended = xsdc("fit", name, *options, *QUICK, "--out", "run", "--no-report")
    assert ended.code == 0, ended.err
    whole = xsdc("predict", "run", name, "-o", "whole.csv", "--all")
    monkeypatch.setattr(blocks, "MOST_ROWS", 7)
    parts = xsdc("predict", "run", name, "-o", "parts.csv", "--all")
    assert (whole.code, parts.code) == (0, 0)
    assert whole.err.replace("whole.csv", "parts.csv") == parts.err
    one, other = (pd.read_csv(tmp_path / f"{which}.csv") for which in ("whole", "parts"))
    assert one[["id", "label"]].equals(other[["id", "label"]])
    numbers = one.columns[2:]
    np.testing.assert_allclose(one[numbers], other[numbers], atol=2e-6)  # sums in another order
    assert len(one) == 30
    packed = xsdc("predict", "run", name, "-o", "parts.parquet", "--all")
    assert packed.code == 0, packed.err
    stored = pd.read_parquet(tmp_path / "parts.parquet")
    assert stored["id"].astype(str).tolist() == other["id"].astype(str).tolist()
    np.testing.assert_array_equal(stored[numbers], other[numbers])
    printed = xsdc("predict", "run", name, "--all")
    assert printed.out.replace("\r\n", "\n") == (tmp_path / "parts.csv").read_text(encoding="utf-8")


def test_ids_and_notes_are_those_of_the_whole_file(xsdc, tmp_path, monkeypatch):
    write_table(tmp_path / "a.csv")
    assert xsdc("fit", "a.csv", *ROLES, *QUICK, "--out", "run", "--no-report").code == 0
    monkeypatch.setattr(blocks, "MOST_ROWS", 7)
    ended = xsdc("predict", "run", "a.csv", "--id-column", "code", "-o", "out.csv")
    assert ended.code == 2
    assert "`code` must name every point; 1 cells are empty, the first in row 28" in ended.err
    assert not (tmp_path / "out.csv").exists()
    table = pd.read_csv(tmp_path / "a.csv")
    table["colour"] = ["brown" if i in (3, 20) else c for i, c in enumerate(table["colour"])]
    table.to_csv(tmp_path / "b.csv", index=False)
    ended = xsdc("predict", "run", "b.csv", "-o", "b-out.csv")
    assert ended.err.count("8 cells are missing in `weight`, `code`") == 1
    assert ended.err.count("2 cells in `colour` hold words that the fit did not have") == 1


def ids_in(path: Path) -> list[str]:
    return [line.split(",")[0] for line in path.read_text(encoding="utf-8").splitlines()[1:]]


def test_ids_are_those_of_the_fit(xsdc, tmp_path):
    table = make_table(10)
    table["code"] = [f"{i:03d}" if i else "NA" for i in range(30)]
    table.loc[1, "code"] = "9007199254740993"  # one more than float64 can tell
    table.to_csv(tmp_path / "a.csv", index=False)
    table[["height", "width", "weight", "colour", "code"]].to_csv(tmp_path / "b.csv", index=False)
    table.drop(columns="code").to_csv(tmp_path / "c.csv", index=False)
    assert xsdc("fit", "a.csv", *ROLES, "--id-column", "code", *QUICK, "--out", "run", "--no-report").code == 0
    assert ids_in(tmp_path / "run" / "labels.csv") == table["code"].tolist()
    for name, expected in (("b.csv", table["code"].tolist()), ("c.csv", [str(i) for i in range(30)])):
        ended = xsdc("predict", "run", name, "-o", "out.csv", "--force")
        assert ended.code == 0, ended.err
        assert ids_in(tmp_path / "out.csv") == expected
    assert xsdc("predict", "run", "b.csv", "--id-column", "cod", "-o", "d.csv").code == 2


def test_ids_of_arrays(xsdc, tmp_path):
    X = make_table(10)[["height", "width", "weight"]].to_numpy()
    np.savez(tmp_path / "a.npz", X=X, name=np.array([f"n{i}" for i in range(30)]))
    np.savez(tmp_path / "b.npz", X=X)
    options = ("--id-column", "name", "--n-clusters", 3, *QUICK, "--out", "run", "--no-report")
    assert xsdc("fit", "a.npz", *options).code == 0
    assert xsdc("predict", "run", "a.npz", "-o", "usual.csv").code == 0
    assert xsdc("predict", "run", "a.npz", "--id-column", "name", "-o", "asked.csv").code == 0
    assert ids_in(tmp_path / "usual.csv") == ids_in(tmp_path / "asked.csv") == [f"n{i}" for i in range(30)]
    assert xsdc("predict", "run", "b.npz", "-o", "none.csv").code == 0
    assert ids_in(tmp_path / "none.csv") == [str(i) for i in range(30)]
    assert xsdc("predict", "run", "b.npz", "--id-column", "name", "-o", "error.csv").code == 2


def test_words_that_look_like_numbers_are_words_in_every_file(xsdc, tmp_path):
    table = make_table(20)
    table["zip"] = [["01", "02", "A3"][i % 3] for i in range(60)]
    table["open"] = [i % 2 == 0 for i in range(60)]
    table.to_csv(tmp_path / "a.csv", index=False)
    some = table[table["zip"] != "A3"]
    some.to_csv(tmp_path / "b.csv", index=False)
    assert xsdc("fit", "a.csv", *ROLES, *QUICK, "--out", "run", "--no-report").code == 0
    for name in ("a.csv", "b.csv"):
        ended = xsdc("predict", "run", name, "--all", "-o", f"out-{name}")
        assert ended.code == 0, ended.err
        assert "words that the fit did not have" not in ended.err
    whole, part = (pd.read_csv(tmp_path / f"out-{name}").drop(columns="id") for name in ("a.csv", "b.csv"))
    pd.testing.assert_frame_equal(whole.loc[some.index].reset_index(drop=True), part)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_fails_leaves_nothing_behind(xsdc, tmp_path, monkeypatch, ending):
    write_vectors(tmp_path / "v.npy")
    assert xsdc("fit", "v.npy", "--n-clusters", 3, *QUICK, "--out", "run", "--no-report").code == 0
    monkeypatch.setattr(blocks, "MOST_ROWS", 7)
    before = {path.name for path in tmp_path.iterdir()}
    whole = (tmp_path / "v.npy").read_bytes()
    (tmp_path / "v.npy").write_bytes(whole[:-9])  # the last block is cut off
    ended = xsdc("predict", "run", "v.npy", "-o", f"out.{ending}")
    assert (ended.code, ended.out) == (2, "")
    assert "9 bytes too early" in ended.err
    (tmp_path / "v.npy").write_bytes(whole)
    original = Prediction._tabled
    done = []

    def interrupted(self, *arguments):
        done.append(1)
        if len(done) == 3:
            raise KeyboardInterrupt
        return original(self, *arguments)

    monkeypatch.setattr(Prediction, "_tabled", interrupted)
    (tmp_path / f"out.{ending}").write_bytes(b"precious")
    assert xsdc("predict", "run", "v.npy", "-o", f"out.{ending}", "--force").code == 130
    assert (tmp_path / f"out.{ending}").read_bytes() == b"precious"
    gc.collect()
    assert {path.name for path in tmp_path.iterdir()} == before | {f"out.{ending}"}


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "is empty"), (b"height,width,weight,colour\n", "no rows"), (b"height,width\n1,2\n" * 1, "`weight`")],
)
def test_files_with_nothing_to_predict(xsdc, tmp_path, content, message):
    write_table(tmp_path / "a.csv")
    assert xsdc("fit", "a.csv", *ROLES, *QUICK, "--out", "run", "--no-report").code == 0
    (tmp_path / "b.csv").write_bytes(content)
    ended = xsdc("predict", "run", "b.csv", "-o", "out.csv")
    assert ended.code == 2
    assert message in ended.err
    assert not (tmp_path / "out.csv").exists()


PEAK = """
import sys
from pathlib import Path
from xsdc.runs import Prediction
n = Prediction(Path("run"), sys.argv[1]).write(Path("out.csv"))
said = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
print(n, said["VmHWM"].split()[0])  # the peak of this process alone: getrusage begins with that of its parent
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux says")
@pytest.mark.parametrize("ending", ["csv", "npy"])
def test_memory_does_not_grow_with_the_file(xsdc, tmp_path, ending):
    """A file of 16 times the rows, 100 MB and more as numbers, takes hardly more memory."""
    rng = np.random.default_rng(0)

    def write(n):
        X = rng.random((n, 40)).round(3)
        pd.DataFrame(X).to_csv(tmp_path / "a.csv", index=False) if ending == "csv" else np.save(tmp_path / "a.npy", X)

    write(60)
    fitted = xsdc("fit", f"a.{ending}", "--n-clusters", 2, *QUICK, "--out", "run", "--no-report")
    assert fitted.code == 0, fitted.err
    peaks = []
    for n in (20_000, 320_000):
        write(n)
        command = [sys.executable, "-c", PEAK, f"a.{ending}"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(SRC)}
        ended = subprocess.run(  # noqa: S603
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        count, peak = map(int, ended.stdout.split())
        assert count == n
        peaks.append(peak / 1024)
    assert peaks[1] - peaks[0] < 40, peaks  # megabytes; the whole file as numbers would be 102 alone


def as_written(table: pd.DataFrame, decimal: str) -> str:
    return table.to_csv(sep=";", decimal=decimal, index=False)


def test_numbers_are_read_as_the_file_writes_them(xsdc, tmp_path):
    table = make_table(20)
    columns = ["height", "width", "weight", "colour", "name"]
    (tmp_path / "a.csv").write_text(as_written(table, ","))
    (tmp_path / "comma.csv").write_text(as_written(table[columns], ","))
    (tmp_path / "point.csv").write_text(as_written(table[columns], "."))
    fitted = xsdc("fit", "a.csv", *ROLES, *QUICK, "--out", "run", "--no-report")
    assert fitted.code == 0, fitted.err
    comma = xsdc("predict", "run", "comma.csv", "-o", "comma-out.csv")
    point = xsdc("predict", "run", "point.csv", "-o", "point-out.csv")
    assert (comma.code, point.code) == (0, 0)
    assert (tmp_path / "comma-out.csv").read_text() == (tmp_path / "point-out.csv").read_text()
    assert "were read as numbers with a decimal comma" in comma.err
    assert "The table of the fit" not in comma.err
    said = (
        "The table of the fit had numbers with a decimal comma; `point.csv` has a decimal point and was read like that"
    )
    assert said in point.err.replace("\n", " ")


def test_rows_with_nothing_in_them_are_not_predicted(xsdc, tmp_path):
    table = make_table(20)[["height", "width", "weight", "kind"]]
    lines = table.to_csv(index=False).splitlines()
    (tmp_path / "a.csv").write_text("\n".join([*lines[:4], ",,,", *lines[4:], *[",,,"] * 50]))
    (tmp_path / "pairs.csv").write_text("0,59\n,\n1,58\n,\n")
    options = ("--label-column", "kind", "--cannot-link", "pairs.csv", *QUICK, "--out", "run", "--no-report")
    fitted = xsdc("fit", "a.csv", *options)
    assert fitted.code == 0, fitted.err
    assert "51 rows with nothing in them were passed over" in fitted.out.replace("\n", " ")
    ended = xsdc("predict", "run", "a.csv", "-o", "out.csv")
    assert "51 rows with nothing in them were passed over" in ended.err
    assert "60 predictions" in ended.err
    assert ids_in(tmp_path / "out.csv") == ids_in(tmp_path / "run" / "labels.csv") == [str(i) for i in range(60)]


def test_names_that_are_numbers_are_found_again(xsdc, tmp_path):
    table = make_table(20).rename(columns={"height": "400", "width": "410", "weight": "420"})
    table[["400", "410", "420", "kind"]].to_csv(tmp_path / "a.csv", index=False)
    table[["400", "410", "420"]].to_csv(tmp_path / "b.csv", index=False)
    assert xsdc("fit", "a.csv", "--label-column", "kind", *QUICK, "--out", "run", "--no-report").code == 0
    ended = xsdc("predict", "run", "b.csv", "-o", "out.csv")
    assert ended.code == 0, ended.err
    assert "60 predictions" in ended.err
