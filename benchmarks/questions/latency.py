"""How long a person waits: for the first screen, for an answer to be saved, for the new solution."""

from __future__ import annotations

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from xsdc.app.opening import open_run
from xsdc.app.payloads import questions_of, sheets_of, state_of
from xsdc.app.session import Session
from xsdc.app.store import Entry
from xsdc.runs import Configuration, DataOptions, RunFolder, make_estimator

CLASSES, COLUMNS, APART = 10, 30, 1.2
SHOWN = 0.95


def measure(n: int, answers: int) -> None:
    """Open a page on n rows, answer, and print what took how long, beside a plain fit."""
    rng = np.random.default_rng(0)
    truth = rng.integers(CLASSES, size=n)
    X = rng.normal(size=(n, COLUMNS)) + APART * rng.normal(size=(CLASSES, COLUMNS))[truth]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "points.npz"
        np.savez(source, X=X, truth=truth)
        configuration = Configuration.make(
            DataOptions(str(source), truth_column="truth"), {"n_clusters": CLASSES, "effort": "fast"}
        )
        begun, cpu = time.perf_counter(), time.process_time()
        opened = open_run(configuration, RunFolder(Path(folder) / "run"))
        session = Session(opened)
        state_of(session), sheets_of(session), questions_of(session)
        first, first_cpu = time.perf_counter() - begun, time.process_time() - cpu
        saved, solved, spent = [], [], []
        for number in range(answers):
            question = session.solution.questions[0]
            answer = str(truth[question.points[0]])
            if question.kind == "pair":
                answer = "same" if truth[question.points[0]] == truth[question.points[1]] else "different"
            name = f"entry-{number:06d}"
            begun, cpu = time.perf_counter(), time.process_time()
            session.add([Entry(name, name, question.kind, question.points, answer)])
            saved.append(time.perf_counter() - begun)
            session.wait(120)
            solved.append(time.perf_counter() - begun)
            spent.append(time.process_time() - cpu)
        facts = session.solution.known.facts
        y = np.full(n, None, dtype=object)
        for point, label in facts.labels.items():
            y[point] = label
        names = np.array([each.name for each in session.solution.classes])
        share = float((names[session.solution.codes] == truth.astype(str)).mean())
        session.stop()
        cpu = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make_estimator(configuration, opened.given).fit(opened.Z, y)
        plain = time.process_time() - cpu
    p95, cpu = float(np.quantile(solved, SHOWN)), float(np.quantile(spent, SHOWN))
    print(f"{n:,} points, accuracy {share:.3f} after {answers} answers; seconds by the clock, and of the processor")
    print(f"first screen                {first:8.2f} {first_cpu:8.2f}")
    print(f"p95 of a stored answer      {np.quantile(saved, SHOWN):8.4f}")
    print(f"p95 of a new solution       {p95:8.2f} {cpu:8.2f}")
    print(f"plain refit, and its ratio           {plain:8.2f} {plain / cpu:8.1f}")
