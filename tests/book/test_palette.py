"""The palette: readable in both themes, and the same in pages and in static figures."""

import re
from pathlib import Path

import pytest
from course_book.markup.formulas import ROLES

from course_lib.plotting.picture import COLORS, INK

PALETTE = Path(__file__).parents[2] / "book" / "_static" / "css" / "palette.css"
TEXT = (*ROLES, "ink", "muted", "link", "right", "wrong")


def palette(theme: str) -> dict[str, str]:
    block = re.search(rf'html\[data-theme="{theme}"\] {{(.*?)}}', PALETTE.read_text(), re.DOTALL)
    return dict(re.findall(r"--course-([a-z-]+): (#[0-9a-f]{6});", block[1]))


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_wcag():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("ground", ["page", "card"])
def test_text_in_every_colour_is_readable(theme, name, ground):
    colors = palette(theme)
    assert contrast(colors[name], colors[ground]) >= 4.5


def test_static_figures_use_the_same_colours():
    light = palette("light")
    assert {role: light[role] for role in ROLES} == COLORS
    assert light["ink"] == INK
