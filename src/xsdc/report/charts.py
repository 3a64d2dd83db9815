"""Geometry of the charts: numbers in, coordinates and ticks out; the template draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

WIDTH, HEIGHT = 420.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 14.0, 22.0, 38.0


@dataclass(frozen=True)
class Tick:
    """A mark on an axis: where it stands and what is written there."""

    at: float
    text: str


@dataclass(frozen=True)
class Dot:
    """A value to point at: where it stands, how large it is and what it says."""

    x: float
    y: float
    radius: float
    text: str


@dataclass(frozen=True)
class Chart:
    """A drawing of one curve, in the units of its SVG."""

    title: str
    x_name: str
    y_name: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    path: str
    dots: list[Dot] = field(default_factory=list)
    stages: list[Tick] = field(default_factory=list)
    best: float | None = None
    text: str = ""
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    top: float = TOP
    bottom: float = HEIGHT - BOTTOM


@dataclass(frozen=True)
class Axis:
    """From values to coordinates, on a plain or a logarithmic scale."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Coordinate of a value."""
        value, low, high = (math.log10(v) if self.log else v for v in (value, self.low, self.high))
        share = (value - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 2)

    def ticks(self, *, whole: bool = False) -> list[Tick]:
        """Round values along the axis."""
        values = powers(self.low, self.high) if self.log else round_values(self.low, self.high, whole=whole)
        return [Tick(self(value), name_value(value)) for value in values]


def curve(
    title: str,
    xs: Sequence[float],
    ys: Sequence[float],
    *,
    x_range: tuple[float, float],
    log: bool = False,
    stages: Sequence[tuple[float, str]] = (),
    best: float | None = None,
    text: str = "",
) -> Chart:
    """Draw a quantity by iteration.

    Parameters
    ----------
    title : str
        What is drawn.
    xs, ys : sequence of float
        Iterations and finite values.
    x_range : tuple of float
        First and last iteration of the whole training, so that charts can be compared.
    log : bool
        Whether the values stand on a logarithmic scale.
    stages : sequence of (float, str)
        First iteration and name of each stage.
    best : float or None
        Iteration whose model was kept.
    text : str
        How to read it.

    Returns
    -------
    Chart
        The drawing.
    """
    low, high = min(ys), max(ys)
    if log:
        low, high = 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))
    elif high > low:
        room = 0.05 * (high - low)
        low, high = low - room, high + room
    x_axis = Axis(*x_range, LEFT, WIDTH - RIGHT)
    y_axis = Axis(low, high, HEIGHT - BOTTOM, TOP, log)
    places = [(x_axis(x), y_axis(y)) for x, y in zip(xs, ys, strict=True)]
    few = len(xs) <= 40
    return Chart(
        title=title,
        x_name="iteration",
        y_name=title,
        x_ticks=x_axis.ticks(whole=True),
        y_ticks=y_axis.ticks(),
        path="M" + "L".join(f"{x:g},{y:g}" for x, y in places),
        dots=[
            Dot(px, py, 2.2, f"iteration {x:g}: {y:.4g}") for (px, py), x, y in zip(places, xs, ys, strict=True) if few
        ],
        stages=[Tick(x_axis(start), name) for start, name in stages],
        best=None if best is None else x_axis(best),
        text=text,
    )


def calibration_chart(bins: Sequence[dict[str, float]]) -> Chart:
    """Draw how often the found class was the true one, by the probability that was stated."""
    side = 340.0
    right, bottom, top, left = side - 16, side - 44, 14.0, 64.0
    x_axis, y_axis = Axis(0, 1, left, right), Axis(0, 1, bottom, top)
    most = max(b["n"] for b in bins)
    dots = [
        Dot(
            x_axis(b["confidence"]),
            y_axis(b["accuracy"]),
            round(3.5 + 9 * math.sqrt(b["n"] / most), 2),
            f"{b['n']:,} points with a probability from {b['low']:.0%} to {b['high']:.0%}: "
            f"{b['confidence']:.1%} stated, {b['accuracy']:.1%} right",
        )
        for b in bins
    ]
    return Chart(
        title="Calibration",
        x_name="probability stated",
        y_name="share that is right",
        x_ticks=[Tick(x_axis(v / 100), f"{v} %") for v in range(0, 101, 25)],
        y_ticks=[Tick(y_axis(v / 100), f"{v} %") for v in range(0, 101, 25)],
        path="M" + "L".join(f"{d.x:g},{d.y:g}" for d in dots),
        dots=dots,
        width=side,
        height=side,
        left=left,
        right=right,
        top=top,
        bottom=bottom,
    )


def round_values(low: float, high: float, *, whole: bool = False, most: int = 6) -> list[float]:
    """Between two and ``most`` round values of a range, 1, 2 or 5 times a power of ten apart."""
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(power * m for m in (1, 2, 5, 10) if (high - low) / (power * m) <= most)
    step = max(step, 1.0) if whole else step
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


def powers(low: float, high: float, *, most: int = 5) -> list[float]:
    """Powers of ten of a range, thinned out where there are many."""
    first, last = round(math.log10(low)), round(math.log10(high))
    return [10.0**i for i in range(first, last + 1, max(1, math.ceil((last - first) / most)))]


def name_value(value: float) -> str:
    """Write a tick: short, with a true minus sign."""
    text = f"{value:.6g}".replace("e-0", "e-").replace("e+0", "e")
    return text.replace("-", "\N{MINUS SIGN}")
