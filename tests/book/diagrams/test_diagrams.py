"""Diagrams: drawings are whole, legible on a phone, and nothing lies on anything else."""

import re
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from course_book.diagrams.directive import DIAGRAMS
from course_book.diagrams.drawing import draw
from course_book.diagrams.labels import FONT, plain, width_of
from course_book.diagrams.layout import Area, lay_out
from course_book.diagrams.parts import Box, Diagram, Wire

VARIANTS = {
    f"{name}-{index}": diagram
    for name, drawing in DIAGRAMS.items()
    for index, diagram in enumerate(drawing.variants.values())
}
STYLE = Path(__file__).parents[3] / "book" / "_static" / "css" / "diagrams.css"
EACH = pytest.mark.parametrize("diagram", VARIANTS.values(), ids=VARIANTS)
PHONE = 343  # pixels that a window of 375 leaves for a drawing
LOW = Box(id="low", text="in", row=0, column=0)
HIGH = Box(id="high", text="out", row=1, column=0)


def laid_out(*boxes, wire):
    """Return the layout of a diagram with these boxes and this wire."""
    return lay_out(Diagram(title="", description="", boxes=[*boxes], wires=[wire], frames=[]))


def test_the_numbers_behind_the_relu_look_other_than_before_it():
    drawing = draw(VARIANTS["feed-forward-0"], "here", {})
    cells = re.findall(r'class="(course-diagram__cell course-diagram--key[^"]*)"', drawing)
    assert len(cells) == 40
    assert cells[:20] != cells[20:]
    assert sum("marked" in cell for cell in cells[:20]) == 6


def test_rows_grow_upwards_and_wires_run_straight():
    places = laid_out(LOW, HIGH, wire=Wire(source="low", target="high"))
    low, high = places.boxes["low"], places.boxes["high"]
    assert low.top - high.bottom == pytest.approx(18)
    assert places.wires == [[(low.middle.x, low.top), (low.middle.x, high.bottom)]]


def test_a_wire_goes_around_a_box():
    wide = replace(HIGH, id="wide", text="a wide box")
    top = replace(HIGH, id="top", row=2, kind="operation", text="+")
    wire = Wire(source="low", target="top", leave="left", enter="left", around="wide")
    places = laid_out(LOW, wide, top, wire=wire)
    assert all(x < places.boxes["wide"].left for x, _ in places.wires[0][1:3])


def test_labels_between_dollar_signs_are_mathematics():
    assert plain("Linear $W^{O}$,\nof $h_{t-1}$") == "Linear WO, of ht-1"
    assert width_of("$h_{t-1}$") < width_of("ht-1")


@EACH
def test_a_drawing_fits_a_window_below_the_pages_header_and_its_choice(diagram):
    assert lay_out(diagram).size.y <= 900 - 100


@EACH
def test_a_drawing_has_a_title_a_description_and_links_named_by_their_labels(diagram):
    svg = draw(diagram, "here", {box.id: f"#{box.id}" for box in diagram.boxes})
    root = ElementTree.fromstring(svg)
    texts = {element.get("id"): element.text for element in root.iter() if element.get("id")}
    assert texts == {"here-title": diagram.title, "here-description": diagram.description}
    assert {root.get("aria-labelledby"), root.get("aria-describedby")} == texts.keys()
    assert len(diagram.description) > 80
    assert not re.search(r"(fill|stroke)=\"#", svg)  # colours are those of the page
    for link in root.iter("a"):
        assert " ".join("".join(link.itertext()).split()) in link.get("aria-label")
    assert FONT * PHONE / lay_out(diagram).size.x >= 11


def meet(one: Area, other: Area) -> bool:
    """Return whether two areas share more than an edge."""
    return (
        one.left < other.right
        and other.left < one.right
        and one.top < other.bottom
        and other.top < one.bottom
    )


@EACH
def test_nothing_lies_on_anything_else(diagram):
    places = lay_out(diagram)
    solid = {name: area for name, area in places.boxes.items() if area.left < area.right}
    solid |= {f"label of wire {index}": area for index, area in places.wire_labels.items()}
    solid |= {f"label of frame {index}": area for index, area in places.frame_labels.items()}
    for area in solid.values():
        assert min(area.left, area.top) >= 0
        assert (area.right, area.bottom) <= (places.size.x, places.size.y)
    pairs = combinations(solid.items(), 2)
    assert not [(a, b) for (a, first), (b, second) in pairs if meet(first, second)]
    for index, wire in enumerate(diagram.wires):
        ends = {wire.source, wire.target, f"label of wire {index}"}
        for a, b in pairwise(places.wires[index]):
            stretch = Area(min(a.x, b.x), min(a.y, b.y), max(a.x, b.x), max(a.y, b.y)).grown(0.5)
            crossed = {name for name, area in solid.items() if meet(area, stretch)}
            assert crossed <= ends, wire


def crossing(first, second) -> bool:
    """Return whether a level and an upright stretch, pairs of points, cross between their ends."""
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


def test_a_page_shows_the_diagram_with_links_and_a_key(build_page):
    built = build_page(
        "(gated-recurrent-unit)=\n# Gates\n\n```{diagram} gru-cell\n:key:\n\nA *cell*.\n```\n",
        warns=True,
    )
    assert built.html.count("<svg") == built.html.count("<desc") == 1
    assert re.search(r'<a class="course-diagram__link" href="#gated-recurrent-unit"', built.html)
    assert '<ul class="course-diagram__key">' in built.html
    assert "<em>cell</em>" in built.html


def test_unknown_targets_and_diagrams_are_reported_and_variants_are_radios(build_page):
    names = ("gru-cell", "nothing", "transformer")
    text = "".join(f"```{{diagram}} {name}\nIt.\n```\n\n" for name in names)
    built = build_page(f"# Page\n\n{text}", warns=True)
    assert "undefined label: 'gated-recurrent-unit'" in built.warnings
    assert "no diagram 'nothing'; there are ['additive-score'" in built.warnings
    assert built.html.count('class="course-diagram__variant"') == 3
    assert len(re.findall(r'<input type="radio" name="diagram-transformer"', built.html)) == 2


def test_every_variant_can_be_shown():
    css = STYLE.read_text(encoding="utf-8")
    most = max(len(drawing.variants) for drawing in DIAGRAMS.values())
    for number in range(most):
        shown = f'[value="{number}"]:checked) .course-diagram__variant:nth-child({number + 1})'
        assert shown in css
