"""The figure depth-profile: its data are checked, its curves are the numbers."""

import copy
import math

import pytest

from tests.book.watched_page import depends_on_page, opened

pytestmark = depends_on_page("residual-connections", "course_lib", "tests/book/figures")

DATA = {
    "depths": [2],
    "profiles": {
        name: [{"sizes": [1.0, 2.0, 4.0], "gradients": [0.1, 0.2]}]
        for name in ("plain", "residual", "post", "pre")
    },
    "note": "",
}


def model():
    from course_book.figures.depth_profile.data import DepthProfiles

    return DepthProfiles


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda d: d.pop("note"), "expected an object with"),
        (lambda d: d.update(depths=[4, 2]), "depths must hold ascending numbers"),
        (lambda d: d["profiles"].pop("pre"), r"profiles: expected .* missing: \['pre'\]"),
        (lambda d: d["profiles"].update(pre=[]), "pre must hold 1 profiles"),
        (lambda d: d["profiles"]["pre"][0].update(sizes=[1.0]), "pre sizes must hold 3 numbers"),
        (
            lambda d: d["profiles"]["pre"][0].update(gradients=[0, 1]),
            "must hold finite numbers above 0",
        ),
        (
            lambda d: d["profiles"]["pre"][0].update(gradients=[math.nan, 1]),
            "must hold finite numbers above 0",
        ),
    ],
)
def test_wrong_data_are_refused(break_it, message):
    data = copy.deepcopy(DATA)
    break_it(data)
    with pytest.raises(ValueError, match=message):
        model().from_json(data)


def test_the_table_gives_both_ends():
    table = model().from_json(DATA).table()
    assert "residual, 2 layers" in table
    assert "<td>1.00</td><td>4.00</td><td>0.10</td><td>0.20</td>" in table


@pytest.mark.browser
def test_buttons_choose_and_the_slider_deepens(chromium, served):
    address = f"{served}/book/residual-connections.html"
    with opened(chromium, address, viewport={"width": 1280, "height": 900}) as watched:
        figure = watched.page.locator("[data-course-figure=depth-profile]").first
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
    assert watched.problems == []
