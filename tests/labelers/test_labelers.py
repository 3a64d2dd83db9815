from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from tests.problems import blobs, gaussian, generator
from xsdc.core.balancing import balance
from xsdc.core.constraints import close
from xsdc.core.grouping import RidgeSmoother, find_groups
from xsdc.core.objective import decompose, ridge_classifier
from xsdc.core.problem import Fractions
from xsdc.core.sizes import ClassSizes
from xsdc.errors import InvalidInputError
from xsdc.labelers import (
    LABELERS,
    Balancing,
    BatchProblem,
    DeepClustering,
    Eigen,
    EigenKMeans,
    Graph,
    Hard,
    Labeler,
    PseudoLabels,
    WholeData,
    resolve_labeler,
)

SIZE = Fractions(0.2, 0.5)


def pose(
    X: torch.Tensor,
    *,
    k: int | None = 3,
    lam: float = 0.1,
    size: Fractions = SIZE,
    class_size: tuple[np.ndarray, np.ndarray] | None = None,
    **facts,
) -> BatchProblem:
    constraints = close(len(X), n_classes=k, **facts)
    bounds = tuple(np.full(1, float(x) * len(X)) for x in (size.minimum, size.maximum))
    return BatchProblem(
        spectrum=decompose(X),
        lam=lam,
        known=constraints.entries(),
        size=size,
        class_size=class_size or bounds,
        constraints=constraints,
        points=np.arange(len(X)),
        n_clusters=k,
        generator=generator(),
    )


def view(X: torch.Tensor, *, k: int | None = 3, iteration: int = 0, **facts) -> WholeData:
    sizes, constraints = ClassSizes(np.array([0.2]), np.array([0.5])), close(len(X), n_classes=k, **facts)

    def answer(first: bool) -> np.ndarray:
        assert k is not None
        S = RidgeSmoother(X, k)
        return np.eye(k)[find_groups(S, constraints, k, sizes=None, rng=np.random.RandomState(0))[0].codes]

    return WholeData(iteration, lambda: X, constraints, sizes, k, generator(), answer)


def labels_of(y: torch.Tensor, count: int) -> np.ndarray:
    return np.where(np.arange(len(y)) < count, y.numpy(), -1)


@pytest.mark.parametrize("name", list(LABELERS))
def test_every_labeler_keeps_what_is_known(name):
    X, y = blobs(60, 3, spread=1.0)
    wrong = labels_of((y + torch.arange(60) // 3) % 3, 12)  # against the features
    facts = {"labels": wrong, "must_link": [(20, 31)], "cannot_link": [(40, 43)]}
    labeler = resolve_labeler(name)
    labeler.look(view(X, **facts))
    M = labeler.label(pose(X, **facts))
    known = close(60, n_classes=3, **facts).entries()
    assert (M[known.ones[:, 0], known.ones[:, 1]] == 1).all()
    assert (M[known.zeros[:, 0], known.zeros[:, 1]] == 0).all()
    assert (M.diagonal() == 1).all()


@pytest.mark.parametrize("name", list(LABELERS))
@pytest.mark.parametrize("labeled", [0, 9])
def test_every_labeler_puts_groups_together(name, labeled):
    X, y = blobs(60, 3)
    facts = {"labels": labels_of(y, labeled)}
    labeler = resolve_labeler(name)
    labeler.look(view(X, **facts))
    M = labeler.label(pose(X, lam=0.01, **facts)).double()
    same = y[:, None] == y
    assert M[same].mean() > 5 * M[~same].abs().mean()


def test_balancing_is_algorithm_1_on_the_cost_of_the_batch():
    batch = pose(gaussian(40, 5), k=None, lam=0.05, size=Fractions(0.25, 0.25))
    found = Balancing(dtype=torch.float64).label(batch)
    torch.testing.assert_close(found, balance(batch.spectrum.cost(0.05).dense(), size=(10, 10)).M)


def test_balancing_passes_its_options_on():
    batch = pose(gaussian(40, 5), k=None, lam=0.05, size=Fractions(0.25, 0.25))
    plain = Balancing().label(batch)
    assert plain.max() > 1
    capped = Balancing(cap=1.0, symmetric=True).label(batch)
    assert capped.max() <= 1
    assert torch.equal(capped, capped.T)
    soft = Balancing(nu=1e3).label(batch)
    assert soft.std() < plain.std()
    early = Balancing(max_iter=1).label(batch)
    assert not torch.allclose(early, plain)


class TestEigen:
    def test_solves_the_relaxation(self):
        batch = pose(gaussian(30, 6), k=4)
        _, vectors = torch.linalg.eigh(batch.spectrum.cost(0.1).dense())
        weights = torch.tensor([30 - 9.0, 3.0, 3.0, 3.0], dtype=torch.float64)
        expected = (vectors[:, :4] * weights) @ vectors[:, :4].T
        found = Eigen(weight=0.1).label(batch).double()
        off = ~torch.eye(30, dtype=torch.bool)  # the diagonal is known to be one
        torch.testing.assert_close(found[off], expected[off], atol=1e-6, rtol=1e-5)

    def test_default_weight_gives_equal_groups_their_own_matrix(self):
        X, y = blobs(60, 3, spread=50.0)
        M = Eigen().label(pose(X))
        torch.testing.assert_close(M, (y[:, None] == y).float(), atol=0.05, rtol=0)

    def test_weight_must_leave_something_for_the_first(self):
        with pytest.raises(InvalidInputError, match="at most 1/3"):
            Eigen(weight=0.6).label(pose(gaussian(20, 4)))

    def test_kmeans_on_eigenvectors_gives_an_equivalence_matrix(self):
        X, y = blobs(60, 3)
        M = EigenKMeans().label(pose(X))
        assert set(M.unique().tolist()) == {0.0, 1.0}
        assert adjusted_rand_score(y, M.argmax(1)) == 1

    def test_eigengap_is_that_of_the_matrix(self):
        spectrum = decompose(gaussian(30, 6))
        values = torch.linalg.eigvalsh(spectrum.cost(0.1).dense())
        for k in (1, 2, 4, 6, 7):  # the seventh is the last that the features have a say in
            assert spectrum.eigengap(0.1, k) == pytest.approx(float(values[k] - values[k - 1]), rel=1e-6)
        assert spectrum.eigengap(0.1, 9) == spectrum.eigengap(0.1, 30) == 0


class TestPseudoLabels:
    def test_classifier_comes_from_the_labeled_part_of_the_batch(self):
        X, y = blobs(60, 3, spread=0.8)
        labels = labels_of(y, 12)
        M = PseudoLabels().label(pose(X, labels=labels))
        W, b = ridge_classifier(X[:12], torch.nn.functional.one_hot(y[:12]).double(), 0.1)
        codes = (X.double() @ W + b).argmax(1)
        codes[:12] = y[:12]
        assert torch.equal(M, (codes[:, None] == codes).float())

    def test_without_labels_it_comes_from_clusters_of_the_data(self):
        X, y = blobs(90, 3)
        labeler = PseudoLabels(every=10)
        labeler.look(view(X))
        part = torch.arange(0, 90, 2)
        M = labeler.label(pose(X[part]))
        assert torch.equal(M, (y[part][:, None] == y[part]).float())

    def test_the_clusters_keep_bounds_and_links(self, monkeypatch):
        X, _ = blobs(60, 2, spread=3.0)
        asked = {}

        def spy(A, **options):
            asked.update(options)
            return balance(A, **options)

        monkeypatch.setattr("xsdc.labelers.pseudo_labels.balance", spy)
        data = view(X, k=2, must_link=[(0, 1)], cannot_link=[(2, 3)])
        PseudoLabels().look(replace(data, sizes=ClassSizes(np.array([0.4]), np.array([0.6]))))
        assert (len(asked["known"].ones), len(asked["known"].zeros)) == (1, 1)
        assert (float(asked["size"].minimum.min()), float(asked["size"].maximum.max())) == (0.4, 0.6)

    def test_clusters_are_made_anew_every_so_often(self):
        X, _ = blobs(60, 3)
        labeler = PseudoLabels(every=10)
        labeler.look(view(X))
        first = labeler.state_dict()["classifier"]
        labeler.look(view(X, iteration=7))
        assert labeler.state_dict()["classifier"] is first
        labeler.look(view(X + 1, iteration=10))
        assert labeler.state_dict()["classifier"] is not first

    def test_allowed_labels_hold(self):
        X, y = blobs(60, 3)
        allowed = {i: [1, 2] for i in range(30, 60)}
        M = PseudoLabels().label(pose(X, labels=labels_of(y, 12), allowed=allowed))
        with_first_class = M[30:, :12][:, y[:12] == 0]
        assert (with_first_class == 0).all()


class TestDeepClustering:
    def test_clusters_of_the_whole_data_rule_each_batch(self):
        X, y = blobs(90, 3)
        labeler = DeepClustering()
        labeler.look(view(X))
        batch = replace(pose(X[:30]), points=np.arange(60, 90))
        M = labeler.label(batch)
        assert torch.equal(M, (y[60:, None] == y[60:]).float())

    def test_points_are_drawn_uniformly_over_clusters(self):
        X, y = blobs(300, 3)
        keep = (y == 0) | (torch.arange(300) < 30)
        labeler = DeepClustering()
        assert labeler.draw_weights() is None
        labeler.look(view(X[keep]))
        weights = labeler.draw_weights()
        totals = [float(weights[y[keep] == c].sum()) for c in range(3)]
        assert totals == pytest.approx([1, 1, 1])

    def test_more_clusters_than_classes(self):
        X, _ = blobs(60, 3)
        labeler = DeepClustering(n_groups=9)
        labeler.look(view(X))
        assert len(labeler.state_dict()["codes"].unique()) == 9

    def test_clusters_are_made_anew_every_so_often_and_kept_in_the_state(self):
        X, _ = blobs(60, 3)
        labeler, other = DeepClustering(every=5), DeepClustering(every=5)
        labeler.look(view(X))
        other.load_state_dict(labeler.state_dict())
        shuffled = X[torch.randperm(60, generator=generator())]
        for each in (labeler, other):
            each.look(view(shuffled, iteration=3))
        assert torch.equal(labeler.state_dict()["codes"], other.state_dict()["codes"])
        other.look(view(shuffled, iteration=5))
        assert not torch.equal(labeler.state_dict()["codes"], other.state_dict()["codes"])

    def test_directions_of_whitened_components_count(self):
        angles = torch.arange(3).repeat(20) * 2 * torch.pi / 3
        radii = torch.tensor([0.1, 0.3, 1.0, 3.0]).repeat_interleave(3).repeat(5)  # the same on each ray
        rays = radii[:, None] * torch.stack([angles.cos(), angles.sin()], 1)
        stretched = rays * torch.tensor([1.0, 0.25])
        labeler = DeepClustering()
        for Phi in (rays, stretched):
            labeler.look(view(Phi))
            assert torch.equal(labeler.label(pose(Phi)), (angles[:, None] == angles).float())

    def test_must_look_before_it_labels(self):
        with pytest.raises(InvalidInputError, match="must look"):
            DeepClustering().label(pose(gaussian(20, 4)))


class TestGraph:
    def asked(self, shares: np.ndarray, **options) -> tuple[WholeData, list]:
        """A view with an answer, and whether it was asked about the inputs alone."""
        calls: list[bool] = []

        def answer(first):
            calls.append(first)
            return shares

        return replace(view(gaussian(len(shares), 4), **options), answer=answer), calls

    def test_matrix_is_the_product_of_the_shares(self):
        shares = np.random.default_rng(0).dirichlet(np.ones(3), size=40)
        labeler = Graph()
        labeler.look(self.asked(shares)[0])
        M = labeler.label(replace(pose(gaussian(10, 4), must_link=[(0, 1)]), points=np.arange(20, 30)))
        expected = shares[20:30] @ shares[20:30].T
        np.fill_diagonal(expected, 1)
        expected[[0, 1], [1, 0]] = 1
        np.testing.assert_allclose(M, expected, atol=1e-6)

    @pytest.mark.parametrize(("every", "asked"), [(None, [True]), (5, [True, False, False])])
    def test_answer_is_renewed_every_so_often_from_the_features_too(self, every, asked):
        shares = np.random.default_rng(0).dirichlet(np.ones(3), size=40)
        data, calls = self.asked(shares)
        labeler = Graph(every=every)
        for iteration in range(12):
            labeler.look(replace(data, iteration=iteration))
        assert calls == asked

    def test_state_goes_on(self):
        shares = np.random.default_rng(0).dirichlet(np.ones(3), size=40)
        data, calls = self.asked(shares)
        one, other = Graph(every=5), Graph(every=5)
        one.look(data)
        other.load_state_dict(one.state_dict())
        other.look(replace(data, iteration=3))
        assert len(calls) == 1
        batch = pose(gaussian(40, 4))
        assert torch.equal(one.label(batch), other.label(batch))

    def test_needs_an_answer_and_a_look(self):
        with pytest.raises(InvalidInputError, match="must look"):
            Graph().label(pose(gaussian(20, 4)))
        with pytest.raises(InvalidInputError, match="Give the Trainer one as answer"):
            Graph().look(replace(view(gaussian(20, 4)), answer=None))


@pytest.mark.parametrize("make", [DeepClustering, Graph, PseudoLabels])
def test_options_that_make_no_sense_are_refused(make):
    with pytest.raises(InvalidInputError, match="every must be"):
        make(every=0)


class TestHard:
    def test_is_a_feasible_equivalence_matrix_no_worse_than_rounding(self):
        X, _ = blobs(60, 3, spread=0.7)
        batch = pose(X, size=Fractions(0.25, 0.4), must_link=[(0, 1)], cannot_link=[(2, 5)])
        M = Hard().label(batch)
        assert set(M.unique().tolist()) == {0.0, 1.0}
        assert torch.equal(M @ M > 0, M > 0)  # transitive
        assert M.sum(1).min() >= 15
        assert M.sum(1).max() <= 24
        A = batch.spectrum.cost(0.1).dense()
        rounded = Hard(max_steps=0).label(batch)
        assert (M.double() * A).sum() < (rounded.double() * A).sum()

    def test_each_class_has_bounds_of_its_own(self):
        X, _ = blobs(60, 2, spread=3.0)
        bounds = (np.array([6.0, 54.0]), np.array([6.0, 54.0]))
        M = Hard().label(pose(X, k=2, size=Fractions(0.1, 0.9), class_size=bounds))
        assert sorted(M.sum(1).unique().tolist()) == [6, 54]

    def test_fewer_points_than_classes(self):
        batch = pose(gaussian(4, 6), k=10, size=Fractions(0.0, 0.5), labels=np.array([9, -1, 9, 2]))
        M = Hard().label(batch)
        together = torch.eye(4)
        together[0, 2] = together[2, 0] = 1
        assert torch.equal(M, together)

    def test_finds_the_best_groups_of_few_points(self):
        X = gaussian(8, 3, seed=3)
        batch = pose(X, k=2, size=Fractions(0.5, 0.5))
        A = batch.spectrum.cost(0.1).dense()
        found = float((Hard().label(batch).double() * A).sum())
        every = [torch.tensor([code >> i & 1 for i in range(8)]) for code in range(256)]
        best = min(float(((z[:, None] == z).double() * A).sum()) for z in every if int(z.sum()) == 4)
        assert found == pytest.approx(best)


@pytest.mark.parametrize("name", ["pseudo-labels", "deep-clustering", "eigen", "eigen-kmeans", "hard", "graph"])
def test_an_open_number_is_refused_where_it_is_needed(name):
    X = gaussian(20, 4)
    labeler, batch, data = resolve_labeler(name), pose(X, k=None), view(X, k=None)

    def use() -> None:
        labeler.look(data)
        labeler.label(batch)

    with pytest.raises(InvalidInputError, match=f"labeler='{name}' needs the number"):
        use()


def test_names_and_objects_resolve():
    own = Balancing(cap=1.0)
    assert resolve_labeler(own) is own
    assert isinstance(resolve_labeler("balancing"), Labeler)
    with pytest.raises(InvalidInputError, match="one of balancing"):
        resolve_labeler("guessing")
    with pytest.raises(InvalidInputError, match="derived from Labeler"):
        resolve_labeler(3)  # type: ignore[arg-type]
