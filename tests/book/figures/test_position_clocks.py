"""The figure position-clocks: its data are checked, its hands stand where course_lib says."""

import math

import pytest
import torch
from playwright.sync_api import expect

from course_lib.layers.positional import SinusoidalPositions
from tests.book.figures.figure_checks import refuses, table_of
from tests.book.watched_page import depends_on_page, opened

NAME = "position-clocks"
PAGE = "positional-encoding"

pytestmark = depends_on_page(PAGE, "course_lib", "tests/book/figures")

DATA = {"d_model": 16, "base": 10_000, "length": 200, "note": ""}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"d_model": 7}, "d_model must be even"),
    ({"d_model": "16"}, "d_model must be a whole number from 4 to 32"),
    ({"base": 1}, "base must be a finite number above 1"),
    ({"length": 1}, "length must be a whole number from 2"),
)


def test_the_table_gives_each_clocks_angle():
    table = table_of(NAME, DATA)
    assert "clock 7" in table
    assert f"{math.degrees(1.0):.0f}\N{DEGREE SIGN}" in table  # clock 0 at position 1


@pytest.fixture
def figure(figure):
    """The figure with the hands three tokens apart."""
    figure.locator("input[type=range]").nth(1).fill("3")
    return figure


def hands(figure, which):
    lines = figure.locator(which).all()
    ends = [[float(line.get_attribute(name)) / 40 for name in ("y2", "x2")] for line in lines]
    return torch.tensor([[-y, x] for y, x in ends], dtype=torch.float64).flatten()  # sine, cosine


@pytest.mark.browser
def test_the_hands_are_the_position_vector_and_that_of_the_shifted_position(figure):
    sliders = figure.locator("input[type=range]")
    positions = SinusoidalPositions(16)
    for position, shift in ((0, 0), (5, 3), (150, 20)):
        sliders.nth(0).fill(str(position))
        sliders.nth(1).fill(str(shift))
        for which, at in (
            (".clocks-hand:not(.clocks-hand--ahead)", position),
            (".clocks-hand--ahead", position + shift),
        ):
            expected = positions.vectors(1, offset=at, dtype=torch.float64)[0]
            assert torch.allclose(hands(figure, which), expected, atol=1e-3)


@pytest.mark.browser
def test_sliders_obey_the_keyboard_and_the_change_is_read_out(figure):
    slider = figure.locator("input[type=range]").first
    slider.focus()
    slider.press("Home")
    slider.press("ArrowRight")
    figure.get_by_text("Position 1 and position 4").wait_for()


@pytest.mark.browser
def test_clocks_play_until_they_are_stopped(figure):
    slider = figure.locator("input[type=range]").first
    slider.fill("0")
    button = figure.get_by_role("button")
    button.click()
    expect(button).to_have_text("Pause")
    expect(slider).not_to_have_value("0")
    button.click()
    position = int(slider.input_value())
    figure.get_by_text(f"Position {position} and position {position + 3}").wait_for()
    hand = hands(figure, ".clocks-hand:not(.clocks-hand--ahead)")
    expected = SinusoidalPositions(16).vectors(1, offset=position, dtype=torch.float64)[0]
    assert torch.allclose(hand, expected, atol=1e-3)


@pytest.mark.browser
@pytest.mark.proof
def test_nothing_plays_for_those_who_asked_for_less_motion(chromium, site):
    address = (site / "book" / f"{PAGE}.html").as_uri()
    with opened(chromium, address, reduced_motion="reduce") as watched:
        figure = watched.page.locator("[data-course-figure=position-clocks]").first
        figure.get_by_role("button", name="One token on").click()
        figure.get_by_text("Position 13 and position 16").wait_for()
    assert watched.problems == []
