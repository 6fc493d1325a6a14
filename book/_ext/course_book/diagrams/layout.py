"""The layout of a diagram: coordinates of boxes from rows and columns, and wires as bent lines.

Rows and columns carry meaning (time, depth, encoder beside decoder), so a layout engine such as ELK
or Graphviz would need them too.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor
from typing import NamedTuple

from course_book.diagrams.labels import LINE, TITLE_FONT, height_of, width_of
from course_book.diagrams.parts import Box, Diagram, Frame, Side, Wire

MARGIN = 6
FRAME_PADDING = (10, 5)
DETOUR = 18  # the distance of a wire from a box that it passes
CELL = 16
RADIUS = 11  # of an operation
_PADDING = {"block": (22, 15), "stack": (26, 15), "norm": (22, 7), "data": (10, 2)}


class Point(NamedTuple):
    """A point: its distances from the drawing's left and top, in its units."""

    x: float
    y: float


class Area(NamedTuple):
    """A rectangle: its sides' distances from the drawing's left and top, in its units."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def middle(self) -> Point:
        """The centre of the rectangle."""
        return Point((self.left + self.right) / 2, (self.top + self.bottom) / 2)

    def grown(self, across: float, down: float | None = None) -> "Area":
        """Return the area with a margin ``across`` at both sides, and ``down`` above and below."""
        down = across if down is None else down
        return Area(self.left - across, self.top - down, self.right + across, self.bottom + down)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The coordinates of each part of a diagram.

    Attributes:
        size: Width and height of the drawing.
        boxes: The areas of the boxes, by their ids.
        wires: The corners of each wire, from its start to its end.
        wire_labels: The areas of the labels of wires, by the wire's index.
        frames: The areas of the frames.
        frame_labels: The areas of the labels of frames, by the frame's index.
    """

    size: Point
    boxes: dict[str, Area]
    wires: list[list[Point]]
    wire_labels: dict[int, Area]
    frames: list[Area]
    frame_labels: dict[int, Area]


def size_of(box: Box) -> Point:
    """Return the width and height that a box needs, in the drawing's units."""
    if box.kind == "junction":
        return Point(0, 0)
    if box.kind == "tensor":
        return Point(CELL * box.cells, CELL)
    if box.kind == "operation":
        return Point(max(2 * RADIUS, width_of(box.text) + 10), 2 * RADIUS)
    if box.kind == "title":
        return Point(width_of(box.text, TITLE_FONT), height_of(box.text) + 4)
    across, down = _PADDING[box.kind]
    wide = max(width_of(box.text) + across, 27 * len(box.ports))
    return Point(wide, height_of(box.text) + down + (LINE if box.ports else 0))


class _Lines:
    """The coordinates of rows or columns, each as wide as its widest box.

    Args:
        boxes: The boxes, as (first row or column, number of them, size).
        gap: The space between two rows or columns.
    """

    def __init__(self, boxes: Iterable[tuple[float, int, float]], gap: float) -> None:
        claims = list(boxes)
        sizes = [0.0] * max(ceil(place) + count for place, count, _ in claims)
        for place, count, size in claims:
            if count == 1 and place == int(place):
                sizes[int(place)] = max(sizes[int(place)], size)
        self.gap = gap
        self.starts = [sum(sizes[:index]) + gap * index for index in range(len(sizes))]
        self.ends = [start + size for start, size in zip(self.starts, sizes, strict=True)]

    def middle(self, place: float, count: int = 1) -> float:
        low, share = floor(place), place - floor(place)
        if share:
            return self.ends[low] + share * self.gap
        return (self.starts[low] + self.ends[low + count - 1]) / 2

    def length(self, place: float, count: int) -> float:
        return self.ends[int(place) + count - 1] - self.starts[int(place)]


def _place_boxes(diagram: Diagram) -> dict[str, Area]:
    boxes = diagram.boxes
    columns = _Lines(((b.column, b.columns, size_of(b).x) for b in boxes), diagram.column_gap)
    rows = _Lines(((b.row, 1, size_of(b).y) for b in boxes), diagram.row_gap)
    areas = {}
    for box in boxes:
        x, y = columns.middle(box.column, box.columns), -rows.middle(box.row)
        wide, high = size_of(box)
        if box.kind in ("block", "stack", "norm") and box.column == int(box.column):
            wide = columns.length(box.column, box.columns)
        areas[box.id] = Area(x - wide / 2, y - high / 2, x + wide / 2, y + high / 2)
    return areas


def _port(area: Area, side: Side, at: float = 0.5) -> Point:
    """Return the point at the fraction ``at`` of a box's side, from the left or from the top."""
    if side in ("top", "bottom"):
        x = area.left + at * (area.right - area.left)
        return Point(x, area.top if side == "top" else area.bottom)
    y = area.top + at * (area.bottom - area.top)
    return Point(area.left if side == "left" else area.right, y)


def _ends(wire: Wire, source: Area, target: Area) -> tuple[Point, Point]:
    start = _port(source, wire.leave)
    end = _port(target, wire.enter, 0.5 if wire.enter_at is None else wire.enter_at)
    if (wire.leave, wire.enter) in (("top", "bottom"), ("bottom", "top")):
        if wire.enter_at is None and target.left <= start.x <= target.right:
            end = Point(start.x, end.y)
        elif source.left <= end.x <= source.right:
            start = Point(end.x, start.y)
    return start, end


def _route(wire: Wire, boxes: Mapping[str, Area]) -> list[Point]:
    """Return the corners of a wire, which runs level or upright with as few turns as possible."""
    start, end = _ends(wire, boxes[wire.source], boxes[wire.target])
    upright = [side in ("top", "bottom") for side in (wire.leave, wire.enter)]
    if upright == [True, False]:
        corners = [Point(start.x, end.y)]
    elif upright == [False, True]:
        corners = [Point(end.x, start.y)]
    elif upright == [True, True]:
        y = _turn(wire, start.y, end.y, boxes)
        corners = [Point(start.x, y), Point(end.x, y)]
    else:
        x = _turn(wire, start.x, end.x, boxes)
        corners = [Point(x, start.y), Point(x, end.y)]
    points = [start]
    for point in (*corners, end):
        if abs(point.x - points[-1].x) + abs(point.y - points[-1].y) > 0.01:
            points.append(point)
    bends = [
        b
        for a, b, c in zip(points, points[1:], points[2:], strict=False)
        if not (abs(a.x - c.x) < 0.01 or abs(a.y - c.y) < 0.01)
    ]
    return [points[0], *bends, points[-1]]


def _turn(wire: Wire, start: float, end: float, boxes: Mapping[str, Area]) -> float:
    forwards = wire.leave in ("right", "bottom")
    if wire.leave == wire.enter:  # beyond the farthest of both boxes and the one that it passes
        passed = [start, end]
        if wire.around:
            edge = _port(boxes[wire.around], wire.leave)
            passed.append(edge.x if wire.leave in ("left", "right") else edge.y)
        by = DETOUR if wire.bend is None else wire.bend
        return max(passed) + by if forwards else min(passed) - by
    if wire.bend is None:
        return (start + end) / 2
    near = start if wire.bend >= 0 else end
    return near + wire.bend if forwards else near - wire.bend


def _wire_label(text: str, points: Sequence[Point]) -> Area:
    a, b = max(
        pairwise(points), key=lambda pair: abs(pair[0].x - pair[1].x + pair[0].y - pair[1].y)
    )
    wide, high = width_of(text), height_of(text)
    middle = Point((a.x + b.x) / 2, (a.y + b.y) / 2)
    if abs(a.y - b.y) < 0.01:
        return Area(middle.x - wide / 2, middle.y - high - 3, middle.x + wide / 2, middle.y - 3)
    return Area(middle.x + 6, middle.y - high / 2, middle.x + 6 + wide, middle.y + high / 2)


def _around(areas: Sequence[Area]) -> Area:
    lefts, tops, rights, bottoms = zip(*areas, strict=True)
    return Area(min(lefts), min(tops), max(rights), max(bottoms))


def _frame(
    frame: Frame, diagram: Diagram, boxes: Mapping[str, Area], routes: Sequence[Sequence[Point]]
) -> Area:
    inside = [boxes[name] for name in frame.boxes]
    for wire, points in zip(diagram.wires, routes, strict=True):
        if {wire.source, wire.target} <= set(frame.boxes):
            inside += [Area(*point, *point) for point in points]
    return _around(inside).grown(*FRAME_PADDING)


def _frame_label(frame: Frame, area: Area) -> Area:
    wide, high = width_of(frame.label), height_of(frame.label)
    left = area.left - 4 if frame.side == "left" else area.right - wide + 4
    return Area(left, area.top - high - 3, left + wide, area.top - 3)


def lay_out(diagram: Diagram) -> Layout:
    """Return the coordinates of a diagram's parts; its upper left corner is (0, 0)."""
    boxes = _place_boxes(diagram)
    routes = [_route(wire, boxes) for wire in diagram.wires]
    labels = {
        index: _wire_label(wire.label, routes[index])
        for index, wire in enumerate(diagram.wires)
        if wire.label
    }
    frames = [_frame(frame, diagram, boxes, routes) for frame in diagram.frames]
    frame_labels = {
        index: _frame_label(frame, frames[index])
        for index, frame in enumerate(diagram.frames)
        if frame.label
    }
    points = [Area(*point, *point) for points in routes for point in points]
    everything = [*boxes.values(), *labels.values(), *frames, *frame_labels.values(), *points]
    whole = _around(everything).grown(MARGIN)
    x, y = whole.left, whole.top

    def moved(area: Area) -> Area:
        return Area(area.left - x, area.top - y, area.right - x, area.bottom - y)

    return Layout(
        size=Point(whole.right - x, whole.bottom - y),
        boxes={name: moved(area) for name, area in boxes.items()},
        wires=[[Point(point.x - x, point.y - y) for point in points] for points in routes],
        wire_labels={index: moved(area) for index, area in labels.items()},
        frames=[moved(area) for area in frames],
        frame_labels={index: moved(area) for index, area in frame_labels.items()},
    )
