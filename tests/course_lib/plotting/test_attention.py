"""Do heatmaps show the weights, the truth and the labels?"""

import re

import pytest
import torch

from course_lib.plotting.attention import plot_attention
from tests.course_lib.plotting.examples import KEYS, QUERIES, WEIGHTS, attention, parse


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


def test_labels_stand_as_text():
    texts = {element.text for element in parse(attention()).iter() if element.text}
    assert {*KEYS, *QUERIES, "key", "query"} <= texts
