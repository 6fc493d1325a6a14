"""The palette is legible in both themes, and the same in pages and in static figures."""

import re
from pathlib import Path

from course_book.markup.formulas import ROLES

from course_lib.plotting.picture import COLORS, INK

PALETTE = Path(__file__).parents[2] / "book" / "_static" / "css" / "palette.css"
TEXT = (*ROLES, "ink", "muted", "link", "right", "wrong")


def palette(theme: str) -> dict[str, str]:
    """Return the colours of a theme, ``light`` or ``dark``, as ``#rrggbb`` by name."""
    block = re.search(rf'html\[data-theme="{theme}"\] {{(.*?)}}', PALETTE.read_text(), re.DOTALL)
    return dict(re.findall(r"--course-([a-z-]+): (#[0-9a-f]{6});", block[1]))


def luminance(color: str) -> float:
    """Return the relative luminance of ``#rrggbb``, from 0 to 1, as WCAG defines it."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_text_in_every_colour_is_legible_in_both_themes():
    for theme in ("light", "dark"):
        colors = palette(theme)
        for name in TEXT:
            for ground in ("page", "card"):
                assert contrast(colors[name], colors[ground]) >= 4.5, (theme, name, ground)


def test_static_figures_use_the_same_colours():
    light = palette("light")
    assert {role: light[role] for role in ROLES} == COLORS
    assert light["ink"] == INK
