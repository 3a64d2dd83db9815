"""Two processes against one: the same network, labels and files; and what happens when one of them is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
from sklearn.datasets import load_digits

from tests.training import together
from xsdc.training import Processes

pytestmark = pytest.mark.skipif(
    not (sys.platform == "linux" and dist.is_available()), reason="needs gloo and Linux's loopback"
)
PATIENCE = 120  # seconds, after which processes that wait for each other are ended


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    (folder / "file").write_text("")
    context = torch.multiprocessing.spawn(together.work, args=(2, str(folder)), nprocs=2, join=False)
    deadline = time.monotonic() + PATIENCE
    try:
        while not context.join(timeout=5, grace_period=5):
            assert time.monotonic() < deadline, "the processes wait for each other"
    finally:
        for process in context.processes:
            process.kill()
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in (0, 1)]


def apart(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one - other).norm() / one.norm())


@pytest.mark.parametrize("name", together.TRAININGS)
def test_two_processes_train_as_one(pair, name):
    alone = together.TRAININGS[name]()
    (first, objectives), (second, _) = (results["trained"][name] for results in pair)
    assert torch.equal(first, second)
    assert apart(together.parameters(alone.network), first) < (1e-5 if name == "float32" else 1e-10)
    assert objectives == pytest.approx([record["objective"] for record in alone.history], rel=1e-4)
    assert len(objectives) == 20


def test_fits_end_alike(pair):
    alone = together.told(together.fit().fit(together.X, together.GIVEN))
    first, second = (results["fitted"] for results in pair)
    assert np.array_equal(first["whole"]["labels"], alone["labels"])
    np.testing.assert_allclose(first["whole"]["probabilities"], alone["probabilities"], atol=0.01)  # M is in float32
    for kind in ("whole", "chance", "resumed"):
        for name, value in first[kind].items():
            same = np.array_equal if isinstance(value, np.ndarray) else torch.equal if name == "parameters" else None
            assert same(value, second[kind][name]) if same else value == second[kind][name], (kind, name)
    assert not torch.equal(first["chance"]["parameters"], first["whole"]["parameters"])


def test_first_process_keeps_the_states_and_both_go_on_from_them(pair):
    first, second = (results["fitted"] for results in pair)
    assert first["kept"] == ["step-000000010.state"]
    assert second["kept"] == []
    assert torch.equal(first["resumed"]["parameters"], first["whole"]["parameters"])
    assert np.array_equal(first["resumed"]["labels"], first["whole"]["labels"])


def test_errors_reach_all_processes(pair):
    for rank, results in enumerate(pair):
        said = results["failed"]
        assert said["agree"] == "told by 0"
        assert said["each"] == f"told by {rank}"  # each has met it
        assert said["last"] == "Process 1 has failed: the file is missing"
        assert "Process 1 was given other data" in said["other data"]
        assert "cannot be kept" in said["no folder"]
        assert (said["agreed"], said["own"]) == (0, rank)


@pytest.mark.parametrize(("n", "count"), [(1, 1), (1, 3), (7, 2), (8, 2), (5, 4), (2, 5)])
def test_shares_are_even_and_cover_all_rows(n, count):
    shares = [Processes(rank, count).share(n) for rank in range(count)]
    assert len({len(share) for share in shares}) == 1
    assert torch.cat(shares)[:n].tolist() == list(range(n))
    assert set(torch.cat(shares).tolist()) == set(range(n))


def start(folder: Path, out: str, steps: int) -> subprocess.Popen[str]:
    torchrun = ["torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", "2", "--rdzv-backend", "c10d"]
    fit = ["xsdc", "fit", "digits.npz", "--max-iter", str(steps), "--supervised-iter", "0", "--no-report", "--out", out]
    command = [
        sys.executable,
        "-m",
        *torchrun,
        "--rdzv-endpoint",
        "127.0.0.1:0",
        "-m",
        *fit,
        "--no-report",
        "--out",
        out,
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, env=environment, **pipes)  # noqa: S603


def workers(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [int(child) for child in children if b"digits.npz" in Path(f"/proc/{child}/cmdline").read_bytes()]


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_the_run_ends_as_if_nothing_had_happened(tmp_path):
    X, y = load_digits(return_X_y=True)
    np.savez(tmp_path / "digits.npz", X=X[:150], y=np.where(np.arange(150) < 30, y[:150], -1))
    whole, disturbed = (start(tmp_path, out, 40) for out in ("whole", "killed"))
    try:
        deadline = time.monotonic() + PATIENCE
        while not list(tmp_path.glob("killed/.unfinished-run/checkpoints/*.state")):
            assert disturbed.poll() is None, disturbed.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        before = workers(disturbed.pid)
        assert len(before) == 2
        os.kill(before[-1], signal.SIGKILL)
        printed = [process.communicate(timeout=PATIENCE) for process in (whole, disturbed)]
    finally:
        for process in (whole, disturbed):
            process.terminate()  # not killed, so that it ends its workers
            process.communicate()
    assert [whole.returncode, disturbed.returncode] == [0, 0], printed
    assert printed[0][0].count("Labels:") == 1  # one of them prints
    assert printed[0][1].count("Reading") == 1
    assert printed[1][1].count("Reading") == 2  # and so it did after the restart
    for name in ("labels.csv", "history.json"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
