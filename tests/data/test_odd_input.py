"""Input that is valid and odd, and what the command line shows of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.cli.conftest import xsdc as xsdc  # noqa: PLC0414  a fixture
from tests.data.cases import fit_preparation
from xsdc import XSDC
from xsdc.data import read_data
from xsdc.runs.tables import guarded, unguarded

N = 24
UNTRAINED = ("--max-iter", 0, "--supervised-iter", 0, "--quiet", "--no-report")


def table(**more):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2)) + 4 * np.repeat([[0, 0], [1, 1]], N // 2, axis=0)
    kind = [name if i % 3 == 0 else "" for i, name in enumerate(np.repeat(["a", "b"], N // 2))]
    return pd.DataFrame({"x": X[:, 0], "y": X[:, 1], **more, "kind": kind})


def prepared(path):
    return fit_preparation(read_data(path, label_column="kind"))[0]


class TestTables:
    def test_dates_of_any_century(self, tmp_path):
        days = [f"{1500 + i}-03-01" for i in range(N)]
        table(day=days).to_csv(tmp_path / "a.csv", index=False)
        assert prepared(tmp_path / "a.csv").roles_["day"] == "date"
        pytest.importorskip("pyarrow")
        table(day=np.array(days, dtype="datetime64[s]")).to_parquet(tmp_path / "a.parquet")
        assert prepared(tmp_path / "a.parquet").roles_["day"] == "date"

    def test_bytes_in_parquet(self, xsdc, tmp_path):
        pytest.importorskip("pyarrow")
        table(blob=[bytes([255, i % 2]) for i in range(N)]).to_parquet(tmp_path / "a.parquet")
        assert prepared(tmp_path / "a.parquet").roles_["blob"] == "category"
        assert xsdc("doctor", "a.parquet", "--label-column", "kind").code == 0

    def test_a_text_that_ends_within_a_letter(self, tmp_path):
        (tmp_path / "a.csv").write_bytes(table().to_csv(index=False).encode() + "1,2,é".encode()[:-1])
        assert any("not UTF-8" in note for note in read_data(tmp_path / "a.csv", label_column="kind").notes)

    def test_the_minus_of_print(self, tmp_path):
        signs = ["", "\u2212"]
        cold = [f"{signs[i % 2]}{i}.5" for i in range(N)]
        table(cold=cold).to_csv(tmp_path / "a.csv", index=False)
        preparation = prepared(tmp_path / "a.csv")
        assert preparation.roles_["cold"] == "number"


class TestArrays:
    def test_booleans(self, xsdc, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.random((N, 6)) < np.repeat([[0.1], [0.9]], N // 2, axis=0)
        y = np.where(np.arange(N) % 3 == 0, np.repeat([0, 1], N // 2), -1)
        np.savez(tmp_path / "a.npz", X=X, y=y)
        assert xsdc("doctor", "a.npz").code == 0
        images = np.repeat(X[:, :, None], 6, axis=2)
        found = XSDC(random_state=0).fit(images, y).labels_
        np.testing.assert_array_equal(found, XSDC(random_state=0).fit(images.astype(np.float32), y).labels_)

    def test_lists_of_images(self):
        images = np.random.default_rng(0).random((4, 6, 6))
        for given in (images.tolist(), list(images)):
            read = XSDC()._read(given, reset=True)
            assert isinstance(read, np.ndarray)
            np.testing.assert_array_equal(read, images)

    def test_columns_with_the_same_name(self):
        with pytest.raises(ValueError, match=r"numbers|name|columns"):
            XSDC().fit(pd.DataFrame([["u", "v"]] * N, columns=["a", "a"]))


@pytest.mark.parametrize("X", [np.ones((N, 3)), np.full((N, 3), np.nan), np.full((N, 3), np.inf), np.zeros((N, 8, 8))])
def test_doctor_refuses_what_fit_refuses(xsdc, tmp_path, X):
    np.savez(tmp_path / "a.npz", X=X, y=np.where(np.arange(N) % 3 == 0, np.arange(N) % 2, -1))
    ended = xsdc("doctor", "a.npz")
    assert (ended.code, xsdc("fit", "a.npz", *UNTRAINED).code) == (2, 2)
    assert "A fit would refuse this." in ended.out


def test_names_do_not_steer_the_terminal(xsdc, tmp_path):
    odd = "\x1b[31mred\x1b[0m\x9b"
    table(**{odd: np.arange(N) ** 2.0}).to_csv(tmp_path / "a.csv", index=False)
    ended = xsdc("doctor", "a.csv", "--label-column", "kind")
    assert "\x1b" not in ended.out + ended.err
    assert "\\x1b[31mred" in ended.out.replace("\n", "")


class TestFormulas:
    FORMULAS = ("=1+1", "=cmd|' /C calc'!A0", "+cmd|' /C calc'!A0", "@SUM(A1)", "-2+3+cmd(1)", "\t=1")
    WORDS = ("+", "-", "-5", "+49 30 1", "@name", "a=b", "'quoted'", "", "1+1")

    def test_they_have_an_apostrophe_and_come_back(self):
        cells = [*self.FORMULAS, *self.WORDS]
        written = guarded(pd.DataFrame({"id": cells, "n": range(len(cells))}))
        assert written["id"].tolist() == [*(f"'{cell}" for cell in self.FORMULAS), *self.WORDS]
        assert [unguarded(cell) for cell in written["id"]] == cells

    def test_labels_of_a_run(self, xsdc, tmp_path):
        odd = table(name=[f"=HYPERLINK({i})" for i in range(N)])
        odd["kind"] = odd["kind"].replace("a", "=A1")
        odd.to_csv(tmp_path / "a.csv", index=False)
        fit = ("fit", "a.csv", "--label-column", "kind", "--id-column", "name", *UNTRAINED[:-1], "--out", "run")
        assert xsdc(*fit).code == 0
        labels = pd.read_csv(tmp_path / "run" / "labels.csv")
        assert labels["id"][0] == "'=HYPERLINK(0)"
        assert set(labels["label"]) == {"'=A1", "b"}
        assert xsdc("predict", "run", "a.csv", "--out", "p.csv").code == 0
        assert pd.read_csv(tmp_path / "p.csv")["id"][0] == "'=HYPERLINK(0)"
