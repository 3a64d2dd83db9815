"""Files made to harm: they must end in a sentence, at little cost."""

from __future__ import annotations

import gzip
import io
import os
import resource
import struct
import time
import warnings
import zipfile

import numpy as np
import pytest
from PIL import Image
from scipy import sparse

from tests.data.test_h5ad import X, anndata, h5py, write
from xsdc.data import Limits, memory, open_blocks, read_data
from xsdc.data.archives import open_zip, read_arrays
from xsdc.errors import InvalidInputError


def png(side=8, value=0):
    buffer = io.BytesIO()
    Image.fromarray(np.full((side, side), value, dtype=np.uint8)).save(buffer, "png")
    return buffer.getvalue()


def images(path, n=4):
    for number in range(n):
        file = path / "cat" / f"{number}.png"
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_bytes(png(value=number))
    return path


def refused(source, match, **options):
    """All readers refuse a file."""
    for read in (read_data, open_blocks):
        with pytest.raises(InvalidInputError, match=match):
            read(source, **options)


class TestZip:
    @pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_methods_that_unpack_without_bounds(self, tmp_path, method):
        with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as file:
            file.writestr("a.png", bytes(200_000_000))
        content = bytearray((tmp_path / "a.zip").read_bytes())
        for marker, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):  # sizes that lie
            where = content.index(marker) + offset
            content[where : where + 4] = struct.pack("<I", 1000)
        (tmp_path / "a.zip").write_bytes(content)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begun = time.monotonic()
        refused(tmp_path / "a.zip", "deflate")
        assert time.monotonic() - begun < 10
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB

    def test_the_same_for_arrays(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_BZIP2) as file:
            file.writestr("X.npy", bytes(1000))
        refused(tmp_path / "a.npz", "deflate")

    def test_a_name_that_comes_twice(self, tmp_path):
        for name, content in (("a.zip", png()), ("a.npz", b"")):
            with warnings.catch_warnings(), zipfile.ZipFile(tmp_path / name, "w") as file:
                warnings.simplefilter("ignore")
                for entry in ("a.png", "a.png") if name == "a.zip" else ("X.npy", "X.npy"):
                    file.writestr(entry, content)
            refused(tmp_path / name, "two entries called")

    def test_more_than_allowed(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as file:
            for number in range(20):
                file.writestr(f"{number}.png", bytes(240_000_000))
        refused(tmp_path / "a.zip", "would unpack to 4.5 GB; 4.0 GB are allowed")
        refused(tmp_path / "a.zip", "would unpack", limits=Limits(bytes=1000))

    def test_entries_with_a_password(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
            file.writestr("a.png", png())
        content = bytearray((tmp_path / "a.zip").read_bytes())
        content[content.index(b"PK\x01\x02") + 8] |= 1
        (tmp_path / "a.zip").write_bytes(content)
        refused(tmp_path / "a.zip", "encrypted")

    def test_arrays_that_are_not_as_long_as_they_say(self):
        buffer, array = io.BytesIO(), io.BytesIO()
        np.lib.format.write_array_header_1_0(array, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
        with zipfile.ZipFile(buffer, "w") as file:
            file.writestr("x.npy", array.getvalue())
        with pytest.raises(InvalidInputError, match="not as long"):
            read_arrays(buffer.getvalue(), name="arrays")
        expected = {"a": np.arange(6).reshape(2, 3), "b": np.asfortranarray(np.ones((2, 2))), "c": np.array("word")}
        packed = io.BytesIO()
        np.savez_compressed(packed, **expected)
        found = read_arrays(packed.getvalue(), name="arrays")
        assert all(np.array_equal(found[name], expected[name]) for name in expected)

    def test_no_zip_at_all(self):
        with pytest.raises(InvalidInputError, match="damaged"), open_zip(io.BytesIO(b"PK"), name="a"):
            pass


class TestImages:
    def test_postscript_is_not_drawn(self, tmp_path, monkeypatch):
        started = []
        monkeypatch.setattr("subprocess.check_call", lambda *args, **options: started.append(args))
        monkeypatch.setattr("subprocess.Popen", lambda *args, **options: started.append(args))
        images(tmp_path / "a")
        page = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n"
        (tmp_path / "a" / "cat" / "x.png").write_bytes(page)
        monkeypatch.setattr("PIL.EpsImagePlugin.has_ghostscript", lambda: True)
        data = read_data(tmp_path / "a")
        assert not started
        assert any("cat/x.png" in note for note in data.notes)
        assert data.n == 4

    def test_a_folder_that_cannot_be_read(self, tmp_path, monkeypatch):
        """It is not left out without a word; who runs the tests may read everything, so the system is imitated."""
        images(tmp_path / "a")
        (tmp_path / "a" / "dog").mkdir()
        really = os.scandir

        def scan(path):
            if str(path).endswith("dog"):
                raise PermissionError(13, "Permission denied", str(path))
            return really(path)

        monkeypatch.setattr(os, "scandir", scan)
        refused(tmp_path / "a", "dog` cannot be read: Permission denied")

    def test_links_to_folders_are_followed_once(self, tmp_path):
        images(tmp_path / "elsewhere")
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "dog").symlink_to(tmp_path / "elsewhere" / "cat")
        (tmp_path / "a" / "again").symlink_to(tmp_path / "a")
        data = read_data(tmp_path / "a")
        assert data.n == 4
        assert set(data.labels) == {"dog"}

    def test_names_that_are_no_text(self, tmp_path):
        folder = os.fsencode(images(tmp_path / "a")) + b"/gr\xfcn"
        os.mkdir(folder)
        with open(folder + b"/1.png", "wb") as file:
            file.write(png())
        data = read_data(tmp_path / "a")
        assert data.ids[-1] == "gr\\xfcn/1.png"
        assert data.labels[-1] == "gr\\xfcn"
        assert next(iter(open_blocks(tmp_path / "a").read(10))).ids.tolist() == data.ids.tolist()


class TestH5ad:
    @pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix])
    @pytest.mark.parametrize("part", ["indices", "indptr"])
    @pytest.mark.parametrize("value", [-7, 3000, 2**31 - 1])
    def test_places_out_of_range(self, tmp_path, form, part, value):
        path = tmp_path / "a.h5ad"
        write(path, form(X))
        with h5py.File(path, "a") as file:
            file[f"X/{part}"][1] = value
        with pytest.raises(InvalidInputError, match="damaged"):
            read_data(path)
        blocks = open_blocks(path)
        with pytest.raises(InvalidInputError, match="damaged"):
            list(blocks.read(2))

    def test_parts_of_different_length(self, tmp_path):
        path = tmp_path / "a.h5ad"
        write(path, np.vstack([X, X]))
        refused(path, "has 4 and 8")
        write(path, sparse.csr_matrix(X))
        with h5py.File(path, "a") as file:
            del file["X/data"]
            file["X/data"] = np.ones(2)
        refused(path, "differ in length")

    def test_other_files_are_not_read(self, tmp_path):
        path = tmp_path / "a.h5ad"
        write(tmp_path / "secret.h5ad", X)
        write(path, X)
        with h5py.File(path, "a") as file:
            del file["X"]
            file["X"] = h5py.ExternalLink(str(tmp_path / "secret.h5ad"), "X")
        refused(path, "points to another file")
        (tmp_path / "secret").write_bytes(X.astype("<f4").tobytes())
        with h5py.File(path, "a") as file:
            del file["X"]
            file.create_dataset("X", X.shape, "<f4", external=[(str(tmp_path / "secret"), 0, X.nbytes)])
        refused(path, "points to another file")

    def test_text_as_a_matrix(self, tmp_path):
        path = tmp_path / "a.h5ad"
        write(path, np.full((4, 3), "a"))
        refused(path, "must hold numbers")

    def test_a_matrix_that_is_far_larger_than_the_file(self, tmp_path):
        path = tmp_path / "a.h5ad"
        write(path, X)
        with h5py.File(path, "a") as file:
            del file["X"]
            file.create_dataset("X", (4, 10**9), "f4", chunks=(1, 10**5), compression="gzip")
        refused(path, "columns")
        refused(path, "bytes", limits=Limits(columns=1e10))

    def test_the_extra_is_there(self):
        assert anndata is not None


class TestLimits:
    @pytest.mark.parametrize("ending", ["csv", "csv.gz", "npy", "npz", "parquet", "images"])
    def test_rows_and_columns(self, tmp_path, ending):
        path = tmp_path / f"a.{ending}"
        Z = np.arange(60.0).reshape(20, 3)
        text = "a,b,c\n" + "\n".join(",".join(map(str, row)) for row in Z) + "\n"
        if ending == "csv":
            path.write_text(text)
        elif ending == "csv.gz":
            path.write_bytes(gzip.compress(text.encode()))
        elif ending == "npy":
            np.save(path, Z)
        elif ending == "npz":
            np.savez(path, X=Z)
        elif ending == "parquet":
            pd = pytest.importorskip("pandas")
            pytest.importorskip("pyarrow")
            pd.DataFrame(Z, columns=list("abc")).to_parquet(path)
        else:
            images(path, 20)
        assert read_data(path, limits=Limits(rows=30, columns=3, bytes=1e6, seconds=60)).n == 20
        refused(path, "2[01] rows; 5 are", limits=Limits(rows=5))
        if ending != "images":
            refused(path, "3 columns; 2 are", limits=Limits(columns=2))
        if ending not in ("images", "npy", "csv"):
            refused(path, "bytes", limits=Limits(bytes=100))

    def test_a_table_of_very_many_columns(self, tmp_path):
        (tmp_path / "a.csv").write_text("\n".join([",".join(["1.5"] * 60_000)] * 3))
        refused(tmp_path / "a.csv", "60,000 columns; 50,000 are")

    def test_a_gzip_bomb(self, tmp_path):
        with gzip.open(tmp_path / "a.csv.gz", "wb") as file:
            for _ in range(100):
                file.write(b"1,2\n" * 1_000_000)
        begun = time.monotonic()
        refused(tmp_path / "a.csv.gz", "bytes", limits=Limits(bytes=1e7))
        assert time.monotonic() - begun < 5

    def test_time(self, tmp_path, monkeypatch):
        (tmp_path / "a.csv").write_text("a,b\n1,2\n")
        monkeypatch.setattr("xsdc.data.reading.open_table_file", lambda path, kind, roles: time.sleep(30))
        begun = time.monotonic()
        with pytest.raises(InvalidInputError, match="takes more than 0 seconds"):
            read_data(tmp_path / "a.csv", limits=Limits(seconds=0.2))
        assert time.monotonic() - begun < 5

    @pytest.mark.parametrize("given", [{"rows": 0}, {"row": 3}, {"seconds": "long"}, {"bytes": float("nan")}])
    def test_limits_that_are_none(self, given):
        with pytest.raises(InvalidInputError, match="limit"):
            Limits.of(given)


class TestMemory:
    def group(self, tmp_path, monkeypatch, cgroup, files):
        (tmp_path / "proc").mkdir()
        (tmp_path / "proc" / "cgroup").write_text(cgroup)
        for name, content in files.items():
            path = tmp_path / "groups" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        monkeypatch.setattr(memory, "PROCESS", tmp_path / "proc")
        monkeypatch.setattr(memory, "GROUPS", tmp_path / "groups")

    def test_the_limit_of_a_container(self, tmp_path, monkeypatch):
        files = {"memory.max": "1000000", "memory.current": "300000", "memory.stat": "anon 5\ninactive_file 100000\n"}
        self.group(tmp_path, monkeypatch, "0::/\n", files)
        assert memory.available_memory() == 800_000

    def test_the_least_of_groups_within_each_other(self, tmp_path, monkeypatch):
        inner = {"a/b/memory.max": "max", "a/b/memory.current": "0", "a/b/memory.stat": ""}
        outer = {"a/memory.max": "5000", "a/memory.current": "1000", "a/memory.stat": ""}
        self.group(tmp_path, monkeypatch, "0::/a/b\n", inner | outer)
        assert memory.available_memory() == 4000

    def test_the_first_version(self, tmp_path, monkeypatch):
        files = {"limit_in_bytes": "7000", "usage_in_bytes": "2000", "stat": "total_inactive_file 1000\n"}
        named = {f"memory/docker/1/memory.{name}": text for name, text in files.items()}
        self.group(tmp_path, monkeypatch, "5:cpu:/docker/1\n4:memory:/docker/1\n", named)
        assert memory.available_memory() == 6000

    def test_no_limit(self, tmp_path, monkeypatch):
        before = memory.available_memory()
        files = {"memory/memory.limit_in_bytes": str(2**63 - 4096), "memory/memory.usage_in_bytes": "1"}
        self.group(tmp_path, monkeypatch, "4:memory:/\n", files)
        after = memory.available_memory()
        assert before is not None
        assert after is not None
        assert abs(after - before) < 2**32
