from __future__ import annotations

import numpy as np
import pytest
import torch

from xsdc import XSDC
from xsdc.errors import InvalidInputError
from xsdc.labelers import DeepClustering, Hard
from xsdc.training import Callback

X = np.random.default_rng(0).normal(size=(60, 4)) + np.repeat(np.eye(3, 4) * 5, 20, axis=0)
Y = np.where(np.arange(60) % 5 == 0, np.repeat([0, 1, 2], 20), -1)
OPTIONS = {"max_iter": 25, "supervised_iter": 10, "random_state": 0, "progress": False}


class Killed(BaseException):
    pass


class Kill(Callback):
    def __init__(self, at: int) -> None:
        self.at, self.seen = at, []

    def on_step(self, trainer, record):
        self.seen.append(record["iteration"])
        if record["iteration"] == self.at:
            raise Killed


def parameters(model: XSDC) -> torch.Tensor:
    return torch.cat([p.flatten() for p in model.network_.state_dict().values()])


def interrupted(folder, at: int, **options) -> None:
    with pytest.raises(Killed):
        XSDC(**OPTIONS, callbacks=[Kill(at)], **options).fit(X, Y, checkpoints=folder)


@pytest.mark.parametrize("labeler", ["balancing", "pseudo-labels", "deep-clustering", "eigen-kmeans", "graph"])
@pytest.mark.parametrize("at", [3, 10, 17, 35])
def test_resumed_fit_ends_as_the_uninterrupted_one(tmp_path, at, labeler):
    whole = XSDC(**OPTIONS, labeler=labeler).fit(X, Y)
    interrupted(tmp_path, at, labeler=labeler)
    watch = Kill(-1)
    model = XSDC(**OPTIONS, labeler=labeler, callbacks=[watch]).fit(X, Y, checkpoints=tmp_path, resume=True)
    assert torch.equal(parameters(model), parameters(whole))
    assert model.history_ == whole.history_
    assert np.array_equal(model.labels_, whole.labels_)
    assert np.array_equal(model.predict_proba(X), whole.predict_proba(X))
    first = 36 if at == 35 else (at - 1) // 10 * 10 + 1  # killed before the state of its own step was written
    assert watch.seen == list(range(first, 36))


def test_unlabeled_fit_and_its_labeler_resume(tmp_path):
    for labeler in ("pseudo-labels", "deep-clustering", "graph"):
        options = OPTIONS | {"supervised_iter": 0, "n_clusters": 3, "labeler": labeler}
        whole = XSDC(**options).fit(X)
        with pytest.raises(Killed):
            XSDC(**options, callbacks=[Kill(14)]).fit(X, checkpoints=tmp_path / labeler)
        model = XSDC(**options).fit(X, checkpoints=tmp_path / labeler, resume=True)
        assert torch.equal(parameters(model), parameters(whole))


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_damaged_state_is_noticed_and_the_one_before_it_used(tmp_path, damage):
    whole = XSDC(**OPTIONS).fit(X, Y)
    interrupted(tmp_path, 28)
    last = max(tmp_path.glob("*.state"))
    assert last.name == "step-000000020.state"
    content = bytearray(last.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
    last.write_bytes({"cut": content[: len(content) // 2], "flip": content, "empty": b""}[damage])
    watch = Kill(-1)
    with pytest.warns(UserWarning, match="damaged"):
        model = XSDC(**OPTIONS, callbacks=[watch]).fit(X, Y, checkpoints=tmp_path, resume=True)
    assert watch.seen[0] == 11
    assert torch.equal(parameters(model), parameters(whole))


def test_a_state_that_could_not_be_read_again_is_told_at_once(tmp_path):
    class Counting(Hard):
        def state_dict(self):
            return {"steps": np.random.default_rng(0)}

    with pytest.raises(InvalidInputError, match="tensors and plain data"):
        XSDC(**OPTIONS, labeler=Counting()).fit(X, Y, checkpoints=tmp_path)


@pytest.mark.parametrize("change", ["data", "labels", "seed", "options", "ridge", "links"])
def test_state_of_another_fit_is_refused(tmp_path, change):
    interrupted(tmp_path, 12)
    data, y, options, links = X.copy(), Y.copy(), dict(OPTIONS), None
    if change == "data":
        data[3, 1] += 1e-9
    elif change == "labels":
        y[0] = -1
    elif change == "links":
        links = [(1, 2)]
    else:
        options |= {"seed": {"random_state": 1}, "options": {"max_iter": 26}, "ridge": {"ridge": 0.01}}[change]
    with pytest.raises(InvalidInputError, match="another run"):
        XSDC(**options).fit(data, y, must_link=links, checkpoints=tmp_path, resume=True)


def test_state_of_a_fit_with_other_data_in_its_options_is_refused(tmp_path):
    options = {"validation": (X[::2], Y[::2]), "labeler": DeepClustering(every=7)}
    interrupted(tmp_path, 12, **options)
    options |= OPTIONS
    for other in ({"validation": (X[1::2], Y[1::2])}, {"labeler": DeepClustering(every=8)}, {"labeler": Hard()}):
        with pytest.raises(InvalidInputError, match="another run"):
            XSDC(**(options | other)).fit(X, Y, checkpoints=tmp_path, resume=True)
    XSDC(**options).fit(X, Y, checkpoints=tmp_path, resume=True)


def test_a_new_fit_clears_the_folder_and_the_last_few_are_kept(tmp_path):
    interrupted(tmp_path, 33)
    (tmp_path / "step-000000040.partial").write_bytes(b"cut off")
    assert len(list(tmp_path.glob("*.state"))) == 2
    interrupted(tmp_path, 5)
    assert not list(tmp_path.iterdir())


def test_resume_without_states_begins_at_the_beginning(tmp_path):
    whole = XSDC(**OPTIONS).fit(X, Y)
    model = XSDC(**OPTIONS).fit(X, Y, checkpoints=tmp_path / "new", resume=True)
    assert torch.equal(parameters(model), parameters(whole))


def test_resume_without_a_folder_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="checkpoints"):
        XSDC(**OPTIONS).fit(X, Y, resume=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="cannot be kept"):
        XSDC(**OPTIONS).fit(X, Y, checkpoints=tmp_path / "file")
