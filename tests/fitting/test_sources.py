from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from tests.problems import blobs
from xsdc import XSDC
from xsdc.errors import InvalidInputError
from xsdc.fitting import features, labels, number, representation, sources, stream, train
from xsdc.fitting import groups as fit_groups
from xsdc.fitting.sources import ArraySource, DatasetSource, as_source, spool
from xsdc.training import Callback

OPTIONS = {"max_iter": 3, "random_state": 0}


class Listed(Dataset):
    """Rows of an array, by position."""

    def __init__(self, items: list) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, i: int) -> object:
        return self.items[i]


class Stream(IterableDataset):
    """The same, from the first to the last."""

    def __init__(self, items: list) -> None:
        self.items = items

    def __iter__(self):
        return iter(self.items)


@pytest.fixture
def groups() -> tuple[np.ndarray, np.ndarray]:
    X, y = blobs(240, 3, D=4, spread=2.0)
    return X.numpy(), np.where(np.arange(240) % 8 == 0, y.numpy(), -1)


def on_disk(X: np.ndarray, folder: Path) -> np.memmap:
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def same(one: XSDC, other: XSDC, X: np.ndarray) -> bool:
    return np.array_equal(one.labels_, other.labels_) and np.array_equal(one.predict_proba(X), other.predict_proba(X))


class Steps(Callback):
    def __init__(self, seen: list) -> None:
        self.seen = seen

    def on_step(self, trainer, record) -> None:
        self.seen.append(record["iteration"])


class Counted(Listed):
    reads = 0

    def __getitem__(self, i: int) -> object:
        self.reads += 1
        return self.items[i]


class TestItems:
    def test_rows_alone_in_a_tuple(self, groups):
        X, _ = groups
        assert np.array_equal(DatasetSource(TensorDataset(torch.from_numpy(X))).take(np.arange(9)), X[:9])

    def test_pairs_in_lists(self, groups):
        X, y = groups
        source = DatasetSource(Listed([[row, label] for row, label in zip(X, y, strict=True)]))
        assert np.array_equal(source.take(np.arange(9)), X[:9])
        assert source.labels == y.tolist()

    def test_numbers_in_lists_and_tuples_are_rows(self):
        for items in ([[1.0, 2.0], [3.0, 4.0]], [(1.0, 2.0), (3.0, 4.0)]):
            source = DatasetSource(Listed(items))
            assert source.labels is None
            assert source.take(np.arange(2)).tolist() == [[1.0, 2.0], [3.0, 4.0]]

    def test_images_in_lists_are_rows(self):
        items = [[[0.0, 1.0], [2.0, 3.0]]] * 3
        assert DatasetSource(Listed(items)).shape == (3, 2, 2)

    @pytest.mark.parametrize(
        ("item", "said"),
        [((np.zeros(3), 1, 2), "a tuple of 3"), ({"x": np.zeros(3)}, "a dict"), (1.0, "a float"), ("word", "a str")],
    )
    def test_others_are_refused(self, item, said):
        with pytest.raises(InvalidInputError, match=said):
            XSDC(2).fit(Listed([item] * 5))

    def test_prediction_reads_each_item_about_once(self, groups):
        X, y = groups
        model = XSDC(**OPTIONS).fit(X, y)
        data = Counted(list(zip(X, y, strict=True)))
        assert np.array_equal(model.predict(data), model.predict(X))
        assert data.reads < len(X) + 10

    def test_labels_that_a_stream_lists(self, groups):
        X, y = groups
        stream = Stream(list(X))
        stream.labels = y
        assert spool(stream).labels == y.tolist()

    @pytest.mark.parametrize(("first", "second"), [(int, float), (np.uint8, np.uint16)])
    def test_another_type_of_number_later(self, monkeypatch, first, second):
        monkeypatch.setattr(sources, "BLOCK", 2)
        rows = [np.ones(3, first), np.ones(3, first), np.full(3, 300, second)]
        with pytest.raises(InvalidInputError, match="one type of number"):
            spool(Stream(rows))

    def test_single_and_double_precision_go_together(self, monkeypatch):
        monkeypatch.setattr(sources, "BLOCK", 1)
        source = spool(Stream([np.ones(3), np.ones(3, np.float32)]))
        assert source.take(np.arange(2)).dtype == np.float64

    def test_an_empty_stream_has_no_predictions(self, groups):
        model = XSDC(**OPTIONS).fit(*groups)
        with pytest.raises(InvalidInputError, match="the stream is empty"):
            model.predict(Stream([]))

    def test_a_mask_of_prepared_rows(self, groups, tmp_path):
        X, y = groups
        options = {**OPTIONS, "evaluate_every": 1, "supervised_iter": 1}
        scores = []
        for held in (X, on_disk(X, tmp_path)):
            truth = np.where(np.arange(240) % 5 == 0, -1, blobs(240, 3, D=4, spread=2.0)[1].numpy())
            model = XSDC(validation=(held, truth), **options).fit(X, y)
            scores.append([step.get("score") for step in model.history_["steps"]])
        assert scores[0] == scores[1]
        assert max(scores[0]) > 0.9

    def test_images_with_a_gradient(self):
        images = torch.rand(12, 8, 8, generator=torch.Generator().manual_seed(0)).requires_grad_()
        assert len(XSDC(2, **OPTIONS).fit(images).labels_) == 12


class TestTheSameAsAnArray:
    def test_memory_map(self, groups, tmp_path):
        X, y = groups
        model = XSDC(**OPTIONS).fit(X, y)
        assert same(XSDC(**OPTIONS).fit(on_disk(X, tmp_path), y), model, X)
        assert np.array_equal(model.predict(on_disk(X, tmp_path)), model.predict(X))
        assert np.array_equal(model.transform(on_disk(X, tmp_path)), model.transform(X))

    def test_images_on_disk(self, tmp_path):
        rng = np.random.default_rng(0)
        y = np.arange(60) % 3
        X = (rng.integers(0, 60, (60, 8, 8)) + 60 * y[:, None, None]).astype(np.uint8)
        given = np.where(np.arange(60) < 12, y, -1)
        model = XSDC(**OPTIONS).fit(X, given)
        assert same(XSDC(**OPTIONS).fit(on_disk(X, tmp_path), given), model, X)

    @pytest.mark.parametrize("kind", [Listed, Stream])
    def test_dataset_of_rows(self, groups, kind):
        X, y = groups
        model = XSDC(**OPTIONS).fit(X, y)
        other = XSDC(**OPTIONS).fit(kind(list(torch.from_numpy(X))), y)
        assert same(other, model, X)
        assert np.array_equal(other.predict_proba(kind(list(X))), model.predict_proba(X))

    @pytest.mark.parametrize("kind", [Listed, Stream])
    def test_dataset_of_rows_with_labels(self, groups, kind):
        X, y = groups
        pairs = [(row, None if label < 0 else int(label)) for row, label in zip(X, y, strict=True)]
        assert same(XSDC(**OPTIONS).fit(kind(pairs)), XSDC(**OPTIONS).fit(X, y), X)

    def test_torch_own_dataset_and_given_labels_before_its_own(self, groups):
        X, y = groups
        wrong = TensorDataset(torch.from_numpy(X), torch.zeros(len(X), dtype=torch.int64))
        assert same(XSDC(**OPTIONS).fit(wrong, y), XSDC(**OPTIONS).fit(X, y), X)

    def test_features_that_are_not_kept(self, groups, monkeypatch):
        X, y = groups
        model = XSDC(**OPTIONS).fit(X, y)
        monkeypatch.setattr(features, "HELD", 0)
        monkeypatch.setattr(features, "SCALED_BY", len(X))
        lazy = XSDC(**OPTIONS).fit(X, y)
        assert np.array_equal(lazy.labels_, model.labels_)
        np.testing.assert_allclose(lazy.predict_proba(X), model.predict_proba(X), atol=1e-9)
        np.testing.assert_allclose(lazy.equivalence([0, 5, 9]), model.equivalence([0, 5, 9]), atol=1e-6)


class TestBounds:
    @pytest.mark.parametrize("joined", [120, 1000])  # more points than rows that may be asked for, and all of them
    def test_only_some_rows_are_asked_for_at_a_time(self, groups, monkeypatch, joined):
        X, y = groups
        most = []

        class Counting(Listed):
            def __getitems__(self, rows: list[int]) -> list:
                most.append(len(rows))
                return [self.items[i] for i in rows]

        monkeypatch.setattr(sources, "BLOCK", 16)
        monkeypatch.setattr(number, "MOST_SAMPLED", 80)
        monkeypatch.setattr(number, "LARGEST_SAMPLE", 80)
        monkeypatch.setattr(features, "HELD", 0)
        monkeypatch.setattr(features, "SCALED_BY", 20)
        monkeypatch.setattr(sources, "LOOKED_AT", 50)
        monkeypatch.setattr(train, "SAMPLE", 70)
        monkeypatch.setattr(stream, "KEPT", 90)
        for room in (features, labels, representation):
            monkeypatch.setattr(room, "BLOCK", 16)
        monkeypatch.setattr(representation, "MOST_FITTED", 70)
        monkeypatch.setattr(labels, "MOST_JOINED", joined)
        dataset = Counting(list(X))
        options = {"batch_size": 32, "labeled_batch_size": 8, "validation": None, **OPTIONS}
        model = XSDC(**options).fit(dataset, y)
        assert max(most) <= 100, most  # the points kept for parts to come
        most.clear()
        for k in (3, None):
            XSDC(k, **options).fit(dataset)
            assert max(most) <= 100, most  # those that a graph joins
        most.clear()
        assert model.predict(dataset).shape == (240,)
        assert max(most) == 16

    def test_a_stream_is_read_once_and_its_file_goes_away(self, groups):
        X, _ = groups
        source = spool(Stream(list(X)))
        folder = Path(source.array.filename).parent
        assert np.array_equal(source.take(np.array([5, 3, 5])), X[[5, 3, 5]])
        assert folder.exists()
        del source
        gc.collect()
        assert not folder.exists()

    def test_large_arrays_are_not_copied(self, monkeypatch):
        monkeypatch.setattr(sources, "LARGE", 10)
        assert isinstance(as_source(np.zeros((4, 3))), ArraySource)
        assert as_source(np.zeros((2, 3))) is None


class TestBadInput:
    def test_a_late_row_that_is_not_finite_is_named(self, groups, tmp_path, monkeypatch):
        X, y = groups
        X = X.copy()
        X[200, 1] = np.nan
        monkeypatch.setattr(sources, "LOOKED_AT", 7)
        steps = []
        with pytest.raises(InvalidInputError, match=r"row\(s\) 200"):
            XSDC(callbacks=[Steps(steps)], **OPTIONS).fit(on_disk(X, tmp_path), y)
        assert not steps  # before training

    def test_rows_of_another_shape(self, groups):
        X, _ = groups
        with pytest.raises(InvalidInputError, match="shape"):
            XSDC(**OPTIONS).fit(Listed([*X, np.zeros(7)]))
        with pytest.raises(InvalidInputError, match="shape"):
            XSDC(**OPTIONS).fit(Stream([*X, np.zeros(7)]))

    @pytest.mark.parametrize("kind", [Listed, Stream])
    def test_nothing(self, kind):
        with pytest.raises(InvalidInputError, match="empty"):
            XSDC(**OPTIONS).fit(kind([]))

    def test_words(self):
        with pytest.raises(InvalidInputError, match="numbers"):
            DatasetSource(Listed([np.array(["a", "b"])])).take(np.array([0]))

    def test_another_number_of_columns(self, groups, tmp_path):
        X, y = groups
        model = XSDC(**OPTIONS).fit(X, y)
        with pytest.raises(ValueError, match="features"):
            model.predict(on_disk(X[:, :2], tmp_path))

    def test_a_flat_array(self, tmp_path):
        with pytest.raises(InvalidInputError, match="vectors"):
            XSDC(**OPTIONS).fit(on_disk(np.zeros(5), tmp_path))


class TestManyPoints:
    """More points than a graph joins, or than starts are made with."""

    def test_classes_are_those_that_all_points_give(self, monkeypatch):
        X, y = blobs(1200, 4, D=6, spread=1.6)
        whole = XSDC(4, max_iter=0, random_state=0).fit(X)
        monkeypatch.setattr(labels, "MOST_JOINED", 500)
        monkeypatch.setattr(fit_groups, "MOST_STARTED", 200)
        some = XSDC(4, max_iter=0, random_state=0).fit(X)
        assert adjusted_rand_score(whole.labels_, some.labels_) > 0.98
        assert adjusted_rand_score(whole.labels_, y) > 0.95

    @pytest.mark.parametrize("named", [3, 2])  # with a label for each class, and without
    def test_facts_hold_for_points_that_no_graph_joins(self, monkeypatch, named):
        monkeypatch.setattr(labels, "MOST_JOINED", 120)
        monkeypatch.setattr(fit_groups, "MOST_STARTED", 80)
        X, _ = blobs(400, 3, D=5, spread=1.6)
        rng = np.random.default_rng(0)
        pairs = rng.permutation(400)[:60].reshape(30, 2)
        apart = rng.permutation(np.setdiff1d(np.arange(400), pairs.ravel()))[:60].reshape(30, 2)
        allowed = {int(i): [0, 1] for i in rng.permutation(400)[:50]}
        y = np.where(np.arange(400) < 30, np.arange(400) % named, -1)
        y[list(allowed)] = -1
        y[np.concatenate([pairs.ravel(), apart.ravel()])] = -1
        model = XSDC(3, max_iter=0, random_state=0)
        found = model.fit(X, y, must_link=pairs, cannot_link=apart, allowed_labels=allowed).labels_
        assert (found[pairs[:, 0]] == found[pairs[:, 1]]).all()
        assert (found[apart[:, 0]] != found[apart[:, 1]]).all()
        assert set(found[list(allowed)]) <= {0, 1}
        assert (found[y >= 0] == y[y >= 0]).all()
