from __future__ import annotations

import pytest
import torch
from torch.nn.functional import normalize

from xsdc.errors import InvalidInputError
from xsdc.networks.initialization import (
    choose_rows,
    draw_patches,
    filters_from_patches,
    kmeans_centres,
    spherical_kmeans_centres,
)

INITS = ["samples", "kmeans", "spherical-kmeans"]


def test_patches_are_patches_of_the_maps(generator):
    x = torch.arange(2 * 3 * 4 * 5.0).view(2, 3, 4, 5)
    P = draw_patches(x, patch=2, stride=2, padding=1, generator=generator)
    expected = torch.nn.functional.unfold(x, 2, padding=1, stride=2).transpose(1, 2).reshape(-1, 12)
    assert P.shape == expected.shape  # all of them, since there are few
    assert torch.equal(torch.unique(P, dim=0), torch.unique(expected, dim=0))


def test_patches_are_bounded_and_without_repetition(generator):
    x = torch.arange(10 * 10 * 10.0).view(10, 1, 10, 10)
    P = draw_patches(x, patch=1, n_patches=300, generator=generator)
    assert len(torch.unique(P)) == 300


@pytest.mark.parametrize("init", INITS)
def test_filters_have_unit_norm_and_come_from_varied_patches(init, generator):
    P = torch.cat([torch.full((200, 6), 0.3), torch.zeros(50, 6), torch.rand(60, 6, generator=generator)])
    V = filters_from_patches(P, width=8, init=init, generator=generator)
    torch.testing.assert_close(V.norm(dim=1), torch.ones(8))
    assert (V.amax(1) - V.amin(1) > 1e-3).all()


def test_samples_are_rows_of_the_data(generator):
    P = torch.rand(50, 6, generator=generator)
    V = filters_from_patches(P, width=8, init="samples", generator=generator)
    nearest = torch.cdist(V, normalize(P, dim=1)).min(1)
    assert float(nearest.values.max()) < 1e-3
    assert len(torch.unique(nearest.indices)) == 8


@pytest.mark.parametrize("centres_of", [kmeans_centres, spherical_kmeans_centres])
def test_centres_of_separate_groups_are_found(centres_of, generator):
    directions = torch.eye(3, dtype=torch.float64)
    X = (directions[:, None] + 0.01 * torch.randn(3, 40, 3, generator=generator, dtype=torch.float64)).reshape(-1, 3)
    centres = centres_of(normalize(X, dim=1), width=3, generator=generator)
    order = centres.argmax(1)
    assert sorted(order.tolist()) == [0, 1, 2]
    torch.testing.assert_close(centres, directions[order], rtol=0, atol=0.02)


def test_spherical_kmeans_revives_empty_centres():
    X = torch.tensor([[1.0, 0.0]] * 20 + [[0.0, 1.0]])
    for seed in range(5):
        centres = spherical_kmeans_centres(X, width=2, generator=torch.Generator().manual_seed(seed))
        assert torch.equal(centres.sort(0).values, torch.tensor([[0.0, 0.0], [1.0, 1.0]]))


@pytest.mark.parametrize("init", INITS)
def test_fewer_points_than_filters(init, generator):
    X = torch.rand(5, 4, generator=generator)
    V = choose_rows(X, width=12, init=init, generator=generator)
    assert V.shape == (12, 4)
    assert len(torch.unique(V, dim=0)) == 12  # no twins


def test_kmeans_on_repeated_points_does_not_warn(generator):
    X = torch.rand(3, 4, generator=generator).repeat(20, 1)
    assert choose_rows(X, width=6, init="kmeans", generator=generator).shape == (6, 4)


@pytest.mark.parametrize("init", INITS)
def test_the_generator_decides(init):
    P = torch.rand(100, 5, generator=torch.Generator().manual_seed(0))
    first, again, other = (
        filters_from_patches(P, width=4, init=init, generator=torch.Generator().manual_seed(s)) for s in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_constant_patches_serve_when_there_are_no_others(generator):
    V = filters_from_patches(torch.full((9, 4), 2.0), width=2, init="samples", generator=generator)
    torch.testing.assert_close(V, torch.full((2, 4), 0.5))


def test_blank_data_is_refused(generator):
    with pytest.raises(InvalidInputError, match="all of them are zero"):
        filters_from_patches(torch.zeros(9, 4), width=2, init="samples", generator=generator)
