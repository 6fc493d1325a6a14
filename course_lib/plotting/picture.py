"""SVG pictures from matplotlib figures, with the font and the theme's colours of their page.

Each role in the course, such as query, mask or truth, has one colour and one dash pattern in all
chapters.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

INK = "#1f2933"
COLORS: dict[str, str] = {
    "query": "#0072b2",
    "key": "#b84a00",
    "value": "#007a5a",
    "mask": "#5f6773",
    "encoder": "#007588",
    "decoder": "#a23b72",
    "truth": INK,
    "prediction": "#8a6100",
}
"""The colour of each role in formulas, figures and text, in the light theme.

They are those of Okabe and Ito (2008), darkened until text in them is readable on white.
"""

LINE_STYLES: dict[str, Any] = {
    "query": "-",
    "key": "--",
    "value": "-.",
    "mask": (0, (1, 1.5)),
    "encoder": "-",
    "decoder": "--",
    "truth": (0, (1, 1.5)),
    "prediction": "-",
}
"""A dash pattern for each role, so that lines differ by more than colour."""

STYLE_FILE = Path(__file__).with_name("course.mplstyle")


@dataclass(frozen=True)
class Picture:
    """A figure as SVG for a web page.

    Attributes:
        svg: An ``<svg>`` element. Colours of roles are CSS variables such as ``--course-query``,
            with the light theme's value as fallback; ``INK`` is the page's text colour.
        alt: Alternative text, for screen readers.
    """

    svg: str
    alt: str

    def _repr_html_(self) -> str:
        """Return the SVG for a notebook."""
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write an SVG file in the light theme's colours."""
        svg = re.sub(r"var\(--course-\w+, (#\w+)\)", r"\1", self.svg).replace("currentColor", INK)
        header = (
            '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
        )
        Path(path).write_text(svg.replace("<svg", header, 1), encoding="utf-8")


@contextmanager
def course_style() -> Iterator[None]:
    """Draw in the course's style inside a ``with`` block."""
    with mpl.rc_context(fname=STYLE_FILE):
        yield


def to_picture(figure: Figure, *, alt: str) -> Picture:
    """Turn a figure drawn inside ``course_style`` into a picture with an alternative text."""
    if not alt.strip():
        raise ValueError("alt must describe the figure, got an empty text")
    buffer = StringIO()
    # No date, and ids that depend on the content alone, so that each build gives the same SVG.
    with course_style(), mpl.rc_context({"svg.hashsalt": "course"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return Picture(_adapt_to_page(buffer.getvalue(), alt), alt)


def _adapt_to_page(svg: str, alt: str) -> str:
    """Return matplotlib's SVG as an element with the page's font and colours."""
    svg = svg[svg.index("<svg") :]
    # A style element would apply to the whole page; its only rule moves to the root element.
    svg = re.sub(r"<(metadata|style)\b.*?</\1>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", svg)
    svg = _make_ids_unique(svg)
    svg = re.sub(r"font-family: [^;\"]*", "font-family: inherit", svg)
    for role, color in COLORS.items():
        value = "currentColor" if color == INK else f"var(--course-{role}, {color})"
        svg = svg.replace(color, value)
    head, _, body = svg.partition(">")
    width, view = (re.search(rf'{name}="([^"]*)"', head) for name in ("width", "viewBox"))
    assert width is not None
    assert view is not None
    pixels = float(width[1].removesuffix("pt")) * 4 / 3
    return (
        f'<svg class="course-picture" role="img" aria-label="{escape(alt)}" viewBox="{view[1]}" '
        f'style="width: {pixels:.0f}px; max-width: 100%; height: auto; '
        f'stroke-linejoin: round; stroke-linecap: butt">{body}'
    )


def _make_ids_unique(svg: str) -> str:
    """Remove ids that nothing refers to, and append a hash of the picture to the others."""
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    own = hashlib.sha256(svg.encode()).hexdigest()[:8]
    svg = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", svg)
    for name in used:
        svg = re.sub(rf'(?<=["#]){re.escape(name)}(?=[")])', f"{name}-{own}", svg)
    return svg
