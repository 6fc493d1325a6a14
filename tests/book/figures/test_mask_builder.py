"""The figure mask-builder: its data are checked, its leak is what autograd measures."""

import json

import pytest
import torch
from torch.autograd.functional import jacobian

from course_lib.layers.attention import scaled_dot_product_attention
from tests.book.figures.figure_checks import refuses, table_of
from tests.book.watched_page import depends_on_page

NAME = "mask-builder"
PAGE = "masking"

pytestmark = depends_on_page(PAGE, "course_lib", "tests/book/figures")

SQUARE = [[1.0, 0.0], [0.0, 1.0]]
DATA = {
    "words": ["a", "b", "pad"],
    "padding": [2],
    "x": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]],
    "query": SQUARE,
    "key": SQUARE,
    "value": SQUARE,
    "note": "",
}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"words": ["a"]}, "words must hold 3 to 8 texts"),
    ({"padding": [3]}, "each position of padding must be a whole number from 0 to 2"),
    ({"x": [[1.0, 0.0]]}, "x must hold 3 rows"),
    ({"key": [[1.0], [0.0]]}, "each row of key must hold 2 numbers"),
)


def test_the_table_is_the_right_mask():
    assert "<td>1</td><td>1</td><td>0</td>" in table_of(NAME, DATA)


@pytest.fixture
def figure(figure):
    """The figure with the causal mask and one layer."""
    choose(figure, "causal", 1)
    return figure


def choose(figure, preset, layers):
    figure.get_by_role("button", name=preset, exact=True).click()
    figure.locator("input[type=range]").fill(str(layers))


def leak_by_autograd(data, mask, layers):
    x, query, key, value = (
        torch.tensor(data[name], dtype=torch.float64) for name in ("x", "query", "key", "value")
    )

    def stack(x):
        for _ in range(layers):
            x = x + scaled_dot_product_attention(x @ query, x @ key, x @ value, mask)
        return x

    return jacobian(stack, x).square().sum(dim=(1, 3)).sqrt()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("preset", "diagonal", "layers"), [("one too far", 1, 3), ("causal", 0, 1)]
)
def test_the_leak_is_what_autograd_measures(figure, preset, diagonal, layers):
    choose(figure, preset, layers)
    data = json.loads(figure.page.locator("#mask-builder-data").text_content())
    cells = figure.locator(".mask-leak").all()
    shown = [float(cell.get_attribute("data-value")) for cell in cells]
    mask = torch.ones(6, 6).tril(diagonal).bool()
    measured = leak_by_autograd(data, mask, layers)
    assert torch.allclose(torch.tensor(shown, dtype=torch.float64).view(6, 6), measured)


@pytest.mark.browser
def test_a_cell_lets_through_by_keyboard_and_the_leak_is_read_out(figure):
    cell = figure.locator(".mask-cell").first
    cell.focus()
    cell.press("ArrowRight")
    focused = figure.locator(".mask-cell:focus")
    assert focused.get_attribute("aria-pressed") == "false"
    focused.press("Enter")
    figure.get_by_text("1 layer: 1 leak").wait_for()
