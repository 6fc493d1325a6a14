"""How many submissions got how many points, drawn as bars."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.reports.status_words import format_points

_MAX_BARS = 20


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar of the histogram, in the units of its viewBox."""

    x: float
    y: float
    width: float
    height: float
    count: int


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """A histogram, drawn.

    Attributes:
        width, height: Of the viewBox.
        floor: y of the axis.
        bars: From left to right.
        ticks: x and label of each mark on the axis.
        median: x and label of the median.
        words: What the picture shows, for those who don't see it.
    """

    width: float
    height: float
    floor: float
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    median: tuple[float, str]
    words: str


def draw_histogram(scores: Sequence[float], top: float) -> Histogram:
    """Draw how many submissions got how many points."""
    width, height, floor, roof = 400.0, 214.0, 176.0, 26.0
    left, right = 8.0, 392.0
    step = max(1, math.ceil(top / _MAX_BARS))
    places = max(1, math.ceil(top / step)) + 1
    slot = (right - left) / places
    counts = [0] * places
    for score in scores:
        counts[places - 1 if score >= top else min(int(score // step), places - 2)] += 1
    tallest = max(counts)
    bars = tuple(
        Bar(
            x=left + slot * place + 1,
            y=floor - (floor - roof) * count / tallest,
            width=slot - 2,
            height=(floor - roof) * count / tallest,
            count=count,
        )
        for place, count in enumerate(counts)
    )
    every = max(1, math.ceil(places / 11))
    places_named = [p for p in range(0, places - 1, every) if p <= places - 1 - every]
    ticks = [(left + slot * (place + 0.5), _span(place, step, top)) for place in places_named]
    ticks.append((left + slot * (places - 0.5), format_points(top)))
    median = statistics.median(scores)
    place = places - 1 if median >= top else median / step
    within = 0.5 if step == 1 or median >= top else 0.0
    words = "; ".join(
        f"{format_points(top) if p == places - 1 else _span(p, step, top)} points: {count}"
        for p, count in enumerate(counts)
        if count
    )
    return Histogram(
        width=width,
        height=height,
        floor=floor,
        bars=bars,
        ticks=tuple(ticks),
        median=(left + slot * (place + within), f"median {format_points(median)}"),
        words=f"Histogram of points, number of submissions each: {words}.",
    )


def _span(place: int, step: int, top: float) -> str:
    """Name the whole points that a bar holds."""
    first, last = place * step, min((place + 1) * step - 1, math.ceil(top) - 1)
    return str(first) if first >= last else f"{first}–{last}"
