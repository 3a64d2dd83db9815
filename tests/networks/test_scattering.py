"""The scattering transform, beside plain convolutions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from xsdc.networks.scattering import _Filters, _padded, scattering


def plain(X, *, scales=2, angles=8):
    """Both layers at full resolution, thinned at the end."""
    step = 2**scales
    size = [math.ceil(side / step) * step + 2 * step for side in X.shape[-2:]]
    filters = _Filters(size, scales, angles, X.device)
    fields = _padded(X, size).flatten(0, 1)

    def convolved(U, hat):
        return torch.fft.ifft2(torch.fft.fft2(U) * hat)

    def averaged(U):
        return convolved(U, filters.low).real[:, ::step, ::step][:, 1:-1, 1:-1]

    first = {(j, t): convolved(fields, filters.wavelets[j, t]).abs() for j in range(scales) for t in range(angles)}
    out = [averaged(fields)]
    for j in range(scales):
        out += [averaged(first[j, t]) for t in range(angles)]
        for j2 in range(j + 1, scales):
            pairs = [(t, t2) for t in range(angles) for t2 in range(angles)]
            out += [averaged(convolved(first[j, t], filters.wavelets[j2, t2]).abs()) for t, t2 in pairs]
    return torch.stack(out, dim=1).reshape(len(X), -1)


@pytest.mark.parametrize("shape", [(28, 28), (16, 16), (17, 30)])
def test_agrees_with_plain_convolutions(shape):
    X = torch.rand(3, 1, *shape, generator=torch.Generator().manual_seed(0))
    found, wanted = scattering(X), plain(X)
    assert found.shape == wanted.shape
    assert float((found - wanted).norm() / wanted.norm()) < 0.01  # what thinning in between leaves out


def test_shape_is_as_described():
    found = scattering(torch.zeros(2, 3, 32, 32), angles=6)
    assert found.shape == (2, 3 * (1 + 2 * 6 + 36) * 8 * 8)
    assert scattering(torch.zeros(2, 1, 5, 5)).shape == (2, (1 + 8) * 3 * 3)  # too small for two octaves


def test_even_images_have_averages_alone():
    found = scattering(torch.full((1, 1, 32, 32), 0.7)).reshape(81, -1)
    np.testing.assert_allclose(found[0], 0.7, atol=1e-5)
    np.testing.assert_allclose(found[1:], 0, atol=1e-5)


def test_small_shifts_change_little():
    """Of a bar that moves by a pixel, much less than the pixels change."""
    X = torch.zeros(2, 1, 32, 32)
    X[0, 0, 8:24, 14:17] = 1
    X[1, 0, 8:24, 15:18] = 1
    S = scattering(X)
    change = float((S[0] - S[1]).norm() / S[0].norm())
    assert change < 0.4 * float((X[0] - X[1]).norm() / X[0].norm())


def test_directions_are_told_apart():
    X = torch.zeros(2, 1, 32, 32)
    X[0, 0, :, ::4] = 1
    X[1, 0, ::4, :] = 1
    S = scattering(X).reshape(2, 81, 8, 8)[:, 1:9].mean(dim=(2, 3))
    assert int(S[0].argmax()) != int(S[1].argmax())


def test_blocks_do_not_matter(monkeypatch):
    X = torch.rand(5, 1, 16, 16, generator=torch.Generator().manual_seed(0))
    whole = scattering(X)
    monkeypatch.setattr("xsdc.networks.scattering.BLOCK", 1)
    torch.testing.assert_close(scattering(X), whole)
