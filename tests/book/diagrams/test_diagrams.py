"""Diagrams: wrong data are refused, drawings are whole, and nothing lies on anything else."""

import re
from dataclasses import replace
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from course_book.diagrams.drawing import draw
from course_book.diagrams.labels import FONT, plain, width_of
from course_book.diagrams.layout import Area, lay_out
from course_book.diagrams.parts import Box, Diagram, Frame, Wire
from course_book.diagrams.registry import DIAGRAMS

VARIANTS = {
    f"{name}-{index}": diagram
    for name, drawing in DIAGRAMS.items()
    for index, diagram in enumerate(drawing.variants.values())
}
EACH = pytest.mark.parametrize("diagram", VARIANTS.values(), ids=VARIANTS)
PHONE = 343  # pixels that a window of 375 leaves for a drawing
WORDS = {"title": "Two boxes", "description": "One box above another."}
LOW = Box(id="low", text="in", row=0, column=0)
HIGH = Box(id="high", text="out", row=1, column=0)


def box(**fields):
    return {"id": "a", "text": "a", "row": 0, "column": 0} | fields


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (Box, box(id=""), "a box needs an id"),
        (Box, box(kind="cloud"), "box 'a': unknown kind 'cloud'"),
        (Box, box(role="red"), "box 'a': unknown role 'red'"),
        (Box, box(row=-1), "row and column start at 0"),
        (Box, box(columns=0), "at least one column, got 0"),
        (Box, box(text=""), "a block has a text"),
        (Box, box(kind="junction"), "a junction has no text"),
        (Box, box(cells=3), "a tensor alone has cells"),
        (Box, box(kind="tensor", text=""), "a tensor alone has cells"),
        (Box, box(kind="tensor", text="", cells=3, marked=(3,)), "a cell that it has not"),
        (Wire, {"source": "a", "target": "b", "leave": "front"}, "unknown side 'front'"),
        (Wire, {"source": "a", "target": "b", "enter_at": 2}, "from 0 to 1, got 2"),
        (Wire, {"source": "a", "target": "b", "role": "red"}, "unknown role 'red'"),
        (Wire, {"source": "a", "target": "a"}, "needs two boxes"),
        (Diagram, WORDS | {"boxes": (LOW,), "title": ""}, "needs a title and a description"),
        (Diagram, WORDS | {"boxes": (LOW, LOW)}, r"used twice: \['low'\]"),
        (
            Diagram,
            WORDS | {"boxes": (LOW,), "wires": (Wire(source="low", target="no"),)},
            r"there are no boxes \['no'\]",
        ),
        (
            Diagram,
            WORDS | {"boxes": (LOW,), "frames": (Frame(boxes=("no",)),)},
            r"there are no boxes \['no'\]",
        ),
        (Diagram, WORDS | {"boxes": (LOW,), "frames": (Frame(boxes=()),)}, "a frame is empty"),
    ],
)
def test_what_can_not_be_drawn_is_refused(kind, fields, message):
    with pytest.raises(ValueError, match=message):
        kind(**fields)


def test_rows_grow_upwards_and_wires_run_straight():
    wire = Wire(source="low", target="high")
    places = lay_out(Diagram(**WORDS, boxes=(LOW, HIGH), wires=(wire,), row_gap=18))
    low, high = places.boxes["low"], places.boxes["high"]
    assert low.top - high.bottom == pytest.approx(18)
    assert places.wires == (((low.middle.x, low.top), (low.middle.x, high.bottom)),)


def test_a_wire_goes_around_what_it_passes():
    wide = replace(HIGH, id="wide", text="a wide box")
    top = replace(HIGH, id="top", row=2, kind="operation", text="+")
    wire = Wire(source="low", target="top", leave="left", enter="left", around="wide")
    places = lay_out(Diagram(**WORDS, boxes=(LOW, wide, top), wires=(wire,)))
    assert all(x < places.boxes["wide"].left for x, _ in places.wires[0][1:3])


def test_labels_are_mathematics_where_they_say_so():
    assert plain("Linear $W^{O}$,\nof $h_{t-1}$") == "Linear WO, of ht-1"
    assert width_of("$h_{t-1}$") < width_of("ht-1")


@EACH
def test_a_drawing_has_a_title_a_description_and_ids_of_its_own(diagram):
    svg = draw(diagram, "here", {name.id: f"#{name.id}" for name in diagram.boxes})
    root = ElementTree.fromstring(svg)
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids)) == 2
    assert {root.get("aria-labelledby"), root.get("aria-describedby")} == set(ids)
    texts = {element.get("id"): element.text for element in root if element.get("id")}
    assert texts == {"here-title": diagram.title, "here-description": diagram.description}
    assert len(diagram.description) > 80
    assert not re.search(r"(fill|stroke)=\"#", svg)  # colours are those of the page


@EACH
def test_a_link_is_called_what_is_seen_of_it(diagram):
    """Who steers by voice says what stands there."""
    svg = draw(diagram, "here", {name.id: f"#{name.id}" for name in diagram.boxes})
    for link in ElementTree.fromstring(svg).iter("a"):
        seen = " ".join("".join(link.itertext()).split())
        assert seen in link.get("aria-label")


@EACH
def test_letters_are_large_enough_on_a_phone(diagram):
    assert FONT * PHONE / lay_out(diagram).size.x >= 11


def meet(one: Area, other: Area) -> bool:
    """Whether they share more than an edge."""
    return (
        one.left < other.right
        and other.left < one.right
        and one.top < other.bottom
        and other.top < one.bottom
    )


def inside(inner: Area, outer: Area) -> bool:
    return (
        outer.left <= inner.left
        and outer.top <= inner.top
        and inner.right <= outer.right
        and inner.bottom <= outer.bottom
    )


@EACH
def test_nothing_lies_on_anything_else(diagram):
    places = lay_out(diagram)
    solid = {name: area for name, area in places.boxes.items() if area.left < area.right}
    solid |= {f"label of wire {index}": area for index, area in places.wire_labels.items()}
    solid |= {f"label of frame {index}": area for index, area in places.frame_labels.items()}
    whole = Area(0, 0, *places.size)
    assert not [name for name, area in solid.items() if not inside(area, whole)]
    assert not [
        (one, other)
        for (one, first), (other, second) in combinations(solid.items(), 2)
        if meet(first, second)
    ]
    for index, wire in enumerate(diagram.wires):
        ends = {wire.source, wire.target, f"label of wire {index}"}
        for a, b in pairwise(places.wires[index]):
            stretch = Area(min(a.x, b.x), min(a.y, b.y), max(a.x, b.x), max(a.y, b.y)).grown(0.5)
            crossed = [name for name, area in solid.items() if meet(area, stretch)]
            assert set(crossed) <= ends, (wire, crossed)


def crossing(first, second) -> bool:
    """Whether a level and an upright stretch meet elsewhere than at an end of either."""
    (a, b), (c, d) = sorted((first, second), key=lambda ends: abs(ends[0].y - ends[1].y))
    level, upright = abs(a.y - b.y) < 0.01, abs(c.x - d.x) < 0.01
    across = min(a.x, b.x) + 1 < c.x < max(a.x, b.x) - 1
    return level and upright and across and min(c.y, d.y) + 1 < a.y < max(c.y, d.y) - 1


@EACH
def test_no_two_wires_cross(diagram):
    stretches = [
        (index, ends)
        for index, points in enumerate(lay_out(diagram).wires)
        for ends in pairwise(points)
    ]
    assert not [
        (diagram.wires[i], diagram.wires[j])
        for (i, first), (j, second) in combinations(stretches, 2)
        if i != j and crossing(first, second)
    ]


def test_a_page_shows_the_diagram_and_leads_from_its_boxes(build_page):
    built = build_page(
        "(gated-recurrent-unit)=\n# Gates\n\n```{diagram} gru-cell\n:key:\n\nA *cell*.\n```\n"
    )
    assert built.html.count("<svg") == built.html.count("<desc") == 1
    assert re.search(r'<a class="course-diagram__link" href="#gated-recurrent-unit"', built.html)
    assert '<ul class="course-diagram__key">' in built.html
    assert "<em>cell</em>" in built.html


def test_a_box_that_leads_nowhere_is_told(build_page):
    built = build_page("# Gates\n\n```{diagram} gru-cell\n```\n")
    assert "undefined label: 'gated-recurrent-unit'" in built.warnings


def test_an_unknown_diagram_is_told(build_page):
    built = build_page("# Gates\n\n```{diagram} nothing\n```\n")
    assert "no diagram 'nothing'; there are ['additive-score'" in built.warnings


def test_variants_are_chosen_by_radios(build_page):
    built = build_page("# The model\n\n```{diagram} transformer\nIt.\n```\n")
    assert built.html.count('class="course-diagram__variant"') == 2
    assert len(re.findall(r'<input type="radio" name="diagram-transformer"', built.html)) == 2
    assert len(set(re.findall(r'id="(diagram-transformer[\w-]*)"', built.html))) == 7
