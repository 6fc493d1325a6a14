"""A histogram of points, drawn as bars."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.reports.status_words import format_points

_MAX_BARS = 20
_WIDTH, _HEIGHT, _FLOOR, _ROOF, _LEFT = 400.0, 214.0, 176.0, 26.0, 8.0


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar of ``count`` submissions; its corner and size are in units of the SVG's viewBox."""

    x: float
    y: float
    width: float
    height: float
    count: int


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """The shapes of a histogram, in units of the SVG's viewBox, and its description in words.

    Ticks and median are pairs of x and label.
    """

    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    median: tuple[float, str]
    words: str
    width: float = _WIDTH
    height: float = _HEIGHT
    floor: float = _FLOOR


def draw_histogram(scores: Sequence[float], top: float) -> Histogram:
    """Return the histogram of a class's points; the last bar counts full marks (``top``) only."""
    step = max(1, math.ceil(top / _MAX_BARS))
    places = max(1, math.ceil(top / step)) + 1
    slot = (_WIDTH - 2 * _LEFT) / places
    counts = [0] * places
    for score in scores:
        counts[places - 1 if score >= top else min(int(score // step), places - 2)] += 1
    unit = (_FLOOR - _ROOF) / max(counts)
    labels = [_span(place, step, top) for place in range(places - 1)] + [format_points(top)]
    every = max(1, math.ceil(places / 11))
    named = [*range(0, max(places - every, 1 if places > every else 0), every), places - 1]
    median = statistics.median(scores)
    place = places - 1 if median >= top else median / step
    within = 0.5 if step == 1 or median >= top else 0.0
    words = "; ".join(f"{labels[p]} points: {count}" for p, count in enumerate(counts) if count)
    return Histogram(
        bars=tuple(
            Bar(
                x=_LEFT + slot * place + 1, y=_FLOOR - unit * count, width=slot - 2,
                height=unit * count, count=count,
            )
            for place, count in enumerate(counts)
        ),
        ticks=tuple((_LEFT + slot * (place + 0.5), labels[place]) for place in named),
        median=(_LEFT + slot * (place + within), f"median {format_points(median)}"),
        words=f"Histogram of points, number of submissions each: {words}.",
    )  # fmt: skip


def _span(place: int, step: int, top: float) -> str:
    """Return the label of a bar, its range of whole points, such as ``4–5``.

    ``place`` is the bar's index, ``step`` its width in points, and ``top`` the maximum points.
    """
    first, last = place * step, min((place + 1) * step - 1, math.ceil(top) - 1)
    return str(first) if first >= last else f"{first}–{last}"
