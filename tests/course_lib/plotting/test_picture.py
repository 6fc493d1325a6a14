"""Are the pictures whole, accessible, the same in every build, and in the page's colours?"""

import re
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
import torch

from course_lib.plotting.attention import plot_attention
from course_lib.plotting.beams import plot_beams
from course_lib.plotting.curves import plot_curves
from course_lib.plotting.links import plot_alignment, plot_links
from course_lib.plotting.picture import COLORS, LINE_STYLES
from course_lib.plotting.positions import plot_positions
from tests.course_lib.plotting.examples import (
    KEYS,
    PICTURES,
    QUERIES,
    TREE,
    WEIGHTS,
    attention,
    curves,
    parse,
)


@pytest.fixture(scope="module", params=PICTURES)
def drawn(request):
    """A pair: a function that draws one of PICTURES, and the picture of its first call."""
    draw = PICTURES[request.param]
    return draw, draw()


@pytest.fixture(scope="module")
def ids_of_another():
    return set(re.findall(r' id="([^"]*)"', curves(y_label="another").svg))


def test_picture_is_well_formed_and_has_alternative_text(drawn):
    _, picture = drawn
    root = parse(picture)
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == picture.alt != ""
    assert picture._repr_html_() == picture.svg


def test_picture_follows_the_theme(drawn):
    svg = drawn[1].svg
    assert "currentColor" in svg
    assert not re.findall(r"(?<!, )#[0-9a-f]{6}", svg)  # only fallbacks of roles' colours
    assert "<style" not in svg  # would hold for the whole page
    assert "font-family: inherit" in svg
    assert "http" not in svg


def test_picture_is_the_same_in_every_build_whatever_the_global_settings(drawn):
    draw, first = drawn
    with mpl.rc_context({"font.size": 40, "axes.facecolor": "red"}):
        assert draw().svg == first.svg


def test_ids_are_unique_to_the_picture_and_every_reference_has_one(drawn, ids_of_another):
    svg = drawn[1].svg
    ids = re.findall(r' id="([^"]*)"', svg)
    references = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    assert references == set(ids)
    assert not set(ids) & ids_of_another


def test_every_role_has_a_colour_and_dashes():
    assert set(COLORS) == set(LINE_STYLES)
    assert len(set(COLORS.values())) == len(COLORS)


def test_alt_text_is_escaped():
    assert 'aria-label="q &lt; k &amp; &quot;v&quot;"' in attention(alt='q < k & "v"').svg


def test_saved_picture_is_a_file_of_its_own(tmp_path):
    path = tmp_path / "picture.svg"
    attention().save(str(path))
    text = path.read_text()
    assert ElementTree.parse(path).getroot().tag.endswith("svg")
    assert "var(" not in text
    assert "currentColor" not in text
    assert COLORS["query"] in text


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: attention(alt=" "), "alt must describe the figure"),
        (lambda: plot_attention(WEIGHTS.T, KEYS, QUERIES, alt="x"), r"must have shape \(2, 3\)"),
        (lambda: plot_attention(2 * WEIGHTS, KEYS, QUERIES, alt="x"), "must be between 0 and 1"),
        (lambda: plot_curves({}, x_label="", y_label="", alt="x"), "at least one curve"),
        (lambda: plot_links(KEYS, [(0, 3)], alt="x"), r"positions 0 to 2, got \(0, 3\)"),
        (lambda: plot_links(KEYS, [], alt="x", tempting=[(-1, 0)]), "positions 0 to 2"),
        (lambda: plot_alignment(KEYS, QUERIES, [(0, 2)], alt="x"), r"got \(0, 2\)"),
        (lambda: plot_beams([], KEYS, alt="x"), "at least"),
        (lambda: plot_beams(TREE, KEYS[:1], alt="x"), "labels must name token 1, got 1 labels"),
        (lambda: plot_positions(torch.zeros(3), alt="x"), "vectors must be"),
        (lambda: plot_positions(torch.full((2, 2), 1.5), alt="x"), "larger than 1:"),
    ],
)
def test_invalid_pictures_are_rejected(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
