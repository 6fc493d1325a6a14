"""The course's figures: attention weights, links between words, curves.

Every function returns a ``Picture``: vector graphics that a notebook shows inside the page.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Rectangle
from torch import Tensor

from course_lib.plotting.picture import COLORS, INK, Picture, course_style, to_picture

_CELL = 0.34  # inches, the side of a cell of a heatmap
_WIDEST = 4.8  # inches, all cells of panels side by side


def plot_attention(
    weights: Tensor | Mapping[str, Tensor],
    key_labels: Sequence[str],
    query_labels: Sequence[str],
    *,
    alt: str,
    alignment: Tensor | None = None,
    numbers: bool = False,
    role: str = "query",
    key_axis: str = "key",
    query_axis: str = "query",
) -> Picture:
    """Draw attention weights: a row for each query, a column for each key, darker for more.

    Args:
        weights: ``(query_len, key_len)``, from 0 to 1; or several such, by the heading of each.
        key_labels: A label for each key.
        query_labels: A label for each query.
        alt: What the picture shows, in words.
        alignment: ``(query_len,)``, for each query the key that it should attend to, marked by a
            frame; -1 where there is none.
        numbers: Print each weight in its cell.
        role: Whose colour of ``COLORS`` the cells take.
        key_axis: What the keys are.
        query_axis: What the queries are.

    Returns:
        The picture.

    Raises:
        ValueError: Labels and weights differ in number, or a weight is not between 0 and 1.
    """
    panels = dict(weights) if isinstance(weights, Mapping) else {"": weights}
    expected = (len(query_labels), len(key_labels))
    for heading, panel in panels.items():
        if tuple(panel.shape) != expected:
            raise ValueError(
                f"weights {heading!r} must have shape {expected}, one row a query label and one "
                f"column a key label, got {tuple(panel.shape)}"
            )
        if not bool(((panel >= 0) & (panel <= 1 + 1e-6)).all()):
            raise ValueError(f"weights {heading!r} must be between 0 and 1")
    cell = 0.5 if numbers else min(_CELL, _WIDEST / (len(panels) * expected[1]))
    longest = max(len(label) for label in query_labels)
    with course_style():
        figure = Figure(
            figsize=(
                0.5 + 0.075 * longest + len(panels) * (0.25 + cell * expected[1]),
                0.75 + cell * expected[0] + 0.06 * max(len(label) for label in key_labels),
            )
        )
        axes = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
        for ax, (heading, panel) in zip(axes, panels.items(), strict=True):
            _draw_weights(ax, panel, COLORS[role], numbers)
            _mark_alignment(ax, alignment)
            _label_cells(ax, key_labels, query_labels)
            ax.set_xlabel(key_axis)
            if heading:
                ax.set_title(heading, fontsize=10.5, pad=8)
        axes[0].set_ylabel(query_axis)
    return to_picture(figure, alt=alt)


def plot_links(
    words: Sequence[str],
    links: Sequence[tuple[int, int]],
    *,
    alt: str,
    role: str = "query",
    tempting: Sequence[tuple[int, int]] = (),
) -> Picture:
    """Draw a sentence with arcs from words to the words they depend on.

    Args:
        words: The sentence.
        links: Pairs (from, to) of positions, drawn as full arcs with an arrowhead at ``to``.
        alt: What the picture shows, in words.
        role: Whose colour of ``COLORS`` the arcs take.
        tempting: Pairs that would be wrong, drawn below the words, dotted.

    Returns:
        The picture.

    Raises:
        ValueError: A link names a position outside the sentence.
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
            ax.text(centre, 0, word, ha="center", va="center", fontsize=11.5)
        for start, end in links:
            _draw_arc(ax, centres[start], centres[end], 0.15, COLORS[role], "-")
        for start, end in tempting:
            _draw_arc(ax, centres[start], centres[end], -0.15, COLORS["mask"], (0, (1, 2)))
    return to_picture(figure, alt=alt)


def plot_alignment(
    src: Sequence[str], tgt: Sequence[str], links: Sequence[tuple[int, int]], *, alt: str
) -> Picture:
    """Draw two sentences, one above the other, with lines between words that correspond.

    Args:
        src: The words above.
        tgt: The words below.
        links: Pairs of a position in ``src`` and one in ``tgt``.
        alt: What the picture shows, in words.

    Returns:
        The picture.

    Raises:
        ValueError: A link names a position outside the sentences.
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
                ax.text(
                    centre,
                    height,
                    word,
                    ha="center",
                    va="center",
                    fontsize=11.5,
                    color=COLORS[role],
                )
        for i, j in links:
            ax.plot([rows[0][i], rows[1][j]], [0.93, 0.32], color=INK, linewidth=1.4, linestyle="-")
    return to_picture(figure, alt=alt)


def _draw_weights(ax: Axes, weights: Tensor, color: str, numbers: bool) -> None:
    # Opacity, not a colour map: no weight is the page itself, in the light theme and in the dark.
    strongest = 0.5 if numbers else 1.0  # pale enough for the numbers to be read
    query_len, key_len = weights.shape
    for i, row in enumerate(weights.clamp(max=1).tolist()):
        for j, weight in enumerate(row):
            if weight >= 0.005:
                ax.add_patch(
                    Rectangle((j - 0.5, i - 0.5), 1, 1, color=color, alpha=weight * strongest, lw=0)
                )
            if numbers:
                ax.text(j, i, _short(weight), ha="center", va="center", fontsize=9.5)
    ax.set_xlim(-0.5, key_len - 0.5)
    ax.set_ylim(query_len - 0.5, -0.5)
    ax.set_aspect("equal")
    ax.grid(visible=False)
    for edge in ("top", "right", "bottom", "left"):
        ax.spines[edge].set_visible(True)
        ax.spines[edge].set_alpha(0.35)


def _short(weight: float) -> str:
    return "1" if weight > 0.995 else f"{weight:.2f}".removeprefix("0")


def _mark_alignment(ax: Axes, alignment: Tensor | None) -> None:
    for i, j in enumerate([] if alignment is None else alignment.tolist()):
        if j >= 0:
            ax.add_patch(
                Rectangle((j - 0.44, i - 0.44), 0.88, 0.88, fill=False, edgecolor=INK, lw=1.6)
            )


def _label_cells(ax: Axes, key_labels: Sequence[str], query_labels: Sequence[str]) -> None:
    slanted = any(len(label) > 3 for label in key_labels)
    ax.set_xticks(
        range(len(key_labels)),
        labels=list(key_labels),
        rotation=50 if slanted else 0,
        ha="right" if slanted else "center",
        rotation_mode="anchor",
    )
    ax.set_yticks(range(len(query_labels)), labels=list(query_labels))
    ax.tick_params(length=0)


def _draw_arc(ax: Axes, start: float, end: float, base: float, color: str, style: Any) -> None:
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
