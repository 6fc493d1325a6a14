"""The figure four-norms: its data are checked, it computes what course_lib computes."""

import pytest
import torch

from course_lib.layers.normalization import layer_norm, rms_norm
from tests.book.figures.figure_checks import as_number, refuses, table_of
from tests.book.watched_page import depends_on_page

NAME = "four-norms"
PAGE = "layer-normalization"

pytestmark = depends_on_page(PAGE, "course_lib", "tests/book/figures")

DATA = {"entries": [1.0, 0.0, 0.0, 0.0], "epsilon": 0.01, "note": ""}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"entries": [1.0]}, "entries must hold 2 to 8 numbers"),
    ({"entries": ["1", 2]}, "entries must hold finite numbers"),
    ({"epsilon": 0}, "epsilon must be a finite number above 0"),
)


def test_the_table_shows_the_right_one_and_the_mistakes():
    table = table_of(NAME, DATA | {"epsilon": 1e-9})
    assert "<td>1.732</td>" in table
    assert "<td>1.500</td>" in table


@pytest.mark.browser
def test_the_script_computes_what_course_lib_computes(figure):
    x = torch.tensor([2.0, -1.0, 0.5, 0.3], dtype=torch.float64)
    for slider, entry in zip(figure.locator("input[type=range]").all(), x.tolist(), strict=True):
        slider.fill(str(entry))
    ones, zeros = torch.ones_like(x), torch.zeros_like(x)
    for scale, name in ((1.0, "as they are"), (0.1, "divided by 10")):
        figure.get_by_label(name).check()
        deviation = scale * (x - x.mean())
        expected = [
            layer_norm(scale * x, ones, zeros, eps=0.01),
            rms_norm(scale * x, ones, eps=0.01),
            deviation / (deviation.var() + 0.01).sqrt(),
            deviation / (deviation.square().mean().sqrt() + 0.01),
        ]
        for row, numbers in zip(figure.locator(".norms-row").all(), expected, strict=True):
            shown = row.locator(".norms-number").all_inner_texts()
            got = [as_number(text) for text in shown]
            assert got == pytest.approx(numbers.tolist(), abs=0.0051)
        share = round(100 * (expected[3].norm() / expected[0].norm()).item())
        assert f"{share}% of its size" in figure.locator(".norms-row").last.inner_text()
