"""The figure prefix-slider: its data are checked, its mask is course_lib's with a prefix."""

import pytest

from course_lib.layers.masks import causal_mask
from tests.book.figures.figure_checks import refuses, table_of
from tests.book.watched_page import depends_on_page

NAME = "prefix-slider"
PAGE = "transformer-families"

pytestmark = depends_on_page(PAGE, "course_lib", "tests/book/figures")

DATA = {"words": ["a", "b", "sep", "A", "B"], "source": 3, "note": ""}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"words": ["a", "b"]}, "words must hold 3 to 10 texts"),
    ({"source": 5}, "source must be a whole number from 1 to 4"),
    ({"source": "3"}, "source must be a whole number from 1 to 4"),
)


def test_the_table_counts_pairs_and_lessons():
    table = table_of(NAME, DATA)
    for row in (
        '<th scope="row">0</th><td>decoder-only</td><td>15</td><td>4</td>',
        '<th scope="row">3</th><td>prefix LM</td><td>18</td><td>2</td>',
        '<th scope="row">5</th><td>encoder-only</td><td>25</td><td>0</td>',
    ):
        assert row in table


@pytest.mark.browser
def test_the_mask_is_causal_but_for_the_prefix(figure):
    slider = figure.locator("input[type=range]")
    length = int(slider.get_attribute("max"))
    for prefix in (0, 1, 3, length):
        slider.fill(str(prefix))
        mask = causal_mask(length)[0, 0]
        mask[:, :prefix] = True
        cells = figure.locator("tbody td:not(.prefix-asked)").all_text_contents()
        assert cells == ["1" if seen else "" for seen in mask.flatten().tolist()]
        lessons = int((~mask.diagonal(offset=1)).sum())
        assert figure.locator("[data-count=lessons]").inner_text() == str(lessons)
        assert figure.locator(".prefix-asked").all_text_contents().count("\u2713") == lessons


@pytest.mark.browser
def test_families_and_places_are_chosen_by_keyboard(figure):
    figure.get_by_role("button", name="encoder-only").press("Enter")
    figure.get_by_text("words have to be hidden instead").wait_for()
    figure.get_by_role("button", name="decoder-only").press("Enter")
    looking = figure.locator(".course-word[aria-pressed=true]")
    looking.focus()
    for _ in range(10):
        figure.page.keyboard.press("ArrowLeft")
    figure.get_by_text("sees 1 of").wait_for()
    assert figure.locator(".course-word.is-hidden").count() > 2
