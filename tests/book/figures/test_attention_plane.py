"""The figure attention-plane: its data are checked, its numbers are those of course_lib."""

import json

import pytest

from tests.book.figures.figure_checks import as_number, model_of, refuses, table_of
from tests.book.watched_page import depends_on_page

NAME = "attention-plane"
PAGE = "self-attention"

pytestmark = depends_on_page(PAGE, "course_lib", "tests/book/figures")

DATA = {
    "names": ["a", "b"],
    "query": [1.0, 0.0],
    "key": [[1.0, 0.0], [0.0, 1.0]],
    "value": [1, 3],
    "axes": ["across", "up"],
    "unit": "years",
    "reach": 2,
    "note": "",
}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"names": ["a"]}, "names must hold 2 to 6 texts"),
    ({"query": [3.0, 0.0]}, "query must hold finite numbers from -2 to 2"),
    ({"key": [[1.0, 0.0]]}, "key must hold 2 rows"),
    ({"value": [1]}, "value must hold 2 numbers"),
)


def test_the_table_shows_scores_weights_and_the_mix():
    table = table_of(NAME, DATA)  # weights e / (e + 1) and 1 / (e + 1)
    assert "<td>1.00</td><td>0.73</td><td>1</td>" in table
    assert "mixed, 1.5 years" in table


@pytest.mark.browser
def test_a_query_that_is_moved_takes_what_the_library_computes(figure):
    data_id = figure.get_attribute("data-course-data")
    data = json.loads(figure.page.locator(f"script#{data_id}").text_content())
    query = figure.get_by_role("slider", name="query", exact=True)
    query.focus()
    query.press("ArrowRight")
    query.press("Shift+ArrowDown")
    moved = [data["query"][0] + 0.1, data["query"][1] - 0.5]
    box, ring = figure.locator(".course-plane").bounding_box(), query.bounding_box()
    assert ring["x"] + ring["width"] / 2 == pytest.approx(
        box["x"] + box["width"] * (1 + moved[0] / data["reach"]) / 2, abs=1.5
    )
    scores, weights, mixed = model_of(NAME).from_json(data | {"query": moved}).attend()
    for kind, expected in ((".plane-score", scores), (".plane-weight", weights)):
        shown = figure.locator(kind).all_inner_texts()
        numbers = [as_number(text) for text in shown]
        assert numbers == pytest.approx(expected, abs=0.006)
    figure.locator(".plane-answer", has_text=f"{mixed:.1f} years").wait_for()
    query.hover()
    figure.page.mouse.down()
    figure.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    figure.page.mouse.up()
    assert query.get_attribute("aria-valuetext") == "swims 0.0, climbs 0.0"
