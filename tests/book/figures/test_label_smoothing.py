"""The figure label-smoothing: its data are checked, its losses are those of course_lib."""

import math

import pytest
import torch
from playwright.sync_api import expect

from course_lib.training.losses import label_smoothed_cross_entropy
from tests.book.figures.figure_checks import refuses, table_of
from tests.book.watched_page import depends_on_page

NAME = "label-smoothing"
PAGE = "training"

pytestmark = depends_on_page(PAGE, "course_lib", "tests/book/figures")

DATA = {"smoothing": 0.1, "vocab_size": 1000, "lead": 5, "note": ""}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"smoothing": 0.6}, "smoothing must be a finite number from 0 to 0.5"),
    ({"smoothing": "0.1"}, "smoothing must be a finite number from 0 to 0.5"),
    ({"vocab_size": 1}, "vocab_size must be a whole number from 2"),
    ({"lead": -1}, "lead must be a finite number from 0 to 16"),
)


def test_the_table_starts_with_the_cost_of_guessing():
    table = table_of(NAME, DATA)
    assert "<td>0.0010</td><td>6.908</td><td>6.908</td>" in table


def loss_at(lead: float, smoothing: float, vocab_size: int) -> float:
    logits = torch.zeros(vocab_size, dtype=torch.float64)
    logits[3] = lead
    return label_smoothed_cross_entropy(logits, torch.tensor(3), smoothing=smoothing).item()


@pytest.mark.browser
def test_the_dot_is_the_loss_and_the_line_its_lowest_point(figure):
    smoothing, size = figure.locator("input[type=range]").all()
    lead = figure.get_by_role("slider", name="lead of the right word")
    lead.focus()
    for key in ("Shift+ArrowRight", "ArrowRight"):  # from 5 to 8
        lead.press(key)
    for number, (share, place, vocab_size) in enumerate(((0.1, "5", 37_000), (0.3, "3", 1000))):
        smoothing.fill(str(share))
        size.fill(place)
        chart = figure.locator("svg[data-loss]")
        expected = loss_at(8.0, share, vocab_size)
        assert float(chart.get_attribute("data-loss")) == pytest.approx(expected, rel=1e-9), number
        best = math.log((1 - share) * vocab_size / share + 1)
        words = f"{loss_at(best, share, vocab_size):.3f}, at a lead of {best:.1f}"
        expect(figure.locator(".course-summary")).to_contain_text(words)


@pytest.mark.browser
def test_sliders_obey_the_keyboard_and_the_change_is_read_out(figure):
    smoothing = figure.get_by_label("Smoothing")
    smoothing.focus()
    smoothing.press("Home")
    figure.get_by_text("there is no best lead").wait_for()
    assert figure.locator(".smooth-best").is_hidden()
