"""The figure norm-sphere: its data are checked, its outputs are those of course_lib."""

import pytest
import torch

from course_lib.layers.normalization import layer_norm, rms_norm
from tests.book.figures.figure_checks import as_number, refuses, table_of
from tests.book.watched_page import depends_on_page

NAME = "norm-sphere"
PAGE = "layer-normalization"

pytestmark = depends_on_page(PAGE, "course_lib", "tests/book/figures")

DATA = {"entries": [1.0, 0.0, 0.5], "epsilon": 1e-5, "note": ""}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"entries": [1.0, 2.0]}, "entries must hold 3 numbers"),
    ({"entries": [1.0, 2.0, 4.0]}, "entries must hold finite numbers from -3 to 3"),
    ({"epsilon": 0}, "epsilon must be a finite number above 0"),
)


def test_the_table_shows_both_steps():
    table = table_of(NAME, DATA)
    assert "<td>0.50</td><td>-0.50</td><td>0.00</td>" in table
    assert "<td>1.22</td><td>-1.22</td><td>0.00</td><td>0.00</td><td>1.73</td>" in table


def entries(figure, row):
    cells = figure.locator(".sphere-table tbody tr").nth(row).locator("td").all_inner_texts()
    numbers = [as_number(text) for text in cells[:3]]
    return torch.tensor(numbers, dtype=torch.float64)


@pytest.mark.browser
def test_a_lifted_x_leaves_layer_norm_where_it_was(figure):
    ones, zeros = torch.ones(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    before = entries(figure, 1)
    handle = figure.get_by_role("slider", name="x", exact=True).first
    handle.focus()
    handle.press("ArrowUp")
    x = entries(figure, 0)
    assert torch.allclose(entries(figure, 1), before)
    assert torch.allclose(entries(figure, 1), layer_norm(x, ones, zeros, eps=1e-5), atol=0.03)
    assert torch.allclose(entries(figure, 2), rms_norm(x, ones, eps=1e-5), atol=0.03)
    handle.press("ArrowLeft")
    assert not torch.allclose(entries(figure, 1), before)
    figure.get_by_label("Gain of entry 1").fill("2")
    gain = torch.tensor([2.0, 1.0, 1.0], dtype=torch.float64)
    expected = layer_norm(entries(figure, 0), gain, zeros, eps=1e-5)
    assert torch.allclose(entries(figure, 1), expected, atol=0.06)
    figure.get_by_role("button", name="Let x fall").click()
    figure.locator(".is-falling").wait_for()
    figure.locator(".sphere:not(.is-falling)").wait_for()
