"""Tables of cells: masks, the scores of long texts, the axis of a mean."""

from collections.abc import Callable

from course_book.diagrams.parts import Role
from course_book.diagrams.sketch import Sketch, diagram

Marked = Callable[[int, int], bool]
"""Whether a cell is filled, by the index of its line from above and its index in the line."""


def _grid(
    sketch: Sketch, name: str, text: str, column: int, size: int, role: Role, marked: Marked
) -> None:
    """Add a square of ``size`` by ``size`` cells, a tensor for each line, with a text above it.

    ``name`` is the prefix of the ids, ``column`` the place in the sketch. ``marked`` gets the
    indices of line and cell, and returns whether the cell is filled.
    """
    for line in range(size):
        cells = (cell for cell in range(size) if marked(line, cell))
        sketch.tensor(f"{name}-{line}", size - line, column, role, size, *cells)
    sketch.data(f"{name}-words", text, size + 1, column)


@diagram("masks", rows=3, columns=32)
def masks(sketch: Sketch) -> None:
    """Three masks.

    Three squares of six by six cells; a line is a query, a cell in it a key, and a filled cell may
    be seen. Causal: each line is filled up to its own place. Padding: the last two columns are
    empty. Both: filled where both are.
    """
    kinds: dict[str, Marked] = {
        "causal": lambda query, key: key <= query,
        "padding": lambda query, key: key < 4,
        "both, by &": lambda query, key: key <= query and key < 4,
    }
    for column, (name, marked) in enumerate(kinds.items()):
        _grid(sketch, name, name, column, 6, "query", marked)


@diagram("square-of-length", rows=3, columns=40)
def square_of_length(sketch: Sketch) -> None:
    """Twice as long, four times the scores.

    A square of five by five cells, a score for each query and key, and beside it one of ten by ten,
    in a quarter of which the first would fit.
    """
    quarter: Marked = lambda query, key: query < 5 and key < 5  # noqa: E731
    _grid(sketch, "short", "5 tokens: 25 scores", 0, 5, "query", quarter)
    _grid(sketch, "long", "10 tokens: 100 scores", 1, 10, "query", quarter)


@diagram("which-mean", rows=3, columns=20)
def which_mean(sketch: Sketch) -> None:
    """Which numbers share a mean.

    Two squares of cells; a line is a token, a column one of its numbers. For layer normalisation a
    whole line is marked: one token, all its numbers. For batch normalisation a whole column is
    marked: one number of all tokens.
    """
    line: Marked = lambda token, entry: token == 2  # noqa: E731
    column: Marked = lambda token, entry: entry == 2  # noqa: E731
    _grid(sketch, "norm-0", "LayerNorm:\none token, all its numbers", 0, 6, "query", line)
    _grid(sketch, "norm-1", "BatchNorm:\none number, all tokens", 1, 6, "key", column)
