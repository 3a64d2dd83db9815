from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

from tests.problems import blobs
from xsdc import XSDC
from xsdc.core.agreement import agreement
from xsdc.errors import ContradictionError, InvalidInputError
from xsdc.fitting.stream import Kept, keep_some, read_chunk
from xsdc.networks import LayerConfig, NetworkConfig

FAST = {"max_iter": 2, "random_state": 0}


def chunk(n: int = 60, *, y: object = None, seed: int = 0, **facts: object) -> Kept:
    known = {"must_link": None, "cannot_link": None, "allowed_labels": None, "classes": None, **facts}
    return read_chunk(np.arange(n, dtype=float)[:, None], y, rng=np.random.RandomState(seed), **known)


def parts(n: int, k: int, count: int, *, spread: float = 3.0) -> list[tuple[np.ndarray, np.ndarray]]:
    X, y = blobs(n, k, spread=spread)
    order = np.random.default_rng(0).permutation(n)
    return [(X.numpy()[i], y.numpy()[i]) for i in np.array_split(order, count)]


class TestKept:
    def test_never_more_than_asked_for(self):
        kept = chunk(50)
        for seed in range(20):
            kept = kept.joined(chunk(50, seed=seed)).thinned(100)
        assert len(kept) == 100
        assert kept.seen == 21 * 50

    def test_an_even_sample_of_all_that_came(self):
        kept = chunk(100, seed=1000)
        firsts = []
        for repeat in range(60):
            kept = chunk(100, seed=1000 + repeat)
            for part in range(1, 10):
                later = chunk(100, seed=repeat * 10 + part)
                kept = kept.joined(Kept(later.X + 100 * part, later.y, later.keys, seen=100)).thinned(100)
            firsts.append((kept.X[:, 0] < 100).sum())
        assert np.mean(firsts) == pytest.approx(10, abs=1.5)

    def test_labeled_points_of_every_class_stay(self):
        y = [None] * 990 + ["rare", *["common"] * 9]
        kept = chunk(1000, y=y)
        for seed in range(30):
            kept = kept.joined(chunk(1000, seed=seed, y=[*[None] * 500, *["common"] * 500])).thinned(100)
        assert list(kept.y).count("rare") == 1
        assert list(kept.y).count("common") == 49
        assert list(kept.y).count(None) == 50
        assert kept.names == ("rare", "common")

    def test_labels_take_the_room_that_others_leave(self):
        kept = chunk(200, y=[*[None] * 20, *["a"] * 180]).thinned(100)
        assert list(kept.y).count(None) == 20

    def test_facts_among_those_kept_move_with_them(self):
        y = np.where(np.arange(200) < 4, np.arange(200), -1)  # kept for sure, each the only one of its class
        facts = {"must_link": [[5, 6], [100, 150]], "cannot_link": [[0, 1], [7, 9]], "allowed_labels": {2: [2, 3]}}
        kept = chunk(50).joined(chunk(200, y=y, **facts)).thinned(100)
        place = {float(x): i for i, x in enumerate(kept.X[:, 0]) if kept.y[i] is not None}
        assert [place[0.0], place[1.0]] in kept.links["cannot_link"].tolist()
        assert kept.allowed[place[2.0]] == [2, 3]
        for name in ("must_link", "cannot_link"):
            assert (kept.links[name] < len(kept)).all()

    def test_through_a_file(self):
        kept = chunk(30, y=["a", None] * 15, must_link=[[0, 2]], allowed_labels={1: ["a", "b"]}, classes=["z"])
        again = Kept.restored(kept.arrays(), kept.plain())
        assert np.array_equal(again.X, kept.X)
        assert list(again.y) == list(kept.y)
        assert again.plain() == kept.plain()
        assert again.links["must_link"].tolist() == [[0, 2]]

    def test_images_of_another_scale(self):
        whole = Kept(np.zeros((5, 4, 4), dtype=np.uint8), np.full(5, None), np.zeros(5))
        with pytest.raises(InvalidInputError, match="scaled"):
            whole.joined(Kept(np.zeros((5, 4, 4)), np.full(5, None), np.zeros(5)))

    def test_a_fit_keeps_few_bytes(self):
        X = np.zeros((300, 1 << 17))
        kept = keep_some(
            X, None, {"must_link": None, "cannot_link": None, "allowed_labels": None}, rng=np.random.RandomState(0)
        )
        assert len(kept) == 100
        assert kept.seen == 300


class TestPartialFit:
    def test_ends_near_a_fit_to_everything(self):
        model = XSDC(random_state=0, max_iter=10)
        everything = parts(600, 3, 6)
        for X, y in everything:
            model.partial_fit(X, np.where(np.arange(len(y)) < 6, y, -1))
            assert model.labels_.shape == (len(X),)
        X, y = (np.concatenate(both) for both in zip(*everything, strict=True))
        assert model.score(X, y) > 0.97

    def test_classes_appear(self):
        model = XSDC(**FAST)
        (X1, y1), (X2, y2) = parts(300, 4, 2)
        early, late = y1 < 2, y2 >= 2
        model.partial_fit(X1[early], y1[early])
        assert list(model.classes_) == [0, 1]
        model.partial_fit(X2[late], np.where(np.arange(late.sum()) < 20, y2[late], -1))
        assert list(model.classes_) == [0, 1, 2, 3]
        assert any("first time" in choice["why"] for choice in model.history_["choices"])
        assert model.score(X1, y1) > 0.9  # the first two are not forgotten

    def test_positions_of_points_long_gone_are_not_told(self):
        model = XSDC(**FAST)
        for X, y in parts(300, 3, 2):
            model.partial_fit(X, y)
        assert model.checked_ is None

    def test_announced_classes(self):
        X, y = parts(200, 2, 1)[0]
        model = XSDC(**FAST).partial_fit(X, y, classes=[0, 1, 7])
        assert list(model.classes_) == [0, 1, 7]

    def test_clusters_keep_their_names(self):
        model = XSDC(3, **FAST)
        X, _ = parts(90, 3, 1)[0]
        model.partial_fit(X)
        before = model.predict(X)
        for part, _ in parts(900, 3, 6):
            model.partial_fit(part)
            assert (model.predict(X) == before).mean() > 0.95
            assert (model.predict(part) == model.labels_).mean() > 0.95

    def test_the_network_is_made_anew_when_the_stream_has_doubled(self):
        model, anew = XSDC(3, **FAST), []
        for X, _ in parts(800, 3, 8):
            model.partial_fit(X)
            anew.append(any(choice["option"] == "network made anew" for choice in model.history_["choices"]))
        assert anew == [True, True, False, True, False, False, False, True]

    def test_a_network_of_the_user_is_only_trained_on(self):
        torch_net = nn.Sequential(nn.Linear(5, 8), nn.Tanh())
        model = XSDC(3, network=torch_net, **FAST)
        first, second = parts(200, 3, 2)
        model.partial_fit(first[0])
        steps = model.n_iter_
        model.partial_fit(second[0], np.where(second[1] == 0, 0, -1))
        assert not any(choice["option"] == "network made anew" for choice in model.history_["choices"])
        assert model.n_iter_ == steps + 1  # a tenth of the two steps asked for, rounded up

    def test_same_seed_same_end(self):
        ends = []
        for _ in range(2):
            model = XSDC(3, **FAST)
            for X, _ in parts(240, 3, 3):
                model.partial_fit(X, keep=100)
            ends.append(model.predict_proba(X))
        assert np.array_equal(*ends)

    def test_goes_on_after_saving_and_pickling(self, tmp_path):
        first, second = parts(200, 3, 2)
        model = XSDC(3, **FAST).partial_fit(first[0], np.where(first[1] == 0, 0, -1))
        model.save(tmp_path / "model.xsdc")
        ends = []
        for other in (XSDC.load(tmp_path / "model.xsdc"), pickle.loads(pickle.dumps(model))):  # noqa: S301
            other.partial_fit(second[0])
            found = other.predict(second[0])
            assert ((found == 0) == (second[1] == 0)).mean() > 0.9  # the class that a label names
            assert agreement(second[1], found).accuracy > 0.9  # the others have numbers by chance
            assert (found == model.predict(second[0])).mean() > 0.9  # which they keep
            ends.append(found)
        assert np.array_equal(*ends)

    def test_a_saved_stream_goes_on_as_one_that_was_not(self, tmp_path):
        first, second, third = parts(300, 3, 3)
        model = XSDC(3, **FAST)
        for X, y in (first, second):
            model.partial_fit(X, np.where(y == 0, 0, -1), keep=150)
        model.save(tmp_path / "model.xsdc")
        loaded = XSDC.load(tmp_path / "model.xsdc")
        for each in (model, loaded):
            each.partial_fit(third[0])
            assert not any(choice["option"] == "network made anew" for choice in each.history_["choices"])
        assert np.array_equal(model.predict_proba(third[0]), loaded.predict_proba(third[0]))
        assert model.history_["choices"] == loaded.history_["choices"]

    def test_a_part_without_labels_after_one_with_all(self):
        X, y = parts(500, 3, 1)[0]
        model = XSDC(**FAST).partial_fit(X[:300], y[:300])
        model.partial_fit(X[300:400])
        model.partial_fit(X[400:])
        assert "classifier" in [choice["option"] for choice in model.history_["choices"]]  # labels kept still count
        assert (model.labels_ == y[400:]).mean() > 0.95

    def test_labels_of_a_dataset(self):
        X, y = parts(120, 3, 1)[0]
        data = TensorDataset(torch.from_numpy(X), torch.from_numpy(y) + 5)
        assert list(XSDC(**FAST).partial_fit(data).classes_) == [5, 6, 7]

    def test_data_frames(self):
        model = XSDC(**FAST)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for X, y in parts(200, 3, 2):
                model.partial_fit(pd.DataFrame(X, columns=list("abcde")), y)

    def test_no_images(self):
        model = XSDC(2, **FAST).partial_fit(np.random.default_rng(0).random((30, 8, 8)))
        with pytest.raises(InvalidInputError, match="at least 1 image"):
            model.partial_fit(np.empty((0, 8, 8)))

    @pytest.mark.parametrize("allowed", [{0: "four"}, {-1: [0, 1]}, {60: [0]}, {1.5: [0]}, {True: [0]}])
    def test_allowed_labels_are_checked(self, allowed):
        X, _ = parts(60, 3, 1)[0]
        model = XSDC(2, **FAST).partial_fit(X)
        with pytest.raises(InvalidInputError, match="allowed_labels"):
            model.partial_fit(X, allowed_labels=allowed)

    def test_options_that_a_file_can_and_cannot_hold(self, tmp_path):
        X, y = parts(90, 3, 1)[0]
        network = NetworkConfig((LayerConfig(6, kernel="rbf"),), input="vectors")
        sizes = {np.int64(0): (0.1, 0.6), np.int64(1): (0.1, 0.6), np.int64(2): (0.1, 0.6)}
        model = XSDC(network=network, cluster_size=sizes, validation=(X, y), **FAST).partial_fit(X, y)
        model.save(tmp_path / "model.xsdc")
        assert not list(tmp_path.glob("*.partial"))
        loaded = XSDC.load(tmp_path / "model.xsdc")
        assert loaded.cluster_size == {int(c): list(bounds) for c, bounds in sizes.items()}
        with pytest.warns(UserWarning, match="could not hold validation; to go on as before"):
            loaded.partial_fit(np.concatenate([X, X]), np.concatenate([y, y]))
        assert loaded.network_.n_features == 6  # made anew, as before
        again = XSDC.load(tmp_path / "model.xsdc").set_params(validation=(X, y))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again.partial_fit(X, y)

    def test_after_fit_its_points_still_count(self, tmp_path):
        first, second = parts(300, 3, 2)
        model = XSDC(**FAST).fit(*first)
        model.save(tmp_path / "model.xsdc")
        model.partial_fit(second[0])
        assert model.score(*second) > 0.95
        with pytest.raises(InvalidInputError, match="file holds none"):
            XSDC.load(tmp_path / "model.xsdc").partial_fit(second[0])

    def test_facts_of_a_part(self):
        X, y = parts(150, 3, 1)[0]
        same, other = np.flatnonzero(y == 0)[:2], np.flatnonzero(y == 1)[0]
        model = XSDC(3, **FAST)
        model.partial_fit(X, must_link=[same], cannot_link=[[same[0], other]])
        assert model.labels_[same[0]] == model.labels_[same[1]] != model.labels_[other]
        with pytest.raises(ContradictionError):
            model.partial_fit(X, must_link=[same], cannot_link=[same])

    def test_bad_input(self):
        X, y = parts(60, 3, 1)[0]
        model = XSDC(**FAST).partial_fit(X, y)
        with pytest.raises(ValueError, match="features"):
            model.partial_fit(X[:, :2])
        with pytest.raises(InvalidInputError, match="one label per point"):
            model.partial_fit(X, y[:5])
        with pytest.raises(InvalidInputError, match="keep"):
            model.partial_fit(X, keep=5)
        with pytest.raises(InvalidInputError, match="nor a stream"):
            model.relabel(4)
        assert model.score(X, y) > 0.9  # and it still works
