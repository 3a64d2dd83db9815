"""Each fast path of the core against the plain transcription of the paper's formulas, in one run.

python -m benchmarks.core [--json PATH] [--docs PATH] [--quick]

Without --quick the results are written to docs/ unless other paths are given.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks import plain
from benchmarks.measure import (
    best_seconds,
    markdown_table,
    milliseconds,
    peak_gigabytes,
    write_between_markers,
    write_json,
)
from xsdc.core.balancing import balance
from xsdc.core.constraints import close
from xsdc.core.known import Known
from xsdc.core.objective import decompose, one_hot, trace_objective
from xsdc.core.operators import CostFactors, LabelEquivalence

K = 10
LAM = 2.0**-10
LABELED = 50
DOCS = Path(__file__).parent.parent / "docs"


@dataclass(frozen=True)
class Comparison:
    """A fast path beside the plain one."""

    name: str
    plain_seconds: float
    fast_seconds: float
    asked: float | None
    difference: float  # largest, relative to the largest number of the plain result

    @property
    def ratio(self) -> float:
        """How many times faster."""
        return self.plain_seconds / self.fast_seconds


@dataclass(frozen=True)
class Measurement:
    """Something without a plain counterpart that could be waited for."""

    name: str
    seconds: float
    peak_gigabytes: float
    note: str


def features(n: int, D: int) -> tuple[Tensor, Tensor]:
    """Ten overlapping groups in float32, as a network would give them."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(n) % K
    return torch.randn(K, D, generator=generator)[y] + torch.randn(n, D, generator=generator), y


def difference(found: Tensor, true: Tensor) -> float:
    """Largest difference, relative to the largest entry."""
    return float((found.to(true.dtype) - true).abs().max() / true.abs().max())


def trace_with_gradient(n: int, D: int) -> list[Comparison]:
    """Compare tr(M A) and its gradient, for M dense, M from labels and M as an operator."""
    Phi, y = features(n, D)
    Y = one_hot(y)
    M = Y @ Y.T

    def gradient(value: Tensor, leaf: Tensor) -> Tensor:
        (found,) = torch.autograd.grad(value, leaf)
        return found

    def run_plain() -> Tensor:
        leaf = Phi.to(torch.float64).requires_grad_()
        return gradient(plain.trace_objective(leaf, M, LAM), leaf)

    def run_fast(matrix: Tensor | LabelEquivalence) -> Tensor:
        leaf = Phi.clone().requires_grad_()
        return gradient(trace_objective(leaf, matrix, LAM), leaf)

    slow, true = best_seconds(run_plain, repeats=2), run_plain()
    forms: dict[str, Tensor | LabelEquivalence] = {
        "M dense float64": M,
        "M dense float32": M.to(torch.float32),
        "M from labels": LabelEquivalence(y),
    }
    return [
        Comparison(
            f"tr(M A) with gradient, n = {n:,}, D = {D}, {name}",
            slow,
            best_seconds(lambda matrix=matrix: run_fast(matrix)),  # type: ignore[misc]
            20.0 if n >= 2048 else None,
            difference(run_fast(matrix), true),
        )
        for name, matrix in forms.items()
    ]


def balancing(n: int, *, asked: float | None) -> list[Comparison]:
    """Compare ten iterations of Algorithm 1 with 50 labeled points among n."""
    Phi, y = features(n, 32)
    A = decompose(Phi).cost(LAM).dense()
    points = torch.arange(LABELED)
    i, j = points.repeat_interleave(LABELED), points.repeat(LABELED)
    mask, values = torch.eye(n, dtype=torch.bool), torch.eye(n, dtype=torch.float64)
    mask[i, j] = True
    values[i, j] = (y[i] == y[j]).to(torch.float64)
    known = Known.from_entries(n, i, j, (y[i] == y[j]).to(torch.int64))

    def run_plain(*, once: bool = False) -> Tensor:
        return plain.balance(A, known=mask, values=values, n_min=n / K, n_max=n / K, k=K, exponentials_once=once)

    def run_fast(cost: Tensor) -> Tensor:
        M = balance(cost, size=(n / K, n / K), known=known, max_iter=10).M
        return M if isinstance(M, Tensor) else M.dense()

    true = run_plain()
    literal = best_seconds(run_plain, repeats=2)
    careful = best_seconds(lambda: run_plain(once=True), repeats=2)
    rows = []
    for name, cost in {"float32": A.to(torch.float32), "float64": A}.items():
        fast = best_seconds(lambda cost=cost: run_fast(cost))  # type: ignore[misc]
        apart = difference(run_fast(cost)[~mask], true[~mask])
        what = f"balancing, 10 iterations, n = {n:,}, {name}"
        rows.append(Comparison(what, literal, fast, asked, apart))
        rows.append(Comparison(f"{what}, against exp(-Q) computed once", careful, fast, None, apart))
    return rows


def lambda_path(n: int, D: int) -> Comparison:
    """Compare 41 ridge classifiers from one decomposition with 41 solves."""
    Phi, y = features(n, D)
    Y, lams = one_hot(y), [2.0**i for i in range(-40, 1)]
    X = Phi.to(torch.float64)

    def run_plain() -> Tensor:
        return torch.stack([plain.ridge(X, Y, lam)[0] for lam in lams])

    def run_fast() -> Tensor:
        return decompose(Phi).ridge(Y, lams)[0]

    slow = best_seconds(run_plain, repeats=2)
    return Comparison(
        f"ridge path of 41 lambdas, n = {n:,}, D = {D}",
        slow,
        best_seconds(run_fast),
        20.0 if n >= 10_000 else None,
        difference(run_fast(), run_plain()),
    )


def _balance_large(n: int) -> Measurement:
    Phi, _ = features(n, 32)
    A = decompose(Phi).cost(LAM)
    low = CostFactors(A.alpha, A.B.to(torch.float32), A.w.to(torch.float32))
    start = time.perf_counter()
    result = balance(low, size=(n / K, n / K), max_iter=10)
    seconds = time.perf_counter() - start
    note = f"row residual {result.row_residual:.1e}; an n×n float32 matrix would take {n * n * 4 / 2**30:.1f} GB"
    return Measurement(f"balancing in factors, 10 iterations, n = {n:,}, D = 32", seconds, peak_gigabytes(), note)


def _close_large(n: int, pairs: int) -> Measurement:
    rng = np.random.default_rng(0)
    truth = rng.integers(n // 5, size=n)
    order = np.argsort(truth, kind="stable")
    chain = np.stack([order[:-1], order[1:]], 1)
    chain = chain[truth[chain[:, 0]] == truth[chain[:, 1]]]
    must = np.tile(chain, (pairs // 2 // len(chain) + 1, 1))[: pairs // 2]
    cannot = rng.integers(n, size=(pairs // 2 + 1000, 2))
    cannot = cannot[truth[cannot[:, 0]] != truth[cannot[:, 1]]][: pairs // 2]
    start = time.perf_counter()
    closed = close(n, must_link=must, cannot_link=cannot)
    seconds = time.perf_counter() - start
    note = f"{len(np.unique(closed.group)):,} groups"
    return Measurement(f"closing {len(must) + len(cannot):,} pairs over {n:,} points", seconds, peak_gigabytes(), note)


def large(*, quick: bool) -> list[Measurement]:
    """Measure, each in a process of its own so that the peak of memory is its own too."""
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        close_it = pool.apply(_close_large, (10_000, 100_000) if quick else (100_000, 1_000_000))
        balance_it = pool.apply(_balance_large, (3_000 if quick else 50_000,))
    return [close_it, balance_it]


def main() -> None:
    """Run everything, print the tables and write them where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the results as JSON")
    parser.add_argument("--docs", type=Path, help="write the tables between the markers of this Markdown file")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    options = parser.parse_args()
    small = options.quick
    docs = options.docs or (None if small else DOCS / "benchmarks.md")
    json_path = options.json or (None if small else DOCS / "benchmarks-core.json")

    comparisons = [
        *trace_with_gradient(256 if small else 2048, 32),
        *balancing(128 if small else 1024, asked=None if small else 5.0),
        *balancing(256 if small else 4096, asked=None if small else 8.0),
        lambda_path(1_000 if small else 50_000, 32),
    ]
    measurements = large(quick=small)
    table = markdown_table(
        ["what", "plain, float64", "xsdc", "times faster", "asked", "largest relative difference"],
        [
            [
                row.name,
                milliseconds(row.plain_seconds),
                milliseconds(row.fast_seconds),
                f"{row.ratio:.1f}",
                "" if row.asked is None else f"{row.asked:g}",
                f"{row.difference:.0e}",
            ]
            for row in comparisons
        ],
    )
    table += "\n\n" + markdown_table(
        ["what", "time", "peak memory of the process", "remark"],
        [[m.name, milliseconds(m.seconds), f"{m.peak_gigabytes:.2f} GB", m.note] for m in measurements],
    )
    print(table)
    if docs:
        write_between_markers(docs, table)
    if json_path:
        results = [{**asdict(row), "ratio": row.ratio} for row in comparisons]
        write_json(json_path, {"comparisons": results, "measurements": [asdict(m) for m in measurements]})


if __name__ == "__main__":
    main()
