"""Functions that draw a small picture of each kind, with or without options."""

from xml.etree import ElementTree

import torch

from course_lib.analysis.beam_tree import BeamNode
from course_lib.plotting.attention import plot_attention
from course_lib.plotting.beams import plot_beams
from course_lib.plotting.curves import plot_curves
from course_lib.plotting.links import plot_alignment, plot_links
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


def parse(picture):
    """Return the root element of a picture's SVG."""
    head = '<svg xmlns:xlink="http://www.w3.org/1999/xlink"'
    return ElementTree.fromstring(picture.svg.replace("<svg", head, 1))
