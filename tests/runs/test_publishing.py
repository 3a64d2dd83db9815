from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.conftest import QUICK, ROLES, make_table
from tests.cli.conftest import table as table  # noqa: PLC0414  fixtures
from tests.cli.conftest import xsdc as xsdc  # noqa: PLC0414
from xsdc.errors import InvalidInputError
from xsdc.runs import RunFolder, open_run
from xsdc.runs.lock import locked
from xsdc.runs.manifest import Manifest
from xsdc.runs.publishing import claim, held, publish, settle

FAST = ("--max-iter", 0, "--supervised-iter", 0, "--no-report", "--quiet")


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a table and a finished run of it."""
    folder = tmp_path_factory.mktemp("finished")
    make_table(20).to_csv(folder / "flowers.csv", index=False)
    command = [sys.executable, "-m", "xsdc", "fit", "flowers.csv", *ROLES, *map(str, FAST), "--out", "run"]
    subprocess.run(command, cwd=folder, check=True)  # noqa: S603
    return folder


@pytest.fixture
def place(finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path


class TestForce:
    def test_files_of_the_user_are_not_replaced(self, xsdc, tmp_path, table):
        run = tmp_path / "run"
        (run / "checkpoints").mkdir(parents=True)
        (run / "prepared").mkdir()
        for name in ("labels.csv", "config.json", "checkpoints/thesis.txt", "prepared/mine.npy"):
            (run / name).write_text("mine")
        before = contents(run)
        ended = xsdc("fit", table, *ROLES, *FAST, "--out", "run", "--force")
        assert ended.code == 2
        assert "labels.csv" in ended.err
        assert contents(run) == before
        for name in ("labels.csv", "config.json"):
            (run / name).unlink()
        assert xsdc("fit", table, *ROLES, *FAST, "--out", "run", "--force").code == 0
        assert (run / "checkpoints" / "thesis.txt").read_text() == "mine"
        assert (run / "prepared" / "mine.npy").read_text() == "mine"

    def test_an_output_that_was_changed_belongs_to_the_user(self, xsdc, place):
        (place / "run" / "labels.csv").write_text("corrected by hand")
        before = contents(place / "run")
        ended = xsdc("fit", "flowers.csv", *ROLES, *FAST, "--out", "run", "--force")
        assert ended.code == 2
        assert "labels.csv" in ended.err
        assert "changed" in ended.err
        assert contents(place / "run") == before

    def test_the_input_is_not_replaced(self, xsdc, place):
        ended = xsdc("fit", "run/labels.csv", "--label-column", "label", *FAST, "--out", "run", "--force")
        assert ended.code == 2
        assert "read" in ended.err
        before = (place / "flowers.csv").read_bytes()
        assert xsdc("fit", "flowers.csv", *ROLES, *FAST, "--out", ".").code == 0  # beside the input
        assert xsdc("fit", "flowers.csv", *ROLES, *FAST, "--out", ".", "--force").code == 0
        assert (place / "flowers.csv").read_bytes() == before

    @pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGINT])
    def test_a_finished_run_outlives_one_that_is_cut_off(self, xsdc, place, signum):
        before = contents(place / "run")
        steps = ("--max-iter", "5000", "--supervised-iter", "0", "--no-report")
        command = [sys.executable, "-m", "xsdc", "fit", "flowers.csv", *ROLES, *steps, "--out", "run", "--force"]
        former = signal.signal(signal.SIGINT, signal.default_int_handler)
        process = subprocess.Popen(command, cwd=place, stderr=subprocess.PIPE)  # noqa: S603
        signal.signal(signal.SIGINT, former)
        states = place / "run" / ".unfinished-run" / "checkpoints"
        deadline = time.monotonic() + 120
        while not list(states.glob("*.state")) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signum)
        _, said = process.communicate(timeout=120)
        after = contents(place / "run")
        assert {path: after[path] for path in before} == before
        if signum == signal.SIGINT:
            assert process.returncode == 0, said
            assert "stays as it was" in " ".join(said.decode().split())
            found = json.loads((place / "run" / ".unfinished-run" / "metrics.json").read_text())
            assert found["training"]["interrupted"]
        assert xsdc("fit", "flowers.csv", *ROLES, *FAST, "--out", "run").code == 2
        assert xsdc("fit", "flowers.csv", *ROLES, *FAST, "--out", "run", "--force").code == 0
        assert set(contents(place / "run")) == set(before)

    def test_predictions_do_not_replace_what_they_are_made_from(self, xsdc, place):
        before = contents(place)
        for out in ("flowers.csv", "run/model.xsdc", "run/labels.csv"):
            ended = xsdc("predict", "run", "flowers.csv", "--out", out, "--force")
            assert ended.code == 2, out
        assert contents(place) == before

    def test_a_report_that_was_changed_is_kept(self, xsdc, place):
        assert xsdc("report", "run").code == 0
        assert xsdc("report", "run", "--force").code == 0
        (place / "run" / "report.html").write_text("with notes of mine")
        assert xsdc("report", "run", "--force").code == 2
        assert (place / "run" / "report.html").read_text() == "with notes of mine"

    def test_a_search_does_not_replace_files_of_the_user(self, xsdc, tmp_path, table):
        (tmp_path / "tuned").mkdir()
        (tmp_path / "tuned" / "config.json").write_text("mine")
        search = ("tune", table, *ROLES, *QUICK, "--trials", 1, "--search", "ridge=0.1,1")
        ended = xsdc(*search, "--out", "tuned")
        assert ended.code == 2
        assert "config.json" in ended.err
        assert contents(tmp_path / "tuned") == {next(iter(contents(tmp_path / "tuned"))): b"mine"}


class TestPublishing:
    def test_it_goes_on_wherever_it_was_cut_off(self, place, monkeypatch):
        """Every move of a file may be the last one."""
        whole = RunFolder(place / "run")
        new = place / "new"
        shutil.copytree(whole.path, new)
        (new / "labels.csv").write_text("new")
        (new / "suspicious.csv").unlink()
        for moves in range(12):
            run = RunFolder(place / f"run{moves}")
            shutil.copytree(whole.path, run.path)
            shutil.copytree(new, run.unfinished.path)
            run.unfinished.manifest.unlink()
            left = iter([True] * moves)
            really = type(place).replace

            def replace(path, target, *, left=left, really=really):
                if not next(left, False):
                    raise KeyboardInterrupt
                return really(path, target)

            with monkeypatch.context() as patch:
                patch.setattr(type(place), "replace", replace)
                cut = False
                try:
                    publish(run)
                except KeyboardInterrupt:
                    cut = True
            assert cut == (moves < 9)
            if moves == 0:  # the manifest was not whole: the run is not complete
                assert run.labels.read_text() != "new"
                continue
            opened = open_run(run.path)
            assert opened.labels.read_text() == "new"
            assert not opened.suspicious.exists()
            assert set(contents(run.path)) == {path.relative_to(new) for path in new.iterdir()}
            assert not Manifest.read(run.manifest).foreign(run.written())

    def test_what_came_meanwhile_is_kept(self, place):
        run = RunFolder(place / "run")
        shutil.copytree(run.path, place / "copy")
        (place / "copy" / "manifest.json").unlink()
        (place / "copy").rename(run.unfinished.path)
        run.labels.write_text("corrected while the run was made")
        with pytest.raises(InvalidInputError, match=r"labels\.csv"):
            publish(run)
        assert run.labels.read_text() == "corrected while the run was made"
        run.labels.rename(place / "kept.csv")
        settle(run)
        assert run.labels.exists()
        assert not run.complete.path.exists()

    def test_a_damaged_manifest_is_told(self, place):
        for content in ("", "[]", '{"files": {"../flowers.csv": "0"}}', '{"files": 3}'):
            (place / "run" / "manifest.json").write_text(content)
            with pytest.raises(InvalidInputError, match=r"manifest\.json"):
                claim(RunFolder(place / "run"), force=True)


class TestLock:
    def test_a_second_process_is_told_who_writes(self, place):
        code = "import sys, time; from pathlib import Path; from xsdc.runs.lock import locked\n"
        code += "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
        path = place / "run" / ".lock"
        process = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)  # noqa: S603
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(InvalidInputError, match=f"process {process.pid} on "), held(RunFolder(place / "run")):
            pass
        process.kill()
        process.communicate()
        with locked(path):
            assert json.loads(path.read_text())["process"] == os.getpid()
        assert not path.exists()

    def test_empty_folders_are_removed_again(self, tmp_path):
        with locked(tmp_path / "a" / "b" / ".lock"):
            assert (tmp_path / "a" / "b").is_dir()
        assert not (tmp_path / "a").exists()

    def test_one_at_a_time(self, tmp_path):
        """Many processes add one to a number, each under the lock."""
        code = "import sys; from pathlib import Path; from xsdc.runs.lock import locked\n"
        code += "number = Path(sys.argv[1])\nfor _ in range(50):\n"
        code += (
            "    with locked(number.parent / 'lock', patience=60): number.write_text(str(int(number.read_text()) + 1))"
        )
        (tmp_path / "number").write_text("0")
        command = [sys.executable, "-c", code, tmp_path / "number"]
        processes = [subprocess.Popen(command) for _ in range(3)]  # noqa: S603
        assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
        assert (tmp_path / "number").read_text() == "150"
