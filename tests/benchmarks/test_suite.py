"""The suite: its declarations, what methods get to see, how answers are scored, and the log of trials."""

from __future__ import annotations

import argparse
import ast
import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.neighbors import NearestNeighbors

from benchmarks.suite import __main__ as command
from benchmarks.suite import guard, runner
from benchmarks.suite.graph_rivals import NEIGHBORS, fit_graph
from benchmarks.suite.measures import Answer, calibration_error, log_loss, score
from benchmarks.suite.methods import IGNORE_CONSTRAINTS, METHODS, Method, _without_docstrings, methods_at
from benchmarks.suite.pair_rivals import assign, fit_pairs, start
from benchmarks.suite.regimes import LEVELS, UNLABELED, Given, _draw_labels, make_problem
from benchmarks.suite.rivals import RIVALS
from benchmarks.suite.runner import Unit, read_log, run, run_unit
from benchmarks.suite.sets import SETS, prepare
from benchmarks.suite.summary import OURS, TRAINED, UNTRAINED, collect, of_half, overall
from benchmarks.suite.table import (
    headline_table,
    lead_table,
    means_table,
    methods_table,
    sentence,
    training_sentence,
    training_table,
)
from tests.problems import blobs


@pytest.mark.parametrize(("name", "level"), guard.CASES)
def test_defaults_are_as_accurate_as_recorded(name, level):
    recorded = guard.read_recorded()[f"{name}/{level}"]
    assert guard.measure(name, level) >= recorded - guard.ALLOWED


class TestSets:
    def test_each_half_has_every_kind_of_data(self):
        groups = {"vectors": "image"}
        kinds = [{groups.get(s.kind, s.kind) for s in SETS if s.half == half} for half in ("settle", "report")]
        assert kinds[0] == kinds[1] == {"table", "genes", "image", "words", "cells"}
        assert len({entry.name for entry in SETS}) == len(SETS)

    def test_what_defaults_were_once_settled_on_is_in_settle(self):
        assert {entry.name for entry in SETS if entry.half == "settle"} >= {"digits", "magic"}

    def test_what_is_absent_is_skipped_with_a_message(self, tmp_path, monkeypatch, capsys):
        monkeypatch.setenv("XSDC_DATA", str(tmp_path))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        options = argparse.Namespace(half="both", bundled=False, sets=None)
        assert command.chosen_sets(options) == ["wine", "breast_cancer", "digits"]
        said = capsys.readouterr().err
        assert "Skipped: mnist is neither in the folder that XSDC_DATA names nor in" in said
        assert said.count("Skipped") == len(SETS) - 3

    def test_a_file_is_found_through_the_environment(self, tmp_path, monkeypatch):
        (tmp_path / "suite").mkdir()
        np.savez(tmp_path / "suite" / "vowel.npz", x=np.eye(4), y=np.array([3, 3, 5, 5]), kind="table")
        monkeypatch.setenv("XSDC_DATA", str(tmp_path))
        (entry,) = [entry for entry in SETS if entry.name == "vowel"]
        assert entry.why_missing() is None
        X, y = entry.load()
        assert X.shape == (4, 4)
        assert y.tolist() == [0, 0, 1, 1]

    def test_preparation_learns_from_training_points_alone(self):
        rng = np.random.default_rng(0)
        X, X_test = rng.normal(3, 2, (50, 4)), rng.normal(9, 5, (20, 4))
        found, found_test = prepare(X, X_test, "table")
        np.testing.assert_allclose(found_test, (X_test - X.mean(axis=0)) / X.std(axis=0))
        np.testing.assert_allclose(found.std(axis=0), 1)

    def test_counts_become_tf_idf_and_tf_idf_stays(self):
        counts = np.array([[3, 0, 1], [0, 2, 1], [1, 0, 0]])
        found, _ = prepare(counts, counts, "words")
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)
        assert found[0, 0] > found[0, 2] > 0
        np.testing.assert_array_equal(prepare(found, found, "words")[0], found)


class TestRegimes:
    def test_labels_are_as_many_of_each_class_and_nested(self):
        few, more = (make_problem("digits", level, 1) for level in ("2", "10"))
        assert np.bincount(few.given.y[few.given.y >= 0]).tolist() == [2] * 10
        known = few.given.y >= 0
        np.testing.assert_array_equal(more.given.y[known], few.given.y[known])
        np.testing.assert_array_equal(more.given.X, few.given.X)
        np.testing.assert_array_equal(few.given.y[known], few.truth[known])

    def test_a_class_gives_at_most_half_of_its_points(self):
        truth = np.repeat([0, 1, 2, 3], [100, 60, 12, 1])
        order = np.random.default_rng(0).permutation(len(truth))
        chosen = _draw_labels(truth, "20", order)
        np.testing.assert_array_equal(np.bincount(truth[chosen]), [20, 20, 6, 1])
        assert _draw_labels(truth, "40", order) is None  # fewer than half of the classes have as many

    def test_levels_that_make_no_sense_are_left_out(self):
        assert make_problem("wine", "1%", 0) is None
        assert make_problem("digits", "1%", 0) is not None

    def test_random_labels_are_a_share_of_the_points(self):
        problem = make_problem("digits", "5%", 0)
        assert (problem.given.y >= 0).sum() == round(0.05 * len(problem.truth))
        assert len(set(np.bincount(problem.given.y[problem.given.y >= 0], minlength=10))) > 1

    def test_pairs_are_right_different_and_without_labels(self):
        given = make_problem("wine", "pairs-300", 0).given
        truth = make_problem("wine", "pairs-300", 0).truth
        assert (truth[given.must_link[:, 0]] == truth[given.must_link[:, 1]]).all()
        assert (truth[given.cannot_link[:, 0]] != truth[given.cannot_link[:, 1]]).all()
        together = np.concatenate([given.must_link, given.cannot_link])
        assert len({tuple(pair) for pair in together}) == len(together) == 300
        assert not given.has_labels

    def test_bounds_hold_the_true_sizes(self):
        problem = make_problem("wine", "sizes", 0)
        shares = np.bincount(problem.truth) / len(problem.truth)
        np.testing.assert_allclose(problem.given.sizes, np.stack([0.8 * shares, 1.2 * shares], axis=1))

    def test_training_and_test_points_are_apart(self):
        X, _ = load_wine(return_X_y=True)
        given = make_problem("wine", "0", 3).given
        rows = np.concatenate([given.X, given.X_test])
        assert len(np.unique(rows, axis=0)) == len(np.unique(X, axis=0))

    def test_another_label_is_another_problem(self):
        given = make_problem("wine", "5", 0).given
        y = given.y.copy()
        y[np.flatnonzero(y >= 0)[0]] = -1
        assert given.digest() == make_problem("wine", "5", 0).given.digest()
        assert len({given.digest(), replace(given, y=y).digest(), make_problem("wine", "5", 1).given.digest()}) == 3


class TestMeasures:
    def test_log_loss_and_calibration_by_hand(self):
        probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.3, 0.7], [0.0, 1.0]])
        truth = np.array([0, 1, 1, 0])
        assert log_loss(probabilities, truth) == pytest.approx(-np.log([0.9, 0.1, 0.7, 1e-6]).mean())
        # Confidence 0.9 twice, right once; 0.7, right; 1, wrong.
        assert calibration_error(probabilities, truth) == pytest.approx((0.8 + 0.3 + 1.0) / 4)

    def test_clusters_are_matched_only_where_there_are_no_labels(self):
        answer = Answer((make_problem("wine", "0", 0).truth + 1) % 3, (make_problem("wine", "0", 0).truth_test + 1) % 3)
        assert score(make_problem("wine", "0", 0), answer)["accuracy"] == 1
        assert score(make_problem("wine", "5", 0), answer)["accuracy"] == 0

    def test_given_labels_do_not_count(self):
        problem = make_problem("wine", "5", 0)
        wrong_but_given = np.where(problem.given.y >= 0, problem.truth, -1)
        assert score(problem, Answer(wrong_but_given, problem.truth_test))["train_accuracy"] == 0


class TestMethods:
    def test_docstrings_and_comments_do_not_make_another_version(self):
        def tree(text):
            return ast.dump(_without_docstrings(ast.parse(text)))

        code = '"""One."""\ndef f(x):\n    """Two."""\n    return x\n'
        assert tree(code) == tree('"""Other."""\n\ndef f(x):  # why\n    return x\n')
        assert tree(code) != tree(code.replace("return x", "return -x"))

    def test_ours_and_rivals_have_versions_of_their_own(self):
        codes = {METHODS[name].code for name in METHODS}
        assert METHODS[OURS].code == METHODS[TRAINED].code
        assert len(codes) == 3  # the shuffled ones have one of their own

    def test_clusterings_count_wherever_there_is_no_label(self):
        assert "KMeans" in IGNORE_CONSTRAINTS
        for level in LEVELS:
            assert ("KMeans" in methods_at(level)) == (level in UNLABELED)
            assert ("SVC" in methods_at(level)) == (level not in UNLABELED)

    @pytest.mark.parametrize("name", [name for name in RIVALS if not name.endswith("PCA")])
    def test_every_rival_does_better_than_chance(self, name):
        problem = make_problem("wine", {"0": "0", "sizes": "sizes"}.get(RIVALS[name].levels[0], "5"), 0)
        if RIVALS[name].levels[0].startswith("pairs"):
            problem = make_problem("wine", "pairs-300", 0)
        assert RIVALS[name].applies(problem.given)
        found = score(problem, RIVALS[name].fit(problem.given))
        assert min(found["accuracy"], found["train_accuracy"]) > 0.8

    def test_answers_do_not_depend_on_the_numbers_of_classes(self):
        X = np.concatenate([np.zeros((20, 1)), 100 + np.arange(40)[:, None]])  # no label reaches the last ones
        X = X + np.random.default_rng(0).normal(size=(60, 1)) / 10
        nothing = np.empty((0, 2), dtype=int)
        answers = set()
        for seed in range(8):
            y = np.full(60, -1)
            y[:4] = 0, 1, 0, 1
            given = Given(X, X, y, 2, nothing, nothing, None, seed)
            answer = METHODS["LabelSpreading, neighbors"].fit(given)
            assert answer.train[:4].tolist() == [0, 1, 0, 1]
            assert answer.probabilities is not None
            answers.add(int(answer.train[-1]))
        assert answers == {0, 1}

    def test_reduced_rivals_run_where_there_are_many_columns(self):
        wide, narrow = make_problem("digits", "5", 0), make_problem("wine", "5", 0)
        assert RIVALS["SVC, PCA"].applies(wide.given)
        assert not RIVALS["SVC, PCA"].applies(narrow.given)
        assert score(wide, RIVALS["SVC, PCA"].fit(wide.given))["accuracy"] > 0.7

    def test_lda_needs_more_labels_than_classes(self):
        assert not RIVALS["LDA"].applies(make_problem("wine", "1", 0).given)


class TestGraphRivals:
    @pytest.mark.parametrize("kind", ["laplace", "poisson"])
    def test_agree_with_dense_solutions(self, kind):
        X, truth = (tensor.numpy() for tensor in blobs(80, 4, spread=1.0))  # a connected graph
        y = np.full(80, -1)
        y[:12] = truth[:12]
        train, _ = fit_graph(X, y, X, kind=kind)
        distances, neighbors = NearestNeighbors(n_neighbors=NEIGHBORS + 1).fit(X).kneighbors(X)
        W = np.zeros((80, 80))
        weights = np.exp(-4 * (distances / distances[:, -1:]) ** 2)
        W[np.arange(80)[:, None], neighbors] = weights
        W = np.maximum(W, W.T)
        np.fill_diagonal(W, 0)
        classes, labels = np.unique(y[:12], return_inverse=True)
        onehot = np.eye(len(classes))[labels]
        L = np.diag(W.sum(axis=1)) - W
        if kind == "laplace":
            U = np.concatenate([onehot, np.linalg.pinv(L[12:, 12:]) @ W[12:, :12] @ onehot])
        else:
            source = np.zeros((80, len(classes)))
            source[:12] = onehot - onehot.mean(axis=0)
            U = np.linalg.pinv(L) @ source
            U -= (W.sum(axis=1) @ U) / W.sum()
        assert (train == classes[U.argmax(axis=1)]).mean() > 0.95

    @pytest.mark.parametrize("kind", ["laplace", "poisson"])
    def test_groups_far_apart_are_joined(self, kind):
        X = np.concatenate([np.random.default_rng(c).normal(100 * c, 1, (30, 2)) for c in range(3)])
        truth = np.repeat([0, 1, 2], 30)
        y = np.where(np.isin(np.arange(90), [0, 1, 30, 60]), truth, -1)
        train, test = fit_graph(X, y, X, kind=kind)
        np.testing.assert_array_equal(train, truth)
        np.testing.assert_array_equal(test, truth)


class TestPairRivals:
    X = np.concatenate([np.random.default_rng(c).normal(3 * c, 1, (30, 2)) for c in range(3)])
    NONE = np.empty((0, 2), dtype=int)

    def test_without_pairs_it_is_k_means(self):
        begin = self.X[[0, 40, 80]]
        rng = np.random.default_rng(0)
        labels, centers, _ = fit_pairs(self.X, 3, self.NONE, self.NONE, learn_metric=False, rng=rng, centers=begin)
        expected = KMeans(3, init=begin, n_init=1, tol=0).fit(self.X)
        np.testing.assert_array_equal(labels, expected.labels_)
        np.testing.assert_allclose(centers, expected.cluster_centers_)

    @pytest.mark.parametrize("learn_metric", [False, True])
    def test_pairs_that_cost_much_are_met(self, learn_metric):
        must, cannot = np.array([[0, 89], [1, 45]]), np.array([[2, 3], [31, 32]])
        labels, _, _ = fit_pairs(
            self.X, 3, must, cannot, learn_metric=learn_metric, rng=np.random.default_rng(0), penalty=1e4
        )
        assert (labels[must[:, 0]] == labels[must[:, 1]]).all()
        assert (labels[cannot[:, 0]] != labels[cannot[:, 1]]).all()

    def test_assignment_is_that_of_the_plain_loop(self):
        rng = np.random.default_rng(5)
        costs = rng.random((20, 3))
        must, cannot = rng.integers(10, size=(8, 2)), rng.integers(10, 20, size=(8, 2))
        must, cannot = must[must[:, 0] != must[:, 1]], cannot[cannot[:, 0] != cannot[:, 1]]
        weights = rng.random(len(must) + len(cannot))
        found = assign(costs, must, cannot, weights, rng=np.random.default_rng(7))
        pairs = np.concatenate([must, cannot])
        labels = costs.argmin(axis=1)
        labels[np.unique(pairs)] = -1
        for i in np.random.default_rng(7).permutation(np.unique(pairs)):
            totals = []
            for c in range(3):
                total = costs[i, c]
                for position, pair in enumerate(pairs):
                    if i not in pair:
                        continue
                    other = labels[pair.sum() - i]
                    violated = other not in (-1, c) if position < len(must) else other == c
                    total += weights[position] * violated
                totals.append(total)
            labels[i] = int(np.argmin(totals))
        np.testing.assert_array_equal(found, labels)

    def test_a_column_of_noise_is_weighed_down(self):
        rng = np.random.default_rng(0)
        X = np.column_stack([self.X, rng.normal(0, 5, 90)])
        must = np.array([[c * 30, c * 30 + i] for c in range(3) for i in range(1, 15)])
        _, _, metric = fit_pairs(X, 3, must, self.NONE, learn_metric=True, rng=rng)
        assert metric[2] < 0.3 * metric[:2].min()

    def test_start_takes_joined_points_first(self):
        must = np.array([[0, 1], [1, 2], [30, 31], [60, 61], [62, 63]])
        centers = start(self.X, 3, must, np.random.default_rng(0))
        np.testing.assert_allclose(centers[0], self.X[:3].mean(axis=0))
        assert len(centers) == 3


def constant(given):
    return Answer(np.zeros(len(given.X), int), np.zeros(len(given.X_test), int))


class TestRunner:
    def test_a_second_run_makes_nothing(self, tmp_path):
        units = [Unit("wine", level, 0, ("SVC", "KMeans")) for level in ("2", "1%", "5")]
        made = run(units, jobs=1, folder=tmp_path)
        assert [record["method"] for record in made] == ["SVC", "KMeans", "SVC", "KMeans"]  # 1% of it is too few
        assert run(units, jobs=1, folder=tmp_path) == []
        logged = read_log(tmp_path)
        assert len(logged) == 4
        assert all(record["commit"] and record["seconds"] >= 0 and record["memory_gb"] >= 0 for record in logged)

    def test_processes_give_the_same(self, tmp_path, monkeypatch):
        for name in runner.ONE_THREAD:
            monkeypatch.setenv(name, "1")
        units = [Unit("wine", level, 0, ("KMeans",)) for level in ("0",)]
        alone = run(units, jobs=1, folder=tmp_path / "alone")
        several = run(units, jobs=2, folder=tmp_path / "several")
        assert [r["accuracy"] for r in alone] == [r["accuracy"] for r in several]

    def test_trials_of_other_code_do_not_count(self, tmp_path, monkeypatch):
        monkeypatch.setitem(METHODS, "constant", Method(constant, ("5",), ours=False))
        unit = Unit("wine", "5", 0, ("constant",))
        (made,) = run([unit], jobs=1, folder=tmp_path)
        path = tmp_path / "rivals.jsonl"
        path.write_text(json.dumps({**made, "code": "older", "commit": ""}) + "\n", encoding="utf-8")
        assert len(run([unit], jobs=1, folder=tmp_path)) == 1
        assert len(read_log(tmp_path)) == 2

    def test_a_failure_is_written_down_and_the_rest_goes_on(self, monkeypatch):
        def fails(_given):
            raise ZeroDivisionError("no such thing")

        monkeypatch.setitem(METHODS, "fails", Method(fails, ("5",), ours=False))
        monkeypatch.setitem(METHODS, "constant", Method(constant, ("5",), ours=False))
        failed, other = run_unit(Unit("wine", "5", 0, ("fails", "constant")), set())
        assert failed["error"] == "ZeroDivisionError: no such thing"
        assert "accuracy" in other


def trial(name, level, seed, method, accuracy, *, code=None, seconds=1.0):
    code = METHODS[method].code if code is None else code
    return {
        "set": name,
        "level": level,
        "seed": seed,
        "method": method,
        "problem": "p",
        "code": code,
        "commit": "abc",
        "accuracy": accuracy,
        "seconds": seconds,
    }


RECORDS = [
    *(trial("wine", "5", s, OURS, a, code="new", seconds=2.0) for s, a in enumerate((0.9, 0.8, 0.7))),
    *(trial("wine", "5", s, TRAINED, a, code="new") for s, a in enumerate((0.85, 0.8, 0.75))),
    *(trial("wine", "5", s, UNTRAINED, a, code="new") for s, a in enumerate((0.9, 0.8, 0.7))),
    *(trial("wine", "5", s, OURS, 0.1, code="old") for s in range(3)),
    *(trial("wine", "5", s, "SVC", a, seconds=0.5) for s, a in enumerate((0.8, 0.9, 0.5))),
    *(trial("wine", "5", s, "LDA", a) for s, a in enumerate((0.95, 0.85, 0.81))),
    *(trial("wine", "5", s, "RandomForest", 1.0) for s in range(2)),  # not on all splits
    *(trial("wine", "5", s, "LogisticRegression", 1.0, code="old") for s in range(3)),
    trial("wine", "pairs-100", 0, OURS, 0.6, code="new"),
    trial("wine", "0", 0, "KMeans", 0.5),
    trial("mnist", "0", 0, OURS, 0.6, code="new"),
    trial("mnist", "0", 0, "KMeans", 0.5),
]


class TestSummary:
    def test_cells_by_hand(self):
        cells = collect(RECORDS, code="new")
        assert [(cell.set, cell.level) for cell in cells] == [("wine", "5"), ("wine", "pairs-100"), ("mnist", "0")]
        labeled, pairs, _ = cells
        assert set(labeled.trials) == {OURS, "SVC", "LDA"}
        assert labeled.best == "LDA"
        lead, error = labeled.difference(OURS, "LDA")
        assert lead == pytest.approx(-0.07)
        assert error == pytest.approx(np.std([-0.05, -0.05, -0.11], ddof=1) / np.sqrt(3))
        assert labeled.rank == 2
        assert labeled.slowdown == pytest.approx(2.0)  # LDA is within a point of it, SVC is not
        assert pairs.best == "KMeans"  # it ignores pairs, and counts all the same
        assert pairs.lead == pytest.approx(0.1)

    def test_a_rival_is_chosen_by_the_other_splits(self):
        accuracies = {OURS: (0.9, 0.8), "SVC": (0.8, 0.9), "LDA": (0.95, 0.7)}
        records = [
            trial("wine", "5", s, m, a, code="new") for m, found in accuracies.items() for s, a in enumerate(found)
        ]
        records = [r | {"code": METHODS[r["method"]].code} if r["method"] != OURS else r for r in records]
        (cell,) = collect(records, code="new")
        assert cell.lead == pytest.approx(0.0)  # SVC, the best of both splits
        assert cell.lead_over_chosen == pytest.approx((0.9 - 0.8 + 0.8 - 0.7) / 2)  # SVC by split 1, LDA by split 0
        assert collect(RECORDS, code="new")[1].lead_over_chosen is None  # one split
        assert "Beside the rival that is best on the other splits: ahead in 100 %" in sentence([cell])

    def test_halves_are_apart(self):
        cells = collect(RECORDS, code="new")
        assert {cell.set for cell in of_half(cells, "settle")} == {"wine"}
        assert {cell.set for cell in of_half(cells, "report")} == {"mnist"}

    def test_one_line(self):
        figures = overall(of_half(collect(RECORDS, code="new"), "settle"))
        assert (figures["cells"], figures["ahead"], figures["within_two"], figures["far_behind"]) == (2, 1, 1, 1)
        assert figures["mean_lead"] == pytest.approx(0.015)
        assert figures["worst"].level == "5"

    def test_tables_say_it(self):
        cells = collect(RECORDS, code="new")
        assert "**1 of 2 cells** (50 %)" in sentence(of_half(cells, "settle"))
        assert "| 0.800 / 0.870 (-7.0 ± 2.0) |" in lead_table(cells)
        assert "| SVC | 1 |" in methods_table(cells)
        assert "| settle | 5 labels per class | 1 | 0.800 | 0.870 (LDA) | 0.870 | 0 |" in headline_table(cells)
        both = collect(RECORDS, code="new", methods=(UNTRAINED, TRAINED))
        assert "| wine |  |  |  | +0.0 |" in training_table(both)
        assert "| data: table | 2 | +1.5 |" in means_table(of_half(cells, "settle"))
        assert "| level: 5 | 1 | -7.0 |" in means_table(cells)
        assert training_sentence(both).startswith("Training gains more than half a point in 0 of 1 cells")


class TestCommand:
    def test_a_look_at_report_needs_a_reason_and_is_written_down(self, tmp_path):
        path = tmp_path / "looks.md"
        command.note_look(["wine"], None, path)
        assert not path.exists()
        with pytest.raises(SystemExit, match="belong to the half"):
            command.note_look(["wine", "mnist"], None, path)
        command.note_look(["wine", "mnist"], "the end of a piece of work", path)
        assert path.read_text(encoding="utf-8").endswith("| mnist | the end of a piece of work |\n")

    def test_from_trials_to_page(self, tmp_path, monkeypatch, capsys):
        pytest.importorskip("matplotlib")
        docs = tmp_path / "docs"
        (docs / "suite").mkdir(parents=True)
        names = ("version", "settle", "report", "means", "training", "methods", "suite")
        page = "".join(f"<!-- {name}:start -->\n<!-- {name}:end -->\n" for name in names)
        for path in (docs / "suite.md", tmp_path / "README.md"):
            path.write_text(page, encoding="utf-8")
        monkeypatch.setattr(command, "ROOT", tmp_path)
        monkeypatch.setattr(command, "PAGE", docs / "suite.md")
        monkeypatch.setattr(command, "README", tmp_path / "README.md")
        monkeypatch.setattr(command, "LOGS", docs / "suite")
        monkeypatch.setattr(command, "read_log", lambda: RECORDS)
        monkeypatch.setattr(sys, "argv", ["suite", "table", "--code", "new"])
        command.main()
        assert "0.800 / 0.870 (-7.0 ± 2.0)" in (docs / "suite.md").read_text(encoding="utf-8")
        assert "5 labels per class" in (tmp_path / "README.md").read_text(encoding="utf-8")
        assert (docs / "suite.svg").read_text(encoding="utf-8").count("<svg") == 1
        assert len((docs / "suite" / "cells.csv").read_text(encoding="utf-8").splitlines()) == 1 + 3 + 2 + 2
        monkeypatch.setattr(sys, "argv", ["suite", "table", "--code", "unheard"])
        with pytest.raises(SystemExit, match=r"no trials of the code unheard on settle\. They have: new"):
            command.main()

    def test_each_half_shows_the_version_asked_for_or_its_last_one(self):
        late = [("wine", "late"), ("mnist", "newer")]
        records = [*RECORDS, *(trial(name, "0", 0, OURS, 0.7, code=code) for name, code in late)]
        assert command.code_of_half(records, "settle", "old") == "old"
        assert command.code_of_half(records, "settle", "unheard") == "late"
        assert command.code_of_half(records, "report", "unheard") == "newer"
        assert command.code_of_half(records, "settle", "newer", methods=(UNTRAINED, TRAINED)) == "new"
        with pytest.raises(SystemExit, match="no trials of the code old on report"):
            command.code_of_half(records, "report", "old", strict=True)
        with pytest.raises(SystemExit, match="They have: none"):
            command.code_of_half([], "settle", "new")
