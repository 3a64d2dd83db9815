from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC

from xsdc.errors import InvalidInputError
from xsdc.model_selection import LabeledKFold, LabeledScorer
from xsdc.validation import is_unknown

KINDS = {
    "integers": np.array([0, 1, -1, 0, 1, -1, 0, 1]),
    "floats": np.array([0.0, 1.0, np.nan, 0.0, 1.0, -1.0, 0.0, 1.0]),
    "strings": np.array(["a", "b", None, "a", "b", np.nan, "a", "b"], dtype=object),
    "pandas": pd.Series(["a", "b", None, "a", "b", None, "a", "b"]),
    "list": [0, 1, None, 0, 1, -1, 0, 1],
    "list of words": ["a", "b", None, "a", "b", float("nan"), "a", "b"],
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_unlabeled_rows_always_train_and_never_test(kind):
    y = KINDS[kind]
    assert np.flatnonzero(is_unknown(y)).tolist() == [2, 5]
    tested = []
    for train, test in LabeledKFold(3, random_state=0).split(np.zeros((8, 2)), y):
        assert {2, 5} <= set(train)
        assert not set(train) & set(test)
        assert set(train) | set(test) == set(range(8))
        assert len(test) == 2  # one of each class
        tested += test.tolist()
    assert sorted(tested) == [0, 1, 3, 4, 6, 7]


def test_text_that_reads_minus_one_is_a_label():
    assert not is_unknown(np.array(["-1", "a"])).any()


def test_seed_decides():
    y = np.arange(40) % 2
    one, two, other = (
        [test.tolist() for _, test in LabeledKFold(4, random_state=seed).split(y, y)] for seed in (0, 0, 1)
    )
    assert one == two != other


def test_rare_classes_do_not_stop_it():
    y = np.array([0] * 9 + [1] + [-1] * 5)
    folds = list(LabeledKFold(3, random_state=0).split(y, y))
    assert sorted(i for _, test in folds for i in test) == list(range(10))


def test_scorer_leaves_unlabeled_rows_out():
    class Always:
        def predict(self, X):
            return np.array(["a"] * len(X))

    y = np.array(["a", "b", None, "a"], dtype=object)
    assert LabeledScorer()(Always(), np.zeros((4, 1)), y) == pytest.approx(2 / 3)
    macro = LabeledScorer(lambda true, found: f1_score(true.astype(str), found.astype(str), average="macro"))
    assert macro(Always(), np.zeros((4, 1)), y) == pytest.approx(0.4)
    with pytest.raises(InvalidInputError, match="no labeled row"):
        LabeledScorer()(Always(), np.zeros((2, 1)), np.array([-1, -1]))


def test_scorer_compares_whole_words():
    class Longer:
        def predict(self, X):
            return np.array(["abc", "abd", "b"])

    assert LabeledScorer()(Longer(), np.zeros((3, 1)), ["ab", "ab", "b"]) == pytest.approx(1 / 3)
    assert LabeledScorer()(Longer(), np.zeros((3, 1)), ["abc", float("nan"), "b"]) == 1.0


def test_grid_search_with_a_semi_supervised_estimator():
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:400] / 16, truth[:400]
    y = np.where(np.arange(400) < 100, truth, -1)
    search = GridSearchCV(
        SelfTrainingClassifier(LogisticRegression(max_iter=1000), max_iter=2),
        {"threshold": [0.8, 0.95]},
        cv=LabeledKFold(4, random_state=0),
        scoring=LabeledScorer(),
        error_score="raise",
    ).fit(X, y)
    assert search.best_score_ > 0.8
    assert (search.predict(X) != -1).all()


def test_agrees_with_scikit_learn_where_all_rows_are_labeled():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    ours = cross_val_score(SVC(), X, y, cv=LabeledKFold(3, random_state=0), scoring=LabeledScorer())
    theirs = cross_val_score(SVC(), X, y, cv=3)
    assert abs(ours.mean() - theirs.mean()) < 0.05
    assert cross_val_score(LogisticRegression(max_iter=500), X, y, cv=LabeledKFold(3)).shape == (3,)


def test_bad_input_is_named():
    y = np.array([0, 1, -1])
    with pytest.raises(InvalidInputError, match="too few for 5 folds"):
        list(LabeledKFold(5).split(y, y))
    with pytest.raises(InvalidInputError, match="n_splits must be"):
        list(LabeledKFold(1).split(y, y))
    with pytest.raises(InvalidInputError, match="each of the 3 rows"):
        list(LabeledKFold(2).split(y))
    with pytest.raises(InvalidInputError, match="groups"):
        list(LabeledKFold(2).split(y, y, groups=y))
    with pytest.raises(InvalidInputError, match="flat list"):
        is_unknown(np.zeros((2, 2)))
    assert LabeledKFold(7).get_n_splits() == 7
