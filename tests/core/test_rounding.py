from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.cluster import SpectralClustering
from sklearn.neighbors import KNeighborsClassifier

from tests.problems import blobs, gaussian
from xsdc.core.agreement import agreement
from xsdc.core.balancing import balance
from xsdc.core.objective import cost_matrix, decompose
from xsdc.core.rounding import nearest_labels, spectral_clustering, spectral_embedding
from xsdc.errors import InvalidInputError, NotConvergedWarning


def noisy_equivalence(n: int, k: int, *, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    y = torch.arange(n) % k
    noise = torch.rand(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (y[:, None] == y[None, :]).to(torch.float64) + 0.3 * noise, y


@pytest.mark.parametrize("n", [40, 700])  # full eigendecomposition, Lanczos
@pytest.mark.parametrize("k", [1, 2, 5])
def test_spectral_clustering_recovers_noisy_groups(n, k):
    M, y = noisy_equivalence(n, k)
    result = spectral_clustering(M, k, random_state=0)
    assert agreement(result.labels, y).accuracy == 1.0
    assert result.eigenvalues[0] == pytest.approx(1.0)
    assert result.embedding.shape == (n, k)


@pytest.mark.parametrize("n", [60, 600])
def test_agrees_with_scikit_learn(n):
    M, _ = noisy_equivalence(n, 4)
    M = (M + M.T) / 2
    theirs = SpectralClustering(4, affinity="precomputed", random_state=0).fit_predict(M.numpy())
    assert agreement(spectral_clustering(M, 4, random_state=0).labels, theirs).ari == 1.0


def test_lanczos_finds_the_eigenvalues_of_the_full_decomposition():
    M = noisy_equivalence(600, 4)[0]
    S = (M + M.T) / 2
    scale = S.sum(1).rsqrt()
    full = torch.linalg.eigvalsh(scale[:, None] * S * scale).flip(0)[:5]
    torch.testing.assert_close(spectral_clustering(M, 4, random_state=0).eigenvalues, full)


def test_a_group_cut_off_gives_an_eigenvalue_of_one():
    y = torch.arange(30) % 3
    values = spectral_clustering((y[:, None] == y[None, :]).double(), 3, random_state=0).eigenvalues
    torch.testing.assert_close(values[:3], torch.ones(3, dtype=torch.float64))
    assert values[3] < 1e-9


def test_operator_and_dense_give_the_same_labels():
    X, y = blobs(600, 3)
    factors = decompose(X).cost(1.0)
    lazy = spectral_clustering(balance(factors, size=(200, 200)).M, 3, random_state=0)
    dense = spectral_clustering(balance(factors.dense(), size=(200, 200)).M, 3, random_state=0)
    assert agreement(lazy.labels, dense.labels).accuracy == 1.0
    torch.testing.assert_close(lazy.eigenvalues, dense.eigenvalues, rtol=1e-4, atol=1e-4)
    assert agreement(lazy.labels, y).accuracy == 1.0


def test_as_many_clusters_as_points():
    M, _ = noisy_equivalence(6, 3)
    assert len(spectral_clustering(M, 6, random_state=0).labels.unique()) == 6
    factors = decompose(gaussian(6, 2)).cost(0.1)
    assert len(spectral_clustering(balance(factors, size=(2, 2)).M, 6, random_state=0).labels) == 6


def test_same_seed_same_labels():
    M = balance(cost_matrix(gaussian(700, 4), 0.1), size=(100, 100)).M
    one, two = (spectral_clustering(M, 7, random_state=3).labels for _ in range(2))
    assert torch.equal(one, two)


@pytest.mark.parametrize("k", [1, 5])
def test_nearest_labels_agree_with_scikit_learn(k):
    reference, X = gaussian(80, 6), gaussian(200, 6, seed=1)
    y = torch.arange(80) % 3
    theirs = KNeighborsClassifier(k, weights="uniform", algorithm="brute").fit(reference, y).predict(X)
    ours = nearest_labels(X, reference, y, n_neighbors=k)
    if k == 1:
        assert ours.tolist() == theirs.tolist()
    else:  # ties are broken differently: compare where there is none
        votes = KNeighborsClassifier(k).fit(reference, y).predict_proba(X)
        clear = np.sort(votes, 1)[:, -1] > np.sort(votes, 1)[:, -2]
        assert clear.sum() > 100
        assert ours.numpy()[clear].tolist() == theirs[clear].tolist()


def test_a_tie_goes_to_the_nearest():
    reference = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
    y = torch.tensor([1, 0, 0, 1])
    X = torch.tensor([[0.2], [2.9]])
    assert nearest_labels(X, reference, y, n_neighbors=4).tolist() == [1, 1]
    assert nearest_labels(torch.tensor([[1.2]]), reference, y, n_neighbors=4).tolist() == [0]


def test_nearest_labels_in_blocks_and_far_from_the_origin(monkeypatch):
    monkeypatch.setattr("xsdc.core.rounding.BLOCK_ENTRIES", 64)
    X, y = blobs(100, 4)
    X32 = (X + 1000).to(torch.float32)
    assert torch.equal(nearest_labels(X32, X32[:30], y[:30]), y)


def test_bad_input_is_named():
    with pytest.raises(InvalidInputError, match="square"):
        spectral_clustering(torch.ones(3, 2), 2)
    with pytest.raises(InvalidInputError, match="some are negative"):
        spectral_clustering(-torch.ones(3, 3), 2)
    with pytest.raises(InvalidInputError, match=r"connect every point.*; 1 are not"):
        spectral_clustering(torch.tensor([[1.0, 0, 1], [0, 0, 0], [1, 0, 1]]), 2)
    with pytest.raises(InvalidInputError, match="n_clusters must be at most 3"):
        spectral_clustering(torch.ones(3, 3), 4)
    with pytest.raises(InvalidInputError, match="Phi has 2 features, but reference has 3"):
        nearest_labels(gaussian(4, 2), gaussian(4, 3), torch.zeros(4, dtype=torch.int64))
    with pytest.raises(InvalidInputError, match="n_neighbors must be at most 4"):
        nearest_labels(gaussian(4, 2), gaussian(4, 2), torch.zeros(4, dtype=torch.int64), n_neighbors=5)


def test_nearest_labels_of_clusters_far_apart_in_float32():
    reference = gaussian(200, 4)
    reference[100:] += 5000
    reference = reference.to(torch.float32)
    assert torch.equal(nearest_labels(reference, reference, torch.arange(200)), torch.arange(200))
    exact = torch.cdist(reference.double() + 0.1, reference.double()).argmin(1)
    assert torch.equal(nearest_labels(reference.double() + 0.1, reference, torch.arange(200)), exact)


def test_embedding_has_rows_of_length_one():
    embedding = spectral_clustering(noisy_equivalence(40, 3)[0], 3, random_state=0).embedding
    torch.testing.assert_close(embedding.norm(dim=1), torch.ones(40, dtype=torch.float64))


def test_the_unit_of_similarity_does_not_matter():
    M, y = noisy_equivalence(700, 3)
    for scale in (1e37, 1e-37):
        labels = spectral_clustering((M * scale).to(torch.float32), 3, random_state=0).labels
        assert agreement(labels, y).accuracy == 1.0
    assert agreement(spectral_clustering(M[:40, :40].numpy(), 3, random_state=0).labels, y[:40]).accuracy == 1.0


def test_a_rough_answer_is_taken_where_lanczos_gives_up(monkeypatch):
    n, k = 600, 4
    y = torch.arange(n) % k
    M = (y[:, None] == y).float() + 1e-3 * torch.rand(n, n, generator=torch.Generator().manual_seed(0))
    given_up = []

    def impatient(operator, *, tol, **options):
        if tol < 1e-4:
            given_up.append(tol)
            raise ArpackNoConvergence("no", np.empty(0), np.empty((n, 0)))
        return eigsh(operator, tol=tol, **options)

    monkeypatch.setattr("xsdc.core.rounding.eigsh", impatient)
    assert agreement(spectral_clustering((M + M.T) / 2, k, random_state=0).labels, y).accuracy == 1
    assert given_up


def test_all_eigenvectors_are_found_where_lanczos_gives_up_twice(monkeypatch):
    def weary(*_, **__):
        raise ArpackNoConvergence("no", np.empty(0), np.empty((600, 0)))

    M, y = noisy_equivalence(600, 4)
    exact = spectral_clustering(M, 4, random_state=0)
    monkeypatch.setattr("xsdc.core.rounding.eigsh", weary)
    found = spectral_clustering(M, 4, random_state=0)
    torch.testing.assert_close(found.eigenvalues, exact.eigenvalues, rtol=1e-6, atol=1e-6)
    assert agreement(found.labels, y).accuracy == 1


def test_rough_eigenvectors_are_told_of(monkeypatch):
    X, _ = blobs(600, 3, spread=1.5)
    M = balance(decompose(X).cost(0.01), size=(150, 250)).M
    monkeypatch.setattr("xsdc.core.rounding.MOST_PASSES", 1)
    with pytest.warns(NotConvergedWarning, match="after 1 passes"):
        spectral_embedding(M, 3, random_state=0)


def test_a_guess_changes_the_way_to_the_eigenvectors_and_not_the_end():
    X, y = blobs(600, 3, spread=1.5)
    M = balance(decompose(X).cost(0.01), size=(150, 250)).M
    values, _ = spectral_embedding(M, 3, random_state=0)
    guessed, Z = spectral_embedding(M, 3, random_state=1, guess=y)
    torch.testing.assert_close(values, guessed, rtol=1e-3, atol=1e-3)
    exact = torch.linalg.eigvalsh(_normalised(M.dense().double())).flip(0)[:4]
    torch.testing.assert_close(guessed, exact, rtol=1e-3, atol=1e-3)
    assert Z.shape == (600, 3)


def _normalised(M: torch.Tensor) -> torch.Tensor:
    S = (M + M.T) / 2
    scale = S.sum(1).rsqrt()
    return scale[:, None] * S * scale
