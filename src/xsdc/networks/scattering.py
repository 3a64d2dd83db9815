"""The scattering transform of images: moduli of wavelet coefficients, averaged locally.

Bruna and Mallat, Invariant Scattering Convolution Networks (2013). Two layers of Morlet wavelets, nothing learned:
features that small shifts and deformations hardly change, and in which distances between images mean more than between
pixels.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

SCALES = 2  # the average is over 2**SCALES pixels
ANGLES = 8
BLOCK = 1 << 15  # pixels that are transformed at a time; larger blocks leave the cache


def scattering(X: Tensor, *, scales: int = SCALES, angles: int = ANGLES) -> Tensor:
    """Transform images.

    Parameters
    ----------
    X : Tensor, shape (n, C, H, W)
        Images.
    scales : int
        Octaves of the wavelets; averages are over ``2**scales`` pixels. Lowered for images of fewer than
        ``2**(scales + 1)`` pixels on a side.
    angles : int
        Directions of the wavelets, in half a turn.

    Returns
    -------
    Tensor of float32, shape (n, C * (1 + scales * angles + scales * (scales - 1) / 2 * angles**2) * h * w)
        Where h and w are H and W divided by ``2**scales``, rounded up.
    """
    C, H, W = X.shape[1:]
    while scales > 1 and min(H, W) < 2 ** (scales + 1):
        scales -= 1
    step = 2**scales
    size = [math.ceil(side / step) * step + 2 * step for side in (H, W)]
    filters = _Filters(size, scales, angles, X.device)
    rows = max(1, BLOCK // (C * size[0] * size[1]))
    starts = range(0, max(len(X), 1), rows)
    return torch.cat([_transform(X[start : start + rows].float(), filters) for start in starts])


class _Filters:
    """Fourier transforms of the wavelets and of the average, on a grid of pixels."""

    def __init__(self, size: list[int], scales: int, angles: int, device: torch.device) -> None:
        self.size, self.scales, self.angles = size, scales, angles
        frequencies = [2 * math.pi * torch.fft.fftfreq(side, device=device) for side in size]
        self.grid = torch.meshgrid(*frequencies, indexing="ij")
        self.low = self._bump(0.0, 0.0, width=0.8 * 2 ** (scales - 1), slant=1.0)
        self.low = self.low / self.low[0, 0]
        self.wavelets = torch.stack(
            [
                torch.stack([self._morlet(scale, math.pi * turn / angles) for turn in range(angles)])
                for scale in range(scales)
            ]
        )  # (scales, angles, height, width)

    def _bump(self, frequency: float, angle: float, *, width: float, slant: float) -> Tensor:
        """A Gaussian around a frequency, elongated across its direction, periodic as the grid is."""
        total = torch.zeros(self.size, device=self.grid[0].device)
        turns = (-2 * math.pi, 0.0, 2 * math.pi)
        for down in turns:
            for right in turns:
                y, x = self.grid[0] + down, self.grid[1] + right
                along = y * math.sin(angle) + x * math.cos(angle) - frequency
                across = y * math.cos(angle) - x * math.sin(angle)
                total += torch.exp(-((width * along) ** 2 + (width / slant * across) ** 2) / 2)
        return total

    def _morlet(self, scale: int, angle: float) -> Tensor:
        """A wave under a Gaussian, of mean zero."""
        shape = {"width": 0.8 * 2**scale, "slant": 4 / self.angles}
        wave = self._bump(0.75 * math.pi / 2**scale, angle, **shape)
        still = self._bump(0.0, angle, **shape)
        return wave - still * (wave[0, 0] / still[0, 0])


def _transform(X: Tensor, filters: _Filters) -> Tensor:
    """Both layers of a block (m, C, H, W)."""
    m, scales = len(X), filters.scales
    spectrum = torch.fft.fft2(_padded(X, filters.size).flatten(0, 1))[:, None]  # (m C, 1, height, width)
    out = [_averaged(spectrum, filters, 0)]
    for first in range(scales):
        level = torch.fft.fft2(torch.fft.ifft2(_thinned(spectrum * filters.wavelets[first], first)).abs())
        out.append(_averaged(level, filters, first))
        for second in range(first + 1, scales):
            wavelets = _folded(filters.wavelets[second], first)
            moduli = torch.fft.ifft2(_thinned(level[:, :, None] * wavelets, second - first)).abs()
            out.append(_averaged(torch.fft.fft2(moduli.flatten(1, 2)), filters, second))
    return torch.cat(out, dim=1).reshape(m, -1)


def _padded(X: Tensor, size: list[int]) -> Tensor:
    """Images in the middle of a larger field, mirrored at the edges as far as that goes."""
    extra = [whole - side for whole, side in zip(size, X.shape[-2:], strict=True)]
    before = [e // 2 for e in extra]
    widths = (before[1], extra[1] - before[1], before[0], extra[0] - before[0])
    mirrors = max(widths[:2]) < X.shape[-1] and max(widths[2:]) < X.shape[-2]
    return torch.nn.functional.pad(X, widths, mode="reflect" if mirrors else "replicate")


def _thinned(spectrum: Tensor, octaves: int) -> Tensor:
    """Every ``2**octaves``-th pixel, taken in the Fourier domain: frequencies that then coincide are averaged."""
    for side in (-2, -1):
        for _ in range(octaves):  # sums of halves are several times as fast as a mean over their axis
            first, second = spectrum.chunk(2, dim=side)
            spectrum = first + second
    return spectrum / 4**octaves if octaves else spectrum


def _folded(filter_hat: Tensor, octaves: int) -> Tensor:
    """The transform of a filter for every ``2**octaves``-th pixel: its frequencies that then coincide are summed."""
    return float(4**octaves) * _thinned(filter_hat, octaves)


def _averaged(spectrum: Tensor, filters: _Filters, octaves: int) -> Tensor:
    """Averages over ``2**scales`` pixels, one for each such patch of the image without its frame."""
    low = _folded(filters.low, octaves)
    local: Tensor = torch.fft.ifft2(_thinned(spectrum * low, filters.scales - octaves)).real
    return local[:, :, 1:-1, 1:-1]
