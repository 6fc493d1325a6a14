"""A diagram as SVG, in the colours and fonts of the page, in both themes."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from course_book.diagrams.labels import FONT, LINE, TITLE_FONT, draw_label, plain
from course_book.diagrams.layout import CELL, Area, Layout, Point, lay_out
from course_book.diagrams.parts import Box, Diagram

_CORNER = 7
_HEAD = (7.5, 4.0)  # an arrow's length, and half its width
_SHADOWS = (6, 3)  # offsets of the further blocks of a stack
_DOT = 2.8


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _css(part: str, role: str) -> str:
    return f"course-diagram__{part}" + (f" course-diagram--{role}" if role else "")


def _rectangle(css: str, area: Area, corner: float) -> str:
    wide, high = area.right - area.left, area.bottom - area.top
    return (
        f'<rect class="{css}" x="{_number(area.left)}" y="{_number(area.top)}"'
        f' width="{_number(wide)}" height="{_number(high)}" rx="{_number(corner)}"/>'
    )


def _towards(start: Point, end: Point, by: float) -> Point:
    share = by / (abs(end.x - start.x) + abs(end.y - start.y))  # upright or level
    return Point(start.x + share * (end.x - start.x), start.y + share * (end.y - start.y))


def _path(points: Sequence[Point]) -> str:
    """Return the SVG path data of a wire through these corners, with rounded turns."""
    path = f"M{_number(points[0].x)} {_number(points[0].y)}"
    for before, turn, after in zip(points, points[1:], points[2:], strict=False):
        room = min(abs(turn.x - other.x) + abs(turn.y - other.y) for other in (before, after))
        corner = min(_CORNER, room / 2)
        a, b = _towards(turn, before, corner), _towards(turn, after, corner)
        path += f"L{_number(a.x)} {_number(a.y)}"
        path += f"Q{_number(turn.x)} {_number(turn.y)} {_number(b.x)} {_number(b.y)}"
    return f"{path}L{_number(points[-1].x)} {_number(points[-1].y)}"


def _arrow(before: Point, tip: Point) -> str:
    length, half = _HEAD
    base = _towards(tip, before, length)
    across = Point(0, half) if abs(before.y - tip.y) < 0.01 else Point(half, 0)
    sides = (Point(base.x + sign * across.x, base.y + sign * across.y) for sign in (1, -1))
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in (tip, *sides))


def _wires(diagram: Diagram, layout: Layout) -> Iterator[str]:
    ends_in_box = {box.id for box in diagram.boxes if box.kind != "junction"}
    for index, (wire, points) in enumerate(zip(diagram.wires, layout.wires, strict=True)):
        has_head = wire.target in ends_in_box
        *earlier, before, tip = points
        end = _towards(tip, before, _HEAD[0] - 1) if has_head else tip  # no line beside the tip
        yield f'<path class="{_css("wire", wire.role)}" d="{_path((*earlier, before, end))}"/>'
        if has_head:
            yield f'<polygon class="{_css("head", wire.role)}" points="{_arrow(before, tip)}"/>'
        if index in layout.wire_labels:
            label = layout.wire_labels[index]
            yield draw_label(wire.label, *label.middle, css=_css("note", wire.role))


def _dots(diagram: Diagram, layout: Layout) -> Iterator[str]:
    """Yield the SVG of a dot for each junction at which more than two wires end."""
    ends = Counter(name for wire in diagram.wires for name in (wire.source, wire.target))
    for box in diagram.boxes:
        if box.kind == "junction" and ends[box.id] > 2:
            x, y = map(_number, layout.boxes[box.id].middle)
            yield f'<circle class="{_css("head", box.role)}" cx="{x}" cy="{y}" r="{_DOT}"/>'


def _tensor(box: Box, area: Area) -> Iterator[str]:
    looks = dict.fromkeys(box.negative, "negative") | dict.fromkeys(box.marked, "marked")
    for cell in range(box.cells):
        left = area.left + cell * CELL
        css = _css("cell", box.role) + (f" course-diagram--{looks[cell]}" if cell in looks else "")
        yield _rectangle(css, Area(left, area.top, left + CELL, area.bottom), 2)


def _operation(box: Box, area: Area) -> Iterator[str]:
    x, y = area.middle
    yield _rectangle(_css("operation", box.role), area, (area.bottom - area.top) / 2)
    if box.text in ("+", "×"):  # strokes meet in the middle, as letters need not
        turn = f' transform="rotate(45 {_number(x)} {_number(y)})"' if box.text == "×" else ""
        yield (
            f'<path class="course-diagram__sign"{turn}'
            f' d="M{_number(x - 5)} {_number(y)}h10M{_number(x)} {_number(y - 5)}v10"/>'
        )
    else:
        yield draw_label(box.text, x, y)


def _block(box: Box, area: Area) -> Iterator[str]:
    corner = 6 if box.kind != "norm" else (area.bottom - area.top) / 2
    css = _css("norm" if box.kind == "norm" else "block", box.role)
    if box.kind == "stack":
        for away in _SHADOWS:
            moved = Area(area.left + away, area.top - away, area.right + away, area.bottom - away)
            yield _rectangle(css, moved, corner)
    yield _rectangle(css, area, corner)
    x, y = area.middle
    yield draw_label(box.text, x, y - (LINE / 2 if box.ports else 0))
    step = (area.right - area.left) / max(1, len(box.ports))
    for index, name in enumerate(box.ports):
        role = {"Q": "query", "K": "key", "V": "value"}.get(name, "")
        place = Point(area.left + (index + 0.5) * step, area.bottom - LINE / 2 - 2)
        yield draw_label(f"${name}$", *place, css=_css("note", role))


def _box(box: Box, area: Area) -> Iterator[str]:
    if box.kind == "tensor":
        yield from _tensor(box, area)
    elif box.kind == "operation":
        yield from _operation(box, area)
    elif box.kind in ("block", "stack", "norm"):
        yield from _block(box, area)
    elif box.kind != "junction":
        font = TITLE_FONT if box.kind == "title" else FONT
        yield draw_label(box.text, *area.middle, css=_css(box.kind, box.role), font=font)


def _linked(drawn: str, box: Box, address: str) -> str:
    if not (drawn and address):
        return drawn
    name = escape(" ".join((box.about.name or plain(box.text), *box.ports)))
    return (
        f'<a class="course-diagram__link" href="{escape(address)}" aria-label="{name}">{drawn}</a>'
    )


def draw(diagram: Diagram, identity: str, addresses: Mapping[str, str]) -> str:
    """Return a diagram as an ``svg`` element with a title and a description.

    ``identity`` is a prefix of ids, unique in the page. ``addresses`` are the targets of the boxes'
    links, by the boxes' ids; boxes without one are no links.
    """
    layout = lay_out(diagram)
    wide, high = (_number(size) for size in layout.size)
    frames = [
        _rectangle(_css("frame", frame.role), area, 14)
        for frame, area in zip(diagram.frames, layout.frames, strict=True)
    ]
    frame_labels = [
        draw_label(diagram.frames[index].label, *area.middle, css="course-diagram__data")
        for index, area in layout.frame_labels.items()
    ]
    boxes = [
        _linked("".join(_box(box, layout.boxes[box.id])), box, addresses.get(box.id, ""))
        for box in diagram.boxes
    ]
    parts = [*frames, *frame_labels, *_wires(diagram, layout), *_dots(diagram, layout), *boxes]
    return (
        f'<svg class="course-diagram__drawing" viewBox="0 0 {wide} {high}"'
        f' style="--width: {wide}" role="group"'
        f' aria-labelledby="{identity}-title" aria-describedby="{identity}-description">'
        f'<title id="{identity}-title">{escape(diagram.title)}</title>'
        f'<desc id="{identity}-description">{escape(diagram.description)}</desc>'
        f"{''.join(parts)}</svg>"
    )
