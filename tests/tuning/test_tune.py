from __future__ import annotations

import importlib.util
import warnings

import numpy as np
import optuna
import pandas as pd
import pytest
import torch

from xsdc import XSDC
from xsdc.errors import InvalidInputError
from xsdc.labelers import Eigen
from xsdc.tuning import tune
from xsdc.tuning.criteria import hold_out
from xsdc.tuning.label_free import LabelFree
from xsdc.tuning.problem import read_problem

QUICK = {"learning_rate": (0.01, 1.0, "log"), "cluster_size": ["equal", (0.2, 0.5)]}


def points(n=60, *, apart=4.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return np.eye(3)[y] * apart + rng.normal(size=(n, 3)), y


X, TRUTH = points()
HALF = np.where(np.arange(60) < 54, TRUTH, -1)


def quick(*arguments, **options):
    """Search with fits that take a moment."""
    chosen = {"estimator": XSDC(3, max_iter=2), "space": QUICK, "n_trials": 3, "random_state": 0, **options}
    return tune(*(arguments or (X,)), **chosen)


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_samplers_search_the_space_after_the_estimator_as_it_is(sampler):
    result = quick(sampler=sampler, n_trials=4)
    assert result.complete
    assert result.criterion == "label-free"
    assert [row["state"] for row in result.trials] == ["complete"] * 4
    assert result.trials[0]["options"] == {}
    for row in result.trials[1:]:
        assert 0.01 <= row["options"]["learning_rate"] <= 1
        assert row["options"]["cluster_size"] in QUICK["cluster_size"]
        assert row["seconds"] > 0
    values = [row["value"] for row in result.trials]
    assert result.best_value == max(values)
    assert result.best_options == result.trials[values.index(max(values))]["options"]


def test_sequential_search_tries_one_option_after_the_other():
    space = {"max_iter": [0, 2], "cluster_size": ["equal", (0.2, 0.5)]}
    result = quick(sampler="sequential", n_trials=None, space=space)
    options = [row["options"] for row in result.trials]
    assert options[:2] == [{}, {"max_iter": 0}]  # 2 is what the estimator has
    first = max(result.trials[:2], key=lambda row: row["value"])["options"]
    assert options[2:] == [{**first, "cluster_size": "equal"}, {**first, "cluster_size": (0.2, 0.5)}]
    assert result.complete


def test_the_result_is_an_estimator_that_gives_the_best_trial_again():
    result = quick(X, HALF, criterion="label-free")
    model = result.estimator
    assert {name: model.get_params()[name] for name in result.best_options} == result.best_options
    assert model.max_iter == 2
    one, two = (model.fit(X, HALF).labels_ for _ in range(2))
    assert (one == two).all()
    assert (one == TRUTH).mean() > 0.9


def test_a_study_left_goes_on_as_if_it_had_not_been(tmp_path):
    whole = quick(n_trials=4, sampler="random")
    storage = f"sqlite:///{tmp_path}/study.db"
    first = quick(n_trials=2, sampler="random", storage=storage)
    assert len(first.trials) == 2
    rest = quick(n_trials=4, sampler="random", storage=storage, random_state=None)  # keeps the study's own seed
    assert [row["options"] for row in rest.trials] == [row["options"] for row in whole.trials]
    assert [row["value"] for row in rest.trials] == [row["value"] for row in whole.trials]
    again = quick(n_trials=4, sampler="random", storage=storage)
    assert len(again.trials) == 4


def test_two_studies_live_in_one_storage_and_each_belongs_to_its_search(tmp_path):
    here = {"storage": f"sqlite:///{tmp_path}/study.db", "n_trials": 1, "criterion": "label-free"}
    quick(X, HALF, **here)
    other = points(seed=1)[0]
    assert len(quick(other, HALF, study_name="other", **here).trials) == 1
    refused = {
        "other data": (other, HALF, {}),
        r"other data \(": (X, None, {}),
        "other criterion .label-free, here validation": (X, HALF, {"criterion": "validation"}),
        "other random state .0, here 1": (X, HALF, {"random_state": 1}),
        "other options": (X, HALF, {"estimator": XSDC(3, max_iter=3)}),
        "other space": (X, HALF, {"space": {"learning_rate": (0.1, 1.0)}}),
    }
    for message, (data, labels, options) in refused.items():
        with pytest.raises(InvalidInputError, match=message):
            quick(data, labels, **{**here, **options})
    assert len(quick(X, HALF, **here).trials) == 1


def test_another_labeler_of_the_same_kind_is_another_search(tmp_path):
    here = {"storage": f"sqlite:///{tmp_path}/study.db", "n_trials": 1, "criterion": "label-free"}
    one, two = (XSDC(3, max_iter=2, labeler=Eigen(weight=weight)) for weight in (0.05, 0.1))
    quick(X, estimator=one, **here)
    with pytest.raises(InvalidInputError, match="other options"):
        quick(X, estimator=two, **here)
    assert len(quick(X, estimator=one, **here).trials) == 1


def test_another_share_of_labels_is_another_search(tmp_path):
    here = {"storage": f"sqlite:///{tmp_path}/study.db", "n_trials": 1}
    quick(X, HALF, validation=0.5, **here)
    with pytest.raises(InvalidInputError, match="other held-out labels"):
        quick(X, HALF, validation=0.3, **here)


def test_labels_decide_the_criterion():
    assert quick(X, HALF, n_trials=1).criterion == "validation"
    few = np.where(np.arange(60) < 12, TRUTH, -1)
    assert quick(X, few, n_trials=1).criterion == "label-free"
    assert quick(X, few, n_trials=1, validation=(X[20:], TRUTH[20:])).criterion == "validation"
    assert quick(X, few, n_trials=1, criterion="validation", validation=2).criterion == "validation"


@pytest.mark.parametrize("kind", ["integers", "strings", "pandas"])
def test_labels_held_out_are_hidden_from_the_fit_and_scored(kind, monkeypatch):
    names = np.array(["ant", "bee", "cat"], dtype=object)
    y = HALF if kind == "integers" else np.array([None if c < 0 else names[c] for c in HALF], dtype=object)
    data = pd.DataFrame(X, columns=["a", "b", "c"]) if kind == "pandas" else X
    seen = []
    fit = XSDC.fit
    monkeypatch.setattr(XSDC, "fit", lambda self, X, y=None, **facts: seen.append(y) or fit(self, X, y, **facts))
    result = quick(data, pd.Series(y) if kind == "pandas" else y, n_trials=1, validation=0.5)
    known = np.array([label is not None for label in seen[0]])
    assert known.sum() == 27
    assert all(label == given for label, given in zip(seen[0][known], np.asarray(y)[known], strict=True))
    assert result.best_value > 0.8


def test_labels_are_held_out_class_by_class():
    codes = np.array([0] * 10 + [1] * 5 + [2] * 2 + [3] + [-1] * 4)
    (part,) = hold_out(codes, 0.2, rng=np.random.RandomState(0))
    assert np.bincount(codes[part]).tolist() == [2, 1, 1]
    folds = hold_out(codes, 3, rng=np.random.RandomState(0))
    assert sorted(np.concatenate(folds)) == list(range(17))  # the only label of a class always trains
    assert max(map(len, folds)) - min(map(len, folds)) <= 1
    assert len(hold_out(codes, "auto", rng=np.random.RandomState(0))) == 4
    assert len(hold_out(np.arange(400) % 2, "auto", rng=np.random.RandomState(0))) == 1


def test_without_labels_a_good_configuration_beats_ruined_ones():
    X, _ = points(90, apart=5.0)
    space = {"cluster_size": [[(0.7, 0.8), (0.1, 0.2), (0.1, 0.2)]]}  # the groups have equal sizes
    result = quick(X, space=space, sampler="sequential", n_trials=None, estimator=XSDC(3, max_iter=5))
    good, ruined = result.trials
    assert good["value"] > ruined["value"] + 0.1
    assert result.best_options == {}


def test_merit_by_neighbours_is_log_k_plus_one_for_the_groups_that_are_there():
    centres = np.repeat(np.eye(3) * 50, 20, axis=0)
    X = centres + np.random.default_rng(0).normal(size=(60, 3))
    truth = np.repeat(np.arange(3), 20)
    problem = read_problem(X, None, must_link=None, cannot_link=None, allowed_labels=None, n_clusters=3)
    judge = LabelFree.of(problem, seed=0)
    assert judge.merit(truth) == pytest.approx(np.log(3) + 1)
    halved = np.where(truth == 2, 1, truth + (np.arange(60) % 2) * 2 * (truth == 0))  # one cut through, two merged
    assert judge.merit(halved) < np.log(3)
    assert judge.merit(np.zeros(60, dtype=np.int64)) == 0


def test_facts_reach_the_fits(monkeypatch):
    facts = {"must_link": [(0, 3)], "cannot_link": [(0, 1)], "allowed_labels": {58: [1, 2]}}
    seen = []
    fit = XSDC.fit
    monkeypatch.setattr(XSDC, "fit", lambda self, X, y=None, **facts: seen.append(facts) or fit(self, X, y, **facts))
    quick(X, HALF, n_trials=1, validation=0.5, **facts)
    assert seen == [facts]
    with pytest.raises(InvalidInputError, match="contradict"):
        quick(X, HALF, must_link=[(0, 1)])


def test_options_that_cannot_be_fitted_fail_and_do_not_stop_the_search():
    space = {"cluster_size": [(0.0, 0.1)]}
    result = quick(space=space, n_trials=2)
    assert [row["state"] for row in result.trials] == ["complete", "failed"]
    assert "cluster_size" in result.trials[1]["notes"][-1]
    assert result.best_options == {}
    with pytest.raises(InvalidInputError, match="X must be finite"):
        quick(np.where(X > 3, np.nan, X))
    with pytest.raises(InvalidInputError, match="labeler"):
        quick(estimator=XSDC(3, labeler="none"))


def test_a_foreign_study_is_left_alone(tmp_path):
    storage = f"sqlite:///{tmp_path}/study.db"
    optuna.create_study(storage=storage, study_name="xsdc").optimize(lambda trial: 1.0, n_trials=1)
    with pytest.raises(InvalidInputError, match="not of this search"):
        quick(storage=storage)
    with pytest.raises(InvalidInputError, match=r"sqlite:///study\.db"):
        quick(storage="study.db")


def test_warnings_of_fits_become_notes():
    space = {"learning_rate": [1e8]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = quick(space=space, n_trials=2)
    assert any("bad end" in note for note in result.trials[1]["notes"])


def test_the_callback_sees_each_trial_and_optuna_is_quiet_only_meanwhile(capsys):
    before = optuna.logging.get_verbosity()
    rows = []
    quick(callback=rows.append, n_trials=2)
    assert [row["number"] for row in rows] == [0, 1]
    assert rows[1]["best_value"] == max(row["value"] for row in rows)
    assert rows[1]["n_trials"] == 2
    assert optuna.logging.get_verbosity() == before
    assert capsys.readouterr().err == ""


def test_time_is_a_limit_too():
    result = quick(n_trials=None, timeout=1e-3)
    assert len(result.trials) == 1
    assert not result.complete


def test_images_and_tensors():
    images = np.random.default_rng(0).uniform(size=(24, 8, 8)) * np.repeat([0.2, 1.0], 12)[:, None, None]
    result = tune(torch.from_numpy(images), estimator=XSDC(2, max_iter=1), n_trials=2, random_state=0)
    assert set(result.trials[1]["options"]) == {"learning_rate", "ridge"}


def test_inputs_stay_as_they_were():
    data, labels, model = X.copy(), HALF.copy(), XSDC(3, max_iter=2)
    quick(data, labels, estimator=model, n_trials=1)
    assert (data == X).all()
    assert (labels == HALF).all()
    assert model.get_params() == XSDC(3, max_iter=2).get_params()


BAD = {
    "sampler": ({"sampler": "grid"}, "sampler must be one of"),
    "criterion": ({"criterion": "luck"}, "criterion must be"),
    "trials": ({"n_trials": 0}, "n_trials must be a whole number"),
    "timeout": ({"timeout": -1}, "timeout must be"),
    "no labels": ({"criterion": "validation"}, "two labels of a class"),
    "open number": ({"estimator": XSDC()}, "Set n_clusters"),
    "half a pair": ({"validation": (X,)}, r"pair \(X, y\)"),
    "no label in the pair": ({"validation": (X, np.full(60, -1))}, "no label"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_bad_input_is_named(case):
    options, message = BAD[case]
    with pytest.raises(InvalidInputError, match=message):
        quick(**options)


@pytest.mark.parametrize("share", [1.5, 0, 1, "half"])
def test_bad_shares_are_named(share):
    with pytest.raises(InvalidInputError, match="validation"):
        quick(X, HALF, validation=share)


def test_missing_optuna_is_said(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InvalidInputError, match=r"pip install \"xsdc\[tune\]\""):
        quick()
