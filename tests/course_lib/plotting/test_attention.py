"""Do heatmaps show weights, alignment and labels?"""

import re

import pytest
import torch

from course_lib.plotting.attention import plot_attention
from tests.course_lib.plotting.examples import KEYS, QUERIES, WEIGHTS, attention, parse


def test_heatmap_is_more_opaque_for_larger_weights_and_empty_for_0():
    svg = attention().svg
    opacities = re.findall(r"fill: var\(--course-query, #0072b2\); opacity: ([\d.]+)", svg)
    assert sorted(map(float, opacities)) == [0.1, 0.2, 0.3, 0.5, 0.9]


def test_heatmap_marks_the_alignment_of_queries_that_have_one():
    plain, marked = attention().svg, attention(alignment=torch.tensor([2, -1])).svg
    assert marked.count("stroke-width: 1.6") == 1 + plain.count("stroke-width: 1.6")


def test_labels_and_numbers_are_text():
    texts = {element.text for element in parse(attention(numbers=True)).iter() if element.text}
    assert {".90", ".10", ".00", ".50", *KEYS, *QUERIES, "key", "query"} <= texts


@pytest.mark.filterwarnings("error")
def test_weights_with_a_gradient_can_be_drawn():
    learned = WEIGHTS.clone().requires_grad_()
    assert plot_attention(learned, KEYS, QUERIES, alt="what it shows") == attention()
