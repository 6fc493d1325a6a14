"""The figure bend-curve: its data are checked, its best slopes are those of least squares."""

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import expect

from tests.book.figures.figure_checks import as_number, refuses, table_of
from tests.book.watched_page import depends_on_page

NAME = "bend-curve"
PAGE = "feed-forward"

pytestmark = depends_on_page(PAGE, "course_lib", "tests/book/figures")

DATA = {"x": [0, 1, 2], "y": [0, 1, 0], "units": [[0, 1], [1, -2]], "bias": 0, "note": ""}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"x": [0, 2, 1]}, "x must hold ascending numbers"),
    ({"y": [0, 1]}, "y must hold 3 numbers"),
    ({"units": []}, "units must hold 1 to 6 pairs"),
    ({"units": [[3, 1]]}, "where a unit bends must be a finite number from 0 to 2"),
    ({"units": [[1]]}, "a unit must hold 2 numbers"),
    ({"bias": "0"}, "bias must be a finite number"),
)


def test_the_table_adds_up_the_units():
    table = table_of(NAME, DATA | {"y": [5, 5, 5]})
    assert "<td>5.00</td><td>1.00</td>" in table  # at 1: the first unit alone


@pytest.fixture
def figure(figure):
    """The figure with the slopes that it has at first."""
    figure.get_by_role("button", name="Start again").click()
    return figure


def summary(figure):
    return figure.locator(".course-summary")


@pytest.mark.browser
def test_a_bend_that_is_moved_leaves_the_other_corners_where_they_were(figure):
    def heights():
        words = [handle.get_attribute("aria-valuetext") for handle in handles.all()]
        return [as_number(text.split()[2]) for text in words]

    handles = figure.locator(".course-handle")
    before, said = heights(), summary(figure).inner_text()
    handles.nth(2).focus()
    handles.nth(2).press("Shift+ArrowUp")
    assert heights() == pytest.approx([*before[:2], before[2] + 0.25, *before[3:]], abs=0.006)
    expect(summary(figure)).not_to_have_text(said)
    unit = figure.locator(".bend-table tbody tr").nth(1).locator("td").nth(2)
    change = -0.25 / 1.5 - 0.25 / 1.5  # up over 1.5 and down over 1.5, with a level line before
    assert as_number(unit.inner_text()) == pytest.approx(change, abs=0.01)


@pytest.mark.browser
def test_best_slopes_leave_the_smallest_error(figure):
    figure.get_by_role("button", name="Best slopes").click()
    x = torch.linspace(0, 2 * torch.pi, 65, dtype=torch.float64)[:, None]
    bends = torch.tensor([0.0, 1.5, 3.0, 4.5], dtype=torch.float64)
    inner = torch.cat([torch.ones_like(x), F.relu(x - bends)], dim=1)
    left = inner @ torch.linalg.lstsq(inner, x.sin()).solution - x.sin()
    error = left.square().mean().item()
    expect(summary(figure)).to_contain_text(f"Mean squared error {error:.4f}")
