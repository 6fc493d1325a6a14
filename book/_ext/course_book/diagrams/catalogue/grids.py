"""Tables of cells: who may see whom, what grows with the square, what is averaged."""

from collections.abc import Callable, Iterator

from course_book.diagrams.parts import Box, Diagram, Role


def _grid(
    name: str, column: int, size: int, role: Role, marked: Callable[[int, int], bool]
) -> Iterator[Box]:
    """A square of cells, a tensor for each line, the first line on top."""
    for line in range(size):
        cells = tuple(cell for cell in range(size) if marked(line, cell))
        yield Box(
            id=f"{name}-{line}", row=size - line, column=column, kind="tensor", cells=size,
            marked=cells, role=role,
        )  # fmt: skip


def _words(name: str, text: str, row: float, column: int) -> Box:
    return Box(id=name, text=text, row=row, column=column, kind="data")


def masks() -> Diagram:
    """Return a causal mask, a padding mask, and both together."""
    kinds: dict[str, Callable[[int, int], bool]] = {
        "causal": lambda query, key: key <= query,
        "padding": lambda query, key: key < 4,
        "both, by &": lambda query, key: key <= query and key < 4,
    }
    boxes: list[Box] = []
    for column, (name, marked) in enumerate(kinds.items()):
        boxes += _grid(name, column, 6, "query", marked)
        boxes.append(_words(f"{name}-words", name, 7, column))
    return Diagram(
        title="Who may see whom",
        description="Three squares of six by six cells; a line is a query, a cell in it a key, and "
        "a filled cell may be seen. Causal: each line is filled up to its own place. Padding: the "
        "last two columns are empty. Both: filled where both are.",
        boxes=tuple(boxes),
        row_gap=3,
        column_gap=32,
    )


def square_of_length() -> Diagram:
    """Return the scores of a text, and of one twice as long."""
    short = list(_grid("short", 0, 5, "query", lambda query, key: True))
    long = list(_grid("long", 1, 10, "query", lambda query, key: query < 5 and key < 5))
    return Diagram(
        title="Twice as long, four times the scores",
        description="A square of five by five cells, a score for each query and key, and beside it "
        "one of ten by ten, in a quarter of which the first would fit.",
        boxes=(
            *short,
            *long,
            _words("short-words", "5 tokens: 25 scores", 6, 0),
            _words("long-words", "10 tokens: 100 scores", 11, 1),
        ),
        row_gap=3,
        column_gap=40,
    )


def which_mean() -> Diagram:
    """Return what layer normalisation averages, beside batch normalisation."""
    kinds: dict[str, tuple[Role, Callable[[int, int], bool]]] = {
        "LayerNorm:\none token, all its numbers": ("query", lambda token, entry: token == 2),
        "BatchNorm:\none number, all tokens": ("key", lambda token, entry: entry == 2),
    }
    boxes: list[Box] = []
    for column, (name, (role, marked)) in enumerate(kinds.items()):
        boxes += _grid(f"norm-{column}", column, 6, role, marked)
        boxes.append(_words(f"norm-{column}-words", name, 7, column))
    return Diagram(
        title="Which numbers share a mean",
        description="Two squares of cells; a line is a token, a column one of its numbers. For "
        "layer normalisation a whole line is marked: one token, all its numbers. For batch "
        "normalisation a whole column is marked: one number of all tokens.",
        boxes=tuple(boxes),
        row_gap=3,
        column_gap=20,
    )
