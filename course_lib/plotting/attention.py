"""Heatmaps of attention weights: a row for each query, a column for each key."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
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
    """Draw attention weights: a row for each query, a column for each key, darker for larger.

    Args:
        weights: ``(query_len, key_len)``, from 0 to 1; or several such tensors, by their headings.
        key_labels: A label for each key.
        query_labels: A label for each query.
        alt: Alternative text.
        alignment: ``(query_len,)``, for each query the key whose cell gets a frame, or -1.
        numbers: Whether to print each weight in its cell.
        role: The role in ``COLORS`` whose colour the cells have.
        key_axis: Label of the axis of keys.
        query_axis: Label of the axis of queries.

    Returns:
        The picture.
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


def _draw_weights(ax: Axes, weights: Tensor, color: str, numbers: bool) -> None:
    """Draw a cell for each weight, more opaque for larger; with ``numbers`` print the weights."""
    # Opacity instead of a colour map, so that 0 shows the background of a light or a dark page.
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
    """Format a weight for its cell, such as ``.25``."""
    return "1" if weight > 0.995 else f"{weight:.2f}".removeprefix("0")


def _mark_alignment(ax: Axes, alignment: Tensor | None) -> None:
    """Draw a frame around the key of each query, if there is an alignment ``(query_len,)``."""
    for i, j in enumerate([] if alignment is None else alignment.tolist()):
        if j >= 0:
            ax.add_patch(
                Rectangle((j - 0.44, i - 0.44), 0.88, 0.88, fill=False, edgecolor=INK, lw=1.6)
            )


def _label_cells(ax: Axes, key_labels: Sequence[str], query_labels: Sequence[str]) -> None:
    """Write the labels at both axes, those of the keys slanted if they are long."""
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
