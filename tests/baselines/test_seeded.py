from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from tests.baselines.cases import NAMES, few, groups
from xsdc.baselines import SeededKMeans
from xsdc.baselines.rbf import RBF, choose_bandwidth
from xsdc.errors import InvalidInputError, NotConvergedWarning


def slow_kernel_kmeans(K: np.ndarray, labels: np.ndarray, given: np.ndarray) -> tuple[np.ndarray, float]:
    """k-means from the matrix of all products, word for word: points, one after the other, to the nearest mean."""
    k = labels.max() + 1
    while True:
        D = np.empty((len(K), k))
        for c in range(k):
            of_c = np.flatnonzero(labels == c)
            for i in range(len(K)):
                D[i, c] = K[i, i] - 2 * K[i, of_c].mean() + K[np.ix_(of_c, of_c)].mean()
        moved = np.where(given >= 0, given, D.argmin(1))
        if (moved == labels).all():
            return labels, D[np.arange(len(K)), labels].sum()
        labels = moved


def products(X: np.ndarray, similarity: str, bandwidth: float | None = None) -> np.ndarray:
    """The paper's similarities between all pairs."""
    if similarity == "linear":
        return X @ X.T
    if similarity == "rbf":
        return rbf_kernel(X, gamma=1 / (2 * bandwidth**2))
    S = (X - X.mean(0)) / X.std(0, ddof=1)
    C = S.T @ S / (len(X) - 1)
    lam = np.linalg.eigvalsh(C).max() / np.trace(C)
    return S @ np.linalg.inv(C + lam * np.eye(len(C))) @ S.T


@pytest.fixture(scope="module")
def iris() -> tuple[np.ndarray, np.ndarray]:
    return load_iris(return_X_y=True)


class TestAgainstTheObviousVersion:
    @pytest.mark.parametrize("similarity", ["linear", "inverse-correlation", "rbf"])
    @pytest.mark.parametrize("per_class", [1, 5])
    def test_labeled(self, iris, similarity, per_class):
        X, y = iris
        given = few(y, per_class)
        model = SeededKMeans(similarity=similarity, block_size=40).fit(X, given)
        K = products(X, similarity, getattr(model, "bandwidth_", None))
        means = [np.flatnonzero(given == c) for c in range(3)]
        D = np.stack([np.diag(K) - 2 * K[:, of_c].mean(1) + K[np.ix_(of_c, of_c)].mean() for of_c in means], 1)
        labels, inertia = slow_kernel_kmeans(K, np.where(given >= 0, given, D.argmin(1)), given)
        assert (model.labels_ == labels).all()
        assert model.inertia_ == pytest.approx(inertia, rel=1e-9)

    @pytest.mark.parametrize("similarity", ["linear", "inverse-correlation", "rbf"])
    def test_predictions_are_the_nearest_means(self, iris, similarity):
        X, y = iris
        model = SeededKMeans(similarity=similarity, block_size=40).fit(X, few(y, 5))
        free = few(y, 5) < 0
        assert model.n_iter_ < 300
        assert (model.predict(X)[free] == model.labels_[free]).all()  # converged: each is at its nearest mean
        new = X[::7] + 0.1
        both = np.concatenate([X, new])
        if similarity == "inverse-correlation":  # coordinates are those of the data that was fitted
            both = (both - X.mean(0)) / X.std(0, ddof=1)
            C = np.corrcoef(X.T)
            lam = np.linalg.eigvalsh(C).max() / 4
            both = both @ np.linalg.inv(np.real(sqrtm(C + lam * np.eye(4))))
        kind = "rbf" if similarity == "rbf" else "linear"
        K = products(both, kind, getattr(model, "bandwidth_", None))
        old = np.arange(len(X))
        D = np.empty((len(new), 3))
        for c in range(3):
            of_c = old[model.labels_ == c]
            D[:, c] = np.diag(K)[150:] - 2 * K[150:, of_c].mean(1) + K[np.ix_(of_c, of_c)].mean()
        assert (model.predict(new) == D.argmin(1)).all()
        assert len(set(D.argmin(1))) == 3

    def test_bandwidth_is_the_papers(self, iris):
        X = iris[0][::2][:75]  # 2775 pairs: an odd number has one middle
        expected = np.sqrt(2 * np.median(pdist(X, "sqeuclidean")))
        model = SeededKMeans(2, similarity="rbf", random_state=0).fit(X)
        assert model.bandwidth_ == pytest.approx(expected, rel=1e-12)
        assert SeededKMeans(2, similarity="rbf", bandwidth=0.5).fit(X).bandwidth_ == 0.5

    def test_bandwidth_of_many_points_comes_near_that_of_all(self):
        X = load_digits().data
        every = choose_bandwidth(X, np.random.RandomState(0))
        some = choose_bandwidth(X, np.random.RandomState(0), most=500)
        assert some != every
        assert some == pytest.approx(every, rel=0.02)

    def test_inverse_correlation_does_not_depend_on_units(self, iris):
        X, y = iris
        units = np.array([1.0, 1e-3, 1e4, 7.0])
        one, other = (SeededKMeans(similarity="inverse-correlation").fit(Z, few(y, 3)) for Z in (X, X * units + units))
        assert (one.labels_ == other.labels_).all()
        assert one.inertia_ == pytest.approx(other.inertia_, rel=1e-8)
        np.testing.assert_allclose(other.cluster_centers_, one.cluster_centers_ * units + units)

    def test_more_columns_than_points(self):
        X = np.random.RandomState(0).normal(size=(20, 50))
        given = np.where(np.arange(20) < 6, np.arange(20) % 2, -1)
        model = SeededKMeans(similarity="inverse-correlation").fit(X, given)
        K = products(X, "inverse-correlation")
        assert model.inertia_ == pytest.approx(slow_kernel_kmeans(K, model.labels_, given)[1], rel=1e-8)


class TestAgainstScikitLearn:
    @pytest.mark.parametrize("seed", range(5))
    def test_same_start_same_end(self, seed):
        X = load_digits().data
        init = X[np.random.RandomState(seed).choice(len(X), 10, replace=False)]
        ours = SeededKMeans(10, init=init).fit(X)
        theirs = KMeans(10, init=init, n_init=1, tol=0).fit(X)
        assert (ours.labels_ == theirs.labels_).all()
        assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-10)
        np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-8)
        assert (ours.predict(X + 0.3) == theirs.predict(X + 0.3)).all()

    @pytest.mark.parametrize("seed", range(3))
    def test_as_good_from_its_own_starts(self, seed):
        X = StandardScaler().fit_transform(load_iris().data)
        ours = SeededKMeans(3, random_state=seed).fit(X)
        theirs = KMeans(3, n_init=10, random_state=seed).fit(X)
        assert ours.inertia_ <= theirs.inertia_ * (1 + 1e-3)

    def test_empty_clusters_get_the_farthest_points(self):
        X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])
        init = np.array([[0.0], [1e6], [2e6]])  # two that no point is near
        ours, theirs = SeededKMeans(3, init=init).fit(X), KMeans(3, init=init, n_init=1, tol=0).fit(X)
        assert len(set(ours.labels_)) == 3
        assert ours.inertia_ == pytest.approx(theirs.inertia_)

    def test_tight_groups_far_apart_keep_their_digits(self):
        rng = np.random.RandomState(0)
        X = np.repeat([[0.0, 0.0], [1e6, 1e6]], 50, axis=0) + 1e-3 * rng.normal(size=(100, 2))
        exact = sum(((X[part] - X[part].mean(0)) ** 2).sum() for part in (slice(0, 50), slice(50, 100)))
        assert SeededKMeans(2, random_state=0).fit(X).inertia_ == pytest.approx(exact, rel=1e-6)


class TestSeeds:
    def test_labels_decide_where_the_data_does_not(self):
        X = np.array([[x, y] for x in (0.0, 4.0) for y in np.linspace(0, 4, 30)])  # two lines, as long as far apart
        for axis in (0, 1):
            truth = (X[:, axis] > 2).astype(int)
            model = SeededKMeans(similarity="linear").fit(X, np.where(np.arange(60) % 5 == 0, truth, -1))
            assert (model.labels_ == truth).mean() > 0.9  # a few lie right between the two

    def test_more_labels_help(self):
        X, y = load_digits(return_X_y=True)
        accuracy = []
        for per_class in (1, 20):
            given = few(y, per_class)
            model = SeededKMeans().fit(X, given)
            accuracy.append((model.labels_ == y)[given < 0].mean())
        assert accuracy[0] + 0.02 < accuracy[1]

    def test_centres_are_means_of_the_labels(self):
        X, y = groups(spread=1.0)
        for similarity in ("linear", "inverse-correlation"):
            model = SeededKMeans(4, similarity=similarity, random_state=0).fit(X, few(y))
            for c, centre in zip(model.classes_, model.cluster_centers_, strict=True):
                np.testing.assert_allclose(centre, X[model.labels_ == c].mean(0))

    def test_a_start_is_given_for_all_classes(self):
        X, y = groups()
        init = np.stack([X[y == c].mean(0) for c in (1, 0, 2)])  # the names follow the starts, not the groups
        labels = SeededKMeans(3, init=init).fit(X).labels_
        assert (np.array([1, 0, 2])[labels] == y).all()

    def test_several_starts_are_no_worse_than_one(self):
        X = load_digits().data[:500]
        for similarity in ("linear", "rbf"):
            one, many = (
                SeededKMeans(15, similarity=similarity, n_init=n, random_state=1).fit(X).inertia_ for n in (1, 8)
            )
            assert many < one

    def test_starts_of_classes_without_labels_are_away_from_those_with(self):
        X, y = groups(400, 4, spread=6.0)
        given = np.where(few(y) >= 0, y, -1)
        given[y >= 2] = -1
        for seed in range(5):
            model = SeededKMeans(4, n_init=1, random_state=seed).fit(X, given)
            assert len(set(model.labels_[y == 2]) | set(model.labels_[y == 3])) == 2
            assert (model.labels_ == y)[y < 2].all()


class TestRowBlocks:
    @pytest.mark.parametrize("block", [5, 37, 150, 4000])
    @pytest.mark.parametrize("given", [None, 3], ids=["no labels", "labels"])
    def test_the_block_changes_nothing(self, iris, block, given):
        X, y = iris
        labels = None if given is None else few(y, given)
        one, other = (
            SeededKMeans(4, similarity="rbf", block_size=size, n_init=2, random_state=0).fit(
                X[::2], None if labels is None else labels[::2]
            )
            for size in (block, 75)
        )
        assert (one.labels_ == other.labels_).all()
        assert one.inertia_ == pytest.approx(other.inertia_, rel=1e-10)
        assert (one.predict(X) == other.predict(X)).all()

    def test_no_more_than_a_tile_is_computed_at_a_time(self, monkeypatch):
        shapes = []
        plain = RBF.__call__

        def watched(self, X, V):
            shapes.append((len(X), len(V)))
            return plain(self, X, V)

        monkeypatch.setattr(RBF, "__call__", watched)
        X, y = groups(700, spread=1.0)
        SeededKMeans(5, similarity="rbf", block_size=64, n_init=2, random_state=0).fit(X, few(y)).predict(X)
        assert max(max(shape) for shape in shapes) == 64

    def test_few_moves_cost_few_columns(self, monkeypatch):
        counted = []
        plain = RBF.__call__

        def watched(self, X, V):
            counted.append(len(X) * len(V))
            return plain(self, X, V)

        monkeypatch.setattr(RBF, "__call__", watched)
        X, y = groups(600, spread=0.6)
        model = SeededKMeans(similarity="rbf", block_size=50).fit(X, few(y))
        assert model.n_iter_ > 3
        assert sum(counted) < 600**2 * 2  # far fewer than a whole matrix per round

    def test_memory_stays_far_below_a_matrix_of_all_pairs(self):
        code = """
import resource, numpy as np
from xsdc.baselines import SeededKMeans
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
X = np.random.RandomState(0).normal(size=(12000, 3))
y = np.where(np.arange(12000) < 4, np.arange(12000) % 2, -1)
SeededKMeans(similarity="rbf", bandwidth=2.0).fit(X[:100], y[:100])
before = peak()
import warnings; warnings.simplefilter("ignore")
SeededKMeans(similarity="rbf", bandwidth=2.0, max_iter=1, block_size=512).fit(X, y).predict(X[:500])
print(peak() - before)
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
        assert float(done.stdout) < 100  # MiB; the matrix would take 1,099


class TestEdges:
    def test_fewer_different_points_than_clusters(self):
        X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0)
        for similarity in ("linear", "inverse-correlation", "rbf"):
            with pytest.warns(UserWarning, match="Only 2 of 3 clusters hold points"):
                model = SeededKMeans(3, similarity=similarity, random_state=0).fit(X)
            assert model.score(X, np.repeat([0, 1], 10)) == 1
            assert model.inertia_ == pytest.approx(0, abs=1e-12)

    def test_points_all_alike(self):
        X = np.ones((6, 2))
        for similarity in ("linear", "inverse-correlation"):
            with pytest.warns(UserWarning, match="Only 1 of 2"):
                assert len(set(SeededKMeans(2, similarity=similarity, random_state=0).fit_predict(X))) == 1
        with pytest.raises(InvalidInputError, match="Give a bandwidth"):
            SeededKMeans(2, similarity="rbf").fit(X)

    def test_all_labeled_leaves_nothing_for_a_further_class(self):
        X, y = groups()
        with pytest.warns(UserWarning, match="Only 3 of 4 clusters"):
            model = SeededKMeans(4).fit(X, NAMES[y])
        assert (model.labels_ == NAMES[y]).all()
        assert np.isnan(model.cluster_centers_[3]).all()
        assert set(model.predict(X)) == set(NAMES)

    def test_attributes_of_an_earlier_fit_go(self):
        X, y = groups()
        model = SeededKMeans().fit(X, few(y))
        model.set_params(similarity="rbf").fit(X, few(y))
        assert not hasattr(model, "cluster_centers_")
        assert model.bandwidth_ > 0
        model.set_params(similarity="linear").fit(X, few(y))
        assert not hasattr(model, "bandwidth_")

    def test_stopping_early_is_told(self):
        X = load_digits().data
        with pytest.warns(NotConvergedWarning, match="after 1 rounds. Raise max_iter"):
            model = SeededKMeans(10, n_init=1, max_iter=1, random_state=0).fit(X)
        assert model.n_iter_ == 1

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_clusters": None}, "Set it, or give labels"),
            ({"similarity": "cosine"}, "must be one of linear, inverse-correlation, rbf; it is 'cosine'"),
            ({"similarity": None}, "must be one of"),
            ({"bandwidth": 0.0}, "bandwidth.* above zero"),
            ({"bandwidth": "mean"}, "bandwidth"),
            ({"init": "random"}, "k-means"),
            ({"init": np.zeros((2, 6))}, r"shape \(3, 6\); it has shape \(2, 6\)"),
            ({"init": np.full((3, 6), np.nan)}, "NaN or infinity"),
            ({"init": [["a"] * 6] * 3}, "must hold numbers"),
            ({"n_init": 0}, "n_init"),
            ({"max_iter": 0}, "max_iter"),
            ({"block_size": 1.5}, "block_size"),
        ],
    )
    def test_bad_options(self, options, message):
        with pytest.raises(InvalidInputError, match=message):
            SeededKMeans(**{"n_clusters": 3, **options}).fit(groups()[0])
