"""How good the solver of the family is: against all labelings of small cases, and against scikit-learn on larger ones.

python -m benchmarks.family [--cases 200] [--part small large] [--docs PATH]

Small cases have 6 to 9 points and 2 to 4 clusters, drawn anew for each; a case counts as solved if the objective is
that of the best of all labelings that agree with what is known, up to rounding. "labels" makes a third of the points
known; "labels and links" adds a must-link and a cannot-link. Large cases compare the objective reached with that of the
labels that scikit-learn finds, the better of k-means and spectral clustering; sizes are bounded by those of its
clusters, so that its labels are a solution as well.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import kneighbors_graph

from benchmarks.measure import markdown_table, write_between_markers
from xsdc.core import family
from xsdc.core.family import ClusteringProblem
from xsdc.core.family_solver import solve

DOCS = Path(__file__).parents[1] / "docs" / "family.md"
KNOWN = ("nothing", "labels", "labels and links")
LABELINGS = 3**9  # the most that are enumerated
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Facts = dict[str, Ints]
Bounds = dict[str, int]


def _similarity(rng: np.random.Generator, n: int) -> Floats:
    """Similarities without structure: the hardest to cluster."""
    S = rng.random((n, n)) ** 3
    return (S + S.T) / 2


def _graph(rng: np.random.Generator, n: int, k: int, p: float, q: float) -> tuple[Floats, Ints]:
    """Planted blocks, and who is in which."""
    blocks = np.arange(n) % k
    upper = np.triu(rng.random((n, n)) < np.where(blocks[:, None] == blocks, p, q), 1)
    return (upper | upper.T).astype(np.float64), blocks


def _sizes(rng: np.random.Generator, n: int, k: int) -> Bounds:
    """Equal sizes, or bounds that are not tight."""
    return {} if rng.random() < 0.5 else {"n_min": 1, "n_max": -(-n // k) + 1}


# A small random problem of each row of Table 1.
ROWS: dict[str, Callable[[np.random.Generator, int, int], ClusteringProblem]] = {
    "correlation clustering": lambda r, n, _: family.correlation_clustering(_similarity(r, n), _similarity(r, n)),
    "DIFFRAC": lambda r, n, k: family.diffrac(r.normal(size=(n, 2)), lam=10 ** r.uniform(-3, 0), **_sizes(r, n, k)),
    "DIFFRAC-cosegmentation": lambda r, n, k: family.diffrac_cosegmentation(
        r.normal(size=(n, 2)), _similarity(r, n), lam=10 ** r.uniform(-3, 0), mu=r.uniform(0, 1), **_sizes(r, n, k)
    ),
    "k-means": lambda r, n, _: family.kmeans(r.normal(size=(n, 2))),
    "kernel k-means": lambda r, n, _: family.kernel_kmeans(rbf_kernel(r.normal(size=(n, 2)), gamma=r.uniform(0.1, 2))),
    "balanced cut": lambda r, n, k: family.balanced_cut(_similarity(r, n), **_sizes(r, n, k)),
    "normalised cut": lambda r, n, _: family.normalised_cut(_similarity(r, n)),
    "ratio cut": lambda r, n, _: family.ratio_cut(_similarity(r, n)),
    "stochastic block model": lambda r, n, k: family.stochastic_block_model(_graph(r, n, k, 0.7, 0.2)[0], p=0.7, q=0.2),
}


def draw_shape(rng: np.random.Generator) -> tuple[int, int]:
    """Numbers of points and clusters whose labelings can be enumerated."""
    shapes = [(n, k) for n in range(6, 10) for k in (2, 3, 4) if k**n <= LABELINGS]
    n, k = shapes[rng.integers(len(shapes))]
    return n, k


def draw_facts(rng: np.random.Generator, n: int, k: int, known: str) -> Facts:
    """Facts that hold for some labeling with nearly equal sizes, so that they can be met."""
    truth = rng.permutation(np.arange(n) % k)
    facts: Facts = {}
    if known != "nothing":
        facts["y"] = np.full(n, -1)
        chosen = rng.choice(n, n // 3, replace=False)
        facts["y"][chosen] = truth[chosen]
    if known == "labels and links":
        pairs = np.array(list(itertools.combinations(range(n), 2)))
        same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
        facts["must_link"], facts["cannot_link"] = rng.permutation(pairs[same])[:1], rng.permutation(pairs[~same])[:1]
    return facts


def least(problem: ClusteringProblem, k: int, facts: Facts) -> float:
    """Least objective of all labelings that agree with the facts and the bounds: all are tried."""
    codes = np.array(list(itertools.product(range(k), repeat=problem.n)))
    lo, hi = problem.bounds(k)
    Y = np.eye(k)[codes]  # (labelings, n, k)
    kept = ((Y.sum(1) >= lo) & (Y.sum(1) <= hi)).all(1)
    if "y" in facts:
        kept &= ((codes == facts["y"]) | (facts["y"] < 0)).all(1)
    for i, j in facts.get("must_link", ()):
        kept &= codes[:, i] == codes[:, j]
    for i, j in facts.get("cannot_link", ()):
        kept &= codes[:, i] != codes[:, j]
    Y = Y[kept]
    s, w = np.einsum("lik,lik->lk", np.einsum("ij,ljk->lik", problem.weighted, Y), Y), problem.weights @ Y
    if problem.power is None:
        raise SystemExit("The objective does not depend on the labels.")
    values = np.where(w > 0, s * np.where(w > 0, w, 1.0) ** float(problem.power), 0.0).sum(1)
    return float(problem.factor * values.min() + problem.constant)


def solved(row: str, known: str, case: int) -> bool:
    """Draw a case, solve it, compare it with the best labeling."""
    rng = np.random.default_rng([list(ROWS).index(row), KNOWN.index(known), case])
    n, k = draw_shape(rng)
    problem, facts = ROWS[row](rng, n, k), draw_facts(rng, n, k, known)
    best = least(problem, k, facts)
    y, together, apart = (facts.get(name) for name in ("y", "must_link", "cannot_link"))
    found = solve(problem, k, y=y, must_link=together, cannot_link=apart, random_state=case).objective
    return found <= best + 1e-9 * (1 + abs(best))


def small(cases: int) -> str:
    """Share of small cases whose optimum is found."""
    rows = []
    for row in ROWS:
        shares = [np.mean([solved(row, known, case) for case in range(cases)]) for known in KNOWN]
        rows.append([row, *(f"{100 * share:.1f} %" for share in shares)])
        print(*rows[-1], flush=True)
    return markdown_table(["optimum found", *(f"{known} known" for known in KNOWN)], rows)


def _problems_of_points(X: Floats, S: Floats, sizes: Bounds) -> dict[str, ClusteringProblem]:
    """All rows that take points or the graph of their neighbours."""
    K = rbf_kernel(X, gamma=1 / (X.shape[1] * X.var()))
    return {
        "correlation clustering": family.correlation_clustering(K, 1 - K),
        "DIFFRAC": family.diffrac(X, lam=1e-3, **sizes),
        "DIFFRAC-cosegmentation": family.diffrac_cosegmentation(X, S, lam=1e-3, mu=0.1, **sizes),
        "k-means": family.kmeans(X),
        "kernel k-means": family.kernel_kmeans(K),
    } | _problems_of_graph(S, sizes)


def _problems_of_graph(S: Floats, sizes: Bounds) -> dict[str, ClusteringProblem]:
    return {
        "balanced cut": family.balanced_cut(S, **sizes),
        "normalised cut": family.normalised_cut(S),
        "ratio cut": family.ratio_cut(S),
    }


def _range(labelings: list[Ints]) -> Bounds:
    counts = np.concatenate([np.bincount(codes) for codes in labelings])
    return {"n_min": int(counts.min()), "n_max": int(counts.max())}


def of_points(X: Floats, k: int) -> tuple[dict[str, ClusteringProblem], list[Ints]]:
    """Problems about points, and what scikit-learn makes of them."""
    C = kneighbors_graph(X, 10, include_self=True).toarray()
    S = (C + C.T) / 2
    theirs = [
        KMeans(k, n_init=10, random_state=0).fit_predict(X).astype(np.int64),
        SpectralClustering(k, affinity="precomputed", random_state=0).fit_predict(S).astype(np.int64),
    ]
    return _problems_of_points(X, S, _range(theirs)), theirs


def of_graph(n: int, k: int, p: float, q: float) -> tuple[dict[str, ClusteringProblem], list[Ints]]:
    """Problems about a planted graph, and what scikit-learn makes of them."""
    A, _ = _graph(np.random.default_rng(0), n, k, p, q)
    theirs = [SpectralClustering(k, affinity="precomputed", random_state=0).fit_predict(A).astype(np.int64)]
    problems = _problems_of_graph(A, _range(theirs)) | {
        "correlation clustering": family.correlation_clustering(A, (1 - A) * q / (1 - p)),
        "stochastic block model": family.stochastic_block_model(A, p=p, q=q),
    }
    return problems, theirs


def large() -> str:
    """Objectives reached beside those of scikit-learn's labels."""
    X, _ = make_blobs(500, n_features=5, centers=6, cluster_std=3.0, random_state=0)
    digits = load_digits().data / 16
    data = {
        "blobs, 500 points": (6, of_points(X, 6)),
        "digits, 1,797 points": (10, of_points(digits, 10)),
        "planted blocks, 400 points": (4, of_graph(400, 4, 0.15, 0.03)),
    }
    rows = []
    for name, (k, (problems, theirs)) in data.items():
        for row, problem in problems.items():
            start = time.perf_counter()
            ours = solve(problem, k, random_state=0)
            seconds = time.perf_counter() - start
            best = min(problem.objective(codes) for codes in theirs)
            excess = f"{100 * (ours.objective / best - 1):+.2f} %"
            rows.append([name, row, f"{ours.objective:.6g}", f"{best:.6g}", excess, f"{seconds:.1f}"])
            print(*rows[-1], ours.converged, ours.n_iter, flush=True)
    return markdown_table(["data", "row", "objective", "scikit-learn's labels", "difference", "seconds"], rows)


def main() -> None:
    """Measure, print and write down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--part", nargs="+", choices=("small", "large"), default=["small", "large"])
    parser.add_argument("--docs", type=Path, help=f"file with markers to write the tables into, as {DOCS.name}")
    options = parser.parse_args()
    tables = {"small": lambda: small(options.cases), "large": large}
    written = [tables[part]() for part in options.part]
    text = "\n\n".join(written)
    print(text)
    if options.docs:
        write_between_markers(options.docs, text, name="family")


if __name__ == "__main__":
    main()
