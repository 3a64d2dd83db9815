from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from xsdc import XSDC
from xsdc.baselines import SeededKMeans
from xsdc.core.constraints import close
from xsdc.core.objective import decompose
from xsdc.core.sizes import ClassSizes
from xsdc.errors import DivergedError, InvalidInputError
from xsdc.experiments import EXPERIMENTS, reproduce
from xsdc.experiments.declared import LABELS
from xsdc.experiments.evaluation import Evaluation
from xsdc.experiments.facts import WithRandomFacts
from xsdc.experiments.published import find_values, published_values, reported
from xsdc.experiments.runner import Log, Task, list_tasks
from xsdc.experiments.setting import Setting
from xsdc.experiments.splits import draw_per_class, imbalanced, make_splits
from xsdc.experiments.summary import summarise
from xsdc.experiments.trial import Stopwatch, make_trainer, run_trial
from xsdc.labelers import BatchProblem, Labeler
from xsdc.training import Callback

TINY = {"burn_in": 2, "iterations": 4, "evaluate_every": 2, "learning_rate": 0.01, "supervised_learning_rate": 0.01}


def digits(**changes) -> Setting:
    return Setting(**{"curve": "XSDC", "x": 50, "dataset": "digits", "n_labeled": 50, **TINY, **changes})


class CutOff(Callback):
    """Ends a training at a step as Ctrl-C does, or by another error; remembers the steps that it saw."""

    def __init__(self, step, error=None):
        self.step, self.error, self.steps = step, error or KeyboardInterrupt(), []

    def on_step(self, trainer, record):
        self.steps.append(record["iteration"])
        if record["iteration"] == self.step:
            raise self.error


@pytest.fixture(scope="module")
def splits():
    return make_splits(digits(), seed=0)


class TestPublished:
    def test_accuracies(self):
        assert len(reported()) == 44
        assert reported()["mnist", 50].mean == 0.8614
        assert reported()["magic", 0].deviation == 0.0071

    def test_values(self):
        assert len(published_values()) == 184
        row = find_values("mnist", "balancing", 50)
        assert (row.supervised_learning_rate, row.learning_rate, row.burn_in) == (2.0**-7, 2.0**-6, 100)
        assert find_values("mnist", "balancing", 0).ridge == 2.0**-40
        assert find_values("mnist", "augmentation", 50).copies == 16
        assert find_values("mnist", "constraints", 50, constraints="random").learning_rate == 2.0**-3
        with pytest.raises(InvalidInputError, match="no values"):
            find_values("mnist", "balancing", 60)

    def test_imbalance_bounds_follow_the_notes(self):
        row = find_values("mnist", "imbalance", 50, imbalance=0.2)
        assert Setting.published(row, curve="", x=0).sizes == (0.06, 0.14)


class TestDeclared:
    @pytest.mark.parametrize("name", EXPERIMENTS)
    def test_every_setting_has_values(self, name):
        experiment = EXPERIMENTS[name]
        settings = experiment.expand()
        assert settings
        assert {setting.dataset for setting in settings} == set(experiment.datasets)
        for setting in settings:
            assert setting.learning_rate > 0 or setting.method.startswith("seeded")
            assert setting.burn_in == (100 if setting.n_labeled else 0) or setting.method.startswith("seeded")

    def test_numbers_of_settings(self):
        count = {name: len(experiment.expand()) for name, experiment in EXPERIMENTS.items()}
        assert count["accuracy-vs-labels"] == 4 * len(LABELS)
        assert count["labelers"] == 3 * 4 * len(LABELS)
        assert count["imbalance"] == 19
        assert count["relaxations"] == 4

    def test_what_is_not_offered_is_refused(self):
        with pytest.raises(InvalidInputError, match="no data set iris"):
            EXPERIMENTS["labelers"].expand(datasets=["iris"])
        with pytest.raises(InvalidInputError, match="no number of labels 7"):
            EXPERIMENTS["labelers"].expand(labels=[7])


class TestSplits:
    def test_parts_are_disjoint_and_labels_even(self, splits):
        sizes = [len(part.y) for part in (splits.train, splits.validation, splits.test)]
        assert sum(sizes) == 1797
        assert np.bincount(splits.train.y[splits.labeled]).tolist() == [5] * 10
        rows = {tuple(x.flatten().tolist()) for x in splits.train.X}
        assert sum(tuple(x.flatten().tolist()) in rows for x in splits.test.X) == 0

    def test_seed_decides(self, splits):
        again, other = (make_splits(digits(), seed=seed) for seed in (0, 1))
        assert np.array_equal(again.labeled, splits.labeled)
        assert torch.equal(again.train.X, splits.train.X)
        assert not np.array_equal(other.labeled, splits.labeled)

    def test_uneven_labels_are_refused(self):
        with pytest.raises(InvalidInputError, match="multiple of 10"):
            draw_per_class(np.arange(100) % 10, 15, 10, np.random.default_rng(0))

    @pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
    def test_imbalance(self, share):
        y = np.repeat(np.arange(10), 500)
        labeled = np.arange(0, 5000, 100)
        kept = imbalanced(y, share, labeled, 10, np.random.default_rng(0))
        assert np.isin(labeled, kept).all()
        free = y[np.setdiff1d(kept, labeled)]
        assert (free < 5).mean() == pytest.approx(share, abs=0.01)
        lower, upper = np.bincount(free, minlength=10)[:5], np.bincount(free, minlength=10)[5:]
        assert np.ptp(lower) <= 1
        assert np.ptp(upper) <= 1


class TestEvaluation:
    def test_ridge_is_the_best_on_validation(self, splits):
        trainer, evaluation = make_trainer(digits(), splits, seed=0)
        chosen = evaluation.choose_ridge(trainer.network, labeled_only=False)
        best, _ = evaluation.classify(trainer.network, chosen)
        for power in range(-40, 1, 5):
            assert evaluation.classify(trainer.network, 2.0**power)[0] <= best

    def test_fixed_ridge_stays(self, splits):
        evaluation = Evaluation(splits, 0.5)
        assert evaluation.choose_ridge(None, labeled_only=True) == 0.5

    def test_scores_are_those_of_a_plain_recipe(self, splits):
        trainer, evaluation = make_trainer(digits(), splits, seed=0)
        _, tested = evaluation.classify(trainer.network, 2.0**-10)
        features = {}
        for name, part in (("train", splits.train), ("test", splits.test)):
            Phi = trainer.network.features(part.X).double()
            features[name] = Phi - Phi.mean(1, keepdim=True)
        norm = features["train"][splits.labeled].norm(dim=1).mean()
        P, T = features["train"] / norm, features["test"] / norm
        given = torch.from_numpy(splits.train.y[splits.labeled])
        codes = given[torch.cdist(P, P[splits.labeled]).argmin(1)]
        Y = torch.nn.functional.one_hot(codes, 10).double()
        mean = P.mean(0)
        n = len(P)
        gram = (P - mean).T @ (P - mean) + n * 2.0**-10 * torch.eye(P.shape[1])
        W = torch.linalg.solve(gram, (P - mean).T @ (Y - Y.mean(0)))
        found = ((T - mean) @ W + Y.mean(0)).argmax(1).numpy()
        assert tested == pytest.approx((found == splits.test.y).mean(), abs=0.005)

    def test_features_that_say_nothing_are_told_as_divergence(self, splits, monkeypatch):
        trainer, evaluation = make_trainer(digits(), splits, seed=0)
        monkeypatch.setattr(trainer.network, "features", lambda X: torch.full((len(X), 4), torch.nan))
        with pytest.raises(DivergedError, match="not finite"):
            evaluation(trainer.network, 0.1)
        with pytest.raises(DivergedError, match="not finite"):
            evaluation.choose_ridge(trainer.network, labeled_only=True)


class Remember(Labeler):
    def label(self, batch):
        self.known = batch.known
        return torch.eye(batch.n)


def test_random_facts_are_true_and_of_the_right_kind():
    n, rng = 60, np.random.default_rng(0)
    truth, labeled = rng.integers(0, 4, n), np.arange(n) < 10
    constraints = close(n, labels=np.where(labeled, truth, -1), n_classes=4)
    Phi = torch.from_numpy(rng.normal(size=(n, 5)))
    batch = BatchProblem(
        spectrum=decompose(Phi),
        lam=0.1,
        known=constraints.entries(),
        size=ClassSizes.around(4, 0, 4).among(constraints, constraints.entries()),
        class_size=ClassSizes.around(4, 0, 4).of_classes(constraints, np.arange(n)),
        constraints=constraints,
        points=np.arange(n),
        n_clusters=4,
        generator=torch.Generator().manual_seed(0),
    )
    inner = Remember()
    WithRandomFacts(inner, truth, labeled).label(batch)
    ones, zeros = inner.known.ones.numpy(), inner.known.zeros.numpy()
    assert (truth[ones[:, 0]] == truth[ones[:, 1]]).all()
    assert (truth[zeros[:, 0]] != truth[zeros[:, 1]]).all()
    assert (labeled[ones[:, 0]] == labeled[ones[:, 1]]).all()
    free = (~labeled[ones]).all(1).sum() + (~labeled[zeros]).all(1).sum()
    assert free == pytest.approx(50 * 49 / 2 / 3, rel=0.15)
    before = {tuple(pair) for pair in constraints.entries().ones.tolist()}
    assert before <= {tuple(pair) for pair in ones.tolist()}


class TestTrial:
    def test_record(self):
        record = run_trial(digits(), seed=0)
        assert record["iterations"] == [0, 2, 4]
        assert len(record["validation"]) == len(record["test"]) == len(record["ridges"]) == 3
        best = int(np.argmax(record["validation"]))
        assert record["accuracy"] == pytest.approx(record["test"][best], abs=1e-5)
        assert record["best_iteration"] == record["iterations"][best]
        assert record["supervised_initialization"] == pytest.approx(record["test"][1], abs=1e-5)
        assert len(record["eigengaps"]) == 4
        json.dumps(record)

    def test_the_start_is_also_scored_with_a_ridge_chosen_after_it(self):
        setting = digits(iterations=2)
        record = run_trial(setting, seed=0)
        assert record["ridges"][0] == record["ridges"][1]  # chosen before the first step
        splits = make_splits(setting, seed=0)
        trainer, evaluation = make_trainer(setting, splits, seed=0)
        trainer.score = None  # or the better of start and end would be put back
        trainer.run()
        lam = evaluation.choose_ridge(trainer.network, labeled_only=False)
        assert lam != record["ridges"][1]
        assert record["supervised_initialization_new_ridge"] == evaluation.classify(trainer.network, lam).test

    def test_without_labels_the_best_on_test_is_marked(self):
        record = run_trial(digits(n_labeled=0, x=0, burn_in=0, ridge=2.0**-10), seed=0)
        assert record["accuracy"] == max(record["test"])
        assert "optimistic" in record["chosen"]
        assert record["validation"] == []
        assert record["supervised_initialization_new_ridge"] is None

    def test_same_seed_same_record(self):
        first, again = (run_trial(digits(constraints="specific"), seed=3) for _ in range(2))
        assert {**first, "seconds": 0} == {**again, "seconds": 0}

    def test_honest_protocol_uses_no_other_label(self, monkeypatch):
        seen = []
        original = XSDC.fit

        def watched(self, X, y=None, **facts):
            seen.append(y)
            return original(self.set_params(max_iter=2, supervised_iter=2), X, y, **facts)

        monkeypatch.setattr(XSDC, "fit", watched)
        record = run_trial(digits(), seed=0, protocol="honest")
        assert (seen[0] >= 0).sum() == 50
        assert record["accuracy"] > 0.8

    def test_fixed_representations_are_of_standardised_inputs(self, monkeypatch):
        seen = []
        original = SeededKMeans.fit
        monkeypatch.setattr(SeededKMeans, "fit", lambda self, X, y=None: seen.append(X) or original(self, X, y))
        run_trial(digits(method="seeded k-means: linear"), seed=0)
        deviation = seen[0].std(0)
        assert np.allclose(deviation[deviation > 1e-9], 1)
        assert np.allclose(seen[0].mean(0), 0)

    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"n_labeled": 0, "burn_in": 0, "ridge": 2.0**-10, "evaluate_every": 1},
            {"method": "deep-clustering", "n_groups": 20, "every": 8},
            {"constraints": "random"},
        ],
        ids=lambda changes: ", ".join(map(str, changes.values())) or "balancing",
    )
    def test_a_trial_that_was_cut_off_goes_on_to_the_same_end(self, tmp_path, changes):
        setting = digits(**{"burn_in": 4, "iterations": 20, **changes})
        whole = run_trial(setting, seed=0)
        with pytest.raises(RuntimeError, match="cut off"):
            run_trial(setting, seed=0, states=tmp_path, callbacks=(CutOff(15, RuntimeError("cut off")),))
        after = CutOff(21)
        resumed = run_trial(setting, seed=0, states=tmp_path, callbacks=(after,))
        assert after.steps == list(range(11, 21))
        assert {**resumed, "seconds": 0} == {**whole, "seconds": 0}

    def test_time_before_a_trial_was_cut_off_counts(self):
        watch = Stopwatch()
        watch.load_state_dict({"seconds": 1000.0})
        assert 1000 <= watch.seconds < 1010
        assert watch.state_dict()["seconds"] >= 1000

    def test_an_honest_trial_goes_on_too(self, tmp_path, monkeypatch):
        original = XSDC.fit

        def shorter(self, X, y=None, **facts):
            return original(self.set_params(max_iter=16, supervised_iter=4), X, y, **facts)

        monkeypatch.setattr(XSDC, "fit", shorter)
        whole = run_trial(digits(), seed=0, protocol="honest")
        with pytest.raises(KeyboardInterrupt):
            run_trial(digits(), seed=0, protocol="honest", states=tmp_path, callbacks=(CutOff(15),))
        after = CutOff(21)
        resumed = run_trial(digits(), seed=0, protocol="honest", states=tmp_path, callbacks=(after,))
        assert after.steps[0] == 11
        assert {**resumed, "seconds": 0} == {**whole, "seconds": 0}

    @pytest.mark.parametrize("similarity", ["linear", "inverse-correlation", "rbf"])
    def test_fixed_representations(self, similarity):
        record = run_trial(digits(method=f"seeded k-means: {similarity}"), seed=0)
        assert record["accuracy"] > 0.5


class TestRunner:
    def test_an_interrupted_trial_is_no_trial_and_goes_on(self, tmp_path):
        asked = {"out": tmp_path, "quick": True, "labels": [50]}
        with pytest.raises(KeyboardInterrupt):
            reproduce("accuracy-vs-labels", callbacks=(CutOff(11),), **asked)
        assert not (tmp_path / "trials.jsonl").exists()
        assert len(list(tmp_path.glob("unfinished/*/step-*.state"))) == 1
        after = CutOff(13)
        (record,) = reproduce("accuracy-vs-labels", callbacks=(after,), **asked)
        assert after.steps == [11, 12]
        assert record["iterations"] == [0, 4, 8, 12]
        assert [path.name for path in tmp_path.iterdir()] == ["trials.jsonl"]

    def test_every_experiment_runs_quickly_and_is_not_run_twice(self, tmp_path):
        made = []
        for name in EXPERIMENTS:
            if name == "feature-maps":
                continue
            reproduce(name, out=tmp_path, quick=True, report=lambda record, *_: made.append(record))
        lines = (tmp_path / "trials.jsonl").read_text().splitlines()
        assert len(lines) == len(made) > 20
        again: list[dict] = []
        records = reproduce("relaxations", out=tmp_path, quick=True, report=lambda record, *_: again.append(record))
        assert not again
        assert {record["setting"]["curve"] for record in records} == {
            "balancing, all steps",
            "balancing",
            "eigen",
            "eigen-kmeans",
        }

    def test_cut_off_line_is_made_again(self, tmp_path):
        task = Task(digits(), 0, "authors")
        log = Log(tmp_path / "trials.jsonl")
        log.add(task, run_trial(task.setting, seed=0))
        whole = log.path.read_text()
        log.path.write_text(whole[: len(whole) // 2])
        torn = Log(log.path)
        assert torn.of(task) is None
        torn.add(task, json.loads(whole))
        assert Log(log.path).of(task)["accuracy"] == json.loads(whole)["accuracy"]

    def test_a_line_of_another_version_is_told(self, tmp_path):
        line = {"setting": digits().as_dict() | {"a_field_of_old": 1}, "seed": 0, "protocol": "authors"}
        (tmp_path / "trials.jsonl").write_text(json.dumps(line) + "\n")
        with pytest.raises(InvalidInputError, match=r"no trial of this version.*a_field_of_old"):
            Log(tmp_path / "trials.jsonl")

    def test_trials_are_shared_between_experiments_under_their_own_names(self, tmp_path):
        log = Log(tmp_path / "trials.jsonl")
        log.add(Task(digits(curve="XSDC"), 0, "authors"), run_trial(digits(curve="XSDC"), seed=0))
        found = log.of(Task(digits(curve="balancing", x=1.0), 0, "authors"))
        assert (found["setting"]["curve"], found["setting"]["x"]) == ("balancing", 1.0)
        assert log.of(Task(digits(), 1, "authors")) is None
        assert log.of(Task(digits(), 0, "honest")) is None

    def test_two_processes_find_what_one_finds(self, tmp_path):
        asked = {"quick": True, "labels": [50]}
        one, two = (reproduce("accuracy-vs-labels", out=tmp_path / str(j), jobs=j, **asked) for j in (1, 2))
        assert [record["test"] for record in one] == [record["test"] for record in two]

    def test_order_of_tasks(self):
        tasks = list_tasks(
            EXPERIMENTS["labelers"], datasets=["magic"], labels=[50], trials=2, seed=5, quick=False, protocol="authors"
        )
        assert [(task.seed, task.setting.method) for task in tasks] == [
            (seed, method) for seed in (5, 6) for method in ("balancing", "pseudo-labels", "deep-clustering")
        ]

    def test_a_trial_where_curves_cross_is_made_once_and_is_on_each(self, tmp_path, monkeypatch):
        made = []

        def run(self, *_):
            made.append(self.key)
            return {"setting": self.setting.as_dict(), "seed": self.seed, "protocol": "authors", "accuracy": 0.5}

        monkeypatch.setattr(Task, "run", run)
        told = []
        records = reproduce(
            "sensitivity", out=tmp_path, trials=1, report=lambda _record, done, total: told.append((done, total))
        )
        places = {(record["setting"]["curve"], record["setting"]["x"]) for record in records}
        assert {("supervised learning rate", 2.0**-7), ("learning rate", 2.0**-6)} <= places  # the authors' values
        assert len(places) == len(records) == 16 + 16 + 11
        assert len(made) == len(set(made)) == len(records) - 1
        assert told[-1] == (42, 42)

    def test_sensitivity_sees_all_of_each_range_first(self):
        seen: dict[str, list[float]] = {}
        for setting in EXPERIMENTS["sensitivity"].expand()[:11]:
            seen.setdefault(setting.curve, []).append(setting.x)
        assert seen["learning rate"] == seen["supervised learning rate"] == [2.0**i for i in (-10, -6, -2, 2)]
        assert seen["lambda"] == [2.0**i for i in (-40, -24, -8)]

    def test_wrong_names(self, tmp_path):
        with pytest.raises(InvalidInputError, match="accuracy-vs-labels"):
            reproduce("accuracy", out=tmp_path)
        with pytest.raises(InvalidInputError, match="protocol"):
            reproduce("relaxations", out=tmp_path, protocol="mine")


def test_summary_puts_the_authors_beside_the_same_protocol_only():
    def record(curve, accuracy, seed, **changes):
        setting = digits(curve=curve, dataset="mnist", iterations=500, **changes).as_dict()
        return {"setting": setting, "seed": seed, "protocol": "authors", "accuracy": accuracy}

    rows = summarise([record("XSDC", 0.8, 0), record("XSDC", 0.9, 1), record("k-means, linear", 0.5, 0)])
    ours = next(row for row in rows if row["curve"] == "XSDC")
    assert (ours["mean"], ours["trials"]) == (pytest.approx(0.85), 2)
    assert ours["theirs"].mean == 0.8614
    assert next(row for row in rows if row["curve"] == "k-means, linear")["theirs"] is None
    (fewer,) = summarise([record("balancing", 0.8, 0, x=50) | {"setting": digits(dataset="mnist").as_dict()}])
    assert fewer["theirs"] is None
    (honest,) = summarise([record("XSDC", 0.8, 0) | {"protocol": "honest"}])
    assert honest["theirs"] is None


def test_without_labels_every_step_is_evaluated_as_by_the_authors():
    for dataset in ("magic", "mnist", "cifar10", "gisette"):
        without, some = EXPERIMENTS["accuracy-vs-labels"].expand(datasets=[dataset], labels=[0, 50])
        assert (without.evaluate_every, some.evaluate_every) == (1, 10)
        assert {setting.evaluate_every for setting in EXPERIMENTS["relaxations"].expand()} == {1}
