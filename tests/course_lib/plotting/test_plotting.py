"""Are the pictures whole, accessible, the same in every build, and in the page's colours?"""

import base64
import io
import re
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
import torch
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from PIL import Image

from course_lib.analysis.beam_tree import BeamNode
from course_lib.plotting.attention import plot_alignment, plot_attention, plot_links
from course_lib.plotting.beams import plot_beams
from course_lib.plotting.curves import plot_curves
from course_lib.plotting.picture import COLORS, LINE_STYLES
from course_lib.plotting.positions import plot_positions

WEIGHTS = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]])
KEYS, QUERIES = ["the", "old", "writer"], ["is", "was"]

TREE = [
    BeamNode(parent=None, token=None, length=0, log_probability=0.0, fate="kept"),
    BeamNode(parent=0, token=0, length=1, log_probability=-0.25, fate="result", rank=0),
    BeamNode(parent=0, token=1, length=1, log_probability=-1.5, fate="dropped"),
]


def attention(**changes):
    return plot_attention(WEIGHTS, KEYS, QUERIES, **({"alt": "what it shows"} | changes))


def curves(**changes):
    data = {"scaled": [1.0, 2.0], "unscaled": ([1, 4], [3.0, 1.0])}
    return plot_curves(data, **({"x_label": "step", "y_label": "nats", "alt": "a"} | changes))


PICTURES = {
    "attention": attention,
    "panels": lambda: plot_attention(
        {"one": WEIGHTS, "two": WEIGHTS}, KEYS, QUERIES, alt="x", numbers=True
    ),
    "aligned": lambda: attention(alignment=torch.tensor([2, -1])),
    "curves": curves,
    "log curves": lambda: curves(log_x=True, log_y=True, markers=True, roles={"scaled": "query"}),
    "links": lambda: plot_links(KEYS, [(2, 0)], alt="x", tempting=[(2, 1)]),
    "beams": lambda: plot_beams(TREE, KEYS, alt="x"),
    "positions": lambda: plot_positions(torch.linspace(-1, 1, 12).view(3, 4), alt="x"),
    "alignment": lambda: plot_alignment(KEYS, QUERIES, [(0, 1), (2, 0)], alt="x"),
}
for_each_picture = pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES.keys())


def parse(picture):
    head = '<svg xmlns:xlink="http://www.w3.org/1999/xlink"'
    return ElementTree.fromstring(picture.svg.replace("<svg", head, 1))


@for_each_picture
def test_picture_is_well_formed_and_says_what_it_shows(draw):
    picture = draw()
    root = parse(picture)
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == picture.alt != ""
    assert picture._repr_html_() == picture.svg


@for_each_picture
def test_picture_follows_the_theme(draw):
    svg = draw().svg
    assert "currentColor" in svg
    fixed = set(re.findall(r"(?<!, )#[0-9a-f]{6}", svg))  # a colour that is no fallback of a role's
    assert not fixed
    assert "<style" not in svg  # would hold for the whole page
    assert "font-family: inherit" in svg
    assert "http" not in svg


@for_each_picture
def test_picture_is_the_same_in_every_build_and_minds_no_global_setting(draw):
    first = draw().svg
    with mpl.rc_context({"font.size": 40, "axes.facecolor": "red"}):
        assert draw().svg == first


@for_each_picture
def test_ids_are_the_pictures_own_and_every_reference_is_met(draw):
    svg = draw().svg
    ids = re.findall(r' id="([^"]*)"', svg)
    references = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    assert references == set(ids)
    other = set(re.findall(r' id="([^"]*)"', curves(y_label="another").svg))
    assert not set(ids) & other


def test_heatmap_is_darker_for_more_and_empty_for_nothing():
    svg = attention().svg
    opacities = re.findall(r"fill: var\(--course-query, #0072b2\); opacity: ([\d.]+)", svg)
    assert sorted(map(float, opacities)) == [0.1, 0.2, 0.3, 0.5, 0.9]


def test_heatmap_marks_the_truth_where_there_is_one():
    plain, marked = attention().svg, attention(alignment=torch.tensor([2, -1])).svg
    assert marked.count("stroke-width: 1.6") == 1 + plain.count("stroke-width: 1.6")


def test_heatmap_prints_numbers_when_asked():
    texts = {element.text for element in parse(attention(numbers=True)).iter() if element.text}
    assert {".90", ".10", ".00", ".50"} <= texts


@pytest.mark.filterwarnings("error")
def test_weights_that_a_model_still_learns_can_be_drawn():
    learned = WEIGHTS.clone().requires_grad_()
    assert plot_attention(learned, KEYS, QUERIES, alt="what it shows") == attention()


@pytest.mark.parametrize(
    ("heights", "labels"),
    [
        ([3.0, 70.0], {"5", "10", "20", "50"}),  # one power of ten would stand alone
        ([28.0, 45.0], {"30", "35", "40", "45"}),
        ([0.5, 2000.0], {"2", "3"}),  # the exponents of powers of ten
    ],
)
def test_a_logarithmic_axis_has_labels_that_can_be_read(heights, labels):
    picture = plot_curves({"one": heights}, x_label="step", y_label="ms", alt="a", log_y=True)
    elements = parse(picture).iter()
    numbers = {e.text.strip() for e in elements if e.text and e.text.strip().isdigit()}
    assert numbers - {"0", "1"} == labels  # on the other axis there are 0 and 1


def test_labels_stand_as_text():
    texts = {element.text for element in parse(attention()).iter() if element.text}
    assert {*KEYS, *QUERIES, "key", "query"} <= texts


def test_curves_differ_by_more_than_colour():
    svg = curves().svg
    assert "stroke-dasharray" in svg
    styles = [str(LINE_STYLES[role]) for role in ("query", "key", "value", "mask")]
    assert len(set(styles)) == 4


def test_every_role_has_a_colour_and_dashes():
    roles = {"query", "key", "value", "mask", "encoder", "decoder", "truth", "prediction"}
    assert set(COLORS) == set(LINE_STYLES) == roles
    assert len(set(COLORS.values())) == len(COLORS)


def test_alt_text_is_escaped():
    assert 'aria-label="q &lt; k &amp; &quot;v&quot;"' in attention(alt='q < k & "v"').svg


def test_saved_picture_is_a_file_of_its_own(tmp_path):
    path = tmp_path / "picture.svg"
    attention().save(path)
    text = path.read_text()
    assert ElementTree.parse(path).getroot().tag.endswith("svg")
    assert "var(" not in text
    assert "currentColor" not in text
    assert COLORS["query"] in text


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: attention(alt=" "), "alt must say what the figure shows"),
        (lambda: plot_attention(WEIGHTS.T, KEYS, QUERIES, alt="x"), r"must have shape \(2, 3\)"),
        (lambda: plot_attention(2 * WEIGHTS, KEYS, QUERIES, alt="x"), "must be between 0 and 1"),
        (lambda: plot_attention(WEIGHTS - 0.5, KEYS, QUERIES, alt="x"), "must be between 0 and 1"),
        (lambda: plot_curves({}, x_label="", y_label="", alt="x"), "at least one curve"),
        (lambda: plot_links(KEYS, [(0, 3)], alt="x"), r"positions 0 to 2, got \(0, 3\)"),
        (lambda: plot_links(KEYS, [], alt="x", tempting=[(-1, 0)]), "positions 0 to 2"),
        (lambda: plot_alignment(KEYS, QUERIES, [(0, 2)], alt="x"), r"got \(0, 2\)"),
    ],
)
def test_what_makes_no_picture_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def test_a_tree_names_its_tokens_and_their_log_probabilities():
    texts = "".join(parse(plot_beams(TREE, KEYS, alt="x")).itertext())
    for expected in ("start", "the  (1)", "-0.25", "old", "-1.50"):
        assert expected in texts.replace("\N{MINUS SIGN}", "-")


@pytest.mark.parametrize("word", ["mimimi", "illi"])
def test_a_branch_begins_where_its_heavy_word_ends(word):
    following = BeamNode(parent=1, token=1, length=2, log_probability=-0.5, fate="result", rank=0)
    root = parse(
        plot_beams([*TREE[:1], replace(TREE[1], rank=None), following], [word, "x"], alt="x")
    )
    (text,) = (element for element in root.iter("text") if element.text == word)
    branch = [path for path in root.iter("path") if "stroke:" in path.attrib["style"]][1]
    start = float(branch.attrib["d"].split()[1]) - float(text.attrib["x"])
    font = FontProperties(family="DejaVu Sans", weight="bold", size=10.5)
    width = TextPath((0, 0), word, prop=font).get_extents().x1
    assert 2 < start - width < 9  # points; the width differs a little by resolution


def test_a_tree_that_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="at least"):
        plot_beams([], KEYS, alt="x")
    with pytest.raises(ValueError, match="labels must name token 1, got 1 labels"):
        plot_beams(TREE, KEYS[:1], alt="x")


def test_positions_show_signs_by_colour_and_size_by_opacity():
    vectors = torch.tensor([[1.0, -1.0], [0.2, 0.0]])
    pixels = read_image(plot_positions(vectors, alt="x").svg)
    blue, orange = (tuple(bytes.fromhex(COLORS[role][1:])) for role in ("query", "key"))
    assert [tuple(pixel) for row in pixels for pixel in row] == [
        (*blue, 255), (*orange, 255), (*blue, 51), (*orange, 0),
    ]  # fmt: skip


@pytest.mark.parametrize("vectors", [torch.zeros(3), torch.zeros(0, 4), torch.full((2, 2), 1.5)])
def test_positions_that_cannot_be_drawn_are_refused(vectors):
    with pytest.raises(ValueError, match=r"vectors must be|larger than largest=1\.0"):
        plot_positions(vectors, alt="x")


def read_image(svg):
    data = re.search(r'data:image/png;base64,([^"]+)"', svg)[1]
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA"))


def test_what_is_counted_has_no_halves_on_its_axis():
    labels = [
        re.findall(r">([\d.]+)</text>", curves_at(positions).svg)
        for positions in ([0, 1, 2], [0, 0.5, 1])
    ]
    assert labels[0][:3] == ["0", "1", "2"]
    assert "0.4" in labels[1]


def curves_at(positions):
    return plot_curves({"a": (positions, [7.0, 8.0, 9.0])}, x_label="x", y_label="y", alt="a")
