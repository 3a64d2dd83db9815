"""Malformed files of every kind, made from good ones."""

from __future__ import annotations

import gzip
import io
import random
import shutil
import string
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anndata
import h5py
import numpy as np
import pandas as pd
from PIL import Image
from scipy import sparse

from benchmarks.trust.outcomes import REFUSED, RIGHT, Outcomes, while_time
from benchmarks.trust.workers import Worker
from xsdc.errors import InvalidInputError
from xsdc.runs.configuration import Configuration, DataOptions
from xsdc.runs.doctor import examine

ROWS = 40
ENDINGS = {"csv": "csv", "tsv": "tsv", "gzip": "csv.gz", "parquet": "parquet", "npz": "npz", "npy": "npy"}
ENDINGS |= {"h5ad dense": "h5ad", "h5ad sparse": "h5ad", "zip": "zip", "folder": "folder"}
CELLS: tuple[str, ...] = (
    "",
    "NaN",
    "inf",
    "-1e400",
    "1e308",
    "−5",
    "0x1F",
    "1,5",
    "a|b",
    "\x00",
    "\x1b[31m",
    "=1+1",
    '"',
    "é",
    "𝒳",
)
CELLS += ("9" * 400, "0001-01-01", "9999-12-31", "1500-02-30", "True", "None", "|", " ", "[1, 2]", "1_000", "1e", "٣")


def originals(rng: np.random.Generator) -> dict[str, bytes | dict[str, bytes]]:
    """Good files of each kind; a folder as names and contents."""
    X = rng.normal(size=(ROWS, 4)) + 4 * np.repeat([[0, 0, 0, 0], [1, 1, 0, 0]], ROWS // 2, axis=0)
    kind = np.where(np.arange(ROWS) % 4 == 0, np.repeat(["a", "b"], ROWS // 2), "")
    table = pd.DataFrame(X, columns=list("wxyz"))
    table["day"] = pd.date_range("2020-01-01", periods=ROWS).astype(str)
    table["word"] = rng.choice(["red", "blue"], ROWS)
    table["kind"] = kind
    text = table.to_csv(index=False).encode()
    pictures = {
        f"{'ab'[i % 2]}/{i}.{end}": _picture(rng, end) for i, end in enumerate(["png", "jpg", "gif", "tif"] * 3)
    }
    return {
        "csv": text,
        "tsv": table.to_csv(index=False, sep="\t").encode(),
        "gzip": gzip.compress(text),
        "parquet": _bytes(table.to_parquet),
        "npz": _bytes(partial(np.savez_compressed, X=X, y=kind)),
        "npy": _bytes(lambda file: np.save(file, X)),
        "h5ad dense": _h5ad(X.astype(np.float32), kind),
        "h5ad sparse": _h5ad(sparse.csr_matrix(np.maximum(X, 0).astype(np.float32)), kind),
        "zip": _zip(pictures),
        "folder": pictures,
    }


def _bytes(write: Callable[[Any], object]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def _picture(rng: np.random.Generator, ending: str) -> bytes:
    pixels = rng.integers(0, 255, (12, 12, 3) if ending == "png" else (12, 12)).astype(np.uint8)
    return _bytes(partial(Image.fromarray(pixels).save, format={"jpg": "jpeg", "tif": "tiff"}.get(ending, ending)))


def _zip(contents: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in contents.items():
            file.writestr(name, content)
    return buffer.getvalue()


def _h5ad(X: Any, kind: np.ndarray[Any, Any]) -> bytes:
    """Write the format as its documentation has it."""
    buffer = io.BytesIO()
    frames = {
        "obs": {"_index": [f"c{i}" for i in range(ROWS)], "kind": kind.tolist()},
        "var": {"_index": [f"g{i}" for i in range(X.shape[1])]},
    }
    with h5py.File(buffer, "w") as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        anndata.io.write_elem(file, "X", X)
        for name, columns in frames.items():
            group = file.create_group(name)
            group.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
            group.attrs["column-order"] = np.array([c for c in columns if c != "_index"], dtype=h5py.string_dtype())
            for column, cells in columns.items():
                anndata.io.write_elem(group, column, np.array(cells, dtype=str))
    return buffer.getvalue()


def damage(content: bytes, rng: random.Random, *, text: bool) -> bytes:
    """Change a file in one to three places."""
    for _ in range(rng.randint(1, 3)):
        content = rng.choice(TEXT if text and rng.random() < 0.7 else BINARY)(content, rng)
    return content


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _flip(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content or b"\0")
    for _ in range(rng.choice([1, 1, 2, 8])):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _insert(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content) + 1)
    return content[:place] + rng.randbytes(rng.choice([1, 4, 64])) + content[place:]


def _remove(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content) + 1)
    return content[:place] + content[place + rng.choice([1, 4, 64, 512]) :]


def _repeat(content: bytes, rng: random.Random) -> bytes:
    a, b = sorted((rng.randrange(len(content) + 1), rng.randrange(len(content) + 1)))
    return content[:b] + content[a:]


def _number(content: bytes, rng: random.Random) -> bytes:
    """Put a size or place that makes no sense somewhere."""
    size = rng.choice([2, 4, 8])
    value: int = rng.choice([0, 1, 2 ** (8 * size) - 1, 2 ** (8 * size - 1), rng.randrange(2 ** (8 * size))])
    place = rng.randrange(max(1, len(content) - size))
    return content[:place] + value.to_bytes(size, "little") + content[place + size :]


def _cell(content: bytes, rng: random.Random) -> bytes:
    """Put an odd cell in the place of one."""
    mark = rng.choice([b",", b"\t", b"\n"])
    cells = content.split(mark)
    cells[rng.randrange(len(cells))] = rng.choice(CELLS).encode()
    return mark.join(cells)


def _column(content: bytes, rng: random.Random) -> bytes:
    """Put an odd cell in all lines."""
    cell = rng.choice(CELLS).encode()
    return b"\n".join(line + rng.choice([b",", b"\t", b";"]) + cell for line in content.split(b"\n"))


def _lines(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    rng.shuffle(lines)
    return rng.choice([b"\n", b"\r", b"\r\n", b"\n\n", b""]).join(lines[: rng.randrange(1, len(lines) + 1)])


def _letters(content: bytes, rng: random.Random) -> bytes:
    said = content.decode("utf-8", "replace")
    return rng.choice([said.encode("utf-16"), said.encode("utf-16-be"), b"\xef\xbb\xbf" + content, content.upper()])


def _words(content: bytes, rng: random.Random) -> bytes:
    words = "".join(rng.choice(string.printable + ',;\t|\n"') for _ in range(rng.randrange(200)))
    return rng.choice([content + words.encode(), words.encode(), words.encode() + content])


BINARY = (_cut, _flip, _flip, _flip, _insert, _remove, _repeat, _number, _number)
TEXT = (_cell, _cell, _cell, _column, _lines, _letters, _words)


def make(path: Path, kind: str, good: dict[str, bytes | dict[str, bytes]], rng: random.Random) -> Path:
    """Write one malformed file, or a folder of files some of which are."""
    source = good[kind]
    target = path / f"data.{ENDINGS[kind] if rng.random() < 0.95 else rng.choice(list(ENDINGS.values()))}"
    if isinstance(source, dict):
        target = path / "folder"
        for name, content in source.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(damage(content, rng, text=False) if rng.random() < 0.5 else content)
    elif kind == "zip" and rng.random() < 0.5:
        images = good["folder"]
        assert isinstance(images, dict)  # noqa: S101
        target.write_bytes(_zip({name: damage(each, rng, text=False) for name, each in images.items()}))
    elif kind == "gzip" and rng.random() < 0.7:
        table = good["csv"]
        assert isinstance(table, bytes)  # noqa: S101
        target.write_bytes(gzip.compress(damage(table, rng, text=True)))
    else:
        target.write_bytes(damage(source, rng, text=kind in ("csv", "tsv")))
    return target


def examine_file(path: Path) -> str:
    """Do what `xsdc doctor` does: read, look for what is suspicious, and make numbers."""
    known = path.suffix in (".csv", ".tsv", ".gz", ".parquet", ".h5ad")
    try:
        given, _ = examine(Configuration(DataOptions(str(path), label_column="kind" if known else None), OPTIONS))
    except InvalidInputError:
        return REFUSED
    except MemoryError:
        return "MemoryError"
    except Exception as error:  # noqa: BLE001  any other is a defect
        return f"{type(error).__name__}: {error}"
    return wrong(path, given.at_hand.X) or RIGHT


OPTIONS: dict[str, Any] = {"n_clusters": None, "cluster_size": "auto"}


def wrong(path: Path, X: Any) -> str:
    """Say where what was read is not what another reader finds in the file, as far as there is one."""
    try:
        other = np.asarray(_read_again(path))
    except Exception:  # noqa: BLE001  it has an opinion or it has none
        return ""
    if other.dtype.kind not in "biuf" or other.ndim != 2:
        return ""
    same = other.shape == X.shape and np.array_equal(
        np.asarray(X, np.float32), np.asarray(other, np.float32), equal_nan=True
    )
    return "" if same else f"silently wrong: shape {X.shape} for {other.shape}"


def _read_again(path: Path) -> Any:
    if path.suffix == ".npy":
        return np.load(path, allow_pickle=False)
    if path.suffix == ".npz":
        return np.load(path, allow_pickle=False)["X"]
    if path.suffix == ".h5ad":
        with h5py.File(path) as file:
            return file["X"][:] if isinstance(file["X"], h5py.Dataset) else None
    return None


def try_files(place: Path, *, count: int, seconds: float, seed: int) -> Outcomes:
    """Make malformed files of all kinds in turn, and have each examined."""
    outcomes, worker, rng = Outcomes("malformed files"), Worker(examine_file), random.Random(seed)  # noqa: S311
    good = originals(np.random.default_rng(seed))
    kinds = list(ENDINGS)
    for number in while_time(range(count), seconds):
        kind, folder = kinds[number % len(kinds)], place / "one"
        folder.mkdir()
        path = make(folder, kind, good, rng)
        outcome = worker(path)
        if outcome not in (REFUSED, RIGHT):
            kept = place / "defects" / f"{number}"
            kept.parent.mkdir(exist_ok=True)
            shutil.move(folder, kept)
            outcomes.notes.append(str(kept / path.name))
        else:
            shutil.rmtree(folder)
        outcomes.add(outcome, f"{kind} {number}")
    worker.stop()
    return outcomes
