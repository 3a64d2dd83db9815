"""Colours of classes, for a light and for a dark page."""

from __future__ import annotations

import colorsys

# Ten hues searched for the largest least distance in OKLab as seen by all, by protanopes and by deuteranopes
# (Machado et al. 2009): 0.138 on the light page and 0.133 on the dark one, the same hue for a class on both.
LIGHT = ("#1f61e5", "#ac5f01", "#1db893", "#aa335b", "#3923b4", "#bc9b26", "#743108", "#39a9e6", "#721970", "#7678ac")
DARK = ("#90a2fc", "#f4a957", "#71feb7", "#dd3172", "#9763f6", "#f3e323", "#e76300", "#74ddfb", "#d095b3", "#737cb0")

GOLDEN = 0.381966  # of a turn: hues that follow each other are far apart
LIGHTNESS = {"light": (0.33, 0.45, 0.55), "dark": (0.72, 0.58, 0.82)}


def class_colours(k: int) -> dict[str, list[str]]:
    """Colours of k classes by page, "light" and "dark".

    Ten can be told apart; more get hues around the circle at three levels of lightness, and names help.
    """
    if k <= len(LIGHT):
        return {"light": list(LIGHT[:k]), "dark": list(DARK[:k])}
    return {page: [_around(i, levels[i % 3]) for i in range(k)] for page, levels in LIGHTNESS.items()}


def _around(i: int, lightness: float) -> str:
    """Write the i-th hue around the circle as a hexadecimal colour."""
    red, green, blue = colorsys.hls_to_rgb((0.6 + i * GOLDEN) % 1, lightness, 0.65)
    return "#" + "".join(f"{round(255 * part):02x}" for part in (red, green, blue))
