"""Beam search trees: from the prompt at the left to the results at the right."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib.analysis.beam_tree import BeamNode
from course_lib.plotting.picture import COLORS, INK, Picture, course_style, to_picture

_STEP = 1.2  # inches from a token to the next
_ROW = 0.3  # inches from a leaf to the next
_GAP = 0.06  # inches between a word and its branches


def plot_beams(tree: Sequence[BeamNode], labels: Sequence[str], *, alt: str) -> Picture:
    """Draw the tree of a beam search, as ``beam_tree`` returns it; the best path is bold.

    Below each token is the log-probability (nats) of the hypothesis up to it. Dashed grey lines
    lead to dropped hypotheses. A result is followed by its rank, 1 for the best. ``labels`` are the
    words of the token ids from 0, ``alt`` is the alternative text.
    """
    if not tree:
        raise ValueError("tree must hold the prompt at least, got no node")
    highest = max((node.token for node in tree if node.token is not None), default=-1)
    if highest >= len(labels):
        raise ValueError(f"labels must name token {highest}, got {len(labels)} labels")
    heights = _heights(tree)
    best = _path_to_best(tree)
    width = (max(node.length for node in tree) + 1) * _STEP
    with course_style():
        figure = Figure(figsize=(width, (max(heights) + 1.2) * _ROW))
        figure.set_layout_engine("none")
        ax = figure.add_axes((0, 0, 1, 1))
        ax.set_xlim(-0.15, width - 0.15)
        ax.set_ylim((max(heights) + 0.7) * _ROW, -0.6 * _ROW)
        ax.axis("off")
        ends: list[float] = []  # for each node the right end of its word (inches)
        for index, node in enumerate(tree):
            word = "start" if node.token is None else labels[node.token]
            x, y = node.length * _STEP, heights[index] * _ROW
            if node.parent is not None:
                start = (ends[node.parent] + _GAP, heights[node.parent] * _ROW)
                _draw_branch(ax, start, (x - _GAP, y), node, index in best)
            ends.append(_write_token(ax, x, y, word, node, index in best))
    return to_picture(figure, alt=alt)


def _heights(tree: Sequence[BeamNode]) -> list[float]:
    """Return each node's row: 0, 1, ... for leaves, for others halfway between their children."""
    children: list[list[int]] = [[] for _ in tree]
    for index, node in enumerate(tree):
        if node.parent is not None:
            children[node.parent].append(index)
    heights = [0.0] * len(tree)
    rows = 0

    def place(index: int) -> None:
        """Set the rows of a node and of those below it."""
        nonlocal rows
        below = sorted(children[index], key=lambda i: tree[i].log_probability, reverse=True)
        for child in below:
            place(child)
        if below:
            heights[index] = (heights[below[0]] + heights[below[-1]]) / 2
        else:
            heights[index] = float(rows)
            rows += 1

    place(0)
    return heights


def _path_to_best(tree: Sequence[BeamNode]) -> set[int]:
    """Return the indices of the best result and of the nodes before it."""
    index = next((i for i, node in enumerate(tree) if node.rank == 0), None)
    path: set[int] = set()
    while index is not None:
        path.add(index)
        index = tree[index].parent
    return path


def _draw_branch(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], node: BeamNode, best: bool
) -> None:
    """Draw the line to ``node`` between two points (inches), bold if ``best``."""
    dropped = node.fate == "dropped"
    ax.plot(
        (start[0], end[0]),
        (start[1], end[1]),
        color=COLORS["mask" if dropped else "decoder"],
        linestyle=(0, (2, 2)) if dropped else "-",
        linewidth=2.6 if best else 1.2,
    )


def _write_token(ax: Axes, x: float, y: float, word: str, node: BeamNode, best: bool) -> float:
    """Write a word and its node's log-probability; return the x of the word's end (inches)."""
    color = COLORS["mask"] if node.fate == "dropped" else INK
    if node.rank is not None:
        word = f"{word}  ({node.rank + 1})"
    weight = "bold" if best else "normal"
    text = ax.text(x, y - 0.005, word, va="center", fontsize=10.5, color=color, fontweight=weight)
    if node.parent is not None:
        ax.text(x, y + 0.125, f"{node.log_probability:.2f}", va="center", fontsize=7.5, color=color)
    return float(text.get_window_extent().transformed(ax.transData.inverted()).x1)
