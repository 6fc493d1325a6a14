"""The figure attention-cost: its data are checked, it counts what course_lib counts."""

import pytest

from course_lib.analysis.complexity import (
    attention_flops,
    attention_weights_bytes,
    feed_forward_flops,
    recurrent_flops,
)
from tests.book.figures.figure_checks import refuses, table_of
from tests.book.watched_page import depends_on_page

NAME = "attention-cost"
PAGE = "cost-of-attention"

pytestmark = depends_on_page(PAGE, "course_lib", "tests/book/figures")

DATA = {"lengths": [16, 32], "widths": [64, 128], "heads": [1, 8], "start": [16, 64, 8], "note": ""}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"lengths": [32, 16]}, "lengths must hold ascending numbers"),
    ({"widths": [0, 64]}, "each of widths must be a whole number from 1"),
    ({"heads": [1, 7]}, "heads must divide the smallest width"),
    ({"start": [16, 65, 8]}, "start must be among widths"),
    ({"start": [16]}, "start must hold 3 sizes"),
)


def test_the_table_counts_as_course_lib_does():
    table = table_of(NAME, DATA)
    assert f"{attention_flops(1, 32, 32, 64):.1e}" in table


@pytest.mark.browser
def test_it_counts_what_course_lib_counts(figure):
    def shown(part):
        return int(figure.locator(f"[data-part={part}]").get_attribute("data-value"))

    sliders = figure.locator("input[type=range]")
    for index in range(3):
        sliders.nth(index).focus()
        sliders.nth(index).press("ArrowRight")
    n, d, h = (int(text.replace(",", "")) for text in figure.locator("output").all_inner_texts())
    assert shown("scores") + shown("projections") == attention_flops(1, n, n, d)
    assert shown("feed-forward") == feed_forward_flops(1, n, d, 4 * d)
    assert shown("recurrent") == recurrent_flops(1, n, d, d, gates=3)
    written = int(figure.locator(".cost-memory").first.get_attribute("data-value"))
    assert written == attention_weights_bytes(1, h, n, n)
    figure.get_by_text(f"At length {n:,} and width {d:,}").wait_for()
