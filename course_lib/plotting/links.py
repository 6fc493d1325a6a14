"""Links between words: arcs within a sentence, and alignments between two sentences."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc

from course_lib.plotting.picture import COLORS, INK, Picture, course_style, to_picture


def plot_links(
    words: Sequence[str],
    links: Sequence[tuple[int, int]],
    *,
    alt: str,
    tempting: Sequence[tuple[int, int]] = (),
) -> Picture:
    """Draw a sentence with an arc from each word to the word that it depends on.

    ``links`` are pairs (from, to) of positions in ``words``, with an arrowhead at the second;
    ``tempting`` are wrong pairs, drawn as dotted arcs below the words. ``alt`` is the alternative
    text.
    """
    for link in (*links, *tempting):
        if not all(0 <= position < len(words) for position in link):
            raise ValueError(f"links must name positions 0 to {len(words) - 1}, got {link}")
    widths = [0.092 * max(len(word), 2) + 0.14 for word in words]  # inches
    centres = [sum(widths[:i]) + width / 2 for i, width in enumerate(widths)]
    above = max((abs(centres[a] - centres[b]) for a, b in links), default=0) * 0.28 + 0.15
    below = max((abs(centres[a] - centres[b]) for a, b in tempting), default=0) * 0.28 + 0.15
    with course_style():
        figure = Figure(figsize=(sum(widths) + 0.1, above + below + 0.3))
        figure.set_layout_engine("none")
        ax = figure.add_axes((0, 0, 1, 1))
        ax.set_xlim(-0.05, sum(widths) + 0.05)
        ax.set_ylim(-below - 0.15, above + 0.15)
        ax.axis("off")
        for word, centre in zip(words, centres, strict=True):
            _write_word(ax, centre, 0, word)
        for start, end in links:
            _draw_arc(ax, centres[start], centres[end], 0.15, COLORS["query"], "-")
        for start, end in tempting:
            _draw_arc(ax, centres[start], centres[end], -0.15, COLORS["mask"], (0, (1, 2)))
    return to_picture(figure, alt=alt)


def plot_alignment(
    src: Sequence[str], tgt: Sequence[str], links: Sequence[tuple[int, int]], *, alt: str
) -> Picture:
    """Draw a sentence above its translation, with lines between words that correspond.

    ``links`` are pairs of a position in ``src`` and one in ``tgt``; ``alt`` is alternative text.
    """
    for i, j in links:
        if not (0 <= i < len(src) and 0 <= j < len(tgt)):
            raise ValueError(f"links must name positions of both sentences, got {(i, j)}")
    rows = []
    for words in (src, tgt):
        widths = [0.092 * max(len(word), 2) + 0.2 for word in words]  # inches
        rows.append([sum(widths[:i]) + width / 2 for i, width in enumerate(widths)])
    width = max(
        row[-1] + 0.092 * len(words[-1]) for row, words in zip(rows, (src, tgt), strict=True)
    )
    with course_style():
        figure = Figure(figsize=(width, 1.25))
        figure.set_layout_engine("none")
        ax = figure.add_axes((0, 0, 1, 1))
        ax.set_xlim(0, width)
        ax.set_ylim(0, 1.25)
        ax.axis("off")
        for height, role, words, row in (
            (1.1, "encoder", src, rows[0]),
            (0.15, "decoder", tgt, rows[1]),
        ):
            for word, centre in zip(words, row, strict=True):
                _write_word(ax, centre, height, word, color=COLORS[role])
        for i, j in links:
            ax.plot([rows[0][i], rows[1][j]], [0.93, 0.32], color=INK, linewidth=1.4, linestyle="-")
    return to_picture(figure, alt=alt)


def _write_word(ax: Axes, x: float, y: float, word: str, color: str = INK) -> None:
    """Write a word centred at a point (inches)."""
    ax.text(x, y, word, ha="center", va="center", fontsize=11.5, color=color)


def _draw_arc(ax: Axes, start: float, end: float, base: float, color: str, style: Any) -> None:
    """Draw an arc from x ``start`` to an arrowhead at x ``end``, both at y ``base`` (inches).

    The arc is above ``base`` if this is positive, otherwise below; ``style`` is a line style.
    """
    height = 0.56 * abs(end - start)
    up = math.copysign(1, base)
    ax.add_patch(
        Arc(
            ((start + end) / 2, base),
            abs(end - start),
            height,
            theta1=0 if up > 0 else 180,
            theta2=180 if up > 0 else 360,
            color=color,
            lw=1.8,
            linestyle=style,
        )
    )
    ax.plot([end], [base], marker="v" if up > 0 else "^", color=color, markersize=6, linestyle="")
