"""The figure bpe-merges: its data are checked, and what it shows is course_lib's encoding."""

import re

import pytest

from tests.book.figures.figure_checks import refuses, table_of
from tests.book.watched_page import depends_on_page

NAME = "bpe-merges"
PAGE = "tokenization"

pytestmark = depends_on_page(PAGE, "course_lib", "tests/book/figures")

LETTER_OF_TWO_BYTES = re.compile("<..><..>|[éè]")

DATA = {"merges": [0, 1], "tokens": [["a", "b"], ["ab"]], "note": ""}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"merges": [0]}, "merges must hold at least 2 numbers"),
    ({"merges": [1, 0]}, "merges must hold ascending numbers"),
    ({"merges": [0, "1"]}, "merges must be a whole number from 0"),
    ({"tokens": [["ab"]]}, "tokens must hold 2 lists"),
    ({"tokens": [["a", "b"], []]}, "tokens must hold at least 1 texts"),
    ({"tokens": [["a", "b"], [1]]}, "tokens must hold texts"),
)


def test_the_table_has_a_row_for_each_number_of_merges():
    table = table_of(NAME, DATA)
    assert '<th scope="row">0</th><td>2</td><td>a|b</td>' in table
    assert '<th scope="row">1</th><td>1</td><td>ab</td>' in table


@pytest.mark.browser
def test_merges_join_tokens_and_lose_no_letter(figure):
    slider = figure.locator("input[type=range]")
    counts, texts = [], set()
    for place in range(int(slider.get_attribute("max")) + 1):
        slider.fill(str(place))
        tokens = figure.locator(".merges-token").all_text_contents()
        assert figure.locator("[data-count=tokens]").inner_text() == str(len(tokens))
        counts.append(len(tokens))
        texts.add("".join(tokens))
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 2 * counts[-1]
    assert len({LETTER_OF_TWO_BYTES.sub("?", text) for text in texts}) == 1
