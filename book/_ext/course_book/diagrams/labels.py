"""Labels: an estimate of their size, and their SVG."""

import re
from collections.abc import Iterator
from html import escape
from typing import NamedTuple

FONT = 14  # units; a phone shows a diagram's 430 units on 343 pixels
TITLE_FONT = 17
LINE = 17
SMALL = 0.74  # of superscripts and subscripts
_WIDTHS = {"ijl.,:;'|!()[] ": 0.34, "ftrIJ-/": 0.42, "mwMW": 0.92, "ABCDEFGHKLNOPQRSTUVXYZ": 0.74}
_MATH = re.compile(r"\$([^$]+)\$")
_SCRIPT = re.compile(r"(?P<place>[_^])(?:\{(?P<group>[^}]*)\}|(?P<one>.))")


class _Run(NamedTuple):
    """Letters of a label that are set alike: as mathematics if ``math``.

    ``place`` is ``_`` for a subscript, ``^`` for a superscript, and else empty.
    """

    text: str
    math: bool = False
    place: str = ""


def _runs(line: str) -> Iterator[_Run]:
    for index, part in enumerate(_MATH.split(line)):
        if index % 2 == 0:
            if part:
                yield _Run(part)
            continue
        end = 0
        for script in _SCRIPT.finditer(part):
            if script.start() > end:
                yield _Run(part[end : script.start()], math=True)
            yield _Run(script["group"] or script["one"], True, script["place"])
            end = script.end()
        if part[end:]:
            yield _Run(part[end:], math=True)


def _letter(letter: str) -> float:
    return next((width for letters, width in _WIDTHS.items() if letter in letters), 0.64)


def width_of(text: str, font: float = FONT) -> float:
    """Return an upper estimate of a label's width for the fonts of common systems.

    The width and ``font``, the font size, are in the drawing's units.
    """
    return max(
        sum(
            _letter(letter) * font * (SMALL if run.place else 1)
            for run in _runs(line)
            for letter in run.text
        )
        for line in text.split("\n")
    )


def height_of(text: str) -> float:
    """Return a label's height in the drawing's units, in which a letter is 14 high."""
    return LINE * (text.count("\n") + 1)


def plain(text: str) -> str:
    """Return a label's words in one line, without the signs for mathematics and line breaks."""
    words = text.replace("-\n", "-").replace("\n", " ")
    return "".join(run.text for run in _runs(words))


def _tspans(line: str, font: float) -> Iterator[str]:
    shift = 0.0
    for run in _runs(line):
        target = {"": 0.0, "_": 0.26 * font, "^": -0.36 * font}[run.place]
        attributes = ' class="course-diagram__math"' if run.math else ""
        if target != shift:
            attributes += f' dy="{target - shift:g}"'
        if run.place:
            attributes += f' font-size="{SMALL * font:.3g}"'
        shift = target
        text = escape(run.text)
        yield f"<tspan{attributes}>{text}</tspan>" if attributes else text


def draw_label(text: str, x: float, y: float, *, css: str = "", font: float = FONT) -> str:
    """Return a label centred at (x, y) as SVG, a ``text`` element of class ``css`` for each line.

    A space follows each line where a word ends, so that the text content equals :func:`plain`.
    """
    lines = text.split("\n")
    first = y - LINE * (len(lines) - 1) / 2 + 0.35 * font
    look = f' class="{css}"' if css else ""
    return "".join(
        f'<text{look} x="{x:g}" y="{first + LINE * index:g}" font-size="{font}"'
        f' text-anchor="middle">{"".join(_tspans(line, font))}</text>'
        f"{'' if line.endswith('-') else ' '}"
        for index, line in enumerate(lines)
    )
