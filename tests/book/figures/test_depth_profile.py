"""The figure depth-profile: its data are checked, its curves are the numbers."""

import math

import pytest

from tests.book.figures.figure_checks import refuses, table_of
from tests.book.watched_page import depends_on_page

NAME = "depth-profile"
PAGE = "residual-connections"

pytestmark = depends_on_page(PAGE, "course_lib", "tests/book/figures")

PROFILE = {"sizes": [1.0, 2.0, 4.0], "gradients": [0.1, 0.2]}
PROFILES = {name: [PROFILE] for name in ("plain", "residual", "post", "pre")}
DATA = {"depths": [2], "profiles": PROFILES, "note": ""}


def with_pre(profile):
    return {"profiles": PROFILES | {"pre": [PROFILE | profile]}}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"depths": [4, 2]}, "depths must hold ascending numbers"),
    ({"profiles": {"plain": [PROFILE]}}, "profiles: expected .* missing: .*'pre'"),
    ({"profiles": PROFILES | {"pre": []}}, "pre must hold 1 profiles"),
    (with_pre({"sizes": [1.0]}), "pre sizes must hold 3 numbers"),
    (with_pre({"gradients": [0, 1]}), "must hold finite numbers above 0"),
    (with_pre({"gradients": [math.nan, 1]}), "must hold finite numbers above 0"),
)


def test_the_table_gives_both_ends():
    table = table_of(NAME, DATA)
    assert "residual, 2 layers" in table
    assert "<td>1.00</td><td>4.00</td><td>0.10</td><td>0.20</td>" in table


@pytest.mark.browser
def test_buttons_choose_and_the_slider_deepens(figure):
    figure.get_by_role("button", name="pre:").click()
    assert figure.locator(".depth-line.is-chosen.depth-line--pre").count() == 2
    slider = figure.locator("input[type=range]")
    slider.focus()
    slider.press("Home")
    figure.get_by_text("2 layers, pre:").wait_for()
    line = figure.locator(".depth-line--pre").first
    assert len(line.get_attribute("points").split()) == 3  # the embeddings and two layers
    slider.press("End")
    figure.get_by_text("16 layers, pre:").wait_for()
    assert len(line.get_attribute("points").split()) == 17
