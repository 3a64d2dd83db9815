"""Two processes against one on the same global batch: how far apart they end, and how long a step takes."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch.multiprocessing.spawn import spawn

from benchmarks.measure import markdown_table, write_between_markers
from benchmarks.networks import drawn_images
from xsdc.core.constraints import close
from xsdc.core.sizes import ClassSizes
from xsdc.errors import NotConvergedWarning
from xsdc.labelers import Balancing
from xsdc.networks import build_network
from xsdc.training import Batches, Callback, Plan, Trainer

STEPS, LABELED, BATCH = 20, 50, 1024
TIMEOUT = timedelta(minutes=5)
# What is trained, its type, and the type of M: only where both are float64 is rounding too small to grow.
CASES = {
    "digits, `kn`, float64": ("kn", torch.float64, torch.float64),
    "digits, `kn`, float64, M in float32": ("kn", torch.float64, torch.float32),
    "28×28 images, `lenet5-ckn`, float32": ("lenet5-ckn", torch.float32, torch.float32),
}


class _Clock(Callback):
    """Notes when each step ends."""

    def __init__(self) -> None:
        self.moments: list[float] = []

    def on_step(self, trainer: Trainer, record: dict[str, Any]) -> None:  # noqa: ARG002
        self.moments.append(time.perf_counter())


def train(name: str, dtype: torch.dtype, M_dtype: torch.dtype) -> tuple[torch.Tensor, float, int]:
    """Make some steps; returns parameters, the seconds of the fastest step, and D."""
    digits, y = load_digits(return_X_y=True)
    X: Any = digits / 16 if name == "kn" else drawn_images(len(y)).numpy()
    generator, clock = torch.Generator().manual_seed(0), _Clock()
    network = build_network(name, X, generator=generator, dtype=dtype)
    trainer = Trainer(
        network,
        network.prepare(X),
        constraints=close(len(y), labels=np.where(np.arange(len(y)) < LABELED, y, -1), n_classes=10),
        batches=Batches(torch.arange(LABELED), torch.arange(LABELED, len(y)), LABELED, BATCH),
        plan=Plan(0, STEPS, 0.01, 0.01),
        labeler=Balancing(dtype=M_dtype),
        sizes=ClassSizes(np.full(10, 0.05), np.full(10, 0.2)),
        n_clusters=10,
        choose_ridge=lambda _network: 2.0**-7,
        callbacks=[clock],
        generator=generator,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        trainer.run()
    flat = torch.cat([p.detach().flatten().double() for p in network.parameters()])
    return flat, float(np.diff(clock.moments).min()), network.n_features


def work(rank: int, count: int, folder: str) -> None:
    """Train all cases as one process of some."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # all on this machine
    torch.set_num_threads(1)
    method = f"file://{folder}/store-{count}"
    dist.init_process_group("gloo", init_method=method, rank=rank, world_size=count, timeout=TIMEOUT)
    results = {case: train(*options) for case, options in CASES.items()}
    if rank == 0:
        torch.save(results, f"{folder}/{count}.pt")
    dist.destroy_process_group()


def run(docs: Path) -> None:
    """Measure, print and write."""
    with tempfile.TemporaryDirectory() as folder:
        for count in (1, 2):
            spawn(work, args=(count, folder), nprocs=count)  # type: ignore[no-untyped-call]
        one, two = (torch.load(f"{folder}/{count}.pt", weights_only=True) for count in (1, 2))
    rows = []
    for case, (_, dtype, _) in CASES.items():
        (alone, slow, D), (shared, quick, _) = one[case], two[case]
        apart = float((alone - shared).norm() / alone.norm())
        rows.append([case, f"{apart:.0e}", f"{slow:.2f} s", f"{quick:.2f} s", *traffic(len(alone), D, dtype)])
    header = [
        "what",
        f"apart after {STEPS} steps",
        "a step, 1 process",
        "2 processes",
        "features sent",
        "gradients sent",
    ]
    text = markdown_table(header, rows)
    print(text)
    write_between_markers(docs, text, name="processes")


def traffic(n_parameters: int, D: int, dtype: torch.dtype) -> tuple[str, str]:
    """Bytes that a step brings together: the features of the batch, and a gradient from each process."""
    size = torch.finfo(dtype).bits // 8
    return f"{(LABELED + BATCH) * D * size / 1e3:,.0f} kB", f"{n_parameters * size / 1e3:,.0f} kB"
